package subnetenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/internal/errlist"
)

// Backends of flannel that run on Windows, as net-conf.json names them.
const (
	BackendVXLAN  = "vxlan"
	BackendHostGW = "host-gw"
)

// Windows's own defaults of flannel's VXLAN backend, and the least VNI that HNS
// takes. On Linux flannel's default VNI is 1 and its port 8472, so a cluster of
// both kinds of nodes must say what it wants.
const (
	DefaultVNI       = 4096
	DefaultVXLANPort = 4789
	minVNI           = 4096
	maxVNI           = 1<<24 - 2
)

// NetConf is net-conf.json, flanneld's configuration for the whole cluster, from
// which it makes each node's subnet.env.
type NetConf struct {
	// Network and IPv6Network are the cluster's pod networks, without host bits;
	// zero if there is none.
	Network, IPv6Network netip.Prefix
	// Backend is the type of the backend, such as BackendVXLAN; flannel's default,
	// "udp", if the file names none. It does not run on Windows.
	Backend string
	// Name is the backend's name, by which flanneld on Windows calls its HNS
	// network; empty if not said. NetworkName has the default.
	Name string
	// VNI and Port of VXLAN; zero if not said: on Windows DefaultVNI and
	// DefaultVXLANPort, on Linux others.
	VNI  uint32
	Port uint16
	// MACPrefix is that of pods on VXLAN, such as "0E-2A"; empty if not said.
	MACPrefix string
	// DNSServers are those of the pods on host-gw; nil if not said.
	DNSServers []netip.Addr
}

// NetworkName is the name that flanneld gives its HNS network on Windows.
func (c *NetConf) NetworkName() string {
	switch {
	case c.Name != "":
		return c.Name
	case c.Backend == BackendVXLAN:
		vni := c.VNI
		if vni == 0 {
			vni = DefaultVNI
		}
		return fmt.Sprintf("flannel.%d", vni)
	}
	return "cbr0"
}

// FieldError is a value in net-conf.json that flanneld on Windows, or HNS after
// it, cannot use.
type FieldError struct {
	// Path leads to the value, such as "Backend.VNI".
	Path string
	// Value is the offending text; empty if the value is missing.
	Value string
	// Reason says what is wrong with it.
	Reason string
}

// Error returns path, value and reason.
func (e *FieldError) Error() string {
	if e.Value == "" {
		return e.Path + ": " + e.Reason
	}
	return fmt.Sprintf("%s: %q: %s", e.Path, e.Value, e.Reason)
}

// ParseNetConf reads a net-conf.json, and judges it for a node that runs
// Windows. Member names are matched ignoring case, as flanneld does, and those
// that are not here are left alone. The error says line and column of a fault
// of syntax, or is a *FieldError for each value that cannot be used, all of them
// joined.
func ParseNetConf(data []byte) (*NetConf, error) {
	var w struct {
		Network     string
		IPv6Network string
		EnableIPv4  *bool
		Backend     struct {
			Type string
			Name string
			VNI  json.Number
			Port json.Number

			MacPrefix          string
			DNSServerList      string
			DirectRouting, GBP bool
		}
	}
	if err := confjson.Unmarshal(data, &w); err != nil {
		var wrong *confjson.Error
		if errors.As(err, &wrong) && wrong.Path != "" {
			return nil, &FieldError{Path: wrong.Path, Reason: wrong.Reason}
		}
		return nil, err
	}
	p := &netConfParser{}
	c := &NetConf{
		Network: p.network("Network", w.Network, true), IPv6Network: p.network("IPv6Network", w.IPv6Network, false),
		Backend: strings.ToLower(w.Backend.Type), Name: w.Backend.Name,
		VNI:  uint32(p.number("Backend.VNI", w.Backend.VNI, maxVNI)),
		Port: uint16(p.number("Backend.Port", w.Backend.Port, 65535)),

		MACPrefix: w.Backend.MacPrefix, DNSServers: p.servers("Backend.DNSServerList", w.Backend.DNSServerList),
	}
	if w.Network == "" && w.IPv6Network == "" {
		p.fail("Network", "", "is missing")
	}
	if w.Network == "" && w.IPv6Network != "" || w.EnableIPv4 != nil && !*w.EnableIPv4 {
		p.fail("IPv6Network", w.IPv6Network, "IPv6 without IPv4 does not work on Windows")
	}
	p.backend(c)
	if c.Backend == BackendVXLAN {
		p.refuse("Backend.DirectRouting", w.Backend.DirectRouting, "Linux nodes would send packets that are not wrapped, which HNS does not take")
		p.refuse("Backend.GBP", w.Backend.GBP, "HNS cannot do it")
	}
	if err := errlist.Join(p.bad...); err != nil {
		return nil, fmt.Errorf("net-conf.json: %w", err)
	}
	return c, nil
}

type netConfParser struct{ bad []error }

func (p *netConfParser) fail(path, value, reason string) {
	p.bad = append(p.bad, &FieldError{Path: path, Value: value, Reason: reason})
}

func (p *netConfParser) network(path, text string, v4 bool) netip.Prefix {
	if text == "" {
		return netip.Prefix{}
	}
	n, err := netip.ParsePrefix(text)
	switch {
	case err != nil || n.Addr().Is4() != v4:
		p.fail(path, text, "is not a prefix of its family, such as 10.244.0.0/16")
		return netip.Prefix{}
	case n != n.Masked():
		p.fail(path, text, "has host bits; the network is "+n.Masked().String())
	}
	return n.Masked()
}

func (p *netConfParser) number(path string, n json.Number, most int64) int64 {
	if n == "" {
		return 0
	}
	v, err := n.Int64()
	if err != nil || v < 0 || v > most {
		p.fail(path, n.String(), fmt.Sprintf("is not a number from 1 to %d", most))
		return 0
	}
	return v
}

// servers reads a list as HNS has it, with commas.
func (p *netConfParser) servers(path, text string) []netip.Addr {
	var out []netip.Addr
	for _, t := range strings.Split(text, ",") {
		a, err := netip.ParseAddr(strings.TrimSpace(t))
		if text != "" && err != nil {
			p.fail(path, text, "is not a list of addresses with commas")
			return nil
		}
		if err == nil {
			out = append(out, a)
		}
	}
	return out
}

// refuse is for what flannel does on Linux alone.
func (p *netConfParser) refuse(path string, on bool, reason string) {
	if on {
		p.fail(path, "true", reason)
	}
}

func (p *netConfParser) backend(c *NetConf) {
	if c.Backend == "" {
		c.Backend = "udp"
	}
	if !slices.Contains([]string{BackendVXLAN, BackendHostGW, "alloc"}, c.Backend) {
		p.fail("Backend.Type", c.Backend, "does not run on Windows; vxlan and host-gw do")
	}
	if c.Backend == BackendVXLAN && c.VNI != 0 && c.VNI < minVNI {
		p.fail("Backend.VNI", fmt.Sprint(c.VNI), fmt.Sprintf("is below %d, the least that HNS takes", minVNI))
	}
}
