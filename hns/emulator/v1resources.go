package emulator

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// This file shows what schema 1 tells of the inside of HNS, as far as dumps of
// real nodes explain it.

// derived returns an id that belongs to another one and stays the same.
func derived(what string, id hns.ID) hns.ID {
	sum := sha256.Sum256(append([]byte(what), id[:]...))
	return guid([16]byte(sum[:16]))
}

// resourcesV1 returns the member Resources of an object: what HNS did to make
// it, step by step.
func (tx *tx) resourcesV1(id hns.ID, allocators []object) json.RawMessage {
	elems := []json.RawMessage{}
	for i, a := range allocators {
		a = append(a, member{"AdditionalParams", json.RawMessage("{}")}, member{"AllocationOrder", number(uint64(i))},
			member{"Health", json.RawMessage(`{"LastErrorCode":0}`)}, member{"State", number(3)})
		elems = append(elems, sorted(a).bytes())
	}
	o := object{
		{"AdditionalParams", json.RawMessage("{}")}, {"AllocationOrder", number(uint64(len(allocators)))},
		{"Allocators", list(elems)}, {"CompartmentOperationTime", number(0)}, {"Flags", number(0)},
		{"Health", json.RawMessage(`{"LastErrorCode":0}`)}, {"ID", tx.idV1(derived("activity", id))},
		{"PortOperationTime", number(0)}, {"State", number(1)}, {"SwitchOperationTime", number(0)}, {"VfpOperationTime", number(0)},
	}
	return o.bytes()
}

// defaultACLs are the rules that HNS puts behind those of an endpoint, so that
// what no rule forbids passes.
var defaultACLs = []json.RawMessage{
	json.RawMessage(`{"Action":"Allow","Direction":"In","Priority":65500,"Type":"ACL"}`),
	json.RawMessage(`{"Action":"Allow","Direction":"Out","Priority":65500,"Type":"ACL"}`),
}

// allocators returns the steps that gave an endpoint its switch port.
func (e *endpoint) allocators() []object {
	if e.remote() || !e.attached() {
		return nil
	}
	var rules []json.RawMessage
	for _, p := range e.policies {
		if p.kind == "ACL" {
			rules = append(rules, p.v1())
		}
	}
	rules = slices.Concat(rules, defaultACLs)
	return []object{
		{{"Tag", quote("Endpoint Port")}},
		{{"IsPolicy", boolean(true)}, {"Rules", list(rules)}, {"Tag", quote("ACL Policy")}},
	}
}
