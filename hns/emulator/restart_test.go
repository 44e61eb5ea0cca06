package emulator_test

import (
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// projectcalico/calico#5164, #8397
func TestRestart(t *testing.T) {
	for _, detaches := range []bool{false, true} {
		n := newNode(t, func(o *emulator.Options) { o.RestartDetaches = detaches })
		lake := n.lake()
		ns := n.id(hns.KindNamespace, namespaceDoc)
		pod, host := n.id(hns.KindEndpoint, endpoint(lake, "pod")), n.id(hns.KindEndpoint, endpoint(lake, "host"))
		n.join("Add", ns, pod)
		n.call("POST", "/endpoints/"+host.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
		before := n.state()
		n.Stop()
		if err := n.Restart(); err != nil {
			t.Fatal(err)
		}
		if !detaches {
			if n.state() != before {
				t.Errorf("a restart changed the state to\n%s", n.state())
			}
			continue
		}
		for _, id := range []hns.ID{pod, host} {
			if got := at(t, n.get(hns.KindEndpoint, id), "State"); got != 1.0 {
				t.Errorf("state %v after the restart", got)
			}
		}
		if code := n.join("Add", ns, pod); code != 0 {
			t.Errorf("add again: %s", code)
		}
		if got := at(t, n.get(hns.KindEndpoint, pod), "State"); got != 2.0 {
			t.Errorf("state %v after the add", got)
		}
		if got := len(at(t, n.get(hns.KindNamespace, ns), "Resources").([]any)); got != 1 {
			t.Errorf("%d resources", got)
		}
		if _, code := n.call("POST", "/endpoints/"+host.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`); code != 0 {
			t.Errorf("attach again: %s", code)
		}
	}
}

func TestReboot(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.HostNamespace = true })
	lake := n.lake()
	n.id(hns.KindNetwork, network("pond", "NAT", "172.30.0.0/20"))
	kept := n.id(hns.KindNetwork, network("deep", "NAT", "172.31.0.0/20", `,"Flags":16`))
	gone := n.id(hns.KindNetwork, network("fjord", "Overlay", "10.60.0.0/16", `,"Flags":8`))
	ns := n.id(hns.KindNamespace, namespaceDoc)
	pod := n.id(hns.KindEndpoint, endpoint(lake, "pod"))
	n.id(hns.KindEndpoint, endpoint(gone, "lost"))
	n.join("Add", ns, pod)
	n.container("Add", ns, "c1")
	if err := n.Reboot(); err != nil {
		t.Fatal(err)
	}
	if got := n.list(hns.KindNetwork, ""); len(got) != 2 {
		t.Errorf("networks left: %s", got)
	}
	n.get(hns.KindNetwork, kept)
	if got := n.list(hns.KindNamespace, ""); len(got) != 1 || at(t, got[0], "NamespaceId") != 1.0 {
		t.Errorf("namespaces left: %s", got)
	}
	eps := n.list(hns.KindEndpoint, "")
	if len(eps) != 1 || at(t, eps[0], "State") != 1.0 || n.parse(text(t, eps[0], "HostComputeNamespace")) != (hns.ID{}) {
		t.Errorf("endpoints left: %s", eps)
	}
}
