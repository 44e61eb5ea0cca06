package flows

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// subnetGateway wants the pod's route to lead to the gateway of its HNS subnet,
// which is all that forwards on Overlay, L2Tunnel and NAT, or to a router of the
// physical network. whose says who stands behind it.
func (f *flight) subnetGateway(e *endpoint, whose string) *Diagnosis {
	ref := e.ref("", "default route")
	hop, ok := e.gateway(f.dst())
	if !ok {
		return &Diagnosis{Reason: NoGateway, Object: ref, Missing: true, Certainty: Practice,
			Text: "the endpoint has no route to " + f.dst().String(), Fix: "give the endpoint a default route to the gateway of the HNS subnet"}
	}
	s, in := e.net.doc.SubnetOf(hop)
	switch want := s.Gateway(); {
	case f.w.routers[hop]:
	case !in && len(e.net.doc.Subnets()) > 0:
		d := foreignGateway(e, hop, "the gateway of the HNS subnet")
		return &d
	case !want.IsValid():
		f.unjudged(e.net.ref("", "gateway"), "which gateway the subnet of "+hop.String()+" has is not known")
	case want != hop:
		return &Diagnosis{Reason: DeadGateway, Object: ref, Certainty: Practice,
			Text: fmt.Sprintf("the gateway %s is not that of the HNS subnet, %s: nobody forwards there", hop, want),
			Fix:  fmt.Sprintf("let the endpoint's default route lead to %s", want)}
	}
	f.pass(ref, Documented, true, "the pod's gateway is "+whose)
	return nil
}

// foreignGateway says that a pod's gateway lies in none of the network's
// subnets: an address from one network and a gateway from another
// (microsoft/windows-container-networking#98).
func foreignGateway(e *endpoint, hop netip.Addr, right string) Diagnosis {
	return Diagnosis{Reason: DeadGateway, Object: e.ref("", "default route"), Certainty: Practice,
		Text: fmt.Sprintf("the gateway %s lies in no subnet of network %q: the pod cannot reach it", hop, e.net.doc.Name),
		Fix:  "let the endpoint's default route lead to " + right}
}

// lacks reports whether the node's HNS is known to lack a feature.
func (n *node) lacks(what hns.Feature) bool {
	v := n.state.Version
	return v != (hns.Version{}) && !what.In(v)
}

// lacksText says what a feature needs.
func (n *node) lacksText(what hns.Feature) string {
	return fmt.Sprintf("HNS %s has no %s (%s have)", n.state.Version, what.Name, what.Windows)
}
