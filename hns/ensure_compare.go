package hns

import (
	"fmt"
	"slices"
	"strings"
)

// CompareNetworks returns what want sets and got has not: name, type, flags,
// subnets with their routes and policies, MAC pool, DNS and policies. Subnets
// that got has beside those of want are differences too, if want has any. A
// policy that is legal at create only is compared with those of its type; if got
// shows none, it may be there all the same and is no difference. IDs are
// compared where want has one. A nil want sets nothing, a nil got has nothing.
func CompareNetworks(want, got *Network) []Difference {
	want, got = orZero(want), orZero(got)
	return slices.Concat(compareFixed(want, got), compareDNS(want.DNS, got.DNS), planPolicies(want.Policies, got.Policies).diffs)
}

// compareFixed compares what HNS cannot change in place.
func compareFixed(want, got *Network) []Difference {
	var diffs []Difference
	add := func(path, w, g string) {
		if w != "" && w != g {
			diffs = append(diffs, Difference{path, w, g})
		}
	}
	add("ID", idText(want.ID), idText(got.ID))
	add("Name", want.Name, got.Name)
	add("Type", string(want.Type), string(got.Type))
	if want.Flags&^got.Flags != 0 {
		add("Flags", fmt.Sprint(want.Flags), fmt.Sprint(got.Flags))
	}
	diffs = append(diffs, compareSubnets(want, got)...)
	for i, m := range want.MACPool {
		if !slices.Contains(got.MACPool, m) {
			add(fmt.Sprintf("MacPool.Ranges[%d]", i), rangeText(m), rangeTexts(got.MACPool))
		}
	}
	for i, w := range want.Policies {
		if noValue(w) != nil || isLive(w) {
			continue
		}
		diffs = append(diffs, compareCreated(i, w, got.Policies)...)
	}
	return diffs
}

// compareCreated compares a policy that is legal at create only.
func compareCreated(i int, w NetworkPolicy, got []NetworkPolicy) []Difference {
	var others []NetworkPolicy
	for _, g := range got {
		if noValue(g) != nil || !strings.EqualFold(w.PolicyType(), g.PolicyType()) {
			continue
		}
		if holdsPolicy(w, g) || sameAdapterName(w, g) {
			return nil
		}
		others = append(others, g)
	}
	if len(others) == 0 {
		return nil
	}
	return []Difference{{policyPath(i, w), settingsText(w), texts(others)}}
}

// sameAdapterName compares the names of adapters as Windows does.
func sameAdapterName(w, g NetworkPolicy) bool {
	a, okA := typed(w, networkPolicies).(NetAdapterName)
	b, okB := typed(g, networkPolicies).(NetAdapterName)
	return okA && okB && strings.EqualFold(a.Name, b.Name)
}

// compareSubnets compares all of them if want has any.
func compareSubnets(want, got *Network) []Difference {
	var diffs []Difference
	used := map[int]bool{}
	subnets := got.Subnets()
	for i, ipam := range want.IPAMs {
		for j, w := range ipam.Subnets {
			at := fmt.Sprintf("Ipams[%d].Subnets[%d]", i, j)
			k := slices.IndexFunc(subnets, func(g Subnet) bool { return g.Prefix == w.Prefix })
			if k < 0 || used[k] {
				diffs = append(diffs, Difference{at + ".IpAddressPrefix", prefixText(w.Prefix), subnetTexts(subnets)})
				continue
			}
			used[k] = true
			diffs = append(diffs, compareSubnet(at, w, subnets[k])...)
		}
	}
	if len(want.Subnets()) == 0 || len(diffs) > 0 { // the message lists all subnets already
		return diffs
	}
	for k, g := range subnets {
		if !used[k] {
			diffs = append(diffs, Difference{"Ipams subnet " + prefixText(g.Prefix), "", prefixText(g.Prefix)})
		}
	}
	return diffs
}

func compareSubnet(at string, w, g Subnet) []Difference {
	var diffs []Difference
	for i, r := range w.Routes {
		if !slices.ContainsFunc(g.Routes, func(x Route) bool {
			return x.NextHop == r.NextHop && x.DestinationPrefix == r.DestinationPrefix && (r.Metric == 0 || r.Metric == x.Metric)
		}) {
			diffs = append(diffs, Difference{fmt.Sprintf("%s.Routes[%d]", at, i), routeText(r), routeTexts(g.Routes)})
		}
	}
	for i, p := range w.IPSubnets {
		if !slices.ContainsFunc(g.IPSubnets, func(x IPSubnet) bool { return x.Prefix == p.Prefix && p.Flags&^x.Flags == 0 }) {
			diffs = append(diffs, Difference{fmt.Sprintf("%s.IpSubnets[%d]", at, i), prefixText(p.Prefix), ipSubnetTexts(g.IPSubnets)})
		}
	}
	for i, p := range w.Policies {
		if noValue(p) == nil && !slices.ContainsFunc(g.Policies, func(x SubnetPolicy) bool { return holdsPolicy(p, x) }) {
			diffs = append(diffs, Difference{at + "." + policyPath(i, p), settingsText(p), policyTexts(p.PolicyType(), g.Policies)})
		}
	}
	if w.Flags&^g.Flags != 0 {
		diffs = append(diffs, Difference{at + ".Flags", fmt.Sprint(w.Flags), fmt.Sprint(g.Flags)})
	}
	return diffs
}

// policyTexts returns the settings of the policies of one type.
func policyTexts[P policy](typeName string, ps []P) string {
	var of []P
	for _, p := range ps {
		if noValue(p) == nil && strings.EqualFold(p.PolicyType(), typeName) {
			of = append(of, p)
		}
	}
	return texts(of)
}

func subnetTexts(ss []Subnet) string {
	var out []string
	for _, s := range ss {
		out = append(out, prefixText(s.Prefix))
	}
	return strings.Join(out, ", ")
}

func ipSubnetTexts(ss []IPSubnet) string {
	var out []string
	for _, s := range ss {
		out = append(out, prefixText(s.Prefix))
	}
	return strings.Join(out, ", ")
}

func rangeText(m MACRange) string { return m.Start.String() + ".." + m.End.String() }

func rangeTexts(ms []MACRange) string {
	var out []string
	for _, m := range ms {
		out = append(out, rangeText(m))
	}
	return strings.Join(out, ", ")
}

func compareDNS(want, got DNS) []Difference {
	var diffs []Difference
	add := func(path, w, g string) {
		if w != "" && w != g {
			diffs = append(diffs, Difference{path, w, g})
		}
	}
	add("Dns.Domain", want.Domain, got.Domain)
	add("Dns.Search", strings.Join(want.Search, ","), strings.Join(got.Search, ","))
	add("Dns.ServerList", strings.Join(want.ServerList, ","), strings.Join(got.ServerList, ","))
	add("Dns.Options", strings.Join(want.Options, ","), strings.Join(got.Options, ","))
	return diffs
}

// mergeDNS is want, and got where want says nothing.
func mergeDNS(want, got DNS) DNS {
	if want.Domain == "" {
		want.Domain = got.Domain
	}
	for _, l := range []struct{ w, g *[]string }{{&want.Search, &got.Search}, {&want.ServerList, &got.ServerList}, {&want.Options, &got.Options}} {
		if len(*l.w) == 0 {
			*l.w = *l.g
		}
	}
	return want
}
