package hnstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/hnskit/hnskit/hns"
)

// Loss is something that the way between the suite and HNS does not carry, such
// as a member that the types of hcsshim lack: what answers lack (Kind and Read),
// what requests cannot say (Kind and Written), or requests that do not reach HNS
// (Refuses). Fields that are zero say nothing.
//
//	hnstest.Loss{Name: "State of an endpoint", Kind: hns.KindEndpoint, Read: "State"}
//	hnstest.Loss{Name: "Owner of a network", Kind: hns.KindNetwork, Written: "Owner"}
//
// A request that cannot be put must be refused on the way, with a failure that
// is [hns.ErrUnsupported] or [hns.ErrInvalid], or with E_NOTIMPL.
type Loss struct {
	// Name of the loss in the answers, such as "State of an endpoint". It has
	// no quotes.
	Name string
	// Kind of the objects whose documents lose the member. V1 says that they are
	// those of schema 1; load balancers and routes are policy lists there, for
	// which stands hns.KindLoadBalancer.
	Kind hns.Kind
	V1   bool
	// Read is a member that documents lack when they come back, and with it all
	// below: the names of its path without positions, "Ipams.Subnets.ID".
	Read string
	// Shows, beside Read, is a text that stands there where HNS shows nothing.
	Shows string
	// Written is a member that no document can have to create or modify
	// something. The suite leaves a Name out, which is but its mark; a request
	// with another one is refused.
	Written string
	// Refuses tells the requests that are refused on the way.
	Refuses func(hns.Request) bool
}

// asked reports whether a request says what is lost.
func (l *Loss) asked(r hns.Request) bool {
	if l.Written != "" && l.Kind == r.Kind && (r.Verb == hns.VerbCreate || r.Verb == hns.VerbModify) && len(find(r.Document, l.Written)) > 0 {
		return true
	}
	return l.Refuses != nil && l.Refuses(r)
}

// losses are those of a harness, and which of them a case met.
type losses struct {
	list []Loss
	mu   sync.Mutex
	met  map[string]bool
}

func (ls *losses) meet(name string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.met[name] = true
}

// unmet names those that no case met.
func (ls *losses) unmet() (names []string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.list {
		if !ls.met[l.Name] {
			names = append(names, l.Name)
		}
	}
	return names
}

// codeLost stands for the outcome of a request that did not reach HNS.
const codeLost hns.Code = 0xfffffffe

// ask puts a request of the case over a way with losses.
func (b *bench) ask(r hns.Request) ([]json.RawMessage, hns.Code, error) {
	b.t.Helper()
	if name := lostName(string(r.Document)); name != "" {
		return b.lose(name) // it is made of what did not arrive
	}
	var asked []string
	name := "" // the loss of the suite's mark
	for _, l := range b.losses.list {
		if l.asked(r) {
			asked = append(asked, l.Name)
			if l.Written == "Name" {
				name = l.Name
			}
		}
	}
	docs, code, err := ask(b.h.Backend, r)
	refused := code == hns.CodeNotImplemented || errors.Is(err, hns.ErrUnsupported) || errors.Is(err, hns.ErrInvalid)
	switch {
	case len(asked) == 0:
	case !refused:
		b.t.Errorf("%q are said to be lost, and yet %s %s %s is answered: %s, %v", asked, r.Verb, r.Kind, r.Document, outcome(code), err)
	case name != "":
		b.losses.meet(name)
		r.Document = without(r.Document, "Name")
		return b.ask(r)
	default:
		return b.lose(asked[0])
	}
	for i, doc := range docs {
		docs[i] = b.arrived(r, doc)
	}
	return docs, code, err
}

// lose keeps why a request did not get to HNS: what differs from there on is
// for that.
func (b *bench) lose(name string) ([]json.RawMessage, hns.Code, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = name
	return nil, codeLost, nil
}

// lostMember is a member that the bench puts into a document for [text]: the
// names of members that did not arrive, and of the losses that took them.
const lostMember = "lost on the way"

// lostPrefix begins the text that a lost member has instead of its own.
const lostPrefix = lostMember + ": "

// kindsV1 are the kinds that the paths of schema 1 are about.
var kindsV1 = map[string]hns.Kind{
	"networks": hns.KindNetwork, "endpoints": hns.KindEndpoint, "namespaces": hns.KindNamespace, "policylists": hns.KindLoadBalancer,
}

// arrived marks in a document what it lost.
func (b *bench) arrived(r hns.Request, doc json.RawMessage) json.RawMessage {
	b.t.Helper()
	kind, v1 := r.Kind, r.Verb == hns.VerbCall
	if v1 {
		resource, _, _ := strings.Cut(strings.Trim(r.Path, "/"), "/")
		kind = kindsV1[resource]
	}
	gone := map[string]string{}
	for _, l := range b.losses.list {
		if l.Read == "" || l.Kind != kind || l.V1 != v1 {
			continue
		}
		there := find(doc, l.Read)
		switch {
		case l.Shows == "" && len(there) > 0:
			b.t.Errorf("%s is said to be lost, and yet it is there: %v", l.Name, there)
		case l.Shows == "", len(there) == 1 && there[0] == l.Shows:
			gone[strings.ToLower(l.Read)] = l.Name
		}
	}
	rest, isObject := bytes.CutPrefix(bytes.TrimSpace(doc), []byte("{"))
	if len(gone) == 0 || !isObject {
		return doc
	}
	mark, _ := json.Marshal(map[string]any{lostMember: gone}) // texts always encode
	mark = bytes.TrimSuffix(mark, []byte("}"))
	if !bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
		mark = append(mark, ',')
	}
	return append(mark, rest...)
}

// lostText returns what a member has for text if the path to it leads through
// one that was lost; "" if it does not.
func lostText(doc any, path string) string {
	o, _ := doc.(map[string]any)
	gone, _ := o[lostMember].(map[string]any)
	names := strings.ToLower(strings.Join(withoutPositions(path), "."))
	for member, loss := range gone {
		if rest, ok := strings.CutPrefix(names, member); ok && (rest == "" || rest[0] == '.') {
			return lostPrefix + fmt.Sprint(loss)
		}
	}
	return ""
}

func withoutPositions(path string) (names []string) {
	for _, step := range strings.Split(path, ".") {
		if strings.Trim(step, "0123456789") != "" {
			names = append(names, step)
		}
	}
	return names
}

// lostName returns the name of a loss in a text with that of a lost member.
func lostName(s string) string {
	_, rest, _ := strings.Cut(s, lostPrefix)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// find returns what a document has at a path, which goes through every element
// of lists. Nothing, zero and empty count as absent, as everywhere in HNS.
func find(doc json.RawMessage, path string) (found []any) {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return nil
	}
	at := []any{v}
	for _, name := range strings.Split(path, ".") {
		var below []any
		for _, v := range at {
			if o, ok := v.(map[string]any); ok {
				below = append(below, elements(member(o, name))...)
			}
		}
		at = below
	}
	for _, v := range at {
		if v != nil && v != "" && v != 0.0 && v != false {
			found = append(found, v)
		}
	}
	return found
}

func elements(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// without returns a document without one of its members.
func without(doc json.RawMessage, name string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(doc, &o) != nil {
		return doc
	}
	maps.DeleteFunc(o, func(k string, _ json.RawMessage) bool { return strings.EqualFold(k, name) })
	out, _ := json.Marshal(o) // it came from JSON
	return out
}
