package cniplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// PortMapping is one entry of the capability argument portMappings (CNI
// conventions, "Dynamic Plugin specific fields").
type PortMapping struct {
	HostPort, ContainerPort uint16
	// Protocol is the IP protocol number: 6 for TCP, 17 for UDP.
	Protocol uint32
	// HostIP narrows the mapping to one address of the node; none means all, of
	// IPv6 too if the pod has it. 0.0.0.0 and :: are none: runtimes write either for
	// "all", so 0.0.0.0 opens IPv6 as well.
	HostIP netip.Addr

	path string // in the configuration
}

// Protocols that HNS maps ports for.
var protocols = map[string]uint32{"": 6, "tcp": 6, "udp": 17}

// portMappings reads the list. Entries without a host port ask for nothing and
// are left out, as kubelet means them, and so are those that are there already:
// Docker lists a port once for 0.0.0.0 and once for ::.
func (p *configParser) portMappings(path string, raw json.RawMessage) []PortMapping {
	var out []PortMapping
	p.list(path, raw, func(at string, raw json.RawMessage) {
		var m struct {
			HostPort      int    `json:"hostPort"`
			ContainerPort int    `json:"containerPort"`
			Protocol      string `json:"protocol"`
			HostIP        string `json:"hostIP"`
		}
		before := len(p.bad)
		if p.object(at, raw) == nil || !p.value(at, raw, &m) || m.HostPort == 0 {
			return
		}
		proto, ok := protocols[strings.ToLower(m.Protocol)]
		if !ok {
			p.complain(at+".protocol", m.Protocol, errors.New("HNS maps ports of tcp and udp only"))
		}
		entry := PortMapping{
			HostPort:      p.port(at+".hostPort", m.HostPort),
			ContainerPort: p.port(at+".containerPort", m.ContainerPort),
			Protocol:      proto,
			path:          at,
		}
		if m.HostIP != "" {
			a, err := netip.ParseAddr(m.HostIP)
			if err != nil || a.Zone() != "" {
				p.complain(at+".hostIP", m.HostIP, errors.New("not an IP address"))
			} else if !a.IsUnspecified() { // 0.0.0.0 and :: mean every address
				entry.HostIP = a.Unmap()
			}
		}
		if len(p.bad) > before {
			return
		}
		for _, o := range out {
			if o.HostPort != entry.HostPort || o.Protocol != entry.Protocol || o.HostIP != entry.HostIP {
				continue
			}
			if o.ContainerPort != entry.ContainerPort {
				p.complain(at+".hostPort", fmt.Sprint(m.HostPort), fmt.Errorf("leads to port %d by %s already", o.ContainerPort, o.path))
			}
			return
		}
		out = append(out, entry)
	})
	return out
}

func (p *configParser) port(path string, n int) uint16 {
	if n < 1 || n > 65535 {
		p.complain(path, fmt.Sprint(n), errors.New("a port is 1 to 65535"))
		return 0
	}
	return uint16(n)
}

// portPolicies makes one PortMapping policy for each mapping and each of the
// pod's families that it is for, and with AllowMappedPorts an ACL that lets it
// in. A mapping for a family the pod has not is an error. paths has where each
// policy comes from.
func (c *Config) portPolicies(v4, v6 bool) (out []hns.EndpointPolicy, paths []string, err error) {
	var always hns.NATFlags
	if c.LocalRoutedPorts {
		always = hns.NATLocalRoutedVIP
	}
	for _, m := range c.PortMappings {
		any4 := v4 && (!m.HostIP.IsValid() || m.HostIP.Is4())
		any6 := v6 && (!m.HostIP.IsValid() || m.HostIP.Is6())
		if !any4 && !any6 {
			return nil, nil, &hns.FieldError{Path: m.path + ".hostIP", Value: m.HostIP.String(),
				Reason: "the pod has no address of that family"}
		}
		for _, f := range []struct {
			want  bool
			flags hns.NATFlags
		}{{any4, 0}, {any6, hns.NATIPv6}} {
			if !f.want {
				continue
			}
			out = append(out, hns.PortMapping{Protocol: hns.Protocol(m.Protocol), InternalPort: m.ContainerPort, ExternalPort: m.HostPort, VIP: m.HostIP, Flags: f.flags | always})
			paths = append(paths, m.path)
		}
		if c.AllowMappedPorts {
			out = append(out, hns.ACL{Protocols: []string{fmt.Sprint(m.Protocol)}, Action: hns.ACLAllow, Direction: hns.In,
				LocalPorts: []string{fmt.Sprint(m.ContainerPort)}, Priority: mappedPortPriority})
			paths = append(paths, m.path)
		}
	}
	return out, paths, nil
}

// mappedPortPriority is that of the ACLs of AllowMappedPorts, as sdnbridge has it.
const mappedPortPriority = 1000
