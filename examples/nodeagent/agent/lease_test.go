package agent

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/subnetenv"
)

func leasesOf(t testing.TB, conf string) *leases {
	c, err := subnetenv.ParseNetConf([]byte(conf))
	if err != nil {
		t.Fatal(err)
	}
	names, err := newAnnotations("")
	if err != nil {
		t.Fatal(err)
	}
	return &leases{names: names, netConf: c}
}

var comparable = cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})

// TestLeasesOfOthers are Nodes as flannel leaves them, on clusters of both
// backends.
func TestLeasesOfOthers(t *testing.T) {
	base := node.Remote{Name: "linux-07", Subnets: prefixes("10.244.7.0/24"), Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}
	vxlan := base
	vxlan.VNI, vxlan.Port, vxlan.MAC = 4096, 4789, hns.MAC{10, 0, 0, 0, 0, 7}
	noMAC := vxlan
	noMAC.MAC = hns.MAC{}
	nothing := noMAC
	nothing.VNI = 0
	for name, tc := range map[string]struct {
		conf   string
		change func(*corev1.Node)
		want   node.Remote
	}{
		"vxlan":                            {vxlanConf, nil, vxlan},
		"host-gw":                          {hostGWConf, nil, base},
		"MAC null":                         {vxlanConf, annotate("backend-data", `{"VNI":4096,"VtepMAC":null}`), noMAC},
		"MAC empty, as before the network": {vxlanConf, annotate("backend-data", `{"VNI":4096,"VtepMAC":""}`), noMAC},
		"data null":                        {vxlanConf, annotate("backend-data", "null"), nothing},
		"no data":                          {vxlanConf, annotate("backend-data", ""), nothing},
		"two families": {vxlanConf, func(x *corev1.Node) {
			x.Spec.PodCIDRs = []string{"fd00:244:7::/64", "10.244.7.0/24"}
			x.Annotations["flannel.alpha.coreos.com/backend-v6-data"] = `{"VNI":4096,"VtepMAC":"0a:00:00:00:00:99"}`
		}, vxlan},
		"podCIDR alone, of old API servers": {vxlanConf, func(x *corev1.Node) { x.Spec.PodCIDRs = nil }, vxlan},
	} {
		t.Run(name, func(t *testing.T) {
			n := linux(7, tc.conf)
			if tc.change != nil {
				tc.change(n)
			}
			got, ok := leasesOf(t, tc.conf).remote(n)
			if diff := cmp.Diff(tc.want, got, comparable); !ok || diff != "" {
				t.Errorf("%t (-want +got)\n%s", ok, diff)
			}
		})
	}
}

// TestOwnLeaseIsRead: what one agent writes another reads.
func TestOwnLeaseIsRead(t *testing.T) {
	for mode, conf := range map[modes.Mode]string{modes.Overlay: vxlanConf, modes.L2Bridge: hostGWConf} {
		l := leasesOf(t, conf)
		mac := hns.MAC{0, 0x15, 0x5d, 1, 2, 3}
		written, err := l.ownLease(mode, 4096, mac, netip.MustParseAddr("192.0.2.10"))
		if err != nil {
			t.Fatal(err)
		}
		want := node.Remote{Name: "win-1", Subnets: prefixes("10.244.1.0/24"), Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}
		if mode == modes.Overlay {
			want.VNI, want.Port, want.MAC = 4096, 4789, mac
		}
		got, ok := l.remote(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1", Annotations: written},
			Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.1.0/24"}}})
		if diff := cmp.Diff(want, got, comparable); !ok || diff != "" {
			t.Errorf("%s: %t (-want +got)\n%s", mode, ok, diff)
		}
	}
	if _, err := leasesOf(t, vxlanConf).ownLease(modes.Overlay, 4096, hns.MAC{}, netip.MustParseAddr("192.0.2.10")); err == nil {
		t.Error("a lease without a MAC address")
	}
}

// FuzzLease: whatever a Node says, it is read or refused, and what is read is
// fit for package node.
func FuzzLease(f *testing.F) {
	f.Add("true", "vxlan", `{"VNI":4096,"VtepMAC":"0a:00:00:00:00:07"}`, "192.0.2.7", "10.244.7.0/24")
	f.Add("true", "vxlan", "null", "", "fd00::/64")
	f.Add("true", "host-gw", `{"VtepMAC":7}`, "::1", "10.244.7.0")
	l := leasesOf(f, vxlanConf)
	f.Fuzz(func(t *testing.T, managed, backend, data, address, cidr string) {
		r, ok := l.remote(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{
			l.names.managed: managed, l.names.backendType: backend, l.names.backendData: data, l.names.publicIP: address}},
			Spec: corev1.NodeSpec{PodCIDRs: []string{cidr}}})
		if ok != (managed == "true") {
			t.Errorf("managed %q: %t", managed, ok)
		}
		if !ok || r.Err != nil {
			return
		}
		for _, s := range r.Subnets {
			if !s.Addr().Is4() || s != s.Masked() {
				t.Errorf("subnet %s", s)
			}
		}
		for _, a := range r.Addresses {
			if !a.Is4() {
				t.Errorf("address %s", a)
			}
		}
	})
}
