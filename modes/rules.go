package modes

import (
	"reflect"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// On is the kind of object that a rule is about.
type On string

// The kinds of objects. Load balancers have no policies; their one rule, of the
// empty type, says whether the mode has them.
const (
	OnNetwork      On = "network"
	OnSubnet       On = "subnet"
	OnEndpoint     On = "endpoint"
	OnLoadBalancer On = "load balancer"
)

// Verdict is what a mode makes of a policy.
type Verdict string

// The verdicts.
const (
	// Required: pods cannot be reached without it, or HNS refuses the object.
	Required Verdict = "required"
	// Legal: HNS takes it, and it works.
	Legal Verdict = "legal"
	// Harmless: HNS takes it, and it does nothing.
	Harmless Verdict = "harmless"
	// Forbidden: HNS refuses it.
	Forbidden Verdict = "forbidden"
	// Unknown: nothing is known of HNS taking it or not.
	Unknown Verdict = "unknown"
)

// Certainty is how sure a rule is, in the words of the emulator's BEHAVIOUR.md.
type Certainty string

// The certainties, the surest first. An [Unknown] verdict has none.
const (
	// Documented in Microsoft's reference, or by Kubernetes.
	Documented Certainty = "documented"
	// Tested by a test that is written to run against the real HNS.
	Tested Certainty = "tested"
	// Seen in a public log, dump or issue.
	Seen Certainty = "seen"
	// ByClient is inferred from what a shipping client does.
	ByClient Certainty = "client"
	// Assumed by us.
	Assumed Certainty = "assumed"
)

// Rule is what a mode makes of a type of policy.
type Rule struct {
	Mode Mode
	On   On
	// Type is the type of the policy, in HNS's spelling where it is known.
	Type    string
	Verdict Verdict
	// Certainty is empty for an [Unknown] verdict.
	Certainty Certainty
	// Source says where the verdict comes from.
	Source string
	// Reason says why, or what there is to know.
	Reason string
	// Fix says what to do about a policy that is forbidden or harmless, or that
	// is missing although required; empty for the other verdicts.
	Fix string
	// Feature is what HNS must have for the policy, whatever the mode; the zero
	// Feature is for what every HNS has.
	Feature hns.Feature
	// InSchema is whether the HNS schema has the type for such objects.
	InSchema bool
}

// Rule returns what the mode makes of policies of a type on an object. Letter
// case of the type is ignored. A type that the schema lacks there is forbidden:
// HNS answers HCN_E_INVALID_POLICY_TYPE; Fix then has the schema 2 name if it
// is one of schema 1. What is no mode has [Unknown] rules alone.
func (m Mode) Rule(on On, policyType string) Rule {
	for _, row := range ruleTable() {
		if row.on == on && strings.EqualFold(row.policyType, policyType) {
			return row.rule(m)
		}
	}
	r := Rule{Mode: m, On: on, Type: policyType, Verdict: Forbidden, Certainty: Seen,
		Source: "HNS schema; microsoft/Windows-Containers#360",
		Reason: "the schema has no such policy of a " + string(on), Fix: "remove it"}
	if name, ok := schema1Types[strings.ToLower(policyType)]; ok {
		r.Reason, r.Fix = "a name of schema 1", "write "+name+", with its members inside Settings"
	}
	if !m.known() {
		r.Verdict, r.Certainty, r.Source, r.Reason, r.Fix = Unknown, "", "", "not one of the five modes", ""
	}
	return r
}

// Rules returns the rules for every type of the schema: those of the network,
// of its subnets, of endpoints, and of load balancers.
func (m Mode) Rules() []Rule {
	var out []Rule
	for _, row := range ruleTable() {
		out = append(out, row.rule(m))
	}
	return out
}

// schema1Types are policy types of schema 1, in small letters, by their name in
// schema 2 (projectcalico/calico#8465, microsoft/Windows-Containers#360).
var schema1Types = map[string]string{
	"nat": "PortMapping", "pa": "ProviderAddress", "route": "SDNRoute", "proxy": "L4Proxy",
	"isolation": "VSID or VLAN, on the subnet", "elb": "a load balancer", "vnet": "ProviderAddress",
}

// typeOf returns the type of a policy; false for nil and for a pointer, which
// are no policies, and on which a call would panic.
func typeOf(p interface{ PolicyType() string }) (string, bool) {
	if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer {
		return "", false
	}
	return p.PolicyType(), true
}

// cell is one verdict of the table.
type cell struct {
	verdict   Verdict
	certainty Certainty
	source    string
	reason    string
	fix       string
}

// ruleRow is a type of policy and what the modes make of it. L2Tunnel is
// L2Bridge on another host, and has the same rules unless it has its own.
type ruleRow struct {
	on         On
	policyType string
	feature    hns.Feature

	bridge, overlay, transparent, nat cell
	tunnel                            *cell
}

func (row ruleRow) rule(m Mode) Rule {
	c := cell{verdict: Unknown, reason: "not one of the five modes"}
	switch {
	case m == L2Bridge:
		c = row.bridge
	case m == L2Tunnel && row.tunnel != nil:
		c = *row.tunnel
	case m == L2Tunnel:
		c = row.bridge
		if c.verdict != Unknown {
			c.certainty, c.source = Assumed, "as on L2Bridge, of which Kubernetes calls L2Tunnel a special case; there: "+c.source
		}
	case m == Overlay:
		c = row.overlay
	case m == Transparent:
		c = row.transparent
	case m == NAT:
		c = row.nat
	}
	f := row.feature
	f.Versions = slices.Clone(f.Versions)
	return Rule{Mode: m, On: row.on, Type: row.policyType, Verdict: c.verdict, Certainty: c.certainty,
		Source: c.source, Reason: c.reason, Fix: c.fix, Feature: f, InSchema: true}
}

func legal(c Certainty, source, reason string) cell {
	return cell{verdict: Legal, certainty: c, source: source, reason: reason}
}

func required(c Certainty, source, reason, fix string) cell {
	return cell{Required, c, source, reason, fix}
}

func harmless(c Certainty, source, reason string) cell {
	return cell{Harmless, c, source, reason, "remove it"}
}

func forbidden(c Certainty, source, reason, fix string) cell {
	return cell{Forbidden, c, source, reason, fix}
}

func unknown(reason string) cell { return cell{verdict: Unknown, reason: reason} }
