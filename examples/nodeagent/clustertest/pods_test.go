package clustertest

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"slices"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// pod is a pod of a Windows node.
type pod struct {
	name      string
	address   netip.Addr
	namespace hns.ID
	endpoint  hns.ID
}

// addPod adds a pod as a runtime does: by the plugin that the agent's conflist
// names, with the configuration from there. last is the last byte of its address
// in the node's subnet, that a CNI argument would ask for.
func (c *cluster) addPod(w *winNode, name string, last byte) {
	c.Helper()
	n, err := w.network(c.Context())
	if err != nil || n == nil {
		c.Fatalf("%s: no network: %v", w.name, err)
	}
	subnet := n.Subnets()[0].Prefix
	p := &pod{name: name, address: lastByte(subnet, last)}
	ns, err := w.client.Namespaces.Create(c.Context(), &hns.Namespace{Type: hns.NamespaceGuest})
	if err != nil {
		c.Fatal(err)
	}
	p.namespace = ns.ID
	plugin, args := c.plugin(w, p, subnet.Bits())
	if _, err := plugin.Add(c.Context(), args); err != nil {
		c.Fatalf("%s: ADD of %s: %v", w.name, name, err)
	}
	e, err := w.client.Endpoints.ByName(c.Context(), name+"_"+n.Name)
	if err != nil {
		c.Fatal(err)
	}
	p.endpoint = e.ID
	w.pods[name] = p
}

// deletePod is DEL, and the end of the sandbox.
func (c *cluster) deletePod(w *winNode, name string) {
	c.Helper()
	p := w.pods[name]
	plugin, args := c.plugin(w, p, 0)
	if err := plugin.Del(c.Context(), args); err != nil {
		c.Fatalf("%s: DEL of %s: %v", w.name, name, err)
	}
	if err := w.client.Namespaces.Delete(c.Context(), p.namespace); err != nil {
		c.Fatal(err)
	}
	delete(w.pods, name)
}

func (c *cluster) plugin(w *winNode, p *pod, bits int) (*cniplugin.Plugin, *skel.CmdArgs) {
	c.Helper()
	text, err := os.ReadFile(w.conflist())
	if err != nil {
		c.Fatal(err)
	}
	var list struct {
		CNIVersion, Name string
		Plugins          []map[string]any
	}
	if err := json.Unmarshal(text, &list); err != nil {
		c.Fatal(err)
	}
	conf := list.Plugins[0]
	conf["cniVersion"], conf["name"] = list.CNIVersion, list.Name
	conf["runtimeConfig"] = map[string]any{"dns": map[string]any{ // kubelet's, of a pod in the namespace "default"
		"servers": []string{dnsVIP.String()}, "searches": []string{domain, "svc.cluster.local", "cluster.local"}}}
	stdin, err := json.Marshal(conf)
	if err != nil {
		c.Fatal(err)
	}
	mode := modes.L2Bridge
	if w.overlay() {
		mode = modes.Overlay
	}
	plugin := &cniplugin.Plugin{Name: conf["type"].(string), Mode: mode, IPAM: fixedIPAM{netip.PrefixFrom(p.address, bits)}, StateDir: w.dir,
		Open: func(*hns.Options) (*hns.Client, error) { return w.client, nil }}
	return plugin, &skel.CmdArgs{ContainerID: p.name, Netns: p.namespace.String(), IfName: "eth0", StdinData: stdin}
}

// fixedIPAM gives one address. host-local with the same configuration has its
// own tests.
type fixedIPAM struct{ address netip.Prefix }

func (f fixedIPAM) Allocate(context.Context, ipam.Request) (*ipam.Lease, error) {
	return &ipam.Lease{Addresses: []ipam.Address{{Prefix: f.address}}}, nil
}
func (fixedIPAM) Release(context.Context, ipam.Request) error            { return nil }
func (fixedIPAM) Check(context.Context, ipam.Request, *ipam.Lease) error { return nil }

// checkPods sees to it that the pods of a node are as they were made.
func (c *cluster) checkPods(when string, w *winNode) {
	c.Helper()
	for _, p := range w.pods {
		e, err := w.client.Endpoints.ByID(c.Context(), p.endpoint)
		if err != nil {
			c.Errorf("%s: %s: pod %s: %v", when, w.name, p.name, err)
			continue
		}
		if !slices.Equal(e.Addresses(), []netip.Addr{p.address}) || e.Namespace != p.namespace {
			c.Errorf("%s: %s: pod %s has %v in namespace %s, was %s in %s", when, w.name, p.name, e.Addresses(), e.Namespace, p.address, p.namespace)
		}
		state, err := w.client.Endpoints.State(c.Context(), p.endpoint)
		if err != nil || state != hns.EndpointAttached && state != hns.EndpointAttachedSharing {
			c.Errorf("%s: %s: pod %s is %v (%v)", when, w.name, p.name, state, err)
		}
	}
}

func lastByte(p netip.Prefix, last byte) netip.Addr {
	b := p.Addr().As4()
	b[3] = last
	return netip.AddrFrom4(b)
}
