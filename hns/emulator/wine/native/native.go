// Package native answers the calls of computenetwork.dll and vmcompute.dll
// from an hns.Backend: handles, HRESULTs, error records, queries and a call
// log. It has no C in it; package dll only moves arguments and results.
//
// The query flag "Detailed" has no counterpart in hns.Backend and changes
// nothing. Service callbacks and the guest network service are not there.
package native

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/hnskit/hnskit/hns"
)

// API is the Host Compute Network API of one process. Use [New] or [Open]; it
// is safe for concurrent use.
type API struct {
	backend hns.Backend
	log     *Log
	handles handles
}

// New returns an API over b. Calls are logged to log; nil means not at all.
func New(b hns.Backend, log *Log) *API {
	return &API{backend: b, log: log}
}

// Answer is what a call gives back.
type Answer struct {
	// Code is the HRESULT; zero is success.
	Code hns.Code
	// Text is the JSON that the call returns, if it returns any: the ids of
	// an enumeration, the properties of a query, the response of a v1 call.
	// Empty stands for NULL.
	Text string
	// Handle is the new handle of a create or open, else zero.
	Handle uint64
	// Record is the error record; empty stands for NULL, as on success.
	Record string
}

// noun is how the API names a kind of object.
type noun struct {
	one, many string
	path      string // of the v1 API, which has load balancers and routes as policy lists
}

func nounOf(k hns.Kind) noun {
	switch k {
	case hns.KindNetwork:
		return noun{"Network", "Networks", "/networks/"}
	case hns.KindEndpoint:
		return noun{"Endpoint", "Endpoints", "/endpoints/"}
	case hns.KindNamespace:
		return noun{"Namespace", "Namespaces", "/namespaces/"}
	case hns.KindLoadBalancer:
		return noun{"LoadBalancer", "LoadBalancers", "/policylists/"}
	case hns.KindRoute:
		return noun{"SdnRoute", "SdnRoutes", "/policylists/"}
	}
	s := fmt.Sprintf("Unknown%d", k)
	return noun{s, s, "/" + s + "/"}
}

// Enumerate is HcnEnumerate...s: the ids of the objects that match query, a
// HostComputeQuery document, as a JSON array. An empty query matches all.
func (a *API) Enumerate(k hns.Kind, query string) Answer {
	c := Call{Func: "HcnEnumerate" + nounOf(k).many, Doc: logged(query)}
	q, err := parseQuery(query)
	if err != nil {
		return a.failed(c, err)
	}
	resp, err := a.backend.Do(hns.Request{Verb: hns.VerbList, Kind: k, Filter: q.filter})
	if err != nil {
		return a.failed(c, err)
	}
	ids := make([]string, len(resp.Documents))
	for i, d := range resp.Documents {
		if ids[i], err = idText(d); err != nil {
			return a.failed(c, err)
		}
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return a.failed(c, err)
	}
	return a.done(c, Answer{Text: string(text)})
}

// Create is HcnCreate...: it makes an object from settings and opens it.
// network is the handle of an endpoint's network, and zero for other kinds. A
// zero id leaves the choice to HNS.
func (a *API) Create(k hns.Kind, network uint64, id hns.ID, settings string) Answer {
	c := Call{Func: "HcnCreate" + nounOf(k).one, Doc: logged(settings)}
	if !id.IsZero() {
		c.ID = id.String()
	}
	req := hns.Request{Verb: hns.VerbCreate, Kind: k, ID: id}
	var err error
	if k == hns.KindEndpoint {
		if req.Network, err = a.handles.object(hns.KindNetwork, network); err != nil {
			return a.failed(c, err)
		}
		c.Network = req.Network.String()
	}
	if req.Document, err = document(settings); err != nil {
		return a.failed(c, err)
	}
	resp, err := a.backend.Do(req)
	if err != nil {
		return a.failed(c, err)
	}
	made, err := onlyDocument(resp)
	if err != nil {
		return a.failed(c, err)
	}
	if c.ID, err = idText(made); err != nil {
		return a.failed(c, err)
	}
	if id, err = hns.ParseID(c.ID); err != nil {
		return a.failed(c, err)
	}
	return a.done(c, Answer{Handle: a.handles.add(k, id)})
}

// Open is HcnOpen...: a handle for an object that exists.
func (a *API) Open(k hns.Kind, id hns.ID) Answer {
	c := Call{Func: "HcnOpen" + nounOf(k).one, ID: id.String()}
	if _, err := a.backend.Do(hns.Request{Verb: hns.VerbGet, Kind: k, ID: id}); err != nil {
		return a.failed(c, err)
	}
	return a.done(c, Answer{Handle: a.handles.add(k, id)})
}

// Modify is HcnModify...: settings is a modify request.
func (a *API) Modify(k hns.Kind, handle uint64, settings string) Answer {
	c := Call{Func: "HcnModify" + nounOf(k).one, Doc: logged(settings)}
	id, err := a.handles.object(k, handle)
	if err != nil {
		return a.failed(c, err)
	}
	c.ID = id.String()
	doc, err := document(settings)
	if err != nil {
		return a.failed(c, err)
	}
	_, err = a.backend.Do(hns.Request{Verb: hns.VerbModify, Kind: k, ID: id, Document: doc})
	if err != nil {
		return a.failed(c, err)
	}
	return a.done(c, Answer{})
}

// Query is HcnQuery...Properties: the object as JSON, in the shape of schema
// 1 if the query, a HostComputeQuery document, asks for that.
func (a *API) Query(k hns.Kind, handle uint64, query string) Answer {
	c := Call{Func: "HcnQuery" + nounOf(k).one + "Properties", Doc: logged(query)}
	id, err := a.handles.object(k, handle)
	if err != nil {
		return a.failed(c, err)
	}
	c.ID = id.String()
	q, err := parseQuery(query)
	if err != nil {
		return a.failed(c, err)
	}
	req := hns.Request{Verb: hns.VerbGet, Kind: k, ID: id}
	if q.schema == 1 {
		req = hns.Request{Verb: hns.VerbCall, Method: "GET", Path: nounOf(k).path + id.String()}
	}
	resp, err := a.backend.Do(req)
	if err != nil {
		return a.failed(c, err)
	}
	doc, err := onlyDocument(resp)
	if err != nil {
		return a.failed(c, err)
	}
	return a.done(c, Answer{Text: string(doc)})
}

// Delete is HcnDelete.... Handles of the object stay open, but lead nowhere.
func (a *API) Delete(k hns.Kind, id hns.ID) Answer {
	c := Call{Func: "HcnDelete" + nounOf(k).one, ID: id.String()}
	if _, err := a.backend.Do(hns.Request{Verb: hns.VerbDelete, Kind: k, ID: id}); err != nil {
		return a.failed(c, err)
	}
	return a.done(c, Answer{})
}

// Close is HcnClose.... A handle that is not open, or is one of another kind,
// is E_HANDLE.
func (a *API) Close(k hns.Kind, handle uint64) Answer {
	c := Call{Func: "HcnClose" + nounOf(k).one}
	id, err := a.handles.remove(k, handle)
	if err != nil {
		return a.failed(c, err)
	}
	c.ID = id.String()
	return a.done(c, Answer{})
}

// Call is HNSCall, the v1 API. Text is the envelope {"Success", "Error",
// "Output"}, also beside the code of a failure. A failure without a code, as
// older builds give, succeeds as a call. There is never a record.
func (a *API) Call(method, path, body string) Answer {
	c := Call{Func: "HNSCall", Method: method, Path: path, Doc: logged(body)}
	doc, err := document(body)
	if err != nil {
		return asV1(a.failed(c, err))
	}
	resp, err := a.backend.Do(hns.Request{Verb: hns.VerbCall, Method: method, Path: path, Document: doc})
	if text, ok := failureText(err); ok {
		c.Error = text
		return asV1(a.done(c, Answer{Text: encode(envelope{Error: text})}))
	}
	if err != nil {
		return asV1(a.failed(c, err))
	}
	var output json.RawMessage
	if len(resp.Documents) > 0 {
		if output, err = onlyDocument(resp); err != nil {
			return asV1(a.failed(c, err))
		}
	}
	return asV1(a.done(c, Answer{Text: encode(envelope{Success: true, Output: output})}))
}

// done logs a call that went well and returns its answer.
func (a *API) done(c Call, ans Answer) Answer {
	c.PID = os.Getpid()
	if err := a.log.Add(c); err != nil {
		return failure(fmt.Errorf("the call was carried out but not logged: %w", err))
	}
	return ans
}

// failed logs a call that went wrong and returns its answer.
func (a *API) failed(c Call, err error) Answer {
	ans := failure(err)
	c.PID = os.Getpid()
	c.HR = uint32(ans.Code)
	c.Error = err.Error()
	if lerr := a.log.Add(c); lerr != nil {
		return failure(err, fmt.Sprintf("(nor was the call logged: %v)", lerr))
	}
	return ans
}
