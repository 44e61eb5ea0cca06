package hns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Difference is a value that is not as wanted.
type Difference struct {
	// Path leads to the value, such as "IpConfigurations[0].IpAddress".
	Path string
	// Want and Got are the values as text; empty: absent.
	Want, Got string
}

// String returns "path: want x, got y".
func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.Path, orNone(d.Want), orNone(d.Got))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// Verify compares the endpoint named want.Name with want: everything that want
// sets must be there, what it leaves zero may be anything. It also must be in
// the namespace, by its own word and by the namespace's, and attached. All
// differences are returned, a namespace that is gone among them; an endpoint
// that is missing is ErrNotFound, several of the name are ErrAmbiguous. Endpoints
// that stand for another node's do not count.
func (c *Client) Verify(ctx context.Context, want *Endpoint, namespace ID) ([]Difference, error) {
	if want == nil || namespace.IsZero() {
		return nil, &Error{Op: "verify endpoint", Err: &FieldError{Reason: "an endpoint and a namespace are needed"}}
	}
	found, err := c.localNamed(ctx, want.Name)
	if err != nil {
		return nil, err
	}
	got, err := onlyOne(endpointKind, want.Name, found)
	if err != nil {
		return nil, err
	}
	diffs := CompareEndpoints(want, got)
	state, err := c.Endpoints.stateOf(ctx, got)
	if err != nil {
		return nil, err
	}
	if !isAttached(state) {
		diffs = append(diffs, Difference{"State", EndpointAttached.String(), state.String()})
	}
	if got.Namespace != namespace {
		diffs = append(diffs, Difference{"HostComputeNamespace", namespace.String(), idText(got.Namespace)})
		return diffs, nil
	}
	ns, err := c.Namespaces.ByID(ctx, namespace)
	if errors.Is(err, ErrNotFound) {
		return append(diffs, Difference{"namespace", namespace.String(), ""}), nil
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ns.Endpoints(), got.ID) {
		diffs = append(diffs, Difference{"namespace " + namespace.String() + " Resources", got.ID.String(), ""})
	}
	return diffs, nil
}

// CompareEndpoints returns what want sets and got has not. ID, Namespace and
// State are not compared. A nil want sets nothing, a nil got has nothing.
func CompareEndpoints(want, got *Endpoint) []Difference {
	want, got = orZero(want), orZero(got)
	var diffs []Difference
	add := func(path, w, g string) {
		if w != "" && w != g {
			diffs = append(diffs, Difference{path, w, g})
		}
	}
	add("Name", want.Name, got.Name)
	add("HostComputeNetwork", idText(want.Network), idText(got.Network))
	add("MacAddress", want.MAC.String(), got.MAC.String())
	if want.Flags&^got.Flags != 0 {
		diffs = append(diffs, Difference{"Flags", fmt.Sprint(want.Flags), fmt.Sprint(got.Flags)})
	}
	for i, w := range want.IPConfigs {
		at := fmt.Sprintf("IpConfigurations[%d]", i)
		j := slices.IndexFunc(got.IPConfigs, func(g IPConfig) bool { return g.Address == w.Address })
		if j < 0 {
			diffs = append(diffs, Difference{at + ".IpAddress", addrText(w.Address), joinTexts(got.Addresses())})
		} else if g := got.IPConfigs[j]; w.PrefixLength != 0 && w.PrefixLength != g.PrefixLength {
			diffs = append(diffs, Difference{at + ".PrefixLength", fmt.Sprint(w.PrefixLength), fmt.Sprint(g.PrefixLength)})
		}
	}
	for i, w := range want.Routes {
		if !slices.ContainsFunc(got.Routes, func(g Route) bool {
			return g.NextHop == w.NextHop && g.DestinationPrefix == w.DestinationPrefix && (w.Metric == 0 || w.Metric == g.Metric)
		}) {
			diffs = append(diffs, Difference{fmt.Sprintf("Routes[%d]", i), routeText(w), routeTexts(got.Routes)})
		}
	}
	add("Dns.Domain", want.DNS.Domain, got.DNS.Domain)
	add("Dns.Search", strings.Join(want.DNS.Search, ","), strings.Join(got.DNS.Search, ","))
	add("Dns.ServerList", strings.Join(want.DNS.ServerList, ","), strings.Join(got.DNS.ServerList, ","))
	add("Dns.Options", strings.Join(want.DNS.Options, ","), strings.Join(got.DNS.Options, ","))
	return append(diffs, comparePolicies(want.Policies, got.Policies)...)
}

// orZero returns the zero value for nil.
func orZero[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// comparePolicies wants each policy of want, as often as it is there.
func comparePolicies(want, got []EndpointPolicy) []Difference {
	var diffs []Difference
	used := make([]bool, len(got))
next:
	for i, w := range want {
		text := policyText(w)
		var others []string
		for j, g := range got {
			if noValue(w) != nil || noValue(g) != nil || !strings.EqualFold(w.PolicyType(), g.PolicyType()) {
				continue
			}
			if !used[j] && sameJSON([]byte(text), []byte(policyText(g))) {
				used[j] = true
				continue next
			}
			others = append(others, policyText(g))
		}
		path := fmt.Sprintf("Policies[%d]", i)
		if noValue(w) == nil {
			path += " " + w.PolicyType()
		}
		diffs = append(diffs, Difference{path, text, strings.Join(others, " ")})
	}
	return diffs
}

// policyText returns the settings as JSON, or why there are none.
func policyText(p EndpointPolicy) string {
	if bad := noValue(p); bad != nil {
		return bad.Error()
	}
	b, err := encode(p.settings())
	if err != nil {
		return strconv.Quote(err.Error())
	}
	return string(b)
}

func joinTexts[T fmt.Stringer](l []T) string {
	var out []string
	for _, v := range l {
		out = append(out, v.String())
	}
	return strings.Join(out, ",")
}

func routeText(r Route) string {
	s := prefixText(r.DestinationPrefix) + " via " + addrText(r.NextHop)
	if r.Metric != 0 {
		s += fmt.Sprintf(" metric %d", r.Metric)
	}
	return s
}

func routeTexts(rs []Route) string {
	var out []string
	for _, r := range rs {
		out = append(out, routeText(r))
	}
	return strings.Join(out, ", ")
}
