package hns

var _ NetworkPolicy = SetPolicy{}

// SetType is the type of a [SetPolicy] (schema SetPolicyType).
type SetType string

// The types of sets.
const (
	SetIP     SetType = "IPSET"       // of addresses
	SetNested SetType = "NESTEDIPSET" // of other sets
)

var setTypeNames = []string{string(SetIP), string(SetNested)}

// SetPolicy is a set of addresses of a network that ACLs name by its id (schema
// SetPolicy). It is made and changed on a live network, with
// [NetworkService.AddPolicies] and so on. HNS 13.0 and later; a set of sets is
// known to work there too, although hcsshim asks for 15.0
// ([FeatureNestedIPSet]).
//
// Sets come before the nested sets that name them, and go after those. An
// Update of a set that is not there is passed over without an error.
type SetPolicy struct {
	// ID is any text that is unique on the network; needed.
	ID string
	// Name is for people.
	Name string
	// Type is needed.
	Type SetType
	// Values are addresses and prefixes, or of a nested set the ids of sets.
	// Empty is a set of nothing.
	Values []string
}

// PolicyType returns "SetPolicy".
func (SetPolicy) PolicyType() string  { return "SetPolicy" }
func (SetPolicy) networkPolicy()      {}
func (SetPolicy) features() []Feature { return []Feature{FeatureSetPolicy} }
func (p SetPolicy) settings() any {
	return struct {
		Id         string
		Name       string
		PolicyType SetType
		Values     string
	}{p.ID, p.Name, p.Type, joinList(p.Values)}
}

func (p SetPolicy) check() []*FieldError {
	var bad []*FieldError
	if p.ID == "" {
		bad = append(bad, &FieldError{Path: "Id", Reason: "missing"})
	}
	bad = append(bad, checkEnum("PolicyType", string(p.Type), setTypeNames)...)
	judge := func(s string) string {
		switch {
		case s == "":
			return "empty element"
		case p.Type == SetIP && !isPlace(s):
			return notPlace
		}
		return ""
	}
	return append(bad, checkEach("Values", p.Values, "set-value", judge)...)
}

func readSetPolicy(r reader) SetPolicy {
	return SetPolicy{
		ID: r.str("Id"), Name: r.str("Name"), Type: SetType(r.enum("PolicyType", setTypeNames)), Values: splitList(r.str("Values")),
	}
}
