package modes_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/modes"
)

var (
	server2019 = []hns.Version{emulator.WindowsServer2019}
	server2022 = []hns.Version{emulator.WindowsServer2022}
)

// fits lists the recommendations as "mode fit".
func fits(rs modes.Recommendations) []string {
	var out []string
	for _, r := range rs {
		out = append(out, fmt.Sprintf("%s %s", r.Mode, r.Fit))
	}
	return out
}

const never = " does not work"

var recommendTests = []struct {
	name    string
	cluster modes.Cluster
	want    []string
	texts   []string // in the table, each
}{
	{"one-link-host-gw", modes.Cluster{Windows: server2019, SameLink: true, Linux: modes.LinuxNodes{Network: modes.FlannelHostGW}},
		[]string{"L2Bridge works", "Overlay works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never}, []string{"one link"}},
	// flannel on Linux: VNI 1, port 8472 (flannel-io/flannel#1215,
	// rancher/rke2#5952).
	{"flannel-vxlan-defaults", modes.Cluster{Windows: server2019, Linux: modes.LinuxNodes{Network: modes.FlannelVXLAN}},
		[]string{"Overlay works if", "Transparent works if", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never},
		[]string{"set VNI 4096 instead of 1", "set UDP port 4789 instead of 8472"}},
	{"flannel-vxlan-for-windows", modes.Cluster{Windows: server2022, Linux: modes.LinuxNodes{Network: modes.FlannelVXLAN, VNI: 4096, Port: 4789}},
		[]string{"Overlay works", "Transparent works if", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, nil},
	{"flannel-vxlan-wide-vni-direct-routing", modes.Cluster{Windows: server2022, SameLink: true,
		Linux: modes.LinuxNodes{Network: modes.FlannelVXLAN, VNI: 69632, Port: 4789, DirectRouting: true}},
		[]string{"Overlay works if", "L2Bridge works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never},
		[]string{"16 bits", "switch DirectRouting off", "replace flannel vxlan by flannel host-gw"}},
	{"flannel-vxlan-fixed", modes.Cluster{Windows: server2022, SameLink: true, Linux: modes.LinuxNodes{Network: modes.FlannelVXLAN, Fixed: true}},
		[]string{"Overlay" + never, "L2Bridge" + never, "L2Tunnel" + never, "Transparent" + never, "NAT" + never},
		[]string{"cannot: set VNI 4096 instead of 1", "cannot: replace flannel vxlan"}},
	{"wireguard", modes.Cluster{Windows: server2022, SameLink: true, Linux: modes.LinuxNodes{Network: modes.FlannelOther}},
		[]string{"L2Bridge works if", "Overlay works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never}, nil},
	{"server-2019-as-released", modes.Cluster{Windows: []hns.Version{emulator.WindowsServer2019RTM, emulator.WindowsServer2022}, Linux: modes.LinuxNodes{Network: modes.FlannelVXLAN, VNI: 4096, Port: 4789}},
		[]string{"Overlay works if", "Transparent works if", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, []string{"KB4489899", "update those with HNS 9.1"}},

	// The clouds.
	{"aws-host-gw", modes.Cluster{Windows: server2022, Cloud: modes.CloudAWS, SameLink: true, Linux: modes.LinuxNodes{Network: modes.FlannelHostGW}},
		[]string{"L2Bridge works if", "Overlay works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never}, []string{"source/destination check"}},
	{"aws-check-stays-on", modes.Cluster{Windows: server2022, Cloud: modes.CloudAWS, SameLink: true, ForwardingDenied: true, Linux: modes.LinuxNodes{Network: modes.FlannelHostGW}},
		[]string{"Overlay works if", "Transparent works if", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, []string{"may not forward"}},
	{"aws-several-links", modes.Cluster{Windows: server2022, Cloud: modes.CloudAWS, Routes: true, Linux: modes.LinuxNodes{Network: modes.FlannelHostGW}},
		[]string{"L2Bridge works if", "Overlay works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never}, []string{"route table of the cloud"}},
	{"google-host-gw", modes.Cluster{Windows: server2022, Cloud: modes.CloudGoogle, SameLink: true, Routes: true, Linux: modes.LinuxNodes{Network: modes.FlannelHostGW}},
		[]string{"L2Bridge works if", "Overlay works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never}, []string{"route table of the cloud", "canIpForward"}},
	{"azure-cni", modes.Cluster{Windows: server2022, Cloud: modes.CloudAzure, Linux: modes.LinuxNodes{Network: modes.AzureCNI}},
		[]string{"L2Tunnel works", "L2Bridge works", "Overlay works if", "Transparent" + never, "NAT" + never}, []string{"makes L2Bridge networks"}},
	{"azure-flannel", modes.Cluster{Windows: server2022, Cloud: modes.CloudAzure, SameLink: true, Linux: modes.LinuxNodes{Network: modes.FlannelHostGW}},
		[]string{"L2Tunnel works if", "Overlay works if", "L2Bridge" + never, "Transparent" + never, "NAT" + never}, []string{"no common link"}},
	{"azure-flannel-with-routes", modes.Cluster{Windows: server2022, Cloud: modes.CloudAzure, Routes: true, Linux: modes.LinuxNodes{Network: modes.FlannelHostGW}},
		[]string{"L2Bridge works if", "L2Tunnel works if", "Overlay works if", "Transparent" + never, "NAT" + never}, []string{"IP forwarding on every node"}},
	// vSphere has UDP 4789 for itself.
	{"vmware-ovn", modes.Cluster{Windows: server2022, Cloud: modes.CloudVMware, Linux: modes.LinuxNodes{Network: modes.OVNHybrid, Port: 9898}},
		[]string{"Overlay works", "Transparent works if", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, []string{"vSphere takes UDP port 4789", "VNI 4097"}},
	{"vmware-flannel-2019", modes.Cluster{Windows: server2019, Cloud: modes.CloudVMware, SameLink: true, Linux: modes.LinuxNodes{Network: modes.FlannelVXLAN, VNI: 4096, Port: 4789}},
		[]string{"Overlay works if", "L2Bridge works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never}, []string{"update those with HNS 9.5", "another agent than flanneld"}},

	// What is wanted.
	{"dual-stack-2022", modes.Cluster{Windows: server2022, SameLink: true, IPv6: true, Linux: modes.LinuxNodes{Network: modes.CalicoBGP}},
		[]string{"L2Bridge works", "L2Tunnel" + never, "Overlay" + never, "Transparent" + never, "NAT" + never}, []string{"carries no IPv6"}},
	{"dual-stack-2019", modes.Cluster{Windows: server2019, SameLink: true, IPv6: true, Linux: modes.LinuxNodes{Network: modes.FlannelHostGW}},
		[]string{"L2Bridge works if", "L2Tunnel" + never, "Overlay" + never, "Transparent" + never, "NAT" + never}, []string{"Windows Server 2022", "no IPv6 on Windows"}},
	{"isolation", modes.Cluster{Windows: server2022, SameLink: true, Routes: true, Isolation: true, Cloud: modes.CloudAzure},
		[]string{"Overlay works", "L2Bridge" + never, "L2Tunnel" + never, "Transparent" + never, "NAT" + never}, []string{"apart from the physical network"}},

	// The other networks of Linux nodes.
	{"antrea", modes.Cluster{Windows: server2022, Linux: modes.LinuxNodes{Network: modes.Antrea}},
		[]string{"Transparent works", "Overlay works if", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, []string{"Open vSwitch"}},
	{"calico-vxlan", modes.Cluster{Windows: server2022, Linux: modes.LinuxNodes{Network: modes.CalicoVXLAN}},
		[]string{"Overlay works", "Transparent works if", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, nil},
	{"calico-bgp-routed", modes.Cluster{Windows: server2022, Routes: true, Linux: modes.LinuxNodes{Network: modes.CalicoBGP}},
		[]string{"L2Bridge works if", "Overlay works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never}, []string{"by BGP"}},
	{"other", modes.Cluster{Windows: server2022, SameLink: true, Linux: modes.LinuxNodes{Network: modes.LinuxOther}},
		[]string{"L2Bridge works if", "Overlay works if", "Transparent works if", "L2Tunnel" + never, "NAT" + never}, []string{"replace other by"}},
	{"vni-and-port-wanted", modes.Cluster{Windows: server2022, Linux: modes.LinuxNodes{VNI: 5000, Port: 8472}},
		[]string{"Overlay works", "Transparent works", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, []string{"OVN-Kubernetes hybrid overlay or another", "VNI 5000 and UDP port 8472", "Windows nodes  UDP port 8472"}},
	{"port-wanted-2019", modes.Cluster{Windows: server2019, Linux: modes.LinuxNodes{Port: 8472}},
		[]string{"Overlay works", "Transparent works", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, []string{"VNI 4096 and UDP port 4789"}},
	{"nothing-yet", modes.Cluster{SameLink: true},
		[]string{"L2Bridge works", "Overlay works", "Transparent works", "L2Tunnel" + never, "NAT" + never}, []string{"versions of the Windows nodes are not known", "VNI 4096 and UDP port 4789"}},
	{"nothing-known", modes.Cluster{}, []string{"Overlay works", "Transparent works", "L2Bridge" + never, "L2Tunnel" + never, "NAT" + never}, nil},
}

func TestRecommend(t *testing.T) {
	files := map[string]bool{}
	for _, tt := range recommendTests {
		files[filepath.Join("testdata", "recommend", tt.name+".txt")] = true
		t.Run(tt.name, func(t *testing.T) {
			rs, err := modes.Recommend(tt.cluster)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, fits(rs)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, rs)
			}
			for _, s := range tt.texts {
				if !strings.Contains(rs.String(), s) {
					t.Errorf("the table does not say %q:\n%s", s, rs)
				}
			}
			checkRecommendations(t, tt.cluster, rs)
			golden.File(t, filepath.Join("testdata", "recommend", tt.name+".txt"), rs.String())
		})
	}
	there, err := filepath.Glob(filepath.Join("testdata", "recommend", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if !files[f] {
			t.Errorf("%s: nothing is compared with it any more", f)
		}
	}
}

// checkRecommendations holds what is true of any cluster.
func checkRecommendations(t *testing.T, c modes.Cluster, rs modes.Recommendations) {
	t.Helper()
	again, err := modes.Recommend(c)
	if err != nil || !reflect.DeepEqual(rs, again) {
		t.Error("asked twice, and not the same")
	}
	seen := map[modes.Mode]bool{}
	last := 0
	for _, r := range rs {
		seen[r.Mode] = true
		at := slices.Index([]modes.Fit{modes.Works, modes.WorksIf, modes.DoesNotWork}, r.Fit)
		if at < last {
			t.Errorf("%s (%s) stands behind worse ones", r.Mode, r.Fit)
		}
		last = at
		for _, why := range r.Reasons {
			if why.Text == "" || why.Source == "" {
				t.Errorf("%s: reason %+v", r.Mode, why)
			}
		}
		changes := 0
		for _, a := range r.Do {
			if a.Text == "" || a.Source == "" || a.Where == "" {
				t.Errorf("%s: action %+v", r.Mode, a)
			}
			if a.Change {
				changes++
			}
			if a.Change && a.Where == modes.LinuxSide && c.Linux.Fixed {
				t.Errorf("%s: changes the Linux nodes: %+v", r.Mode, a)
			}
		}
		if len(r.Reasons) == 0 || (changes > 0) != (r.Fit == modes.WorksIf) || r.Fit == modes.DoesNotWork && len(r.Do) > 0 {
			t.Errorf("%s is said to be %q, with %d reasons and %d changes", r.Mode, r.Fit, len(r.Reasons), changes)
		}
		checkVXLAN(t, r)
	}
	if len(seen) != len(modes.All()) {
		t.Errorf("judged %v", fits(rs))
	}
}

// checkVXLAN wants VNI and port of an Overlay that works, in a form that the
// planner takes.
func checkVXLAN(t *testing.T, r modes.Recommendation) {
	t.Helper()
	if want := r.Mode == modes.Overlay && r.Fit != modes.DoesNotWork; (r.VNI != 0) != want || (r.VXLANPort != 0) != want {
		t.Errorf("%s (%s): VNI %d, port %d", r.Mode, r.Fit, r.VNI, r.VXLANPort)
	} else if !want {
		return
	}
	in := fjord()
	in.VNI, in.VXLANPort = r.VNI, r.VXLANPort
	if _, err := modes.PlanNetwork(in); err != nil {
		t.Errorf("the planner: %v", err)
	}
}

func TestRecommendErrors(t *testing.T) {
	tests := []struct {
		name    string
		cluster modes.Cluster
		want    []string
	}{
		{"cloud", modes.Cluster{Cloud: "azure"}, []string{"Cloud | azure"}},
		{"Linux network", modes.Cluster{Linux: modes.LinuxNodes{Network: "weave"}}, []string{"Linux.Network | weave"}},
		{"VXLAN of host-gw", modes.Cluster{Linux: modes.LinuxNodes{Network: modes.FlannelHostGW, VNI: 4096, Port: 4789, DirectRouting: true}},
			[]string{"Linux.VNI | 4096", "Linux.Port | 4789", "Linux.DirectRouting | true"}},
		{"VNI of another", modes.Cluster{Linux: modes.LinuxNodes{Network: modes.LinuxOther, VNI: 5000}}, []string{"Linux.VNI | 5000"}},
		{"VNI", modes.Cluster{Linux: modes.LinuxNodes{Network: modes.FlannelVXLAN, VNI: 1 << 24}}, []string{"Linux.VNI | 16777216"}},
		{"Azure CNI elsewhere", modes.Cluster{Cloud: modes.CloudAWS, Linux: modes.LinuxNodes{Network: modes.AzureCNI}}, []string{"Linux.Network | Azure CNI"}},
		{"version", modes.Cluster{Windows: make([]hns.Version, 1)}, []string{"Windows[0] |"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rs, err := modes.Recommend(tt.cluster)
			wantComplaints(t, err, tt.want)
			if rs != nil {
				t.Errorf("recommendations beside the error: %v", rs)
			}
		})
	}
}

// FuzzRecommend: any cluster is judged, alike each time, or refused with paths.
func FuzzRecommend(f *testing.F) {
	f.Add("flannel vxlan", "AWS", uint32(0), uint16(0), uint32(9), uint32(1), uint16(0))
	f.Add("Azure CNI", "Azure", uint32(0), uint16(0), uint32(15), uint32(4), uint16(511))
	f.Add("OVN-Kubernetes hybrid overlay", "VMware", uint32(4097), uint16(9898), uint32(13), uint32(3), uint16(1))
	f.Fuzz(func(t *testing.T, network, cloud string, vni uint32, port uint16, major, minor uint32, flags uint16) {
		flag := func(i int) bool { return flags>>i&1 != 0 }
		c := modes.Cluster{
			Cloud: modes.Cloud(cloud), SameLink: flag(0), Routes: flag(1), ForwardingDenied: flag(2), IPv6: flag(3), Isolation: flag(4),
			Linux: modes.LinuxNodes{Network: modes.LinuxNetwork(network), VNI: vni, Port: port, DirectRouting: flag(5), Fixed: flag(6)},
		}
		if flag(7) {
			c.Windows = []hns.Version{{Major: major, Minor: minor}}
		}
		rs, err := modes.Recommend(c)
		if err != nil {
			if len(complaints(err)) == 0 {
				t.Fatalf("an error without a type: %v", err)
			}
			return
		}
		checkRecommendations(t, c, rs)
	})
}
