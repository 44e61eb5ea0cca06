package ipam_test

// Tests with the real host-local plugin, built from a pinned version.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/ipam"
)

// realNetwork is a network whose pods get addresses from the real plugin.
type realNetwork struct {
	t       *testing.T
	ipam    ipam.Delegated
	plugins string
	dataDir string
	conf    []byte
}

// newRealNetwork makes a network named lake from an ipam object, which gets a
// data directory of its own.
func newRealNetwork(t *testing.T, cniVersion, ipamObject string) *realNetwork {
	t.Helper()
	tool, err := toolbuild.HostLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := &realNetwork{t: t, plugins: filepath.Dir(tool), dataDir: t.TempDir()}
	var obj map[string]any
	if err := json.Unmarshal([]byte(ipamObject), &obj); err != nil {
		t.Fatal(err)
	}
	obj["dataDir"] = n.dataDir
	n.conf, err = json.Marshal(map[string]any{"cniVersion": cniVersion, "name": "lake", "type": "win-bridge", "ipam": obj})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *realNetwork) request(id string) ipam.Request {
	return ipam.Request{ContainerID: id, IfName: "eth0", Netns: "ns-" + id, PluginPath: []string{n.t.TempDir(), n.plugins}, Config: n.conf}
}

// drain allocates until the plugin has nothing left and returns, per range set,
// what was handed out.
func (n *realNetwork) drain() []map[netip.Addr]bool {
	n.t.Helper()
	var out []map[netip.Addr]bool
	for i := 0; i < 300; i++ {
		lease, err := n.ipam.Allocate(n.t.Context(), n.request(fmt.Sprintf("sbx-%03d", i)))
		if err != nil {
			if !strings.Contains(err.Error(), "no IP addresses available") {
				n.t.Fatal(err)
			}
			return out
		}
		for j, a := range lease.Addresses {
			if j == len(out) {
				out = append(out, map[netip.Addr]bool{})
			}
			if out[j][a.Prefix.Addr()] {
				n.t.Fatalf("%s handed out twice", a.Prefix)
			}
			out[j][a.Prefix.Addr()] = true
		}
	}
	n.t.Fatal("the plugin does not run out of addresses")
	return nil
}

func (n *realNetwork) leases() []ipam.StoredLease {
	n.t.Helper()
	list, err := ipam.Leases(n.dataDir, "lake")
	if err != nil {
		n.t.Fatal(err)
	}
	return list
}

// TestFirstPodWithoutReserve shows the fault that Reserve is for: the first pod
// gets the address of the host's endpoint (kubernetes/kubernetes#74766,
// microsoft/SDN#333).
func TestFirstPodWithoutReserve(t *testing.T) {
	n := newRealNetwork(t, "1.0.0", `{"type":"host-local","subnet":"10.71.3.0/28"}`)
	lease, err := n.ipam.Allocate(t.Context(), n.request("sbx-01"))
	if err != nil {
		t.Fatal(err)
	}
	if got := lease.Addresses[0].Prefix; got != pfx("10.71.3.2/28") {
		t.Errorf("the first pod got %s; if host-local keeps .2 back by now, say so in the documentation", got)
	}
}

// TestReserveWithRealPlugin empties a network: every address is handed out but
// for the reserved ones.
func TestReserveWithRealPlugin(t *testing.T) {
	tests := []struct {
		name     string
		conf     string
		subnet   string
		use      ipam.Use
		wantFree int
	}{
		{"L2Bridge", `{"type":"host-local","subnet":"10.71.3.0/28"}`, "10.71.3.0/28", ipam.Use{Gateway: true, HostEndpoint: true}, 12},
		{"not the first subnet of its kind", `{"type":"host-local","subnet":"10.71.3.64/28"}`, "10.71.3.64/28", ipam.Use{Gateway: true, HostEndpoint: true}, 12},
		{"Overlay with a source VIP", `{"type":"host-local","subnet":"10.71.3.0/28"}`, "10.71.3.0/28", ipam.Use{Gateway: true, SourceVIP: adr("10.71.3.9")}, 12},
		{"gateway at the end, HNS holds the first", `{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/28","gateway":"10.71.3.14"}]]}`, "10.71.3.0/28", ipam.Use{Gateway: true}, 12},
		{"explicit bounds over all", `{"type":"host-local","subnet":"10.71.3.0/28","rangeStart":"10.71.3.0","rangeEnd":"10.71.3.15"}`, "10.71.3.0/28", ipam.Use{Gateway: true, HostEndpoint: true}, 12},
		{"two ranges, many holes", `{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/28","rangeEnd":"10.71.3.6"},{"subnet":"10.71.3.0/28","rangeStart":"10.71.3.8"}]]}`, "10.71.3.0/28",
			ipam.Use{Gateway: true, HostEndpoint: true, Extra: []ipam.Reservation{{adr("10.71.3.4"), "DNS"}, {adr("10.71.3.8"), "DNS"}, {adr("10.71.3.14"), "DNS"}}}, 8},
		{"IPv6", `{"type":"host-local","subnet":"fd00:71::/124"}`, "fd00:71::/124", ipam.Use{Gateway: true, HostEndpoint: true}, 13},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			n := newRealNetwork(t, "1.0.0", tc.conf)
			reserved, err := ipam.Reserved(pfx(tc.subnet), tc.use)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := offered(t, []byte(tc.conf))
			for _, r := range reserved {
				delete(want[0], r.Address)
			}
			if n.conf, _, err = ipam.ReserveNetwork(n.conf, reserved...); err != nil {
				t.Fatal(err)
			}
			got := n.drain()
			if diff := cmp.Diff(want, got, byText); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(got[0]) != tc.wantFree {
				t.Errorf("%d addresses for pods, want %d", len(got[0]), tc.wantFree)
			}
			// Neither does a pod get a reserved address by asking for it.
			for _, lease := range n.leases() {
				if err := n.ipam.Release(t.Context(), n.request(lease.ContainerID)); err != nil {
					t.Fatal(err)
				}
			}
			for _, r := range reserved {
				req := n.request("sbx-asks")
				req.Args = "IgnoreUnknown=1;IP=" + r.Address.String()
				if lease, err := n.ipam.Allocate(t.Context(), req); err == nil {
					t.Errorf("%s handed out on request: %v", r, lease)
				}
			}
			if left := n.leases(); len(left) != 0 {
				t.Errorf("leases left: %v", left)
			}
		})
	}
}

// TestLifeOfALease runs the verbs in the order a runtime does, in every version
// of CNI results.
func TestLifeOfALease(t *testing.T) {
	for _, version := range []string{"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			n := newRealNetwork(t, version, `{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/24"}],[{"subnet":"fd00:71::/64"}]],"routes":[{"dst":"10.96.0.0/12"},{"dst":"::/0","gw":"fd00:71::1"}]}`)
			req := n.request("sbx-01")
			lease, err := n.ipam.Allocate(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			want := &ipam.Lease{
				Addresses: []ipam.Address{{pfx("10.71.3.2/24"), adr("10.71.3.1")}, {pfx("fd00:71::2/64"), adr("fd00:71::1")}},
				Routes:    []ipam.Route{{Destination: pfx("10.96.0.0/12")}, {Destination: pfx("::/0"), Gateway: adr("fd00:71::1")}},
			}
			if diff := cmp.Diff(want, lease, byText); diff != "" {
				t.Errorf("lease (-want +got):\n%s", diff)
			}
			stored := []ipam.StoredLease{{adr("10.71.3.2"), "sbx-01", "eth0"}, {adr("fd00:71::2"), "sbx-01", "eth0"}}
			if diff := cmp.Diff(stored, n.leases(), byText); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}

			// A second ADD is refused and must not cost the pod its address.
			_, err = n.ipam.Allocate(ctx, req)
			var cniErr *types.Error
			if !errors.As(err, &cniErr) || !strings.Contains(cniErr.Msg, "duplicate allocation") {
				t.Errorf("second ADD: %v", err)
			}
			if diff := cmp.Diff(stored, n.leases(), byText); diff != "" {
				t.Errorf("stored after the second ADD (-want +got):\n%s", diff)
			}

			err = n.ipam.Check(ctx, req, lease)
			if version < "0.4.0" {
				if !errors.As(err, &cniErr) || cniErr.Code != types.ErrIncompatibleCNIVersion {
					t.Errorf("CHECK in a version without it: %v", err)
				}
			} else if err != nil {
				t.Errorf("CHECK: %v", err)
			}
			for _, which := range []string{"first", "second"} {
				if err := n.ipam.Release(ctx, req); err != nil {
					t.Errorf("%s DEL: %v", which, err)
				}
			}
			if left := n.leases(); len(left) != 0 {
				t.Errorf("leases left: %v", left)
			}
			if version >= "0.4.0" {
				if err := n.ipam.Check(ctx, req, lease); !errors.As(err, &cniErr) {
					t.Errorf("CHECK after DEL: %v", err)
				}
			}
		})
	}
}

// TestManyPodsInOneProcess: each gets an address of its own, and the environment
// of this process, which belongs to none of them, plays no part.
func TestManyPodsInOneProcess(t *testing.T) {
	for _, v := range []string{"CNI_COMMAND", "CNI_CONTAINERID", "CNI_IFNAME", "CNI_NETNS", "CNI_PATH", "CNI_ARGS"} {
		t.Setenv(v, "of-nobody")
	}
	const pods = 30
	n := newRealNetwork(t, "1.0.0", `{"type":"host-local","subnet":"10.71.3.0/26"}`)
	each := func(do func(id string)) {
		var wg sync.WaitGroup
		for i := range pods {
			wg.Add(1)
			go func() {
				defer wg.Done()
				do(fmt.Sprintf("sbx-%02d", i))
			}()
		}
		wg.Wait()
	}
	var mu sync.Mutex
	owner := map[netip.Addr]string{}
	each(func(id string) {
		lease, err := n.ipam.Allocate(t.Context(), n.request(id))
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		a := lease.Addresses[0].Prefix.Addr()
		if owner[a] != "" {
			t.Errorf("%s given to %s and %s", a, owner[a], id)
		}
		owner[a] = id
	})
	stored := map[netip.Addr]string{}
	for _, l := range n.leases() {
		stored[l.Address] = l.ContainerID
	}
	if diff := cmp.Diff(owner, stored, byText); diff != "" || len(stored) != pods {
		t.Errorf("%d leases (-given +stored):\n%s", len(stored), diff)
	}
	each(func(id string) {
		if err := n.ipam.Release(t.Context(), n.request(id)); err != nil {
			t.Error(err)
		}
	})
	if left := n.leases(); len(left) != 0 {
		t.Errorf("leases left: %v", left)
	}
}

// TestReleaseAfterTheRangeMoved: leases outlive a change of configuration, such
// as a reservation that comes with an update.
func TestReleaseAfterTheRangeMoved(t *testing.T) {
	n := newRealNetwork(t, "1.0.0", `{"type":"host-local","subnet":"10.71.3.0/24"}`)
	req := n.request("sbx-01")
	lease, err := n.ipam.Allocate(t.Context(), req) // .2
	if err != nil {
		t.Fatal(err)
	}
	if req.Config, _, err = ipam.ReserveNetwork(n.conf, ipam.Reservation{Address: adr("10.71.3.2"), Reason: "host endpoint"}); err != nil {
		t.Fatal(err)
	}
	if err := n.ipam.Check(t.Context(), req, lease); err != nil {
		t.Error(err)
	}
	if err := n.ipam.Release(t.Context(), req); err != nil {
		t.Error(err)
	}
	if left := n.leases(); len(left) != 0 {
		t.Errorf("leases left: %v", left)
	}
	next, err := n.ipam.Allocate(t.Context(), req)
	if err != nil || next.Addresses[0].Prefix != pfx("10.71.3.3/24") {
		t.Errorf("the next pod: %v, %v", next, err)
	}
}

// TestDataDirReachesThePlugin guards against leases kept elsewhere than the
// configuration says (containernetworking/plugins#619).
func TestDataDirReachesThePlugin(t *testing.T) {
	n := newRealNetwork(t, "1.0.0", `{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/24"}]],"zone":"b"}`)
	var err error
	if n.conf, _, err = ipam.ReserveNetwork(n.conf, ipam.Reservation{Address: adr("10.71.3.9"), Reason: "DNS"}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.ipam.Allocate(t.Context(), n.request("sbx-01")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(n.dataDir, "lake", "10.71.3.2")); err != nil {
		t.Error(err)
	}
}
