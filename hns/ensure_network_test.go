package hns_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestEnsureNetwork(t *testing.T) {
	n := newNode(t, nil)
	moor := wantMoor(5000, hns.HostRoute{}, route("10.60.7.0/24", "192.0.2.7", "4e-0a-00-00-00-07"))

	_, d, err := n.Networks.Ensure(t.Context(), moor, &hns.EnsureOptions{DryRun: true})
	n.must(err)
	decided(t, d, hns.ActionCreate)
	n.wantChanges()

	made, d, err := n.Networks.Ensure(t.Context(), moor, nil)
	n.must(err)
	decided(t, d, hns.ActionCreate)
	n.wantChanges("create network", "modify network", "modify network")
	same(t, "what is left", nil, hns.CompareNetworks(moor, made))

	again, d, err := n.Networks.Ensure(t.Context(), moor, nil)
	n.must(err)
	decided(t, d, hns.ActionKeep)
	n.wantChanges()
	if again.ID != made.ID || d.ID != made.ID {
		t.Errorf("%s became %s, decision about %s", made.ID, again.ID, d.ID)
	}
}

// An existing network of the name was used whatever it was
// (microsoft/windows-container-networking#98, containerd/nerdctl#28).
func TestEnsureNetworkDrift(t *testing.T) {
	tests := []struct {
		name   string
		change func(*hns.Network)
		paths  []string
	}{
		{"type", func(w *hns.Network) { w.Type = hns.L2Tunnel; w.IPAMs = nil }, []string{"Type"}},
		{"flags", func(w *hns.Network) { w.Flags = hns.NetworkNonPersistent }, []string{"Flags"}},
		{"id", func(w *hns.Network) { w.ID = podID }, []string{"ID"}},
		{"gateway", func(w *hns.Network) {
			w.IPAMs[0].Subnets[0].Routes = []hns.Route{hns.DefaultRoute(addr("10.60.3.254"))}
		}, []string{"Ipams[0].Subnets[0].Routes[0]"}},
		{"VSID", func(w *hns.Network) {
			w.IPAMs[0].Subnets[0].Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: 5001}}
		}, []string{"Ipams[0].Subnets[0].Policies[0] VSID"}},
		{"MAC pool", func(w *hns.Network) {
			w.MACPool = []hns.MACRange{{Start: mustMAC("00-15-5D-00-00-00"), End: mustMAC("00-15-5D-00-00-FF")}}
		}, []string{"MacPool.Ranges[0]"}},
		{"adapter", func(w *hns.Network) { w.Policies = []hns.NetworkPolicy{hns.NetAdapterName{Name: "Ethernet 2"}} }, []string{"Policies[0] NetAdapterName"}},
		{"several", func(w *hns.Network) {
			w.Type = hns.L2Bridge
			w.IPAMs = subnets("10.4.0.0/24", "10.4.0.1")
		}, []string{"Type", "Ipams[0].Subnets[0].IpAddressPrefix"}},
		// Subnets cannot be added later (microsoft/hcsshim#786).
		{"a subnet more", func(w *hns.Network) {
			w.IPAMs[0].Subnets = append(w.IPAMs[0].Subnets, hns.Subnet{Prefix: prefix("10.60.4.0/24"), Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 5001}}})
		}, []string{"Ipams[0].Subnets[1].IpAddressPrefix"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, nil)
			old, err := n.Networks.Create(t.Context(), wantMoor(5000))
			n.must(err)
			n.forget()
			want := wantMoor(5000)
			if tt.change(want); want.Type != hns.Overlay {
				for i := range want.Subnets() {
					want.IPAMs[0].Subnets[i].Policies = nil
				}
			}
			for _, dry := range []bool{true, false} {
				_, d, err := n.Networks.Ensure(t.Context(), want, &hns.EnsureOptions{DryRun: dry})
				decided(t, d, hns.ActionRefuse, tt.paths...)
				var drift *hns.DriftError
				if !errors.Is(err, hns.ErrDrift) || !errors.As(err, &drift) || drift.ID != old.ID {
					t.Fatalf("error %v", err)
				}
				same(t, "refused for", d.Differences, drift.Differences)
				for _, p := range tt.paths {
					if !strings.Contains(err.Error(), p) {
						t.Errorf("%q is not in %q", p, err)
					}
				}
			}
			kept, d, err := n.Networks.Ensure(t.Context(), want, &hns.EnsureOptions{Drift: hns.DriftKeep})
			n.must(err)
			decided(t, d, hns.ActionKeep, tt.paths...)
			if kept.ID != old.ID {
				t.Errorf("kept %s", kept.ID)
			}
			_, d, err = n.Networks.Ensure(t.Context(), want, &hns.EnsureOptions{Drift: hns.DriftRecreate, DryRun: true})
			n.must(err)
			decided(t, d, hns.ActionRecreate, tt.paths...)
			n.wantChanges()

			// What can be changed is put right in a network that is kept.
			want.DNS.Domain = "example"
			_, d, err = n.Networks.Ensure(t.Context(), want, &hns.EnsureOptions{Drift: hns.DriftKeep})
			n.must(err)
			decided(t, d, hns.ActionRepair, append(tt.paths, "Dns.Domain")...)
			n.wantChanges("modify network")
		})
	}
}

// Making it anew is for networks that nobody uses.
func TestEnsureNetworkRecreate(t *testing.T) {
	n := newNode(t, nil)
	pod := n.endpoint(hns.Endpoint{Name: "sbx-01_lake"}, podNS)
	want := wantLake()
	want.IPAMs = subnets("10.50.8.0/24", "10.50.8.1")
	anew := &hns.EnsureOptions{Drift: hns.DriftRecreate}

	_, d, err := n.Networks.Ensure(t.Context(), want, anew)
	decided(t, d, hns.ActionRefuse, "Ipams[0].Subnets[0].IpAddressPrefix")
	wantIs(t, err, hns.ErrInUse, hns.ErrDrift)
	if !strings.Contains(err.Error(), pod.ID.String()) {
		t.Errorf("error %v", err)
	}
	n.wantChanges()

	n.must(n.Endpoints.Delete(t.Context(), pod.ID))
	n.forget()
	made, d, err := n.Networks.Ensure(t.Context(), want, anew)
	n.must(err)
	decided(t, d, hns.ActionRecreate, "Ipams[0].Subnets[0].IpAddressPrefix")
	n.wantChanges("delete network", "create network")
	if d.ID != n.lake || made.ID == n.lake || made.Subnets()[0].Prefix != prefix("10.50.8.0/24") {
		t.Errorf("decision %v, made %+v", d, made)
	}

	// HNS may haunt the name for a moment after the delete (moby/moby#33967).
	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Times: 2, Code: hns.CodeNetworkExists})
	_, d, err = n.Networks.Ensure(t.Context(), wantLake(), anew)
	n.must(err)
	decided(t, d, hns.ActionRecreate, "Ipams[0].Subnets[0].IpAddressPrefix")
	n.wantChanges("delete network", "create network", "create network", "create network")

	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodeAdapterNotFound})
	if _, _, err = n.Networks.Ensure(t.Context(), want, anew); !isCode(err, hns.CodeAdapterNotFound) || !strings.Contains(err.Error(), "was put back") {
		t.Errorf("error %v", err)
	}
}

// meeting lets the first two lists of networks go on only when both are there.
func meeting(next hns.Backend) hns.Backend {
	var both sync.WaitGroup
	both.Add(2)
	var mu sync.Mutex
	lists := 0
	return backend(func(r hns.Request) (hns.Response, error) {
		resp, err := next.Do(r)
		if r.Verb == hns.VerbList && r.Kind == hns.KindNetwork {
			mu.Lock()
			lists++
			first := lists <= 2
			mu.Unlock()
			if first {
				both.Done()
				both.Wait()
			}
		}
		return resp, err
	})
}

// Two pods see no network and both create it; the loser uses the winner's, if
// that is the same (Azure/azure-container-networking#3297).
func TestEnsureNetworkRace(t *testing.T) {
	for _, tt := range []struct {
		name  string
		other *hns.Network
		lost  int // how many are refused
	}{
		{"the same", wantMoor(5000), 0},
		{"another", wantMoor(6000), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := emulator.New(nil)
			c := hns.New(meeting(h), nil)
			var wg sync.WaitGroup
			nets, errs, ds := make([]*hns.Network, 2), make([]error, 2), make([]hns.Decision, 2)
			for i, want := range []*hns.Network{wantMoor(5000), tt.other} {
				wg.Add(1)
				go func() {
					defer wg.Done()
					nets[i], ds[i], errs[i] = c.Networks.Ensure(t.Context(), want, nil)
				}()
			}
			wg.Wait()
			lost := 0
			for i, err := range errs {
				if errors.Is(err, hns.ErrDrift) {
					lost++
					decided(t, ds[i], hns.ActionRefuse, "Ipams[0].Subnets[0].Policies[0] VSID")
				} else if err != nil {
					t.Error(err)
				}
			}
			if all, err := c.Networks.List(t.Context()); err != nil || len(all) != 1 || lost != tt.lost || nets[0].ID != nets[1].ID {
				t.Errorf("%d networks, %v; %d refused; got %v and %v", len(all), err, lost, nets[0].ID, nets[1].ID)
			}
		})
	}
}

// HNS says that the network exists and does not show it (microsoft/hcsshim#850,
// moby/moby#40345).
func TestEnsureNetworkGhost(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.must(n.h.Ghost("lake"))
	_, d, err := n.Networks.Ensure(t.Context(), wantLake(), nil)
	decided(t, d, hns.ActionCreate)
	wantIs(t, err, hns.ErrExists)
	var ghost *hns.GhostError
	var failed *hns.Error
	if !errors.As(err, &ghost) || ghost.Name != "lake" || !errors.As(err, &failed) || failed.Code != hns.CodeNetworkExists {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{`"lake"`, "0x803b0010", "Restart-Service hns"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %s in %q", part, err)
		}
	}
	if tries := len(n.changing()); tries < 2 || tries > 20 {
		t.Errorf("%d tries", tries)
	}

	// Wherever the context ends, the ghost is told of as soon as it was met.
	for at := range 10 {
		n.forget()
		_, _, err = n.Networks.Ensure(&endingContext{Context: t.Context(), left: at}, wantLake(), nil)
		if met := len(n.changing()) > 0; met != isCode(err, hns.CodeNetworkExists) || !errors.Is(err, context.Canceled) {
			t.Errorf("%d: met %v, error %v", at, met, err)
		}
	}

	n.must(n.h.Restart())
	n.forget()
	_, d, err = n.Networks.Ensure(t.Context(), wantLake(), nil)
	n.must(err)
	decided(t, d, hns.ActionCreate)
	n.wantChanges("create network")
}

// HNS says "already exists" of what it has just made.
func TestEnsureNetworkExistsAfterEffect(t *testing.T) {
	n := newNode(t, nil)
	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodeNetworkExists, After: true})
	made, d, err := n.Networks.Ensure(t.Context(), wantMoor(5000, hns.HostRoute{}), nil)
	n.must(err)
	decided(t, d, hns.ActionRepair, "Policies[1] HostRoute")
	n.wantChanges("create network", "modify network")
	same(t, "what is left", nil, hns.CompareNetworks(wantMoor(5000, hns.HostRoute{}), made))
}

// The agent died between the create and the second step, and then took the
// network for done (antrea-io/antrea#5841).
func TestEnsureNetworkGoesOn(t *testing.T) {
	n := newNode(t, nil)
	want := wantMoor(5000, hns.HostRoute{}, route("10.60.7.0/24", "192.0.2.7", "4e-0a-00-00-00-07"))
	want.DNS = hns.DNS{ServerList: []string{"10.96.0.10"}}
	n.h.Inject(emulator.Fault{Verb: hns.VerbModify, Nth: 2, Code: hns.CodeAccessDenied})
	made, d, err := n.Networks.Ensure(t.Context(), want, nil)
	wantIs(t, err, hns.ErrDenied)
	decided(t, d, hns.ActionCreate)
	if made == nil {
		t.Fatal("no network, although it was made")
	}
	n.wantChanges("create network", "modify network", "modify network")

	_, d, err = n.Networks.Ensure(t.Context(), want, nil)
	n.must(err)
	decided(t, d, hns.ActionRepair, "Policies[2] RemoteSubnetRoute")
	n.wantChanges("modify network")

	want.DNS.Search = []string{"svc.example"}
	got, d, err := n.Networks.Ensure(t.Context(), want, nil)
	n.must(err)
	decided(t, d, hns.ActionRepair, "Dns.Search")
	n.wantChanges("modify network")
	same(t, "DNS", hns.DNS{ServerList: []string{"10.96.0.10"}, Search: []string{"svc.example"}}, got.DNS)
}

// HNS takes VNIs of 4096 to 16777214; Linux's default is 1 (moby/libnetwork#1843,
// rancher/rke2#5952). Other numbers pass unchanged (flannel-io/flannel#1215).
func TestEnsureNetworkVNI(t *testing.T) {
	for vni, ok := range map[uint32]bool{0: false, 1: false, 4095: false, 4096: true, 5000: true, 16777214: true, 16777215: false} {
		n := newNode(t, nil)
		made, _, err := n.Networks.Ensure(t.Context(), wantMoor(vni), nil)
		if ok {
			n.must(err)
			if got := made.Subnets()[0].VSID(); got != vni {
				t.Errorf("VNI %d became %d", vni, got)
			}
			continue
		}
		wantIs(t, err, hns.ErrInvalid, hns.ErrInvalidPolicy)
		if err == nil || !strings.Contains(err.Error(), "4096 to 16777214") {
			t.Errorf("VNI %d: %v", vni, err)
		}
		n.wantChanges()
	}
}

// HNS gives a bare code where another network stands in the way.
func TestEnsureNetworkConflict(t *testing.T) {
	nat := func(name string, pairs ...string) *hns.Network {
		return &hns.Network{Name: name, Type: hns.NAT, IPAMs: subnets(pairs...)}
	}
	transparent := func(name string) *hns.Network {
		return &hns.Network{Name: name, Type: hns.Transparent, Policies: []hns.NetworkPolicy{hns.NetAdapterName{Name: "Ethernet"}}}
	}
	tests := []struct {
		name         string
		opts         *emulator.Options
		first, then  *hns.Network
		reason       string
		code         hns.Code
		meansOverlap bool
	}{
		// moby/moby#30280, docker/for-win#1384
		{"overlap", nil, nat("pond", "172.30.0.0/20", "172.30.0.1"), nat("pool", "172.30.8.0/24", "172.30.8.1"), "172.30.8.0/24 overlaps its 172.30.0.0/20", hns.CodeObjectAlreadyExists, true},
		// moby/moby#29207
		{"one NAT alone", &emulator.Options{SingleNAT: true}, nat("pond", "172.30.0.0/20", "172.30.0.1"), nat("reed", "172.31.0.0/24", "172.31.0.1"), "one NAT network", hns.CodeInvalidParameter, false},
		// antrea-io/antrea#2213
		{"adapter", nil, transparent("pond"), transparent("glass"), `adapter "Ethernet"`, hns.CodeInvalidParameter, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := hns.New(emulator.New(tt.opts), nil)
			first, _, err := c.Networks.Ensure(t.Context(), tt.first, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = c.Networks.Ensure(t.Context(), tt.then, nil)
			var conflict *hns.ConflictError
			if !errors.As(err, &conflict) || conflict.Name != "pond" || conflict.ID != first.ID || !strings.Contains(conflict.Reason, tt.reason) {
				t.Fatalf("error %v", err)
			}
			var failed *hns.Error
			if !errors.As(err, &failed) || failed.Code != tt.code || errors.Is(err, hns.ErrOverlap) != tt.meansOverlap {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The v2 document of a network may lack the adapter; the v1 one has it.
func TestEnsureNetworkAsksV1ForAdapter(t *testing.T) {
	n := newNode(t, nil)
	c := hns.New(backend(func(r hns.Request) (hns.Response, error) {
		if r.Verb == hns.VerbCall && r.Path == "/networks/"+n.lake.Upper() {
			return answering(`{"ID":"` + n.lake.Upper() + `","NetworkAdapterName":"Ethernet"}`).Do(r)
		}
		return n.rec.Do(r)
	}), nil)
	for name, action := range map[string]hns.Action{"ethernet": hns.ActionKeep, "Ethernet 2": hns.ActionRefuse} {
		want := wantLake()
		want.Policies = []hns.NetworkPolicy{hns.NetAdapterName{Name: name}}
		_, d, _ := c.Networks.Ensure(t.Context(), want, nil)
		if d.Action != action {
			t.Errorf("%s: %s", name, d)
		}
	}
	n.wantChanges()
}
