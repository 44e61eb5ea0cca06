package emulator

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

// This file stands between package v1doc, which turns documents of one schema
// into those of the other, and the store, which knows what no document says.

// readDocument reads the body of a create in schema 2. One without
// SchemaVersion is of schema 1, and is returned as it came, too.
func readDocument(kind hns.Kind, doc json.RawMessage) (o, v1 object, err error) {
	o, err = parseObject(doc)
	if err != nil {
		return nil, nil, failure(hns.CodeInvalidJSON)
	}
	r := reader{object: o}
	v := r.sub("SchemaVersion")
	major := v.uint32("Major")
	v.uint32("Minor")
	if r.bad || v.bad || major > 2 {
		return nil, nil, failure(hns.CodeInvalidJSON)
	}
	if major >= 2 {
		return o, nil, nil
	}
	text, err := v1doc.ToV2(kind, o.bytes())
	if err != nil {
		return nil, nil, refusal(err)
	}
	return parsed(text), o, nil
}

// refusal returns the code of HNS for what v1doc says of a document.
func refusal(err error) error {
	var first hns.FieldError
	if found := hns.FieldErrors(err); len(found) > 0 {
		first = *found[0]
	}
	switch first.Rule {
	case v1doc.RulePolicy:
		return failure(hns.CodeInvalidPolicy)
	case v1doc.RulePolicyType:
		return failure(hns.CodeInvalidPolicyType)
	}
	return failure(hns.CodeInvalidJSON)
}

// networkDocument reads the body of a network's create. typeText is the type
// as a schema 1 body spells it, which schema 1 echoes.
func networkDocument(doc json.RawMessage) (o object, typeText string, err error) {
	o, v1, err := readDocument(hns.KindNetwork, doc)
	if v1 != nil {
		_ = json.Unmarshal(v1.get("Type"), &typeText) // a number is no spelling
	}
	return o, typeText, err
}

// endpointDocument reads the body of an endpoint's create. Schema 1 may name
// the network by its name.
func (tx *tx) endpointDocument(doc json.RawMessage) (object, error) {
	o, v1, err := readDocument(hns.KindEndpoint, doc)
	r := reader{object: v1}
	name := r.str("VirtualNetworkName")
	if err != nil || name == "" || nonEmpty(v1.get("VirtualNetwork")) != nil {
		return o, err
	}
	ns := tx.networksNamed(name, tx.opts.NetworkNamesIgnoreCase)
	if len(ns) == 0 {
		return nil, failure(hns.CodeNetworkNotFound)
	}
	return o.with("HostComputeNetwork", quote(ns[0].id.String())), nil
}

// namespaceDocument reads the body of a namespace's create.
func namespaceDocument(doc json.RawMessage) (object, error) {
	if strings.TrimSpace(string(doc)) == "" {
		return object{}, nil
	}
	o, _, err := readDocument(hns.KindNamespace, doc)
	return o, err
}

// listDocument reads the body of a policy list's create or modify. references
// are those of a schema 1 body, as it spells them; nil for schema 2.
func listDocument(kind hns.Kind, doc json.RawMessage) (o object, references []string, err error) {
	o, v1, err := readDocument(kind, doc)
	if err != nil || v1 == nil {
		return o, nil, err
	}
	r := reader{object: v1}
	references = r.strings("References")
	if r.bad {
		return nil, nil, failure(hns.CodeInvalidJSON)
	}
	return o, references, nil
}

// toV1 returns a document of schema 2 in schema 1, as HNS shows it: what schema 1
// has no member for is left out.
func (tx *tx) toV1(kind hns.Kind, doc json.RawMessage) object {
	text, _ := v1doc.ToV1(kind, doc)
	return tx.shownV1(parsed(text))
}

// shownV1 spells the ids of an object, orders the members of those in it, and
// adds what HNS shows of each subnet.
func (tx *tx) shownV1(o object) object {
	for i, m := range slices.Clone(o) {
		r := reader{object: object{m}}
		switch m.name {
		case "ID", "VirtualNetwork", "HostComputeNetwork", "IPSubnetId":
			if id, err := hns.ParseID(r.str(m.name)); err == nil {
				o[i].value = tx.idV1(id)
			}
		case "Namespace":
			o[i].value = tx.shownV1(parsed(m.value)).bytes()
		case "MacPools", "Subnets", "IpSubnets":
			elems := []json.RawMessage{}
			for _, e := range r.objects(m.name) {
				x := tx.shownV1(e.object)
				switch m.name {
				case "Subnets":
					x = append(x.orEmptyList("Policies"), member{"ObjectType", number(5)})
					if !hasIPSubnets.has(tx.version) {
						x = x.with("IpSubnets", nil)
					}
				case "IpSubnets":
					x = append(x, member{"ObjectType", number(6)})
				}
				elems = append(elems, sorted(x).bytes())
			}
			if !r.bad { // of a dump, it stays as it is
				o[i].value = list(elems)
			}
		}
	}
	return o
}

// policiesFromV1 returns policies of schema 1 in schema 2.
func policiesFromV1(raws []json.RawMessage) ([]json.RawMessage, error) {
	out, err := v1doc.PoliciesToV2(raws)
	if err != nil {
		return nil, refusal(err)
	}
	return out, nil
}

// v1 returns the policy in schema 1.
func (p policy) v1() json.RawMessage { return v1doc.PolicyToV1(p.raw) }
