package flows_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

func rule(a hns.ACLAction, d hns.Direction, priority uint16, change ...func(*hns.ACL)) hns.ACL {
	r := hns.ACL{Action: a, Direction: d, Priority: priority}
	for _, f := range change {
		f(&r)
	}
	return r
}

func remotely(where ...string) func(*hns.ACL) {
	return func(r *hns.ACL) { r.RemoteAddresses = where }
}

func protocol(p string) func(*hns.ACL) { return func(r *hns.ACL) { r.Protocols = []string{p} } }

// TestACLs: order, direction, priority, ports, addresses, sets, tiers.
func TestACLs(t *testing.T) {
	to := flows.Packet{From: client, To: flows.Target{Address: web2}, DstPort: 80}
	sets := func(sets ...hns.SetPolicy) func(*testing.T, *flows.Cluster) {
		return func(t *testing.T, c *flows.Cluster) {
			n := network(t, c, mixedcluster.Win1)
			n.Policies = slices.Clone(n.Policies)
			for _, s := range sets {
				n.Policies = append(n.Policies, s)
			}
		}
	}
	tier := func(order uint16, name string, rules ...hns.TierACLRule) hns.TierACL {
		return hns.TierACL{Name: name, Direction: hns.Out, Order: order, Rules: rules}
	}
	only := func(rules ...hns.EndpointPolicy) func(*testing.T, *flows.Cluster) {
		return add(mixedcluster.Client, rules...)
	}
	// out adds what lets everything else out, as those who write rules do.
	out := func(rules ...hns.EndpointPolicy) func(*testing.T, *flows.Cluster) {
		return only(append([]hns.EndpointPolicy{rule(hns.ACLAllow, hns.Out, 65500)}, rules...)...)
	}
	block, allow := rule(hns.ACLBlock, hns.Out, 500), rule(hns.ACLAllow, hns.Out, 400)
	cases := []struct {
		name   string
		change func(*testing.T, *flows.Cluster)
		want   string
	}{
		{"none", nil, "arrived"},
		{"block everything out", out(block), "blocked"},
		{"an allow of a smaller number wins", out(block, allow), "arrived"},
		{"an allow of a larger number does not", out(rule(hns.ACLBlock, hns.Out, 300), allow), "blocked"},
		{"other direction", out(rule(hns.ACLBlock, hns.In, 300)), "arrived"},
		{"other protocol", out(rule(hns.ACLBlock, hns.Out, 300, protocol("17"))), "arrived"},
		{"protocol by name", out(rule(hns.ACLBlock, hns.Out, 300, protocol("tcp"))), "blocked"},
		{"any protocol", out(rule(hns.ACLBlock, hns.Out, 300, protocol("256"))), "blocked"},
		{"a protocol that is none", out(rule(hns.ACLBlock, hns.Out, 300, protocol("quic"))), "not judged"},
		{"remote address", out(rule(hns.ACLBlock, hns.Out, 300, remotely("10.9.0.0/16", "10.244.2.3"))), "blocked"},
		{"other remote address", out(rule(hns.ACLBlock, hns.Out, 300, remotely("10.9.0.0/16", "10.244.2.4"))), "arrived"},
		{"local address", out(rule(hns.ACLBlock, hns.Out, 300, func(r *hns.ACL) { r.LocalAddresses = []string{"10.244.1.0/24"} })), "blocked"},
		{"remote port in a range", out(rule(hns.ACLBlock, hns.Out, 300, func(r *hns.ACL) { r.RemotePorts = []string{"22", "79-81"} })), "blocked"},
		{"local port is another", out(rule(hns.ACLBlock, hns.Out, 300, func(r *hns.ACL) { r.LocalPorts = []string{"80"} })), "arrived"},
		{"a port that is none", out(rule(hns.ACLBlock, hns.Out, 300, func(r *hns.ACL) { r.RemotePorts = []string{"http"} })), "not judged"},
		{"equal priorities that differ", out(rule(hns.ACLBlock, hns.Out, 300), rule(hns.ACLAllow, hns.Out, 300)), "not judged"},
		{"equal priorities below the one that counts", out(rule(hns.ACLAllow, hns.Out, 200), rule(hns.ACLBlock, hns.Out, 300), rule(hns.ACLAllow, hns.Out, 300)), "arrived"},
		{"a set", all(sets(hns.SetPolicy{ID: "pods", Type: hns.SetIP, Values: []string{"10.244.2.0/24"}}), out(rule(hns.ACLBlock, hns.Out, 300, remotely("PODS")))), "blocked"},
		{"a set without the address", all(sets(hns.SetPolicy{ID: "pods", Type: hns.SetIP, Values: []string{"10.244.9.0/24"}}), out(rule(hns.ACLBlock, hns.Out, 300, remotely("pods")))), "arrived"},
		{"a set of sets", all(sets(hns.SetPolicy{ID: "pods", Type: hns.SetIP, Values: []string{"10.244.2.0/24"}}, hns.SetPolicy{ID: "all", Type: hns.SetNested, Values: []string{"pods"}}),
			out(rule(hns.ACLBlock, hns.Out, 300, remotely("all")))), "blocked"},
		{"sets that hold each other", all(sets(hns.SetPolicy{ID: "a", Type: hns.SetNested, Values: []string{"b", "b", "a"}}, hns.SetPolicy{ID: "b", Type: hns.SetNested, Values: []string{"a", "b"}}),
			out(rule(hns.ACLBlock, hns.Out, 300, remotely("a")))), "arrived"},
		{"a set that is not there", out(rule(hns.ACLBlock, hns.Out, 300, remotely("pods"))), "not judged"},
		{"the network's own", func(t *testing.T, c *flows.Cluster) {
			n := network(t, c, mixedcluster.Win2)
			n.Policies = append(slices.Clone(n.Policies), hns.NetworkACL(rule(hns.ACLBlock, hns.In, 300)))
		}, "blocked"},
		{"a tier that passes on to the ACLs", out(tier(1, "t", hns.TierACLRule{Action: hns.ACLPass}), block), "blocked"},
		{"a tier that allows before the ACLs", out(tier(1, "t", hns.TierACLRule{Action: hns.ACLAllow}), block), "arrived"},
		{"tiers by their order", out(tier(2, "second", hns.TierACLRule{Action: hns.ACLAllow}), tier(1, "first", hns.TierACLRule{Action: hns.ACLBlock})), "blocked"},
		{"a tier without a rule for it", out(tier(1, "t", hns.TierACLRule{Action: hns.ACLBlock, RemotePorts: []string{"22"}})), "arrived"},
		// microsoft/Windows-Containers#616, microsoft/hcsshim#1059
		{"2025, an allow rule for another", all(version(15, 4), only(rule(hns.ACLAllow, hns.Out, 300, protocol("17")))), "blocked"},
		{"2025, a block rule for another", all(version(15, 4), only(rule(hns.ACLBlock, hns.Out, 300, protocol("17")))), "blocked"},
		{"2025, a rule for what comes in", all(version(15, 4), only(rule(hns.ACLBlock, hns.In, 300, protocol("17")))), "blocked"},
		{"2022, an allow rule for another", all(version(13, 3), only(rule(hns.ACLAllow, hns.Out, 300, protocol("17")))), "not judged"},
		{"2022, a block rule for another", all(version(13, 3), only(rule(hns.ACLBlock, hns.Out, 300, protocol("17")))), "not judged"},
		{"unknown version, a block rule for another", all(version(0, 0), only(rule(hns.ACLBlock, hns.Out, 300, protocol("17")))), "not judged"},
		{"2025, in, a block rule for another at the receiver", all(version(15, 4), add(mixedcluster.Web2, rule(hns.ACLBlock, hns.In, 300, protocol("17")))), "not judged"},
		{"in, no rule for it and one that lets all else in", add(mixedcluster.Web2, rule(hns.ACLBlock, hns.In, 300, protocol("17")), rule(hns.ACLAllow, hns.In, 65500)), "arrived"},
		{"no rules at all in 2025", version(15, 4), "arrived"},
		// What cannot be read counts where it could decide.
		{"a block, and behind it an allow that cannot be read", out(rule(hns.ACLBlock, hns.Out, 300), rule(hns.ACLAllow, hns.Out, 6000, remotely("x"))), "blocked"},
		{"an allow, and behind it a block that cannot be read", out(rule(hns.ACLAllow, hns.Out, 300), rule(hns.ACLBlock, hns.Out, 6000, remotely("x"))), "arrived"},
		{"a block that cannot be read, and behind it a block", out(rule(hns.ACLBlock, hns.Out, 300, remotely("x")), rule(hns.ACLBlock, hns.Out, 6000)), "blocked"},
		{"an allow that cannot be read, and behind it a block", out(rule(hns.ACLAllow, hns.Out, 300, remotely("x")), rule(hns.ACLBlock, hns.Out, 6000)), "not judged"},
		{"a block that cannot be read, of equal priority", out(rule(hns.ACLAllow, hns.Out, 300), rule(hns.ACLBlock, hns.Out, 300, remotely("x"))), "not judged"},
		{"2025, the cure", all(version(15, 4), only(rule(hns.ACLBlock, hns.Out, 300, protocol("17")), rule(hns.ACLAllow, hns.Out, 65500))), "arrived"},
	}
	var run []policyCase
	for _, k := range cases {
		for _, m := range []modes.Mode{modes.L2Bridge, modes.Overlay} {
			run = append(run, policyCase{name: fmt.Sprintf("%s/%s", m, k.name), mode: m, change: k.change, packet: to, want: k.want})
		}
	}
	runPolicyCases(t, run)
}

func version(major, minor uint32) func(*testing.T, *flows.Cluster) {
	return func(t *testing.T, c *flows.Cluster) {
		t.Helper()
		for _, n := range []string{mixedcluster.Win1, mixedcluster.Win2} {
			nodeOf(t, c, n).Windows.HNS.Version = hns.Version{Major: major, Minor: minor}
		}
	}
}

// TestACLsBeforeOrBehindBalancers: where it makes a difference whether rules
// see the service's address or the backend's, nothing is claimed.
func TestACLsBeforeOrBehindBalancers(t *testing.T) {
	runPolicyCases(t, []policyCase{
		{name: "the backend is blocked", mode: modes.L2Bridge, change: add(mixedcluster.Client, rule(hns.ACLAllow, hns.Out, 65500), rule(hns.ACLBlock, hns.Out, 300, remotely("10.244.2.3"))), packet: webService(web2), want: "not judged"},
		{name: "a backend is blocked, and another chosen", mode: modes.L2Bridge, change: add(mixedcluster.Client, rule(hns.ACLAllow, hns.Out, 65500), rule(hns.ACLBlock, hns.Out, 300, remotely("10.244.2.3"))), packet: webService(web1), want: "arrived"},
		{name: "both are blocked", mode: modes.L2Bridge, change: add(mixedcluster.Client, rule(hns.ACLBlock, hns.Out, 300)), packet: webService(web2), want: "blocked"},
		{name: "another is blocked", mode: modes.L2Bridge, change: add(mixedcluster.Client, rule(hns.ACLAllow, hns.Out, 65500), rule(hns.ACLBlock, hns.Out, 300, remotely("10.9.9.9"))), packet: webService(web2), want: "arrived"},
		{name: "rules on NAT for what comes in", mode: modes.NAT, change: add(mixedcluster.Web1, rule(hns.ACLBlock, hns.In, 300)), packet: flows.Packet{From: client, To: flows.Target{Address: web1}}, want: "not judged"},
		{name: "rules on NAT", mode: modes.NAT, change: add(mixedcluster.Client, rule(hns.ACLBlock, hns.Out, 300)), packet: flows.Packet{From: client, To: flows.Target{Address: wwwAddr}}, want: "not judged"},
	})
}

// TestAnswersPassACLs: rules are for who begins.
func TestAnswersPassACLs(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	add(mixedcluster.Client, rule(hns.ACLBlock, hns.In, 300))(t, c)
	add(mixedcluster.Web2, rule(hns.ACLBlock, hns.Out, 300))(t, c)
	w := world(t, c)
	if tr := w.Trace(flows.Packet{From: client, To: flows.Target{Address: web2}}); !tr.Works() {
		t.Errorf("the answer was blocked:\n%s", tr)
	}
	if tr := w.Trace(flows.Packet{From: flows.Place{Pod: mixedcluster.Web2}, To: flows.Target{Address: own}}); tr.Works() || tr.Diagnosis.Reason != flows.Blocked {
		t.Errorf("the other way:\n%s", tr)
	}
}
