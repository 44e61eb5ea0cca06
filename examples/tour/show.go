package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/subnetenv"
)

// showNode writes what the node has before the first pod.
func showNode(w io.Writer, n *node) {
	fmt.Fprintf(w, "\n%s: %s by %s\n", n.node, n.mode, n.delegate)
	env := strings.TrimSpace(string(subnetenv.Format(n.env)))
	fmt.Fprintf(w, "  subnet.env     %s\n", strings.ReplaceAll(env, "\n", " "))
	for _, s := range n.net.Subnets() {
		fmt.Fprintf(w, "  network        %s %s gateway %s", n.net.Name, s.Prefix, s.Gateway())
		if s.VSID() != 0 {
			fmt.Fprintf(w, " VNI %d", s.VSID())
		}
		fmt.Fprintln(w)
	}
	if hns.HasPolicy(n.net.Policies, "HostRoute") {
		fmt.Fprintf(w, "  host           %s, reaches its pods by the network's HostRoute policy\n", n.net.ProviderAddress())
	}
	if n.host != nil {
		fmt.Fprintf(w, "  host endpoint  %s %s, attached to the node: the pods' gateway\n", n.host.Name, addresses(n.host))
	}
}

// showPods writes the pods' endpoints as HNS has them, a policy on each line.
func showPods(ctx context.Context, w io.Writer, n *node) error {
	all, err := n.client.Endpoints.OfNetwork(ctx, n.net.ID)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  ENDPOINT\tADDRESS\tGATEWAY\tMAC\tPOLICIES")
	for _, e := range all {
		if n.host != nil && e.ID == n.host.ID {
			continue
		}
		first := fmt.Sprintf("  %s\t%s\t%s\t%s", e.Name, addresses(e), gateways(e), e.MAC)
		for _, p := range e.Policies {
			text := policyText(p)
			if text == "" {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\n", first, text)
			first = "\t\t\t"
		}
	}
	return t.Flush()
}

func addresses(e *hns.Endpoint) string {
	var out []string
	for _, c := range e.IPConfigs {
		out = append(out, c.Prefix().String())
	}
	return strings.Join(out, ",")
}

func gateways(e *hns.Endpoint) string {
	var out []string
	for _, a := range e.Addresses() {
		out = append(out, e.Gateway(a).String())
	}
	return strings.Join(out, ",")
}

// policyText puts a policy in a few words, or names its type. Those that HNS adds
// to every endpoint itself (L2Driver, ACL) are left out.
func policyText(p hns.EndpointPolicy) string {
	switch p := p.(type) {
	case hns.OutBoundNAT:
		return "OutBoundNAT except " + strings.Join(p.Exceptions, ", ")
	case hns.SDNRoute:
		return "SDNRoute " + via(p.DestinationPrefix, p.NextHop)
	case hns.ProviderAddress:
		return "ProviderAddress " + p.Address.String()
	case hns.PortMapping:
		return fmt.Sprintf("PortMapping %s %d to %d", p.Protocol, p.ExternalPort, p.InternalPort)
	}
	for _, added := range []hns.EndpointPolicy{hns.L2Driver{}, hns.ACL{}} {
		if strings.EqualFold(p.PolicyType(), added.PolicyType()) {
			return ""
		}
	}
	return p.PolicyType()
}

func via(dst netip.Prefix, hop netip.Addr) string {
	if hop.IsValid() {
		return dst.String() + " via " + hop.String()
	}
	return dst.String()
}

// report writes how a verb went.
func report(w io.Writer, what string, err error) error {
	if err != nil {
		fmt.Fprintf(w, "  %s: FAILED\n", what)
		return wrap(what, err)
	}
	fmt.Fprintf(w, "  %s: ok\n", what)
	return nil
}
