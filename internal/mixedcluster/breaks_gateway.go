package mixedcluster

import (
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// gateways are faults of the pods' gateway and of the networks' identity, in
// every mode that has them.
func gateways() []Break {
	via := func(a string) func(*flows.Cluster) {
		return onPod(Win1, Client, func(e *hns.Endpoint) { e.Routes = []hns.Route{hns.DefaultRoute(netip.MustParseAddr(a))} })
	}
	const (
		second  = "the pods' gateway is .2, as on L2Bridge, instead of .1"
		foreign = "the pods' gateway is that of another network"
	)
	return []Break{
		{"gateway-subnet", foreign, "microsoft/windows-container-networking#98", modes.L2Bridge, toWin2, via("10.9.9.1")},
		{"gateway", second, "containernetworking/plugins#671", modes.Overlay, toWin2, via("10.244.1.2")},
		{"gateway-subnet", foreign, "microsoft/windows-container-networking#98", modes.Overlay, toOutside, via("10.9.9.1")},
		{"gateway", second, "containernetworking/plugins#671", modes.L2Tunnel, toWin2, via("10.244.1.2")},
		{"gateway", second, "containernetworking/plugins#671", modes.NAT, toOutside, via("10.244.1.2")},
		{"vni-small", "all nodes have VNI 1, flannel's own", "moby/libnetwork#1843", modes.Overlay, toWin2, everywhereVNI(1)},
		{"vni-small-from", "all nodes have VNI 1, flannel's own, seen from Linux", "moby/libnetwork#1843", modes.Overlay, fromLinux, everywhereVNI(1)},
		{"assigned-elsewhere", "Azure has given the addresses of win-1's pods to win-2", "", modes.L2Tunnel, toWin2, func(c *flows.Cluster) {
			v := *c.Physical.VNet
			v.Assigned = slices.Clone(v.Assigned)
			for i := range v.Assigned {
				if v.Assigned[i].Node == Win1 {
					v.Assigned[i].Node = Win2
				}
			}
			c.Physical.VNet = &v
		}},
	}
}

// everywhereVNI gives all nodes one VNI.
func everywhereVNI(vni uint32) func(*flows.Cluster) {
	do := []func(*flows.Cluster){onVXLAN(func(v *flows.VXLAN) { v.VNI = vni })}
	for _, node := range []string{Win1, Win2} {
		do = append(do, onNetwork(node, func(n *hns.Network) {
			s := n.Subnets()[0]
			s.Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: vni}}
			n.IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{s}}}
			n.Policies = slices.Clone(n.Policies)
			for i, p := range n.Policies {
				if r, ok := p.(hns.RemoteSubnetRoute); ok {
					r.IsolationID = vni
					n.Policies[i] = r
				}
			}
		}))
	}
	return both(do...)
}
