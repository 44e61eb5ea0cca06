package hnstest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// deletable are the kinds in the order in which they are deleted.
var deletable = []hns.Kind{hns.KindLoadBalancer, hns.KindRoute, hns.KindEndpoint, hns.KindNamespace, hns.KindNetwork}

// absent are the codes for what is not there: of each kind, of a schema 1
// call, and of an HNS that lacks the kind altogether.
var absent = map[hns.Code]bool{
	hns.CodeNetworkNotFound: true, hns.CodeEndpointNotFound: true, hns.CodeElementNotFound: true, hns.CodeObjectNotFound: true,
	hns.CodeProcNotFound: true, hns.CodeNotImplemented: true,
}

// remove deletes an object of the suite, unless it is gone.
func remove(t *testing.T, backend hns.Backend, kind hns.Kind, id hns.ID) {
	t.Helper()
	del := hns.Request{Verb: hns.VerbDelete, Kind: kind, ID: id}
	_, code, err := ask(backend, del)
	if kind == hns.KindNamespace && code == hns.CodeRequestUnsupported {
		takeContainers(backend, id)
		_, code, err = ask(backend, del)
	}
	if err != nil || code != 0 && !absent[code] {
		t.Errorf("%s %s is left on the host: %s, %v", kind, id, outcome(code), err)
	}
}

// takeContainers takes the containers out of a namespace, which cannot be
// deleted before. Whether it worked shows then.
func takeContainers(backend hns.Backend, id hns.ID) {
	docs, _, err := ask(backend, hns.Request{Verb: hns.VerbGet, Kind: hns.KindNamespace, ID: id})
	if err != nil || len(docs) != 1 {
		return
	}
	for _, r := range each(docs[0], "Resources") {
		if text(r, "Type") == hns.ResourceContainer {
			doc := containerIn("Remove", text(r, "Data.Id"))
			_, _, _ = ask(backend, hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: id, Document: []byte(doc)})
		}
	}
}

// sweep deletes what an earlier run left behind.
func sweep(t *testing.T, h *Harness) {
	t.Helper()
	for _, left := range leftovers(t, h) {
		t.Logf("deleting %s %q of an earlier run", left.kind, left.name)
		remove(t, h.Backend, left.kind, left.id)
	}
}

type leftover struct {
	kind hns.Kind
	id   hns.ID
	name string
}

func (l leftover) String() string { return fmt.Sprintf("%s %s", l.kind, l.name) }

// leftovers lists the objects on the host that have names of the suite.
func leftovers(t *testing.T, h *Harness) (left []leftover) {
	t.Helper()
	for _, kind := range deletable {
		docs, code, err := ask(h.Backend, hns.Request{Verb: hns.VerbList, Kind: kind})
		if absent[code] {
			continue
		}
		if err != nil || code != 0 {
			t.Fatalf("list of %ss: %s, %v", kind, outcome(code), err)
		}
		for _, doc := range docs {
			name := text(doc, "Name")
			id, err := hns.ParseID(text(doc, "ID"))
			if err == nil && strings.HasPrefix(name, h.Prefix) {
				left = append(left, leftover{kind, id, name})
			}
		}
	}
	return left
}
