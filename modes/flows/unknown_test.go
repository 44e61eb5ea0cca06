package flows_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// TestUnknownThings: what is not understood is a step of its own, and the
// packet goes on.
func TestUnknownThings(t *testing.T) {
	to := flows.Packet{From: client, To: flows.Target{Address: web2}}
	raw := func(kind, settings string) hns.RawPolicy {
		return hns.RawPolicy{Type: kind, Settings: json.RawMessage(settings)}
	}
	cases := []struct {
		name   string
		change func(*testing.T, *flows.Cluster)
		names  string
	}{
		{"an endpoint policy of a new type", add(mixedcluster.Client, raw("Teleport", `{}`)), "Teleport"},
		{"a known policy with a member that is not known", add(mixedcluster.Client, raw("OutBoundNAT", `{"Exceptions":["10.0.0.0/8"],"Colour":"red"}`)), "OutBoundNAT"},
		{"a network policy of a new type", func(t *testing.T, c *flows.Cluster) {
			n := network(t, c, mixedcluster.Win2)
			n.Policies = append(slices.Clone(n.Policies), raw("NeighborDiscovery", `{}`))
		}, "NeighborDiscovery"},
		{"a network type that is no mode", func(t *testing.T, c *flows.Cluster) { network(t, c, mixedcluster.Win1).Type = "Mirrored" }, "Mirrored"},
		{"a value that could not be read", func(t *testing.T, c *flows.Cluster) {
			e := endpoint(t, c, mixedcluster.Client)
			e.Document.Unread = []hns.Unread{{Path: "Routes[1].NextHop", Text: `"<gw>"`}}
		}, "Routes[1].NextHop"},
		{"a document that is no object", func(t *testing.T, c *flows.Cluster) {
			nodeOf(t, c, mixedcluster.Win2).Windows.HNS.Unread = []string{"Endpoints[3]: not a JSON object"}
		}, "Endpoints[3]"},
		{"a node of which only HNS is known", func(t *testing.T, c *flows.Cluster) { nodeOf(t, c, mixedcluster.Win1).Windows.Host = nil }, "routes"},
		{"a network between that is not known", func(t *testing.T, c *flows.Cluster) { c.Physical = nil }, "between the nodes"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			c := cluster(t, modes.L2Bridge)
			k.change(t, c)
			tr := world(t, c).Trace(to)
			if tr.Outcome != flows.Unjudged || !tr.Works() || tr.Certainty != flows.Inferred {
				t.Errorf("%s, %s", tr.Outcome, tr)
			}
			if err := checkTrace(tr); err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(tr.Steps, func(s flows.Step) bool {
				return s.Effect == flows.Unknown && strings.Contains(s.Object.String()+s.Text, k.names)
			}) {
				t.Errorf("no step names %q:\n%s", k.names, tr)
			}
		})
	}
}

// TestBadPackets: what makes no sense is a drop that says why.
func TestBadPackets(t *testing.T) {
	w := world(t, cluster(t, modes.L2Bridge))
	for text, p := range map[string]flows.Packet{
		"one of pod, node and outside host is needed": {To: flows.Target{Address: web2}},
		"there are 2":                   {From: flows.Place{Pod: "a", Outside: "b"}, To: flows.Target{Address: web2}},
		`no pod "nobody"`:               {From: flows.Place{Pod: "nobody"}, To: flows.Target{Address: web2}},
		`no node "nobody"`:              {From: flows.Place{Node: "nobody"}, To: flows.Target{Address: web2}},
		`no outside host "nobody"`:      {From: flows.Place{Outside: "nobody"}, To: flows.Target{Address: web2}},
		"one target is needed":          {From: client},
		"one target is needed, there a": {From: client, To: flows.Target{Address: web2, Name: "web"}},
		"protocol IGMP":                 {From: client, To: flows.Target{Address: web2}, Protocol: hns.IGMP},
		`target: there is no pod "x"`:   {From: client, To: flows.Target{Place: flows.Place{Pod: "x"}}},
	} {
		tr := w.Trace(p)
		if tr.Outcome != flows.Dropped || tr.Diagnosis.Reason != flows.BadPacket || !strings.Contains(tr.Diagnosis.Text, text) {
			t.Errorf("%s: %s", text, tr)
		}
	}
}

// TestNewRefuses: clusters without a meaning, each complaint with its path.
func TestNewRefuses(t *testing.T) {
	_, err := flows.New(flows.Cluster{
		Nodes: []flows.Node{{Name: "a", Windows: &flows.Windows{}}, {Name: "a", Linux: &flows.Linux{Pods: []flows.LinuxPod{{Name: "p"}}}, Windows: &flows.Windows{}},
			{Linux: &flows.Linux{}, Addresses: []netip.Addr{{}}}},
		Outside:   []flows.Host{{Name: "x"}},
		Resolvers: []flows.Resolver{{Name: "r"}},
		Physical:  &flows.Physical{VNet: &flows.VNet{Assigned: []flows.Assignment{{Node: "nobody"}}}},
	})
	var got []string
	for _, f := range hns.FieldErrors(err) {
		got = append(got, f.Path)
	}
	want := []string{"Nodes[1].Name", "Nodes[1]", "Nodes[1].Linux.Pods[0]", "Nodes[2].Name", "Nodes[2].Addresses[0]", "Physical.VNet.Assigned[0].Prefix", "Physical.VNet.Assigned[0].Node", "Outside[0]", "Resolvers[0].Address"}
	if !slices.Equal(got, want) {
		t.Errorf("complaints about %q, want %q", got, want)
	}
	if !errors.Is(err, hns.ErrInvalid) {
		t.Errorf("%v does not match ErrInvalid", err)
	}
	if w, err := flows.New(flows.Cluster{}); err != nil || len(w.Nine()) != 0 {
		t.Errorf("nothing: %v", err)
	}
}

// TestStateOf: documents that are no objects are kept by name, the others read.
func TestStateOf(t *testing.T) {
	s := flows.StateOf(&hns.Snapshot{Version: hns.Version{Major: 99}, Networks: []json.RawMessage{json.RawMessage(`7`), json.RawMessage(`{"ID":"x"}`)}, Routes: []json.RawMessage{nil}})
	if len(s.Networks) != 1 || len(s.Unread) != 2 || !strings.HasPrefix(s.Unread[0], "Networks[0]: ") || s.Version.Major != 99 {
		t.Errorf("%+v", s)
	}
	if s := flows.StateOf(nil); len(s.Networks)+len(s.Unread) != 0 {
		t.Errorf("%+v", s)
	}
}

// TestPlannedDocuments: what the planners of modes write can be traced before
// HNS has ever seen it.
func TestPlannedDocuments(t *testing.T) {
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.Overlay, Name: "fjord", Subnets: []netip.Prefix{netip.MustParsePrefix("10.60.1.0/24")}, VXLANPort: 8472})
	if err != nil {
		t.Fatal(err)
	}
	n := plan.Network
	n.ID = hns.ID{1}
	n.Policies = append(n.Policies, plan.AddPolicies...)
	n.Policies = append(n.Policies, hns.ProviderAddress{Address: win1}, hns.RemoteSubnetRoute{DestinationPrefix: netip.MustParsePrefix("10.60.2.0/24"), IsolationID: 4096, ProviderAddress: netip.MustParseAddr("192.0.2.21")})
	e, err := modes.PlanPodEndpoint(modes.PodIntent{Name: "a_fjord", Network: n, Addresses: []netip.Prefix{netip.MustParsePrefix("10.60.1.5/24")}})
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Namespace = hns.ID{2}, hns.ID{3}
	w, err := flows.New(flows.Cluster{Nodes: []flows.Node{
		{Name: "win", Addresses: []netip.Addr{win1}, Windows: &flows.Windows{HNS: &flows.State{Networks: []*hns.Network{n}, Endpoints: []*hns.Endpoint{e}}}},
		{Name: "lin", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.21")}, PodSubnets: []netip.Prefix{netip.MustParsePrefix("10.60.2.0/24")}, Linux: &flows.Linux{Forwarding: true,
			VXLAN: &flows.VXLAN{VNI: 4096, Port: 8472, Peers: []flows.VXLANPeer{{Subnet: netip.MustParsePrefix("10.60.1.0/24"), Node: win1}}},
			Pods:  []flows.LinuxPod{{Name: "b", Address: netip.MustParseAddr("10.60.2.5")}}}},
	}, Physical: &flows.Physical{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []flows.Packet{{From: flows.Place{Pod: "a"}, To: flows.Target{Place: flows.Place{Pod: "b"}}}, {From: flows.Place{Pod: "b"}, To: flows.Target{Place: flows.Place{Pod: "a"}}}} {
		if tr := w.Trace(p); tr.Outcome != flows.Arrived || !tr.Works() {
			t.Errorf("%s", tr)
		}
	}
}

// TestDockerContainers: containers that Docker attached are in no namespace,
// and are pods all the same.
func TestDockerContainers(t *testing.T) {
	c := cluster(t, modes.NAT)
	for _, pod := range []string{mixedcluster.Client, mixedcluster.Web1, mixedcluster.Web2} {
		endpoint(t, c, pod).Namespace = hns.ID{}
	}
	w := world(t, c)
	if tr := w.Trace(flows.Packet{From: client, To: flows.Target{Place: flows.Place{Pod: mixedcluster.Web1}}}); !tr.Works() {
		t.Errorf("%s", tr)
	}
	if got := w.Nine()[0].Cell(flows.PodToOutsideIP).String(); got != "yes" {
		t.Errorf("to the outside: %s", got)
	}
}

// TestNewRefusesZeroValues: whatever is not an address, a prefix or a document is
// named, and nothing panics.
func TestNewRefusesZeroValues(t *testing.T) {
	for path, change := range map[string]func(*flows.Cluster){
		"Nodes[0].Windows.HNS.Networks[1]":                   func(c *flows.Cluster) { s := c.Nodes[0].Windows.HNS; s.Networks = append(s.Networks, nil) },
		"Nodes[0].Windows.HNS.Endpoints[0]":                  func(c *flows.Cluster) { c.Nodes[0].Windows.HNS.Endpoints[0] = nil },
		"Nodes[0].Windows.HNS.Namespaces[0]":                 func(c *flows.Cluster) { c.Nodes[0].Windows.HNS.Namespaces[0] = nil },
		"Nodes[0].Windows.HNS.LoadBalancers[0]":              func(c *flows.Cluster) { c.Nodes[0].Windows.HNS.LoadBalancers[0] = nil },
		"Nodes[0].Windows.HNS.Routes[0]":                     func(c *flows.Cluster) { c.Nodes[0].Windows.HNS.Routes = []*hns.SDNRouteObject{nil} },
		"Nodes[0].Windows.Host.Adapters[0].Addresses[0]":     func(c *flows.Cluster) { c.Nodes[0].Windows.Host.Adapters[0].Addresses = []netip.Prefix{{}} },
		"Nodes[0].Windows.Host.Routes[0].Destination":        func(c *flows.Cluster) { c.Nodes[0].Windows.Host.Routes[0].Destination = netip.Prefix{} },
		"Nodes[0].Windows.Host.Routes[0].NextHop":            func(c *flows.Cluster) { c.Nodes[0].Windows.Host.Routes[0].NextHop = netip.Addr{} },
		"Nodes[0].PodSubnets[0]":                             func(c *flows.Cluster) { c.Nodes[0].PodSubnets = []netip.Prefix{{}} },
		"Nodes[2].Linux.Adapters[0].Addresses[0]":            func(c *flows.Cluster) { c.Nodes[2].Linux.Adapters[0].Addresses = []netip.Prefix{{}} },
		"Nodes[2].Linux.Routes[0].NextHop":                   func(c *flows.Cluster) { c.Nodes[2].Linux.Routes[0].NextHop = netip.Addr{} },
		"Nodes[2].Linux.MasqueradeExcept[0]":                 func(c *flows.Cluster) { c.Nodes[2].Linux.MasqueradeExcept = []netip.Prefix{{}} },
		"Nodes[2].Linux.VXLAN.Peers[0].Subnet":               func(c *flows.Cluster) { c.Nodes[2].Linux.VXLAN.Peers[0].Subnet = netip.Prefix{} },
		"Nodes[2].Linux.VXLAN.Peers[0].Node":                 func(c *flows.Cluster) { c.Nodes[2].Linux.VXLAN.Peers[0].Node = netip.Addr{} },
		"Physical.Routers[0]":                                func(c *flows.Cluster) { c.Physical.Routers = []netip.Addr{{}} },
		"Physical.Routes[0].Destination":                     func(c *flows.Cluster) { c.Physical.Routes = []flows.Route{{NextHop: win1}} },
		"Physical.Fabric.Pods[0]":                            func(c *flows.Cluster) { c.Physical.Fabric = &flows.Fabric{Pods: []netip.Prefix{{}}} },
		"Services[0].Addresses[0]":                           func(c *flows.Cluster) { c.Services[0].Addresses = []netip.Addr{{}} },
		"Services[1].Backends[0]":                            func(c *flows.Cluster) { c.Services[1].Backends = []netip.Addr{{}} },
		`Resolvers[0].Records["web.default.svc.example"][1]`: func(c *flows.Cluster) { c.Resolvers[0].Records["web.default.svc.example"] = []netip.Addr{win1, {}} },
	} {
		c := cluster(t, modes.Overlay)
		change(c)
		_, err := flows.New(*c)
		if fs := hns.FieldErrors(err); len(fs) != 1 || fs[0].Path != path || !errors.Is(err, hns.ErrInvalid) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestWholePhysical: of a network that is described nothing is out of sight, even
// if the node's routes are not known.
func TestWholePhysical(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	nodeOf(t, c, mixedcluster.Win1).Windows.Host = nil
	to := flows.Packet{From: client, To: flows.Target{Address: netip.MustParseAddr("198.51.100.1")}}
	if tr := world(t, c).Trace(to); tr.Works() || tr.Diagnosis.Reason != flows.NobodyHasAddress {
		t.Errorf("%s", tr)
	}
	c.Physical = nil
	if tr := world(t, c).Trace(to); tr.Outcome != flows.Unjudged {
		t.Errorf("not described: %s", tr)
	}
}
