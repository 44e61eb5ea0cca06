package emulator_test

import (
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// Flags are an enumeration, too: taken by name or as a number, and shown as a
// number.
func TestFlagsByName(t *testing.T) {
	n := newNode(t)
	lake := n.id(hns.KindNetwork, network("lake", "L2Bridge", "10.50.3.0/24", `,"Flags":"EnableNonPersistent"`))
	if got := at(t, n.get(hns.KindNetwork, lake), "Flags"); got != 8.0 {
		t.Errorf("network: %v", got)
	}
	ep := n.id(hns.KindEndpoint, endpoint(lake, "x", ip("10.9.9.9"), `,"Flags":"remoteendpoint"`))
	if got := at(t, n.get(hns.KindEndpoint, ep), "Flags"); got != 1.0 {
		t.Errorf("endpoint: %v", got)
	}
	lb := n.id(hns.KindLoadBalancer, balancer([]hns.ID{ep}, `,"Flags":"EnableDirectServerReturn","PortMappings":[{"Protocol":"TCP","InternalPort":80,"ExternalPort":80,"Flags":"EnablePreserveDip"}]`))
	doc := n.get(hns.KindLoadBalancer, lb)
	if at(t, doc, "Flags") != 1.0 || at(t, doc, "PortMappings", 0, "Flags") != 8.0 {
		t.Errorf("load balancer: %s", doc)
	}
	for _, bad := range []string{`"Wet"`, `{}`, `-1`} {
		if _, code := n.create(hns.KindEndpoint, endpoint(lake, "y", `,"Flags":`+bad)); code != hns.CodeInvalidJSON {
			t.Errorf("flags %s: %s", bad, code)
		}
	}
}

func TestDNSOfTheWrongType(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	for _, bad := range []string{`7`, `{"Domain":7}`, `{"Search":"a.test"}`, `{"ServerList":[1]}`, `{"Options":{}}`} {
		if _, code := n.create(hns.KindNetwork, network("moor", "NAT", "10.0.0.0/24", `,"Dns":`+bad)); code != hns.CodeInvalidJSON {
			t.Errorf("network with %s: %s", bad, code)
		}
		if _, code := n.create(hns.KindEndpoint, endpoint(lake, "x", `,"Dns":`+bad)); code != hns.CodeInvalidJSON {
			t.Errorf("endpoint with %s: %s", bad, code)
		}
		if code := n.modify(hns.KindNetwork, lake, `{"ResourceType":"DNS","RequestType":"Update","Settings":`+bad+`}`); code != hns.CodeInvalidJSON {
			t.Errorf("update to %s: %s", bad, code)
		}
	}
}
