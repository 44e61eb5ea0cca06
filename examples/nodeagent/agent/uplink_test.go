package agent

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/subnetenv"
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

// TestUplink goes through the ways of telling the adapter, on a node with two,
// and with the vNICs that HNS makes.
func TestUplink(t *testing.T) {
	ethernet := hostnet.Adapter{Name: "Ethernet", Index: 4, Addresses: prefixes("169.254.7.1/16", "192.0.2.10/24", "fe80::1/64")}
	storage := hostnet.Adapter{Name: "Storage", Index: 5, Addresses: prefixes("198.51.100.10/24")}
	below := hostnet.Adapter{Name: "Ethernet", Index: 4}
	above := hostnet.Adapter{Name: "vEthernet (Ethernet)", Index: 9, Virtual: true, Addresses: ethernet.Addresses}
	pods := hostnet.Adapter{Name: "vEthernet (cbr0_ep)", Index: 10, Virtual: true, Addresses: prefixes("10.244.1.2/24")}
	route := func(dst string, via uint32, metric uint32) hostnet.Route {
		return hostnet.Route{Destination: netip.MustParsePrefix(dst), NextHop: netip.MustParseAddr("192.0.2.1"), Interface: via, Metric: metric}
	}
	two := []hostnet.Adapter{ethernet, storage}
	addr := netip.MustParseAddr
	for name, tc := range map[string]struct {
		adapters []hostnet.Adapter
		routes   []hostnet.Route
		opts     Options
		public   netip.Addr
		internal []netip.Addr
		want     string // adapter and address
		err      string
	}{
		"the only one":                  {adapters: []hostnet.Adapter{ethernet, pods}, want: "Ethernet 192.0.2.10"},
		"by name":                       {adapters: two, opts: Options{Interfaces: []string{"storage"}}, want: "Storage 198.51.100.10"},
		"the first that there is":       {adapters: two, opts: Options{Interfaces: []string{"Wi-Fi", "203.0.113.1", "Storage", "Ethernet"}}, want: "Storage 198.51.100.10"},
		"by address":                    {adapters: two, opts: Options{Interfaces: []string{"198.51.100.10"}}, want: "Storage 198.51.100.10"},
		"by name, below a vNIC":         {adapters: []hostnet.Adapter{below, above, storage}, opts: Options{Interfaces: []string{"Ethernet"}}, want: "vEthernet (Ethernet) 192.0.2.10"},
		"by the vNIC's name":            {adapters: []hostnet.Adapter{below, above}, opts: Options{Interfaces: []string{"vEthernet (Ethernet)"}}, want: "vEthernet (Ethernet) 192.0.2.10"},
		"by an expression for names":    {adapters: two, opts: Options{InterfaceRegexps: []*regexp.Regexp{regexp.MustCompile("^Stor")}}, want: "Storage 198.51.100.10"},
		"by one for addresses":          {adapters: two, opts: Options{InterfaceRegexps: []*regexp.Regexp{regexp.MustCompile(`^198\.`)}}, want: "Storage 198.51.100.10"},
		"never what HNS made for pods":  {adapters: []hostnet.Adapter{pods, ethernet}, opts: Options{InterfaceRegexps: []*regexp.Regexp{regexp.MustCompile("vEthernet|Ethernet")}}, want: "Ethernet 192.0.2.10"},
		"by the default route":          {adapters: two, routes: []hostnet.Route{route("0.0.0.0/0", 5, 10), route("0.0.0.0/0", 4, 0), route("10.0.0.0/8", 5, 0)}, want: "Ethernet 192.0.2.10"},
		"two default routes":            {adapters: two, routes: []hostnet.Route{route("0.0.0.0/0", 5, 0), route("0.0.0.0/0", 4, 0)}, internal: []netip.Addr{addr("198.51.100.10")}, want: "Storage 198.51.100.10"},
		"two, and kubelet knows better": {adapters: two, routes: []hostnet.Route{route("0.0.0.0/0", 5, 0), route("0.0.0.0/0", 4, 0)}, err: "2 adapters have the default route"},
		"by what it reaches":            {adapters: two, routes: []hostnet.Route{route("0.0.0.0/0", 4, 0), route("203.0.113.0/24", 5, 50)}, opts: Options{CanReach: addr("203.0.113.9")}, want: "Storage 198.51.100.10"},
		"by what the rest reaches":      {adapters: two, routes: []hostnet.Route{route("0.0.0.0/0", 4, 0), route("203.0.113.0/24", 5, 50)}, opts: Options{CanReach: addr("203.0.112.9")}, want: "Ethernet 192.0.2.10"},
		"by the public address":         {adapters: two, public: addr("198.51.100.10"), want: "Storage 198.51.100.10"},
		"by an InternalIP":              {adapters: two, internal: []netip.Addr{addr("192.0.2.10")}, want: "Ethernet 192.0.2.10"},
		"none by that name":             {adapters: two, opts: Options{Interfaces: []string{"Wi-Fi"}}, err: `there are "Ethernet"`},
		"no adapter":                    {err: "there are none"},
	} {
		t.Run(name, func(t *testing.T) {
			host := hostnet.NewMemory(hostnet.Fixed(tc.adapters...))
			for _, r := range tc.routes {
				if err := host.AddRoute(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			tc.opts.Host = host
			tc.opts.NetConf = &subnetenv.NetConf{Network: netip.MustParsePrefix("10.244.0.0/16")}
			u, err := (&Agent{opts: tc.opts}).findUplink(t.Context(), tc.public, tc.internal)
			if got := u.adapter.Name + " " + u.address.String(); tc.err == "" && (err != nil || got != tc.want) {
				t.Errorf("got %s, %v", got, err)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v", err)
			}
		})
	}
}
