package emulator_test

import (
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Load balancers and what else there is on the host: limits, listeners,
// endpoints and networks that go, restarts.

func TestLoadBalancerLimits(t *testing.T) {
	const message64 = "The parameter is incorrect. Unable to initialize VFP LB rule: invalid number of destinations."
	tests := []struct {
		name     string
		version  hns.Version
		limit    int
		backends int
		flags    string
		want     hns.Code
	}{
		// kubernetes/kubernetes#98680
		{"64 on old HNS", emulator.WindowsServer2019, 0, 64, "", 0},
		{"65 on old HNS", emulator.WindowsServer2019, 0, 65, "", hns.CodeInvalidParameter},
		{"65 with DSR", emulator.WindowsServer2019, 0, 65, `,"Flags":1`, 0},
		{"65 on newer HNS", emulator.WindowsServer2022, 0, 65, "", 0},
		{"65 without the limit", emulator.WindowsServer2019, -1, 65, "", 0},
		{"limit of the options", emulator.WindowsServer2022, 3, 4, `,"Flags":1`, hns.CodeInvalidParameter},
	}
	for _, tt := range tests {
		n := newNode(t, version(tt.version), func(o *emulator.Options) { o.BackendLimit = tt.limit })
		doc := balancer(n.backends(n.lake(), tt.backends), port(6, 80, 80), tt.flags)
		_, err := n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindLoadBalancer, Document: []byte(doc)})
		if n.code(err) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		if err != nil && message(err) != message64 {
			t.Errorf("%s: message %q", tt.name, message(err))
		}
	}
}

func TestLoadBalancerOnAPortInUse(t *testing.T) {
	tests := []struct {
		name    string
		version hns.Version
		covers  bool
		more    string
		want    hns.Code
	}{
		{"node port", emulator.WindowsServer2022, false, port(6, 80, 10256), hns.CodePortExists},
		{"node port of another protocol", emulator.WindowsServer2022, false, port(17, 80, 10256), 0},
		{"the node's address", emulator.WindowsServer2022, false, port(6, 80, 10256) + vips("192.0.2.10"), hns.CodePortExists},
		{"VIP", emulator.WindowsServer2022, false, port(6, 80, 10256) + vips("10.96.0.20"), 0},
		// kubernetes/community#8883
		{"VIP on old HNS", emulator.WindowsServer2019, false, port(6, 80, 10256) + vips("10.96.0.20"), hns.CodePortExists},
		{"VIP where listeners cover them", emulator.WindowsServer2022, true, port(6, 80, 10256) + vips("10.96.0.20"), hns.CodePortExists},
	}
	for _, tt := range tests {
		n := newNode(t, version(tt.version), func(o *emulator.Options) {
			o.ListenersCoverVIPs, o.Listeners = tt.covers, []emulator.Listener{{Protocol: 6, Port: 10256}}
		})
		if _, code := n.create(hns.KindLoadBalancer, balancer(n.backends(n.lake(), 1), tt.more)); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, code, tt.want)
		}
	}
}

// A member that HNS does not know is not shown.
func TestSessionAffinityIsNew(t *testing.T) {
	for v, want := range map[hns.Version]any{emulator.Windows20H2: nil, emulator.WindowsServer2022: 2.0} {
		n := newNode(t, version(v))
		doc := n.made(hns.KindLoadBalancer, balancer(n.backends(n.lake(), 1), port(6, 80, 80, `,"DistributionType":2`)))
		if got := at(t, doc, "PortMappings", 0, "DistributionType"); got != want {
			t.Errorf("HNS %s: %v, want %v", v, got, want)
		}
	}
}

// microsoft/hcsshim#1043
func TestBackendNeedsPort(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.BackendNeedsPort = true })
	lake := n.lake()
	ep := n.backends(lake, 1)
	if _, code := n.create(hns.KindLoadBalancer, balancer(ep, port(6, 80, 80))); code != hns.CodePortNotFound {
		t.Errorf("not attached: %s", code)
	}
	n.join("Add", n.id(hns.KindNamespace, namespaceDoc), ep[0])
	n.made(hns.KindLoadBalancer, balancer(ep, port(6, 80, 80)))
	remote := n.id(hns.KindEndpoint, endpoint(lake, "r", ip("10.50.9.9"), `,"Flags":1`))
	n.made(hns.KindLoadBalancer, balancer([]hns.ID{remote}, port(6, 80, 81)))
	n.made(hns.KindLoadBalancer, balancer(n.backends(n.fjord(), 1), port(6, 80, 82)))
}

// kubernetes/kubernetes#76316: a load balancer outlives its backends, and
// holds its port.
func TestBackendIsDeleted(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		n := newNode(t, func(o *emulator.Options) { o.RefuseBackendDelete = refuse })
		eps := n.backends(n.lake(), 2)
		id := n.id(hns.KindLoadBalancer, balancer(eps[:1], port(6, 80, 80)))
		want := hns.Code(0)
		if refuse {
			want = hns.CodeHasReferences
		}
		if code := n.delete(hns.KindEndpoint, eps[0]); code != want {
			t.Errorf("refuse %v: %s, want %s", refuse, code, want)
		}
		if got := text(t, n.get(hns.KindLoadBalancer, id), "HostComputeEndpoints", 0); got != eps[0].String() {
			t.Errorf("backend %q", got)
		}
		if _, code := n.create(hns.KindLoadBalancer, balancer(eps[1:], port(6, 80, 80))); code != hns.CodePortExists {
			t.Errorf("its port: %s", code)
		}
		v1, _ := n.call("GET", "/policylists/"+id.String(), "")
		if got := at(t, v1, "IsApplied"); got != refuse {
			t.Errorf("IsApplied %v", got)
		}
		n.delete(hns.KindLoadBalancer, id)
		if code := n.delete(hns.KindEndpoint, eps[0]); refuse && code != 0 {
			t.Errorf("delete once it is no backend: %s", code)
		}
	}
}

func TestDeleteNetworkTakesLoadBalancersAndRoutes(t *testing.T) {
	for _, keep := range []bool{false, true} {
		n := newNode(t, func(o *emulator.Options) { o.KeepOrphans = keep })
		lake, fjord := n.lake(), n.fjord()
		doc := func(network hns.ID, external int) string {
			return balancer(n.backends(network, 1), port(6, 80, external), vips("10.96.0.20"))
		}
		n.made(hns.KindLoadBalancer, doc(lake, 80))
		n.made(hns.KindRoute, route(n.backends(lake, 1), "Routes", someRoute))
		other := n.id(hns.KindLoadBalancer, doc(fjord, 81))
		if code := n.delete(hns.KindNetwork, lake); code != 0 {
			t.Fatal(code)
		}
		n.get(hns.KindLoadBalancer, other)
		lbs, routes := n.list(hns.KindLoadBalancer, ""), n.list(hns.KindRoute, "")
		want := 1
		if keep {
			want = 2
		}
		if len(lbs) != want || len(routes) != want-1 {
			t.Errorf("keep %v: left %s and %s", keep, lbs, routes)
		}
		_, code := n.create(hns.KindLoadBalancer, doc(fjord, 80))
		if keep != (code == hns.CodePortExists) {
			t.Errorf("keep %v: its port: %s", keep, code)
		}
	}
}

// kubernetes/kubernetes#141488: half a load balancer stays where the real one
// could not be made, takes no port and can be deleted.
func TestHalfLoadBalancer(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.LeaveHalfLoadBalancers = true })
	eps := n.backends(n.lake(), 2)
	n.made(hns.KindLoadBalancer, balancer(eps[:1], port(6, 80, 80), vips("10.96.0.20")))
	before := n.state()
	if _, code := n.create(hns.KindLoadBalancer, balancer(eps, port(6, 80, 0))); code != hns.CodeInvalidParameter || n.state() != before {
		t.Errorf("a document that is wrong: %s, and left something", code)
	}
	if _, code := n.create(hns.KindLoadBalancer, balancer(eps, port(6, 81, 80), vips("10.96.0.20"))); code != hns.CodePortExists {
		t.Fatalf("port taken: %s", code)
	}
	lbs := n.list(hns.KindLoadBalancer, "")
	if len(lbs) != 2 || at(t, lbs[1], "PortMappings") != nil || text(t, lbs[1], "FrontendVIPs", 0) != "10.96.0.20" {
		t.Fatalf("load balancers: %s", lbs)
	}
	n.made(hns.KindLoadBalancer, balancer(eps, port(6, 81, 81), vips("10.96.0.20")))
	if code := n.delete(hns.KindLoadBalancer, n.parse(text(t, lbs[1], "ID"))); code != 0 {
		t.Errorf("delete: %s", code)
	}
}

// kubernetes/kubernetes#139519: what HNS holds is there again after an outage,
// so one who took the outage for absence meets it.
func TestLoadBalancerOutlivesARestart(t *testing.T) {
	n := newNode(t)
	ep := n.backends(n.lake(), 1)
	doc := balancer(ep, port(6, 8443, 443), vips("10.96.0.20"))
	id := n.id(hns.KindLoadBalancer, doc)
	n.Stop()
	if _, code := n.try(hns.Request{Verb: hns.VerbGet, Kind: hns.KindLoadBalancer, ID: id}); code != hns.CodeRPCUnavailable {
		t.Errorf("stopped: %s", code)
	}
	if err := n.Restart(); err != nil {
		t.Fatal(err)
	}
	n.get(hns.KindLoadBalancer, id)
	if _, code := n.create(hns.KindLoadBalancer, doc); code != hns.CodeAlreadyExists {
		t.Errorf("once more: %s", code)
	}
}

func TestRebootAndLoadBalancers(t *testing.T) {
	n := newNode(t)
	gone := n.id(hns.KindNetwork, network("fjord", "Overlay", "10.60.0.0/16", `,"Flags":8`))
	kept := n.id(hns.KindLoadBalancer, balancer(n.backends(n.lake(), 1), port(6, 80, 80), vips("10.96.0.20")))
	n.made(hns.KindLoadBalancer, balancer(n.backends(gone, 1), port(6, 80, 80), vips("10.96.0.21")))
	n.made(hns.KindRoute, route(n.backends(gone, 1), "Routes", someRoute))
	if err := n.Reboot(); err != nil {
		t.Fatal(err)
	}
	if lbs := n.list(hns.KindLoadBalancer, ""); len(lbs) != 1 || text(t, lbs[0], "ID") != kept.String() {
		t.Errorf("load balancers: %s", lbs)
	}
	if routes := n.list(hns.KindRoute, ""); len(routes) != 0 {
		t.Errorf("routes: %s", routes)
	}
}

// Until KB4551853 each load balancer took a block of the host's ports.
func TestPortBlocks(t *testing.T) {
	for _, tt := range []struct {
		version hns.Version
		blocks  int
		fits    int // load balancers, of 260
	}{
		{emulator.WindowsServer2019KB4489899, 0, 256},
		{emulator.WindowsServer2019KB4489899, -1, 260},
		{emulator.WindowsServer2019, 0, 260},
		{emulator.WindowsServer2022, 3, 3},
	} {
		n := newNode(t, version(tt.version), func(o *emulator.Options) { o.PortBlocks = tt.blocks })
		eps := n.backends(n.lake(), 1)
		fits := 0
		for i := range 260 {
			_, code := n.create(hns.KindLoadBalancer, balancer(eps, port(6, 80, 1000+i)))
			if code == 0 {
				fits++
			} else if code != hns.CodePortExists {
				t.Fatal(code)
			}
		}
		if fits != tt.fits {
			t.Errorf("HNS %s, PortBlocks %d: %d load balancers, want %d", tt.version, tt.blocks, fits, tt.fits)
		}
		all := n.list(hns.KindLoadBalancer, "")
		n.delete(hns.KindLoadBalancer, n.parse(text(t, all[0], "ID")))
		if _, code := n.create(hns.KindLoadBalancer, balancer(eps, port(6, 80, 9000))); code != 0 {
			t.Errorf("after a delete: %s", code)
		}
	}
}
