package cniplugin_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
)

// DEL works whatever is gone already, and takes the rest.
func TestDelOfWhatIsLeft(t *testing.T) {
	remove := func(what func(*pod) error) func(*testing.T, *pod) {
		return func(t *testing.T, p *pod) {
			if err := what(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	deleteEndpoint := func(p *pod) error { return p.client.Endpoints.Delete(t.Context(), p.endpoint().ID) }
	tests := []struct {
		name   string
		before func(*testing.T, *pod)
		calls  []string
	}{
		// Azure/azure-container-networking#715: the endpoint was deleted by hand.
		{"endpoint gone", remove(deleteEndpoint), []string{"list endpoint"}},
		// Azure/azure-container-networking#1272: the runtime deleted the namespace first.
		{"namespace gone", remove(func(p *pod) error { return p.client.Namespaces.Delete(t.Context(), p.namespace) }),
			[]string{"list endpoint", "delete endpoint"}},
		// antrea-io/antrea#2301: the zero GUID is no namespace to detach from.
		{"detached", remove(func(p *pod) error {
			return p.client.Namespaces.RemoveEndpoint(t.Context(), p.namespace, p.endpoint().ID)
		}),
			[]string{"list endpoint", "delete endpoint"}},
		{"network gone", remove(func(p *pod) error { return p.client.Networks.Delete(t.Context(), p.network.ID) }), []string{"list endpoint"}},
		{"lease gone", remove(func(p *pod) error { delete(p.ipam.books, "sbx-01/eth0"); return nil }),
			[]string{"list endpoint", "modify namespace", "delete endpoint"}},
		{"reboot", remove(func(p *pod) error { return p.hns.Reboot() }), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, nil)
			p := n.pod("sbx-01")
			p.mustAdd()
			tt.before(t, p)
			n.hns.ResetCalls()
			n.ipam.asked()
			p.mustDel()
			if diff := cmp.Diff(tt.calls, n.calls()); diff != "" && tt.calls != nil {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
			if diff := cmp.Diff([]string{"DEL sbx-01/eth0"}, n.ipam.asked()); diff != "" {
				t.Errorf("IPAM (-want +got):\n%s", diff)
			}
			p.mustDel()
		})
	}
}

// DEL of a pod that never was (containernetworking/plugins#286): success, nothing
// is changed, and a lease, if there should be one, is given back.
func TestDelOfNothing(t *testing.T) {
	n := newBridge(t, nil)
	n.pod("other").mustAdd()
	want := n.state()
	n.hns.ResetCalls()
	p := &pod{node: n, id: "sbx-09"}
	args := p.args(p.config())
	args.Netns = ""
	if err := n.plugin.Del(t.Context(), args); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"list endpoint"}, n.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// ADD and DEL that a runtime sends once more, too late or too early
// (aws/amazon-vpc-cni-plugins#47, Azure/azure-container-networking#218).
func TestSequences(t *testing.T) {
	for _, verbs := range []string{"AAD", "DAD", "ADDAD", "ADADAD", "AADD"} {
		n := newBridge(t, nil)
		p := n.pod("sbx-01")
		for _, v := range verbs {
			if v == 'A' {
				p.mustAdd()
			} else {
				p.mustDel()
			}
			if want := map[rune]int{'A': 2, 'D': 0}[v]; len(n.state()) != want {
				t.Errorf("%s: after %c: %v", verbs, v, n.state())
			}
		}
	}
}

// Endpoints of that name which are another node's, or another container's on
// another network, stay.
func TestDelLeavesOthers(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd()
	remote, err := n.client.Endpoints.Create(t.Context(), &hns.Endpoint{Name: "sbx-01_lake", Network: n.network.ID, Flags: hns.EndpointRemote,
		IPConfigs: []hns.IPConfig{{Address: prefixes("10.50.9.9/32")[0].Addr()}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.client.Endpoints.Create(t.Context(), &hns.Endpoint{Name: "sbx-01_lake2", Network: n.network.ID}); err != nil {
		t.Fatal(err)
	}
	p.mustDel()
	all, err := n.client.Endpoints.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || !slices.ContainsFunc(all, func(e *hns.Endpoint) bool { return e.ID == remote.ID }) {
		t.Errorf("left %v", n.state())
	}
}

// An author may name endpoints otherwise.
func TestEndpointName(t *testing.T) {
	n := newBridge(t, nil)
	n.plugin.EndpointName = func(containerID, network string) string { return network + "." + containerID }
	p := n.pod("sbx-01")
	p.mustAdd()
	if got := n.state()[0]; got != "endpoint lake.sbx-01 [10.50.3.3] attached" {
		t.Errorf("got %s", got)
	}
	p.mustDel()
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// A name without the network in it is the same on each: the DEL on one network
// leaves the endpoint of the sandbox on the other.
func TestEndpointNameWithoutNetwork(t *testing.T) {
	n := newBridge(t, nil)
	n.plugin.EndpointName = func(containerID, _ string) string { return containerID }
	pond, err := n.client.Networks.Create(t.Context(), &hns.Network{Name: "pond", Type: hns.L2Bridge,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: prefixes("10.50.8.0/24")[0]}}}}})
	if err != nil {
		t.Fatal(err)
	}
	onPond := *n
	onPond.network, onPond.ipam = pond, newFakeIPAM(prefixes("10.50.8.0/24")...)
	plugin := *n.plugin
	plugin.IPAM = onPond.ipam
	onPond.plugin = &plugin
	lake := n.pod("sbx01")
	both := &pod{node: &onPond, id: lake.id, namespace: lake.namespace}
	lake.mustAdd()
	both.mustDel()
	if diff := cmp.Diff([]string{"endpoint sbx01 [10.50.3.3] attached", "lease sbx01/eth0 10.50.3.3/24"}, n.state()); diff != "" {
		t.Errorf("after the DEL on the other network (-want +got):\n%s", diff)
	}
	if _, err := both.add(); !errors.Is(err, hns.ErrAttached) { // one name, one endpoint
		t.Errorf("ADD on the other: %v, want ErrAttached", err)
	}
	lake.mustDel()
	both.mustAdd()
	lake.mustDel()
	if diff := cmp.Diff([]string{"endpoint sbx01 [10.50.8.3] attached", "lease sbx01/eth0 10.50.8.3/24"}, onPond.state()); diff != "" {
		t.Errorf("after the DEL on the first (-want +got):\n%s", diff)
	}
	both.mustDel()
	if got := append(n.state(), onPond.state()...); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// An ipam object that broke after the ADD, and nothing tells what it was: DEL takes the endpoint, and does not say
// that all is gone while there is a lease that nobody can give back. Where there
// was no ADD it is success.
func TestDelWithBrokenIPAM(t *testing.T) {
	const broken = `"ipam": "x"`
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd()
	n.notesWithoutIPAM()
	n.plugin.IPAM = nil
	for range 3 {
		if err := p.del(broken); codeOf(err) != types.ErrInvalidNetworkConfig || cmp.Diff([]string{"ipam"}, paths(err)) != "" {
			t.Errorf("code %d, %v; want 7 and ipam", codeOf(err), err)
		}
		if diff := cmp.Diff([]string{"lease sbx-01/eth0 10.50.3.3/24"}, n.state()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
	}
	n.pod("sbx-02").mustDel(broken)
	n.plugin.IPAM = n.ipam
	p.mustDel()
	if got := append(n.state(), n.noteFiles()...); len(got) > 0 {
		t.Errorf("left %v", got)
	}

	// host-local's leases tell for themselves.
	n.plugin.IPAM = nil
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "lake"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "lake", "10.50.3.9"), []byte("sbx-01\r\neth0"), 0o600); err != nil {
		t.Fatal(err)
	}
	member := `"ipam": {"type": ["host-local"], "dataDir": ` + quote(t, data) + `}`
	if err := p.del(member); codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("code %d, %v; want 7", codeOf(err), err)
	}
	n.pod("sbx-03").mustDel(member)
}
