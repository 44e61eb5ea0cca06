package cniplugin_test

import (
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

func dualStack(tb testing.TB, o *emulator.Options) *node {
	return newNode(tb, o, "win-bridge", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64")})
}

// The result as runtimes get it, in every version of the specification.
func TestResultVersions(t *testing.T) {
	const ns, dns = namespaceText, `"dns": {"nameservers": ["10.96.0.10"], "search": ["svc.test"]}`
	members := []string{dns, `"endpointMacPrefix": "0E-2A"`}
	old := `{"cniVersion":"%V","ip4":{"ip":"10.60.4.3/24","gateway":"10.60.4.1","routes":[{"dst":"0.0.0.0/0","gw":"10.60.4.1"}]},"dns":{"nameservers":["10.96.0.10"],"search":["svc.test"]}}`
	middle := `{"cniVersion":"%V","interfaces":[{"name":"eth0","mac":"0e:2a:0a:3c:04:03","sandbox":"` + ns + `"}],` +
		`"ips":[{"version":"4","interface":0,"address":"10.60.4.3/24","gateway":"10.60.4.1"}],"routes":[{"dst":"0.0.0.0/0","gw":"10.60.4.1"}],"dns":{"nameservers":["10.96.0.10"],"search":["svc.test"]}}`
	latest := strings.Replace(middle, `"version":"4",`, "", 1)
	for v, want := range map[string]string{"0.1.0": old, "0.2.0": old, "0.3.0": middle, "0.3.1": middle, "0.4.0": middle, "1.0.0": latest, "1.1.0": latest} {
		n := newOverlay(t, nil)
		p := &pod{node: n, id: "sbx-01", namespace: namespaceID(t)}
		if _, err := n.client.Namespaces.Create(t.Context(), &hns.Namespace{ID: p.namespace}); err != nil {
			t.Fatal(err)
		}
		res, err := p.mustAdd(append(members, `"cniVersion": "`+v+`"`)...).GetAsVersion(v)
		if err != nil {
			t.Errorf("%s: %v", v, err)
			continue
		}
		var got, wanted any
		if err := json.Unmarshal([]byte(marshal(t, res)), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(strings.Replace(want, "%V", v, 1)), &wanted); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v, diff)
		}
	}
	if len(version.All.SupportedVersions()) != 7 {
		t.Errorf("the CNI library knows versions %v: add what is new", version.All.SupportedVersions())
	}
}

// containerdIPs are the addresses that containerd finds for an interface: those
// that belong to none of the result's interfaces, or to the one of that name.
func containerdIPs(res *types100.Result, ifName string) []net.IPNet {
	var out []net.IPNet
	for _, ip := range res.IPs {
		if ip.Interface == nil || *ip.Interface >= 0 && *ip.Interface < len(res.Interfaces) && res.Interfaces[*ip.Interface].Name == ifName {
			out = append(out, ip.Address)
		}
	}
	return out
}

// A result in which containerd finds no address of CNI_IFNAME fails every pod. The
// endpoint's own name, which upstream has there, is no interface for it.
func TestResultForContainerd(t *testing.T) {
	for name, n := range map[string]*node{"L2Bridge": newBridge(t, nil), "Overlay": newOverlay(t, nil), "dual stack": dualStack(t, nil)} {
		p := n.pod("sbx-01")
		args := p.args(p.config())
		args.IfName = "Ethernet7"
		for range 2 { // the second is the repeated ADD
			res, err := n.plugin.Add(t.Context(), args)
			if err != nil {
				t.Fatal(err)
			}
			got := containerdIPs(res, "Ethernet7")
			if len(got) != len(p.endpoint().Addresses()) || got[0].IP.String() != p.endpoint().Addresses()[0].String() {
				t.Errorf("%s: containerd finds %v in %v", name, got, res)
			}
			for _, i := range res.Interfaces {
				if i.Sandbox != args.Netns || i.Mac == "" {
					t.Errorf("%s: interface %+v", name, i)
				}
			}
		}
	}
}

// Both families, whatever the order in which IPAM gives them.
func TestDualStack(t *testing.T) {
	for _, turn := range []bool{false, true} {
		n := dualStack(t, nil)
		if turn {
			s := n.ipam.subnets
			s[0], s[1] = s[1], s[0]
		}
		res := n.pod("sbx-01").mustAdd()
		got := map[string]string{}
		for _, ip := range res.IPs {
			got[ip.Address.String()] = ip.Gateway.String()
		}
		if diff := cmp.Diff(map[string]string{"10.50.3.3/24": "10.50.3.2", "fd00:50:3::3/64": "fd00:50:3::2"}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if len(res.Routes) != 2 {
			t.Errorf("routes %v", res.Routes)
		}
	}
}

// IPAM gives what no endpoint can have: nothing is made, and the lease goes back.
func TestAddressesThatCannotBe(t *testing.T) {
	tests := []struct {
		name    string
		node    func(testing.TB, *emulator.Options) *node
		subnets []string
	}{
		{"IPv6 alone", dualStack, []string{"fd00:50:3::/64"}},
		{"two of a family", newBridge, []string{"10.50.3.0/24", "10.50.3.128/25"}},
		{"of another node", newBridge, []string{"10.50.8.0/24"}},
		{"IPv6 on Overlay", newOverlay, []string{"10.60.4.0/24", "fd00:60::/64"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := tt.node(t, nil)
			n.ipam.subnets = prefixes(tt.subnets...)
			_, err := n.pod("sbx-01").add()
			if codeOf(err) != 7 {
				t.Errorf("code %d, %v; want 7", codeOf(err), err)
			}
			if diff := cmp.Diff([]string{"ADD sbx-01/eth0", "DEL sbx-01/eth0"}, n.ipam.asked()); diff != "" {
				t.Errorf("IPAM (-want +got):\n%s", diff)
			}
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}

// editing is an HNS whose endpoints lack a member when they are read.
type editing struct {
	hns.Backend
	member string
}

func (b editing) Do(r hns.Request) (hns.Response, error) {
	resp, err := b.Backend.Do(r)
	if r.Kind != hns.KindEndpoint {
		return resp, err
	}
	var docs []json.RawMessage
	for _, d := range resp.Documents {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(d, &members); err != nil {
			return resp, err
		}
		if b.member == "PrefixLength" {
			members["IpConfigurations"] = json.RawMessage(`[{"IpAddress": "10.50.3.3"}]`)
		} else {
			delete(members, b.member)
		}
		if d, err = json.Marshal(members); err != nil {
			return resp, err
		}
		docs = append(docs, d)
	}
	return hns.Response{Documents: docs}, err
}

// HNS need not say everything: a length that it leaves out is the subnet's, but
// without an address there is no pod (Azure/acs-engine#3153 panicked).
func TestAnswersThatLackSomething(t *testing.T) {
	n := newBridge(t, nil)
	leaveOut := func(member string) {
		n.plugin.Open = func(o *hns.Options) (*hns.Client, error) { return hns.New(editing{n.hns, member}, o), nil }
	}
	leaveOut("PrefixLength")
	p := n.pod("sbx-01")
	for range 2 { // made, and found
		if got := p.mustAdd().IPs[0].Address.String(); got != "10.50.3.3/24" {
			t.Errorf("address %s", got)
		}
	}
	p.mustDel()
	leaveOut("Routes")
	if res := p.mustAdd(); res.IPs[0].Gateway != nil || len(res.Routes) > 0 {
		t.Errorf("result %v", res)
	}
	p.mustDel()
	leaveOut("IpConfigurations")
	if _, err := p.add(); !errors.Is(err, ipam.ErrNoAddress) {
		t.Errorf("error %v, want ErrNoAddress", err)
	}
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}
