package hns

import (
	"encoding/json"
	"fmt"
)

// Backend carries requests to an HNS. It is to [Client] what
// http.RoundTripper is to http.Client: the client checks, gates and wraps, the
// backend only transports.
//
// Do blocks until HNS has answered; HNS calls cannot be aborted, so there is
// no context. It must be safe for concurrent use. A failure is a
// *[BackendError]. The documents of request and response belong to the callee
// and the caller after the call: neither keeps nor changes what it passed on.
type Backend interface {
	Do(Request) (Response, error)
}

// Native returns the backend of this machine, the one of [Open], for those who
// put something of their own in front of it: New(recorder(native), nil). The
// DLLs of Windows are loaded with the first call, so on a Windows without HNS
// it is the first call that fails, with [ErrUnsupported]. On other operating
// systems there is no HNS: the error is always [ErrUnsupportedOS]. The emulator
// of package hns/emulator is a backend everywhere.
func Native() (Backend, error) {
	b, err := openNative()
	if err != nil {
		return nil, &Error{Op: "open", Err: err}
	}
	return b, nil
}

// Request is one operation on HNS.
type Request struct {
	// Verb and Kind say what is done to what.
	Verb Verb
	Kind Kind
	// ID is the object of get, modify and delete. With create it is the id
	// wanted; zero leaves the choice to HNS.
	ID ID
	// Network is the network a new endpoint belongs to; zero otherwise.
	Network ID
	// Filter narrows a list to objects whose members all equal those of this
	// JSON object (for example {"Name":"x"}). Empty lists everything.
	// Endpoints of a network are filtered by the member VirtualNetwork.
	Filter string
	// Document is the JSON to send: the object of a create, the modify
	// request, the body of a v1 call.
	Document json.RawMessage
	// Method and Path are those of a v1 call (VerbCall) and empty otherwise.
	Method, Path string
}

// Response is what HNS answered: the objects listed, the object read or
// created, or the Output of a v1 call; empty for modify and delete.
type Response struct {
	Documents []json.RawMessage
}

// String names the request without its document, which may hold keys.
func (r Request) String() string {
	s := r.Verb.String() + " " + r.Kind.String()
	if r.Verb == VerbCall {
		s += " " + r.Method + " " + r.Path
	} else if !r.ID.IsZero() {
		s += " " + r.ID.String()
	}
	if r.Filter != "" {
		s += " " + r.Filter
	}
	return fmt.Sprintf("%s (%d bytes)", s, len(r.Document))
}

// String says how many documents there are and how long they are.
func (r Response) String() string {
	n := 0
	for _, d := range r.Documents {
		n += len(d)
	}
	return fmt.Sprintf("%d documents (%d bytes)", len(r.Documents), n)
}

// Verb is an operation. The zero Verb is invalid.
type Verb uint8

// The verbs of the Host Compute Network API, and the call of the v1 API for
// what it lacks (host attachment, management IP, endpoint state, version).
const (
	VerbList Verb = iota + 1
	VerbGet
	VerbCreate
	VerbModify
	VerbDelete
	VerbCall
)

var verbNames = [...]string{"", "list", "get", "create", "modify", "delete", "call"}

// String returns the verb in small letters, such as "create".
func (v Verb) String() string {
	if v == 0 || int(v) >= len(verbNames) {
		return fmt.Sprintf("verb(%d)", uint8(v))
	}
	return verbNames[v]
}

// Kind is a kind of HNS object. The zero Kind stands for the service itself, as
// in the v1 call for its version; v1 calls about an object have its kind.
type Kind uint8

// The kinds of objects.
const (
	KindService Kind = iota
	KindNetwork
	KindEndpoint
	KindNamespace
	KindLoadBalancer
	KindRoute
)

var kindNames = [...]string{"service", "network", "endpoint", "namespace", "load balancer", "SDN route"}

// String returns the kind in small letters, such as "endpoint".
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// BackendError is how a [Backend] reports a failure.
type BackendError struct {
	// Code is the HRESULT. Zero means that HNS gave none, as the v1 call does
	// on older builds.
	Code Code
	// Text is the message of HNS, if any, in the language of the system.
	Text string
	// Err is the cause where it was not HNS that failed (a missing DLL, a
	// broken state file); nil otherwise.
	Err error
}

// Error returns the code, the message and the cause, as far as they are known.
func (e *BackendError) Error() string {
	s := "HNS failed"
	if e.Code != 0 {
		s = e.Code.String()
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *BackendError) Unwrap() error { return e.Err }
