package node

import (
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// KubeProxy is what kube-proxy must be told on this node.
type KubeProxy struct {
	// NetworkName is the HNS network (--network-name, or the variable
	// KUBE_NETWORK).
	NetworkName string
	// ClusterCIDRs are at most one of each family (--cluster-cidr). They are
	// empty if the cluster has several of one, which kube-proxy cannot be told;
	// a warning of the plan says so.
	ClusterCIDRs []netip.Prefix
	// SourceVIP is what it sends from to backends on Overlay (--source-vip), and
	// zero elsewhere. kube-proxy makes the endpoint itself.
	SourceVIP netip.Addr
	// DSR is direct server return (--enable-dsr).
	DSR bool
	// FeatureGates are those that kube-proxy must have on. They are not among
	// the arguments: WinOverlay is on by default since Kubernetes 1.20, WinDSR in
	// later versions, and a gate that a version no longer knows is an error.
	FeatureGates []string
}

// Args returns the arguments of the command line; nil has none.
func (k *KubeProxy) Args() []string {
	if k == nil {
		return nil
	}
	args := []string{"--proxy-mode=kernelspace", "--network-name=" + k.NetworkName}
	if len(k.ClusterCIDRs) > 0 {
		var texts []string
		for _, c := range k.ClusterCIDRs {
			texts = append(texts, c.String())
		}
		args = append(args, "--cluster-cidr="+strings.Join(texts, ","))
	}
	if k.SourceVIP.IsValid() {
		args = append(args, "--source-vip="+k.SourceVIP.String())
	}
	if k.DSR {
		args = append(args, "--enable-dsr=true")
	}
	return args
}

func (p *Plan) kubeProxy() {
	d := &p.Description
	if v := d.Mode.Rule(modes.OnLoadBalancer, "").Verdict; v != modes.Legal && v != modes.Required {
		return
	}
	k := &KubeProxy{NetworkName: d.Name, SourceVIP: d.SourceVIP, DSR: d.DSR}
	families := map[bool]int{}
	for _, c := range d.ClusterCIDRs {
		families[c.Addr().Is4()]++
		k.ClusterCIDRs = append(k.ClusterCIDRs, c)
	}
	if families[true] > 1 || families[false] > 1 {
		k.ClusterCIDRs = nil
		p.Warnings = append(p.Warnings, &hns.FieldError{Path: "ClusterCIDRs", Reason: "kube-proxy takes one of each family; it is told none"})
	}
	if d.Mode == modes.Overlay {
		k.FeatureGates = append(k.FeatureGates, "WinOverlay")
	}
	if d.DSR {
		k.FeatureGates = append(k.FeatureGates, "WinDSR")
	}
	p.KubeProxy = k
}
