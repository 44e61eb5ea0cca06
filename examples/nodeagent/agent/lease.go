package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/subnetenv"
)

// linuxVXLANPort is flannel's on Linux, where net-conf.json names none.
const linuxVXLANPort = 8472

// vxlanData is flannel's backend-data annotation of VXLAN.
type vxlanData struct {
	VNI     uint32
	VtepMAC *string
}

// leases reads what other nodes say of themselves, as flannel writes it.
type leases struct {
	names   annotations
	netConf *subnetenv.NetConf
}

// remote returns the node as package node has it. What cannot be read is in Err;
// ok is false for a node that flannel does not manage.
func (l *leases) remote(n *corev1.Node) (r node.Remote, ok bool) {
	if n.Annotations[l.names.managed] != "true" {
		return node.Remote{}, false
	}
	r.Name = n.Name
	r.Err = l.read(n, &r)
	return r, true
}

func (l *leases) read(n *corev1.Node, r *node.Remote) error {
	if t := n.Annotations[l.names.backendType]; !strings.EqualFold(t, l.netConf.Backend) { // as flanneld on Windows compares it
		return fmt.Errorf("annotation %s is %q, and %q on this node", l.names.backendType, t, l.netConf.Backend)
	}
	subnet, err := podSubnet(n)
	if err != nil {
		return err
	}
	if subnet.IsValid() {
		r.Subnets = []netip.Prefix{subnet}
	}
	if text := n.Annotations[l.names.publicIP]; text != "" {
		a, err := netip.ParseAddr(text)
		if err != nil || !a.Is4() {
			return fmt.Errorf("annotation %s: %q is not an IPv4 address", l.names.publicIP, text)
		}
		r.Addresses = []netip.Addr{a}
	}
	if l.netConf.Backend != subnetenv.BackendVXLAN {
		return nil
	}
	r.Port = l.port(n)
	if err := l.vxlan(n.Annotations[l.names.backendData], r); err != nil {
		return fmt.Errorf("annotation %s: %w", l.names.backendData, err)
	}
	return nil
}

// vxlan reads the backend's data. A MAC address that is missing or null is one
// that is not known yet (flannel-io/flannel#1061).
func (l *leases) vxlan(text string, r *node.Remote) error {
	if text == "" {
		return nil
	}
	var data *vxlanData
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	if data == nil {
		return nil
	}
	r.VNI = data.VNI
	if data.VtepMAC == nil || *data.VtepMAC == "" {
		return nil
	}
	mac, err := hns.ParseMAC(*data.VtepMAC)
	if err != nil {
		return fmt.Errorf("VtepMAC: %q is not a MAC address", *data.VtepMAC)
	}
	r.MAC = mac
	return nil
}

// port is what the node sends VXLAN to, which its lease does not say: the
// cluster's or, where net-conf.json names none, the default of its system.
func (l *leases) port(n *corev1.Node) uint16 {
	switch {
	case l.netConf.Port != 0:
		return l.netConf.Port
	case operatingSystem(n) == "windows":
		return subnetenv.DefaultVXLANPort
	}
	return linuxVXLANPort
}

func operatingSystem(n *corev1.Node) string {
	if os := n.Labels[corev1.LabelOSStable]; os != "" {
		return os
	}
	return n.Status.NodeInfo.OperatingSystem
}

// podSubnet returns the node's IPv4 podCIDR; zero if it has none (yet). flannel
// carries nothing else between Windows nodes.
func podSubnet(n *corev1.Node) (netip.Prefix, error) {
	cidrs := n.Spec.PodCIDRs
	if len(cidrs) == 0 && n.Spec.PodCIDR != "" {
		cidrs = []string{n.Spec.PodCIDR}
	}
	for _, text := range cidrs {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("spec.podCIDRs: %q is not a prefix", text)
		}
		if p.Addr().Is4() {
			return p.Masked(), nil
		}
	}
	if len(cidrs) > 0 {
		return netip.Prefix{}, fmt.Errorf("spec.podCIDRs: %q: none is of IPv4", cidrs)
	}
	return netip.Prefix{}, nil
}

// ownLease returns the annotations by which the others know this node.
func (l *leases) ownLease(mode modes.Mode, vni uint32, mac hns.MAC, public netip.Addr) (map[string]string, error) {
	data := "null" // as flannel has it on host-gw
	if mode == modes.Overlay {
		if mac.IsZero() {
			return nil, errors.New("HNS gave the network no DrMacAddress")
		}
		text := net.HardwareAddr(mac[:]).String()
		b, err := json.Marshal(vxlanData{VNI: vni, VtepMAC: &text})
		if err != nil {
			return nil, err
		}
		data = string(b)
	}
	return map[string]string{
		l.names.managed: "true", l.names.backendType: l.netConf.Backend,
		l.names.backendData: data, l.names.publicIP: public.String(),
	}, nil
}
