package emulator_test

import (
	"errors"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// kubernetes/kubernetes#135802: objects go without a call of the client.
func TestVanish(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.RefuseBackendDelete = true })
	lake := n.lake()
	ep := n.backends(lake, 1)
	ns := n.id(hns.KindNamespace, namespaceDoc)
	n.join("Add", ns, ep[0])
	n.container("Add", ns, "c1")
	ids := []struct {
		kind hns.Kind
		id   hns.ID
	}{
		{hns.KindEndpoint, ep[0]},
		{hns.KindNamespace, ns},
		{hns.KindLoadBalancer, n.id(hns.KindLoadBalancer, balancer(ep, port(6, 80, 80)))},
		{hns.KindRoute, n.id(hns.KindRoute, route(ep, "Routes", someRoute))},
		{hns.KindNetwork, lake},
	}
	n.Inject(emulator.Fault{Times: -1, Code: hns.CodeAccessDenied})
	n.Stop()
	n.ResetCalls()
	for _, o := range ids {
		if err := n.Vanish(o.kind, o.id); err != nil {
			t.Errorf("%s: %v", o.kind, err)
		}
		if err := n.Vanish(o.kind, o.id); n.code(err) == 0 {
			t.Errorf("%s vanished twice", o.kind)
		}
	}
	if calls := n.Calls(); len(calls) != 0 {
		t.Errorf("calls: %v", calls)
	}
	s, err := n.Snapshot()
	if err != nil || len(s.Networks)+len(s.Endpoints)+len(s.Namespaces)+len(s.LoadBalancers)+len(s.Routes) != 0 {
		t.Errorf("left: %s, %v", n.state(), err)
	}
	var be *hns.BackendError
	if err := n.Vanish(hns.KindService, lake); !errors.As(err, &be) || be.Code != hns.CodeNotImplemented {
		t.Errorf("the service: %v", err)
	}
}

func TestVanishedEndpointLeavesItsNamespace(t *testing.T) {
	n := newNode(t)
	ep := n.backends(n.lake(), 1)[0]
	ns := n.id(hns.KindNamespace, namespaceDoc)
	n.join("Add", ns, ep)
	if err := n.Vanish(hns.KindEndpoint, ep); err != nil {
		t.Fatal(err)
	}
	if r := at(t, n.get(hns.KindNamespace, ns), "Resources"); r != nil {
		t.Errorf("the namespace holds %v", r)
	}
}

// microsoft/hcsshim#850, moby/moby#33880
func TestGhost(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	ep := n.backends(lake, 1)[0]
	other := n.fjord()
	if err := n.Ghost("lake"); err != nil {
		t.Fatal(err)
	}
	if got := n.list(hns.KindNetwork, `{"Name":"lake"}`); len(got) != 0 {
		t.Errorf("shown: %s", got)
	}
	for kind, id := range map[hns.Kind]hns.ID{hns.KindNetwork: lake, hns.KindEndpoint: ep} {
		if _, code := n.try(hns.Request{Verb: hns.VerbGet, Kind: kind, ID: id}); code == 0 {
			t.Errorf("the %s is still there", kind)
		}
	}
	doc := network("lake", "L2Bridge", "10.50.3.0/24")
	for range 2 {
		if _, code := n.create(hns.KindNetwork, doc); code != hns.CodeNetworkExists {
			t.Errorf("create: %s", code)
		}
	}
	n.id(hns.KindNetwork, network("Lake", "L2Bridge", "10.51.3.0/24"))
	if err := n.Restart(); err != nil {
		t.Fatal(err)
	}
	n.made(hns.KindNetwork, doc)
	n.get(hns.KindNetwork, other)
	if err := n.Ghost("never was"); err != nil {
		t.Fatal(err)
	}
	if err := n.Reboot(); err != nil {
		t.Fatal(err)
	}
	n.made(hns.KindNetwork, network("never was", "L2Bridge", "10.52.3.0/24"))
}

func TestGhostIgnoresCaseAsNamesDo(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.NetworkNamesIgnoreCase = true })
	if err := n.Ghost("LAKE"); err != nil {
		t.Fatal(err)
	}
	if _, code := n.create(hns.KindNetwork, network("lake", "L2Bridge", "10.50.3.0/24")); code != hns.CodeNetworkExists {
		t.Errorf("create: %s", code)
	}
}
