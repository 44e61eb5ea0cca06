package flows_test

import (
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// TestNames: Windows adds a suffix to names without a dot only, and only the
// first of the list (Kubernetes documentation, "DNS for Services and Pods",
// limits on Windows); Linux adds all.
func TestNames(t *testing.T) {
	ask := func(pod, name string) flows.Packet {
		return flows.Packet{From: flows.Place{Pod: pod}, To: flows.Target{Name: name}, Backend: web1}
	}
	dns := func(change func(*hns.DNS)) func(*testing.T, *flows.Cluster) {
		return func(t *testing.T, c *flows.Cluster) { change(&endpoint(t, c, mixedcluster.Client).DNS) }
	}
	asked := "10.244.1.3:50000 > 10.244.1.4:8080"
	runPolicyCases(t, []policyCase{
		{"bare", modes.L2Bridge, nil, ask(mixedcluster.Client, "web"), "arrived", asked, "", "Dns Search"},
		{"bare, in capitals", modes.L2Bridge, nil, ask(mixedcluster.Client, "WEB"), "arrived", asked, "", "Dns Search"},
		{"with the namespace", modes.L2Bridge, nil, ask(mixedcluster.Client, "web.default"), "dotted-name", "", "", "Dns Search"},
		{"with the namespace and svc", modes.L2Bridge, nil, ask(mixedcluster.Client, "web.default.svc"), "dotted-name", "", "", "Dns Search"},
		{"with the namespace, from Linux", modes.L2Bridge, nil, ask(mixedcluster.Web3, "web.default"), "arrived", "10.244.3.3:50000 > 10.244.1.4:8080", "", ""},
		{"whole", modes.L2Bridge, nil, ask(mixedcluster.Client, mixedcluster.WebFQDN), "arrived", asked, "", "Dns ServerList"},
		{"whole, with the last dot", modes.L2Bridge, nil, ask(mixedcluster.Client, mixedcluster.WebFQDN+"."), "arrived", asked, "", ""},
		{"bare, with the last dot", modes.L2Bridge, nil, ask(mixedcluster.Client, "web."), "no-such-name", "", "", ""},
		{"a name that is nobody's", modes.L2Bridge, nil, ask(mixedcluster.Client, "nobody.example.org"), "no-such-name", "", "", ""},
		{"a domain in place of the list", modes.L2Bridge, dns(func(d *hns.DNS) { d.Domain, d.Search = "default.svc.cluster.local", nil }), ask(mixedcluster.Client, "web"), "arrived", asked, "", "Dns Search"},
		{"a second server", modes.L2Bridge, dns(func(d *hns.DNS) { d.ServerList = []string{"192.0.2.99", "10.96.0.10"} }), ask(mixedcluster.Client, "web"), "arrived", asked, "", ""},
		{"a server that is nobody", modes.L2Bridge, dns(func(d *hns.DNS) { d.ServerList = []string{"192.0.2.99"} }), ask(mixedcluster.Client, "web"), "nobody-has-address", "", "", ""},
		{"a server that is no address", modes.L2Bridge, dns(func(d *hns.DNS) { d.ServerList = []string{"kube-dns"} }), ask(mixedcluster.Client, "web"), "no-dns-server", "", "", ""},
		{"the network's server", modes.L2Bridge, func(t *testing.T, c *flows.Cluster) {
			e := endpoint(t, c, mixedcluster.Client)
			network(t, c, mixedcluster.Win1).DNS, e.DNS = e.DNS, hns.DNS{}
		}, ask(mixedcluster.Client, "web"), "arrived", asked, "", "Dns ServerList"},
		{"a server that is not described", modes.L2Bridge, func(t *testing.T, c *flows.Cluster) { c.Resolvers = c.Resolvers[1:] }, ask(mixedcluster.Client, mixedcluster.WWW), "not judged", "", "", ""},
		{"a server that is not described, and a name that nobody knows", modes.L2Bridge, func(t *testing.T, c *flows.Cluster) { c.Resolvers = c.Resolvers[1:] }, ask(mixedcluster.Client, "web"), "not judged", "", "", ""},
		{"a node asks for a name that nobody knows", modes.L2Bridge, nil, flows.Packet{From: flows.Place{Node: mixedcluster.Win1}, To: flows.Target{Name: "x.example.org"}}, "not judged", "", "", ""},
		{"resolvers that forward to each other", modes.L2Bridge, func(t *testing.T, c *flows.Cluster) { c.Resolvers[1].Forward = c.Resolvers[0].Address }, ask(mixedcluster.Client, "x.example.org"), "no-such-name", "", "", ""},
		{"from a node", modes.L2Bridge, nil, flows.Packet{From: flows.Place{Node: mixedcluster.Win1}, To: flows.Target{Name: mixedcluster.WWW}}, "not judged", "", "", ""},
		{"a name of IPv6 alone", modes.L2Bridge, func(t *testing.T, c *flows.Cluster) {
			c.Resolvers[0].Records["six.example.org"] = []netip.Addr{netip.MustParseAddr("2001:db8::6")}
		}, ask(mixedcluster.Client, "six.example.org"), "no-such-family", "", "", ""},
	})
}
