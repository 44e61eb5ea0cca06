package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/subnetenv"
)

// inputs are what the Node object says about this node's network.
type inputs struct {
	uid                     types.UID
	subnet                  netip.Prefix
	public, publicOverwrite string
	internal                string
}

// describe plans the network, anew if something that it follows from changed.
func (a *Agent) describe(ctx context.Context, own *corev1.Node) error {
	subnet, err := podSubnet(own)
	if err != nil {
		return fmt.Errorf("node %q: %w", own.Name, err)
	}
	if !subnet.IsValid() {
		return fmt.Errorf("node %q has no podCIDR yet; kube-controller-manager gives it (--allocate-node-cidrs)", own.Name)
	}
	internal := addresses(own)
	now := inputs{own.UID, subnet, own.Annotations[a.leases.names.nodePublicIP], own.Annotations[a.leases.names.publicIPOverwrite], fmt.Sprint(internal)}
	if a.plan != nil && now == a.known && a.fresh() {
		return nil
	}
	given, err := a.publicIP(own)
	if err != nil {
		return err
	}
	up, err := a.findUplink(ctx, given.stated, internal)
	if err != nil {
		return err
	}
	services, err := a.serviceCIDRs(ctx)
	if err != nil {
		return err
	}
	d := a.description(subnet, up, services)
	if a.plan == nil || !reflect.DeepEqual(d, a.plan.Description) {
		plan, err := d.Plan()
		if err != nil {
			return err
		}
		if a.plan == nil || !reflect.DeepEqual(plan, a.plan) {
			for _, w := range plan.Warnings {
				a.log.WarnContext(ctx, "plan", "node", own.Name, "warning", w.Error())
			}
			a.plan, a.ensured = plan, time.Time{}
			a.set(func(s *Status) { s.Ready = false }) // until it is so
		}
	}
	if a.public, err = given.published(up, a.plan.Description.Mode); err != nil {
		return err
	}
	a.known = now
	a.set(func(s *Status) { s.Plan, s.PodSubnet, s.PublicIP = a.plan, subnet, a.public })
	return nil
}

func (a *Agent) fresh() bool { return !a.ensured.IsZero() && time.Since(a.ensured) < a.opts.Resync }

func (a *Agent) description(subnet netip.Prefix, up uplink, services []netip.Prefix) node.Description {
	c := a.opts.NetConf
	d := node.Description{
		Mode: modeOf[c.Backend], Name: c.NetworkName(), Subnets: []netip.Prefix{subnet},
		ClusterCIDRs: []netip.Prefix{c.Network}, ServiceCIDRs: services,
		NodeAddresses: []netip.Addr{up.address}, LinkMTU: up.adapter.MTU,
		DNS: a.opts.DNS, IPMasq: a.opts.IPMasq, DSR: a.opts.DSR,
	}
	// As flanneld makes it there, whose network is taken over with its pods.
	d.Persistent = d.Mode == modes.L2Bridge
	if d.Mode == modes.Overlay {
		d.VNI, d.VXLANPort, d.MACPrefix = c.VNI, c.Port, c.MACPrefix
	}
	if len(d.DNS.Servers) == 0 {
		d.DNS.Servers = c.DNSServers
	}
	return d
}

// publicIP is where the public address comes from.
type publicIP struct {
	stated    netip.Addr // by the Node's annotation or the options; zero: the adapter's
	overwrite netip.Addr // what is published whatever the node has
}

func (a *Agent) publicIP(own *corev1.Node) (p publicIP, err error) {
	p.stated = a.opts.PublicIP
	for _, x := range []struct {
		name string
		to   *netip.Addr
	}{{a.leases.names.nodePublicIP, &p.stated}, {a.leases.names.publicIPOverwrite, &p.overwrite}} {
		text := own.Annotations[x.name]
		if text == "" {
			continue
		}
		addr, err := netip.ParseAddr(text)
		if err != nil || !addr.Is4() {
			return p, fmt.Errorf("node %q: annotation %s: %q is not an IPv4 address", own.Name, x.name, text)
		}
		*x.to = addr
	}
	return p, nil
}

// published is what the others are told.
func (p publicIP) published(up uplink, mode modes.Mode) (netip.Addr, error) {
	switch {
	case p.overwrite.IsValid():
		return p.overwrite, nil
	case !p.stated.IsValid():
		return up.address, nil
	case mode == modes.L2Bridge && p.stated != up.address:
		return p.stated, fmt.Errorf("%w: %s, and adapter %q has %s", errPublicIP, p.stated, up.adapter.Name, up.address)
	}
	return p.stated, nil
}

// addresses returns the Node's IPv4 InternalIPs.
func addresses(n *corev1.Node) []netip.Addr {
	var out []netip.Addr
	for _, x := range n.Status.Addresses {
		if addr, err := netip.ParseAddr(x.Address); x.Type == corev1.NodeInternalIP && err == nil && addr.Is4() {
			out = append(out, addr)
		}
	}
	return out
}

// serviceCIDRs asks the API server, unless the options say them. If it does not
// answer, what it said before counts.
func (a *Agent) serviceCIDRs(ctx context.Context) ([]netip.Prefix, error) {
	if len(a.opts.ServiceCIDRs) > 0 {
		return a.opts.ServiceCIDRs, nil
	}
	list, err := a.opts.Client.NetworkingV1().ServiceCIDRs().List(ctx, metav1.ListOptions{})
	if err != nil && a.services != nil {
		return a.services, nil
	}
	if err != nil {
		return nil, fmt.Errorf("service CIDRs: %w (set ServiceCIDRs if the API server does not have them)", err)
	}
	var out []netip.Prefix
	for _, x := range list.Items {
		for _, text := range x.Spec.CIDRs {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return nil, fmt.Errorf("ServiceCIDR %q: %q is not a prefix", x.Name, text)
			}
			if p.Addr().Is4() {
				out = append(out, p.Masked())
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("service CIDRs: the API server has no ServiceCIDR of IPv4; set ServiceCIDRs")
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	a.services = slices.Compact(out)
	return a.services, nil
}

// ensure makes the network as planned, unless it was just now.
func (a *Agent) ensure(ctx context.Context) error {
	if a.fresh() {
		return nil
	}
	state, err := node.Ensure(ctx, a.opts.HNS, a.opts.Host, a.plan,
		&node.EnsureOptions{Drift: a.opts.Drift, Logger: a.opts.Logger, Counters: a.opts.Counters})
	if err != nil {
		return err
	}
	if a.remotes == nil || a.led != a.plan {
		remotes, err := node.NewRemotes(a.opts.HNS, a.opts.Host, a.plan,
			&node.RemotesOptions{Batch: a.opts.Batch, Logger: a.opts.Logger, Counters: a.opts.Counters})
		if err != nil {
			return err
		}
		a.remotes, a.led = remotes, a.plan
	}
	a.state, a.ensured = state, time.Now()
	return nil
}

// lead leads to the other nodes. refused are single ways, which hold up nothing
// else; err is what stopped it.
func (a *Agent) lead(ctx context.Context) (refused, err error) {
	list, err := a.nodes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var others []node.Remote
	for _, n := range list {
		if n.Name == a.opts.NodeName {
			continue
		}
		if r, ok := a.leases.remote(n); ok {
			if r.Err == nil && a.isDouble(r) {
				r.Err = errDouble
			}
			others = append(others, r)
		}
	}
	report, err := a.remotes.Reconcile(ctx, others)
	a.set(func(s *Status) { s.Nodes, s.Report = len(others), report })
	if report.Stopped == nil {
		return err, nil
	}
	return nil, err
}

var errDouble = errors.New("it has the podCIDR and the address of this node, under another name")

// isDouble reports whether another Node says that it is this one, which
// [node.Remotes] would take it for.
func (a *Agent) isDouble(r node.Remote) bool {
	d := &a.led.Description
	in := func(x netip.Addr) bool { return slices.Contains(d.NodeAddresses, x) }
	return slices.Equal(r.Subnets, d.Subnets) && slices.ContainsFunc(r.Addresses, in)
}

// writeFiles writes what starts pods, where it is not there or differs.
func (a *Agent) writeFiles(ctx context.Context) error {
	for _, f := range []struct {
		path  string
		want  []byte
		write func(string) error
	}{
		{a.opts.SubnetFile, subnetenv.Format(a.plan.SubnetEnv), a.plan.WriteSubnetEnv},
		{a.opts.ConflistFile, a.plan.Conflist, a.plan.WriteConflist},
	} {
		if f.path == "" {
			continue
		}
		if have, err := os.ReadFile(f.path); err == nil && bytes.Equal(have, f.want) {
			continue
		}
		if err := f.write(f.path); err != nil {
			return err
		}
		a.log.InfoContext(ctx, "file written", "path", f.path)
	}
	return nil
}
