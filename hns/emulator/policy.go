package emulator

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// policy is a policy of a network or an endpoint.
type policy struct {
	kind     string          // the type, in HNS's spelling
	settings json.RawMessage // compact, members as they were given; nil if absent
	raw      json.RawMessage // the whole {Type, Settings}
	port     portKey         // of a port mapping with an external port
	vip      string          // of a port mapping
	degraded bool            // HNS takes it, and the endpoint cannot be attached
}

// newPolicy makes a policy out of its parts.
func newPolicy(kind string, settings json.RawMessage) policy {
	o := object{{"Type", quote(kind)}}
	o.add("Settings", settings)
	return policy{kind: kind, settings: settings, raw: o.bytes()}
}

// portKey is what two port mappings of a host must not share, unless they
// name different addresses.
type portKey struct {
	protocol uint32
	port     uint16
	v6       bool
}

// Places in which a policy stands.
const (
	inCreate = iota // the create of its object
	inModify        // a modify request
)

// check holds what a policy's settings are judged by.
type check struct {
	*tx
	network *network
	where   int
	p       *policy
	reader  // the settings
}

// policyType is a row of a table of policy types.
type policyType struct {
	name     string
	since    versions // when HNS learnt it; nil: always
	bare     bool     // may stand without Settings
	only     int      // inCreate or inModify +1 when only legal there; 0 both
	settings func(*check) error
}

// policyTable holds the policy types of one kind of object by lower-case name.
type policyTable map[string]policyType

func tableOf(types ...policyType) policyTable {
	t := policyTable{}
	for _, p := range types {
		t[strings.ToLower(p.name)] = p
	}
	return t
}

// readPolicies reads and judges the policies of a create or modify request.
func (tx *tx) readPolicies(t policyTable, n *network, where int, raws []json.RawMessage) ([]policy, error) {
	var out []policy
	for _, raw := range raws {
		p, err := tx.readPolicy(t, n, where, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (tx *tx) readPolicy(t policyTable, n *network, where int, raw json.RawMessage) (policy, error) {
	o, err := parseObject(raw)
	if err != nil {
		return policy{}, failure(hns.CodeInvalidPolicy)
	}
	r := reader{object: o}
	name := r.str("Type")
	typ, ok := t[strings.ToLower(name)]
	if r.bad || !ok || typ.since != nil && !typ.since.has(tx.version) || typ.only != 0 && typ.only != where+1 {
		return policy{}, failure(hns.CodeInvalidPolicyType)
	}
	settings := o.get("Settings")
	if settings == nil && !typ.bare {
		return policy{}, failure(hns.CodeInvalidPolicy)
	}
	p := newPolicy(typ.name, settings)
	var so object
	if settings != nil {
		if so, err = parseObject(settings); err != nil {
			return policy{}, failure(hns.CodeInvalidPolicy)
		}
	}
	if typ.settings != nil {
		c := &check{tx: tx, network: n, where: where, p: &p, reader: reader{object: so}}
		if err := typ.settings(c); err != nil {
			return policy{}, err
		}
		if c.bad {
			return policy{}, failure(hns.CodeInvalidPolicy)
		}
	}
	return p, nil
}

// loadPolicies reads the policies of a dump without judging them. ok is false
// when they are not a list of objects; they are then kept as they stand.
func loadPolicies(t policyTable, raw json.RawMessage) ([]policy, bool) {
	var elems []json.RawMessage
	if json.Unmarshal(raw, &elems) != nil {
		return nil, false
	}
	var out []policy
	for _, e := range elems {
		o, err := parseObject(e)
		if err != nil {
			return nil, false
		}
		r := reader{object: o}
		p := policy{kind: r.str("Type"), settings: o.get("Settings"), raw: o.bytes()}
		if typ, ok := t[strings.ToLower(p.kind)]; ok {
			p.kind = typ.name
		}
		if p.kind == "PortMapping" {
			if so, err := parseObject(p.settings); err == nil {
				readPortMapping(&reader{object: so}, &p)
			}
		}
		out = append(out, p)
	}
	return out, true
}

// Request types of a modify request, in the order of their numbers.
var requestTypes = []string{"Add", "Remove", "Update", "Refresh", "Reset"}

const (
	requestAdd = iota
	requestRemove
	requestUpdate
	requestRefresh
)

// without returns the policies except those of the types in ps; all of them
// are dropped with the switch UpdateReplacesAll.
func (tx *tx) without(old, ps []policy) []policy {
	if tx.opts.UpdateReplacesAll {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(old), func(p policy) bool {
		return slices.ContainsFunc(ps, func(q policy) bool { return q.kind == p.kind })
	})
}

// degraded reports whether one of the policies makes its endpoint degraded.
func degraded(ps []policy) bool {
	return slices.ContainsFunc(ps, func(p policy) bool { return p.degraded })
}

// checkPorts looks for a port mapping that clashes with another one of the
// host, or with one before it in the list. self is the endpoint that holds
// the list.
func (tx *tx) checkPorts(self hns.ID, ps []policy) error {
	for i, p := range ps {
		if p.port == (portKey{}) {
			continue
		}
		for _, q := range ps[:i] {
			if clash(p, q) {
				return failure(hns.CodePortExists)
			}
		}
		for id := range tx.byPort[p.port] {
			if id != self && slices.ContainsFunc(tx.endpoints[id].policies, func(q policy) bool { return clash(p, q) }) {
				return failure(hns.CodePortExists)
			}
		}
		if slices.Contains(tx.opts.Listeners, Listener{Protocol: p.port.protocol, Port: p.port.port}) {
			return failure(hns.CodeSharingViolation)
		}
	}
	return nil
}

// clash reports whether two port mappings want the same port of the host. A
// mapping without VIP wants it on every address.
func clash(p, q policy) bool {
	return p.port != (portKey{}) && p.port == q.port && (p.vip == q.vip || p.vip == "" || q.vip == "")
}
