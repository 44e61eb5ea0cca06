package hns

import (
	"fmt"
	"slices"
	"strings"
)

var (
	_ EndpointPolicy = ACL{}
	_ EndpointPolicy = TierACL{}
	_ NetworkPolicy  = NetworkACL{}
)

// ACLAction is what a rule does with a packet (schema ActionType).
type ACLAction string

// The actions. Pass, in a [TierACL] alone, leaves the packet to the next tier
// (schema 2.10); in an [ACL] it is refused here.
const (
	ACLAllow ACLAction = "Allow"
	ACLBlock ACLAction = "Block"
	ACLPass  ACLAction = "Pass"
)

// Direction is the way of a packet as the endpoint sees it (schema
// DirectionType).
type Direction string

// The directions.
const (
	In  Direction = "In"  // to the endpoint
	Out Direction = "Out" // from the endpoint
)

// RuleType is who carries a rule out (schema RuleType).
type RuleType string

// The rule types.
const (
	RuleHost   RuleType = "Host"   // the Windows Filtering Platform of the node
	RuleSwitch RuleType = "Switch" // the virtual filtering platform of the switch
)

var (
	aclActionNames = []string{string(ACLAllow), string(ACLBlock)}
	actionNames    = []string{string(ACLAllow), string(ACLBlock), string(ACLPass)}
	directionNames = []string{string(In), string(Out)}
	ruleTypeNames  = []string{string(RuleHost), string(RuleSwitch)}
)

// The priorities of ACLs; the smaller number wins.
const (
	MinACLPriority = 100
	MaxACLPriority = 65500
)

// ACL allows or blocks packets of the endpoint (schema ACL). An endpoint
// without any lets everything out, and TCP, UDP, ICMP and IGMP in. On Windows
// Server 2025 a single block rule turns the default into block, in both
// directions: add an allow rule of the lowest priority beside it
// (microsoft/Windows-Containers#616).
type ACL struct {
	// ID is a name for the rule, for its owner. It need not be unique, and
	// takes HNS 7.2.
	ID string
	// Protocols are numbers as text, such as "6"; empty is any, and so is
	// "256". "252" stands for VXLAN and takes HNS 11.0. No client is known that
	// writes names here, so they are refused (rule "acl-protocol").
	Protocols []string
	// Action is needed.
	Action ACLAction
	// Direction is needed.
	Direction Direction
	// LocalAddresses and RemoteAddresses are addresses, prefixes, and ids of
	// the network's [SetPolicy]s; empty is any, and HNS takes no word for it.
	// What HNS makes of a prefix with host bits, such as 10.0.0.5/8, is not known
	// here: it is sent as it is.
	LocalAddresses, RemoteAddresses []string
	// LocalPorts and RemotePorts are ports and ranges such as "80-90"; empty
	// is any.
	LocalPorts, RemotePorts []string
	// RuleType says who carries the rule out; empty leaves it to HNS.
	RuleType RuleType
	// Priority is [MinACLPriority] to [MaxACLPriority], the smaller number
	// wins. Which of two equal ones wins is not defined. Zero for none, as
	// rules of type Host want it.
	Priority uint16
}

// PolicyType returns "ACL".
func (ACL) PolicyType() string    { return "ACL" }
func (ACL) endpointPolicy()       {}
func (p ACL) features() []Feature { return p.match().features() }
func (p ACL) settings() any {
	return struct {
		Id        string `json:",omitempty"`
		Protocols string `json:",omitempty"`
		Action    ACLAction
		Direction Direction
		wirePlaces
		RuleType RuleType `json:",omitempty"`
		Priority uint16   `json:",omitempty"`
	}{p.ID, joinList(p.Protocols), p.Action, p.Direction, p.match().wire(), p.RuleType, p.Priority}
}

func (p ACL) match() match {
	return match{p.Protocols, p.LocalAddresses, p.RemoteAddresses, p.LocalPorts, p.RemotePorts}
}

func (p ACL) check() []*FieldError {
	bad := checkEnum("Action", string(p.Action), aclActionNames)
	bad = append(bad, checkEnum("Direction", string(p.Direction), directionNames)...)
	bad = append(bad, p.match().check()...)
	if p.RuleType != "" {
		bad = append(bad, checkEnum("RuleType", string(p.RuleType), ruleTypeNames)...)
	}
	if p.Priority != 0 && (p.Priority < MinACLPriority || p.Priority > MaxACLPriority) {
		bad = append(bad, &FieldError{Path: "Priority", Value: fmt.Sprint(p.Priority),
			Reason: fmt.Sprintf("a priority is %d to %d, or 0 for none", MinACLPriority, MaxACLPriority), Rule: "acl-priority"})
	}
	return bad
}

func readACL(r reader) ACL {
	m := readMatch(r)
	return ACL{
		ID: r.str("Id"), Protocols: m.protocols,
		Action: ACLAction(r.enum("Action", actionNames)), Direction: Direction(r.enum("Direction", directionNames)),
		LocalAddresses: m.local, RemoteAddresses: m.remote, LocalPorts: m.localPorts, RemotePorts: m.remotePorts,
		RuleType: RuleType(r.enum("RuleType", ruleTypeNames)), Priority: uint16(r.uint("Priority", 16)),
	}
}

// NetworkACL is an [ACL] for all endpoints of a network (schema NetworkACL).
// HNS 15.0 and later.
type NetworkACL ACL

// PolicyType returns "NetworkACL".
func (NetworkACL) PolicyType() string     { return "NetworkACL" }
func (NetworkACL) networkPolicy()         {}
func (p NetworkACL) settings() any        { return ACL(p).settings() }
func (p NetworkACL) check() []*FieldError { return ACL(p).check() }
func (p NetworkACL) features() []Feature {
	return append(ACL(p).features(), FeatureNetworkACL)
}

// TierACL is a tier of ACLs (schema TierAcl). The tiers of a direction are
// asked in their order until a rule allows or blocks. HNS 14.0 and later.
type TierACL struct {
	// Name is the owner's name for the tier.
	Name string
	// Direction is needed.
	Direction Direction
	// Order among the tiers of the direction; the smaller number comes first.
	Order uint16
	// Rules of the tier; none leaves every packet to the next.
	Rules []TierACLRule
}

// TierACLRule is a rule of a [TierACL]. Its members are those of [ACL], but for
// the direction, which is the tier's.
type TierACLRule struct {
	ID                              string
	Protocols                       []string
	Action                          ACLAction // needed; may be [ACLPass]
	LocalAddresses, RemoteAddresses []string
	LocalPorts, RemotePorts         []string
	// Priority within the tier; the smaller number wins.
	Priority uint16
}

type wireTierRule struct {
	Id                string `json:",omitempty"`
	Protocols         string `json:",omitempty"`
	TierAclRuleAction ACLAction
	wirePlaces
	Priority uint16 `json:",omitempty"`
}

// PolicyType returns "TierAcl".
func (TierACL) PolicyType() string { return "TierAcl" }
func (TierACL) endpointPolicy()    {}
func (p TierACL) settings() any {
	w := struct {
		Name         string
		Direction    Direction
		Order        uint16
		TierAclRules []wireTierRule `json:",omitempty"`
	}{p.Name, p.Direction, p.Order, nil}
	for _, r := range p.Rules {
		w.TierAclRules = append(w.TierAclRules, wireTierRule{r.ID, joinList(r.Protocols), r.Action, r.match().wire(), r.Priority})
	}
	return w
}

func (r TierACLRule) match() match {
	return match{r.Protocols, r.LocalAddresses, r.RemoteAddresses, r.LocalPorts, r.RemotePorts}
}

func (p TierACL) features() []Feature {
	out := []Feature{FeatureTierACL}
	for _, r := range p.Rules {
		out = append(out, r.match().features()...)
	}
	return out
}

func (p TierACL) check() []*FieldError {
	bad := checkEnum("Direction", string(p.Direction), directionNames)
	for i, r := range p.Rules {
		of := append(checkEnum("TierAclRuleAction", string(r.Action), actionNames), r.match().check()...)
		bad = append(bad, under(fmt.Sprintf("TierAclRules[%d]", i), of)...)
	}
	return bad
}

func readTierACL(r reader) TierACL {
	p := TierACL{Name: r.str("Name"), Direction: Direction(r.enum("Direction", directionNames)), Order: uint16(r.uint("Order", 16))}
	r.list("TierAclRules", func(e reader) {
		m := readMatch(e)
		p.Rules = append(p.Rules, TierACLRule{
			ID: e.str("Id"), Protocols: m.protocols, Action: ACLAction(e.enum("TierAclRuleAction", actionNames)),
			LocalAddresses: m.local, RemoteAddresses: m.remote, LocalPorts: m.localPorts, RemotePorts: m.remotePorts,
			Priority: uint16(e.uint("Priority", 16)),
		})
	})
	return p
}

// checkEnum wants one of the schema's values, spelt as there.
func checkEnum(name, value string, names []string) []*FieldError {
	if slices.Contains(names, value) {
		return nil
	}
	reason := "not one of " + strings.Join(names, ", ")
	if value == "" {
		reason = "missing; one of " + strings.Join(names, ", ")
	}
	return []*FieldError{{Path: name, Value: clip(value, 64), Reason: reason, Rule: "enum"}}
}
