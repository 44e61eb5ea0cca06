package emulator_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

func samePrefix(a, b netip.Prefix) bool { return a == b }

// seenNetwork is a network in the documents.
type seenNetwork struct {
	ID, Name, Type string
	Ipams          []struct {
		Subnets []struct{ IpAddressPrefix string }
	}
}

// seenEndpoint is an endpoint in the documents.
type seenEndpoint struct {
	ID, Name, HostComputeNetwork, HostComputeNamespace string
	Flags, State                                       uint32
	MacAddress                                         string
	IpConfigurations                                   []struct{ IpAddress string }
	Policies                                           []struct {
		Type     string
		Settings struct{ Protocol, ExternalPort int }
	}
}

type seenNamespace struct {
	ID        string
	Resources []struct {
		Type string
		Data struct{ Id string }
	}
}

// seenBalancer is a load balancer in the documents.
type seenBalancer struct {
	ID, HostComputeNetwork             string
	HostComputeEndpoints, FrontendVIPs []string
	PortMappings                       []struct{ Protocol, ExternalPort int }
}

// checkInvariants looks at a state from outside: what must hold whatever
// happened before.
func checkInvariants(t testing.TB, n *node) {
	t.Helper()
	s, err := n.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	networks, names := map[string]bool{}, map[string]bool{}
	for _, doc := range s.Networks {
		id, name := text(t, doc, "ID"), text(t, doc, "Name")
		if networks[id] || names[name] {
			t.Errorf("network %s %q is there twice", id, name)
		}
		networks[id], names[name] = true, true
	}
	members := map[string]string{} // endpoint to namespace, as the namespaces say
	for _, doc := range s.Namespaces {
		var ns seenNamespace
		unmarshal(t, doc, &ns)
		for _, r := range ns.Resources {
			if r.Type != "Endpoint" {
				continue
			}
			id := strings.ToLower(r.Data.Id)
			if r.Data.Id != strings.ToUpper(id) || members[id] != "" {
				t.Errorf("namespace %s: entry %s", ns.ID, r.Data.Id)
			}
			members[id] = ns.ID
		}
	}
	local, ports := map[string]string{}, map[string]string{}
	for _, doc := range s.Endpoints {
		var e seenEndpoint
		unmarshal(t, doc, &e)
		if !networks[e.HostComputeNetwork] {
			t.Errorf("endpoint %s is on network %s, which is not there", e.ID, e.HostComputeNetwork)
		}
		in := members[e.ID]
		delete(members, e.ID)
		if none := e.HostComputeNamespace == (hns.ID{}).String(); none != (in == "") || !none && in != e.HostComputeNamespace {
			t.Errorf("endpoint %s says namespace %s, listed in %q", e.ID, e.HostComputeNamespace, in)
		}
		for _, c := range e.IpConfigurations {
			key := e.HostComputeNetwork + " " + c.IpAddress
			if other := local[key]; other != "" {
				t.Errorf("%s belongs to %s and %s", key, other, e.ID)
			}
			local[key] = e.ID
		}
		for _, p := range e.Policies {
			if p.Type != "PortMapping" {
				continue
			}
			key := fmt.Sprint(p.Settings)
			if other := ports[key]; other != "" {
				t.Errorf("port %s belongs to %s and %s", key, other, e.ID)
			}
			ports[key] = e.ID
		}
	}
	for ep, ns := range members {
		t.Errorf("namespace %s lists endpoint %s, which is not there", ns, ep)
	}
	checkBalancers(t, s, networks)
}

// checkBalancers looks at load balancers and routes: they are on a network
// that is there, and no two load balancers share a front end.
func checkBalancers(t testing.TB, s *hns.Snapshot, networks map[string]bool) {
	t.Helper()
	ids, fronts := map[string]bool{}, map[string]string{}
	for _, doc := range slices.Concat(s.LoadBalancers, s.Routes) {
		var b seenBalancer
		unmarshal(t, doc, &b)
		if ids[b.ID] || !networks[b.HostComputeNetwork] || len(b.HostComputeEndpoints) == 0 {
			t.Errorf("%s is there twice, without endpoints, or on no network", doc)
		}
		ids[b.ID] = true
		if b.FrontendVIPs == nil {
			b.FrontendVIPs = []string{"node"}
		}
		for _, vip := range b.FrontendVIPs {
			for _, p := range b.PortMappings {
				for _, protocol := range []int{6, 17} {
					if p.Protocol != 0 && p.Protocol != protocol {
						continue
					}
					key := fmt.Sprint(vip, protocol, p.ExternalPort)
					if other := fronts[key]; other != "" {
						t.Errorf("front end %s belongs to %s and %s", key, other, b.ID)
					}
					fronts[key] = b.ID
				}
			}
		}
	}
}

func unmarshal(t testing.TB, doc []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(doc, v); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
}

// seenText reads the documents of HNS in the terms of the model.
func seenText(t testing.TB, s *hns.Snapshot) string {
	t.Helper()
	var lines []string
	id := func(text string) hns.ID {
		out, err := hns.ParseID(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, doc := range s.Networks {
		var n seenNetwork
		unmarshal(t, doc, &n)
		lines = append(lines, fmt.Sprintln("network ", id(n.ID), n.Name, cmp.Or(n.Type, "NAT"), n.Ipams[0].Subnets[0].IpAddressPrefix))
	}
	for _, doc := range s.Endpoints {
		var e seenEndpoint
		unmarshal(t, doc, &e)
		ports := []int{}
		for _, p := range e.Policies {
			ports = append(ports, p.Settings.ExternalPort)
		}
		slices.Sort(ports)
		lines = append(lines, fmt.Sprintln("endpoint ", id(e.ID), id(e.HostComputeNetwork), id(e.HostComputeNamespace), e.IpConfigurations[0].IpAddress, e.Flags == 1, e.State, ports))
	}
	for _, doc := range s.Namespaces {
		var n seenNamespace
		unmarshal(t, doc, &n)
		var in []hns.ID
		containers := []string{}
		for _, r := range n.Resources {
			if r.Type == "Endpoint" {
				in = append(in, id(r.Data.Id))
			} else {
				containers = append(containers, r.Data.Id)
			}
		}
		slices.Sort(containers)
		lines = append(lines, fmt.Sprintln("namespace ", id(n.ID), sortedIDs(in), containers))
	}
	for kind, docs := range map[hns.Kind][]json.RawMessage{hns.KindLoadBalancer: s.LoadBalancers, hns.KindRoute: s.Routes} {
		for _, doc := range docs {
			var b seenBalancer
			unmarshal(t, doc, &b)
			var eps []hns.ID
			for _, e := range b.HostComputeEndpoints {
				eps = append(eps, id(e))
			}
			vip, protocol, port := "", 0, 0
			if kind == hns.KindLoadBalancer {
				vip, protocol, port = "node", b.PortMappings[0].Protocol, b.PortMappings[0].ExternalPort
				if len(b.FrontendVIPs) > 0 {
					vip = b.FrontendVIPs[0]
				}
			}
			lines = append(lines, fmt.Sprintln("list ", id(b.ID), id(b.HostComputeNetwork), kind, eps, vip, protocol, port))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// sameAfterLoad checks that the indexes of a live store and of one loaded from
// its snapshot agree, by what both answer.
func sameAfterLoad(t *testing.T, n *node) {
	s, err := n.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again := newNode(t, version(s.Version))
	if err := again.Load(s); err != nil {
		t.Fatal(err)
	}
	for _, doc := range s.LoadBalancers {
		for want, d := range map[hns.Code]string{
			hns.CodeAlreadyExists: string(doc),
			hns.CodePortExists:    strings.Replace(string(doc), `"InternalPort":80`, `"InternalPort":99`, 1),
		} {
			d = strings.Replace(d, text(t, doc, "ID"), hns.NewID().String(), 1)
			_, a := n.create(hns.KindLoadBalancer, d)
			_, b := again.create(hns.KindLoadBalancer, d)
			if a != b || a != want && a != hns.CodeInvalidJSONReference { // a backend may be gone
				t.Errorf("%s: %s and %s, want %s", d, a, b, want)
			}
		}
	}
	for _, doc := range s.Networks {
		id := n.parse(text(t, doc, "ID"))
		filter := fmt.Sprintf(`{"VirtualNetwork":%q}`, id)
		if a, b := n.list(hns.KindEndpoint, filter), again.list(hns.KindEndpoint, filter); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("endpoints of %s: %s and %s", id, a, b)
		}
		_, a := n.create(hns.KindEndpoint, endpoint(id, "probe"))
		_, b := again.create(hns.KindEndpoint, endpoint(id, "probe"))
		if a != b {
			t.Errorf("one more endpoint on %s: %s and %s", id, a, b)
		}
	}
}

// empty deletes everything and checks that nothing is left, and that names,
// addresses and ports are free.
func empty(t *testing.T, w *walker) {
	for ns := range w.model.namespaces {
		for code := hns.Code(0); code == 0; {
			code = w.container("Remove", ns, "c0") & w.container("Remove", ns, "c1") & w.container("Remove", ns, "c2")
		}
		if code := w.delete(hns.KindNamespace, ns); code != 0 {
			t.Errorf("delete namespace: %s", code)
		}
	}
	for id := range w.model.networks {
		if code := w.delete(hns.KindNetwork, id); code != 0 {
			t.Errorf("delete network: %s", code)
		}
	}
	s, err := w.Snapshot()
	if err != nil || len(s.Networks)+len(s.Endpoints)+len(s.Namespaces)+len(s.LoadBalancers)+len(s.Routes) != 0 {
		t.Errorf("left: %s, %v", w.state(), err)
	}
	if got := w.adapters(); len(got) != 1 || len(got["Ethernet"].Addresses) != 1 {
		t.Errorf("adapters: %v", got)
	}
	for i := range 6 {
		id := w.id(hns.KindNetwork, network(fmt.Sprint("n", i), "L2Bridge", "10.9.0.0/24"))
		ep := w.id(hns.KindEndpoint, endpoint(id, "e", policies(mapping(8000+i, ""))))
		w.id(hns.KindLoadBalancer, balancer([]hns.ID{ep}, port(0, 80, 80), vips(fmt.Sprint("10.96.0.", i))))
	}
}
