package modes

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// DefaultClusterDomain is the domain of a cluster's services unless kubelet is
// told another (clusterDomain).
const DefaultClusterDomain = "cluster.local"

// ClusterDNS is how the names of a cluster are resolved.
type ClusterDNS struct {
	// Servers are the addresses of the cluster's DNS service (kubelet:
	// clusterDNS), at least one.
	Servers []netip.Addr
	// Domain of the cluster; empty is [DefaultClusterDomain].
	Domain string
	// Search are more suffixes, behind the cluster's own: kubelet takes those
	// of the node.
	Search []string
}

// ForPod returns the resolver configuration of a pod in a namespace: the
// suffixes that kubelet gives pods with the policy ClusterFirst, in its order
// (<namespace>.svc.<domain>, svc.<domain>, <domain>, then Search), each once.
//
// Windows pods have no resolv.conf, so this is all they get, and it has no
// options: ndots, with which Linux pods try the suffixes on names with dots,
// does not exist on Windows (see [DNSQueries]). The suffix of the namespace
// stands first, since the Kubernetes documentation promises Windows pods that
// one alone (DNS for Services and Pods).
//
// A namespace is a DNS label and a domain is a list of them (RFC 1123). Errors
// are *[hns.FieldError]s, all at once.
func (c ClusterDNS) ForPod(namespace string) (hns.DNS, error) {
	var bad problems
	var dns hns.DNS
	for i, a := range c.Servers {
		path := fmt.Sprintf("Servers[%d]", i)
		if !a.IsValid() || notNodeAddr(a) != "" {
			bad.field(path, addrText(a), "not a plain unicast address")
			continue
		}
		dns.ServerList = appendNew(dns.ServerList, a.String())
	}
	if len(c.Servers) == 0 {
		bad.field("Servers", "", "missing")
	}
	domain := strings.TrimSuffix(c.Domain, ".")
	if c.Domain == "" {
		domain = DefaultClusterDomain
	}
	if why := notDNSLabel(namespace); why != "" {
		bad.field("namespace", namespace, "%s", why)
	}
	if why := notDomain(domain); why != "" {
		bad.field("Domain", c.Domain, "%s", why)
	}
	for _, s := range []string{namespace + ".svc." + domain, "svc." + domain, domain} {
		dns.Search = appendNew(dns.Search, s)
	}
	if longest := dns.Search[0]; len(bad) == 0 && len(longest) > maxDomain {
		bad.field("Domain", c.Domain, "%q is longer than %d characters", longest, maxDomain)
	}
	for i, s := range c.Search {
		s = strings.TrimSuffix(s, ".")
		if why := notDomain(s); why != "" {
			bad.field(fmt.Sprintf("Search[%d]", i), c.Search[i], "%s", why)
			continue
		}
		dns.Search = appendNew(dns.Search, s)
	}
	if err := bad.as("DNS of namespace", namespace); err != nil {
		return hns.DNS{}, err
	}
	return dns, nil
}

// DNSQueries returns the full names that a Windows pod asks its name servers
// for, in order, when a program looks a name up: a name with a dot is taken as
// it is, one without gets each suffix of the search list. That is why
// "svc.namespace" is not found on Windows, and "svc" and
// "svc.namespace.svc.cluster.local" are (Kubernetes, DNS for Services and Pods).
// Resolve-DnsName and nslookup differ in detail, and some Windows stop after
// the first suffix.
func DNSQueries(dns hns.DNS, name string) []string {
	bare := strings.TrimSuffix(name, ".")
	if bare == "" {
		return nil
	}
	if strings.Contains(name, ".") || len(dns.Search) == 0 {
		return []string{bare}
	}
	var out []string
	for _, s := range dns.Search {
		out = append(out, bare+"."+strings.TrimSuffix(s, "."))
	}
	return out
}

const (
	maxLabel  = 63
	maxDomain = 253
)

func notDomain(s string) string {
	if len(s) > maxDomain {
		return fmt.Sprintf("longer than %d characters", maxDomain)
	}
	for _, label := range strings.Split(s, ".") {
		if why := notDNSLabel(label); why != "" {
			return why
		}
	}
	return ""
}

// notDNSLabel says why s is no label of RFC 1123 as Kubernetes writes it, in
// small letters; "" if it is one.
func notDNSLabel(s string) string {
	switch {
	case s == "":
		return "has an empty label"
	case len(s) > maxLabel:
		return fmt.Sprintf("has a label longer than %d characters", maxLabel)
	case s[0] == '-' || s[len(s)-1] == '-':
		return "has a label that begins or ends with a dash"
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Sprintf("has the character %q; labels are of small letters, digits and dashes", c)
		}
	}
	return ""
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
