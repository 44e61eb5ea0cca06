package cniplugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// checkIPAM finds what the IPAM plugin would refuse, or nobody would serve.
func (c *Config) checkIPAM() error {
	if c.IPAMType == "" {
		var bad []error
		for _, name := range c.forIPAM {
			bad = append(bad, &hns.FieldError{Path: "runtimeConfig." + name, Reason: "is for an IPAM plugin, and ipam.type names none"})
		}
		return errlist.Join(append(bad, c.untypedKeys())...)
	}
	if _, err := ipam.PluginType(c.Raw); err != nil {
		return err
	}
	if !ipam.IsHostLocal(c.IPAMType) {
		return nil
	}
	_, _, err := ipam.ReserveNetwork(c.Raw)
	return err
}

// untypedKeys finds what nobody reads of an ipam object without a type: a type
// that was forgotten changes who gives the addresses. Microsoft's samples have an
// environment there, which says nothing of the pod; empty values ask for nothing.
func (c *Config) untypedKeys() error {
	var members map[string]json.RawMessage
	if c.IPAM == nil || c.ipamErr != nil || json.Unmarshal(c.IPAM, &members) != nil {
		return nil //nolint:nilerr // nothing there, or complained of already
	}
	var bad []error
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v := members[name]
		switch {
		case slices.Contains([]string{"type", "subnet", "routes", "environment"}, fold(name)):
		case present(v) == nil, slices.Contains([]string{`""`, "[]", "{}"}, string(v)):
		default:
			bad = append(bad, &hns.FieldError{Path: "ipam." + name, Value: shorten(v),
				Reason: "no ipam.type names a plugin that would read it"})
		}
	}
	return errlist.Join(bad...)
}

// reserve returns the configuration that the IPAM plugin gets. For host-local
// it checks the ranges against the network's subnets, and takes the addresses
// out that the mode needs itself: host-local alone gives the first pod of an
// L2Bridge network its own gateway (kubernetes/kubernetes#74766,
// microsoft/SDN#333). Any other IPAM, and a host-local that already leaves
// them free, gets the configuration byte for byte.
func (r *run) reserve() ([]byte, error) {
	if !r.isHostLocal() {
		return r.Config.Raw, nil
	}
	ranges, err := r.Config.hostLocalRanges()
	if err != nil {
		return nil, invalidConfig(err)
	}
	var taken []ipam.Reservation
	var bad []error
	for _, rg := range ranges {
		s, ok := subnetFor(r.Network, rg.subnet)
		if !ok {
			bad = append(bad, &hns.FieldError{Path: rg.path, Value: rg.subnet.String(),
				Reason: fmt.Sprintf("not inside a subnet of HNS network %q (%s); the configuration or subnet.env is stale",
					r.Network.Name, subnetTexts(r.Network))})
			continue
		}
		rule, gateways := r.gateway()
		var extra []modes.ReservedAddress
		for _, g := range gateways {
			if s.Prefix.Contains(g) {
				extra = append(extra, modes.ReservedAddress{Addr: g, Why: "the pods' gateway"})
			}
		}
		for _, a := range modes.Reserved(r.p.Mode, s.Prefix, rule, s.Gateway(), extra...) {
			taken = append(taken, ipam.Reservation{Address: a.Addr, Reason: a.Why})
		}
	}
	if err := r.Config.invalid(bad); err != nil {
		return nil, err
	}
	conf, changes, err := ipam.ReserveNetwork(r.Config.Raw, taken...)
	if err != nil {
		return nil, invalidConfig(err)
	}
	for _, ch := range changes {
		r.Log.Debug("ipam range narrowed", "change", ch.String())
	}
	return conf, nil
}

// placedRange is a range of host-local and where its subnet stands.
type placedRange struct {
	path   string
	subnet netip.Prefix
}

// hostLocalRanges returns the ranges of ipam and of runtimeConfig.ipRanges.
func (c *Config) hostLocalRanges() ([]placedRange, error) {
	var out []placedRange
	add := func(path string, sets []ipam.RangeSet) {
		for i, set := range sets {
			for j, rg := range set {
				out = append(out, placedRange{fmt.Sprintf("%s[%d][%d].subnet", path, i, j), rg.Subnet})
			}
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(c.IPAM, &members); err != nil {
		return nil, err
	}
	sets := func(ipamObject any) ([]ipam.RangeSet, error) {
		doc, err := json.Marshal(ipamObject)
		if err != nil {
			return nil, err
		}
		hl, err := ipam.ParseHostLocal(doc)
		if err != nil {
			return nil, err
		}
		return hl.Sets, nil
	}
	if hasMember(members, "subnet") || hasMember(members, "ranges") || c.ipRanges == nil {
		s, err := sets(c.IPAM)
		if err != nil {
			return nil, err
		}
		if hasMember(members, "subnet") { // the first set, beside the type
			out = append(out, placedRange{"ipam.subnet", s[0][0].Subnet})
			s = s[1:]
		}
		add("ipam.ranges", s)
	}
	if c.ipRanges != nil {
		s, err := sets(map[string]any{"type": ipam.HostLocalType, "ranges": c.ipRanges})
		if err != nil {
			return nil, err
		}
		add("runtimeConfig.ipRanges", s)
	}
	return out, nil
}

func hasMember(members map[string]json.RawMessage, name string) bool {
	for k, v := range members {
		if strings.EqualFold(k, name) && present(v) != nil {
			return true
		}
	}
	return false
}

func subnetFor(n *hns.Network, p netip.Prefix) (hns.Subnet, bool) {
	for _, s := range n.Subnets() {
		if ipam.Covers(s.Prefix, p) {
			return s, true
		}
	}
	return hns.Subnet{}, false
}

func subnetTexts(n *hns.Network) string {
	text := "none"
	for i, s := range n.Subnets() {
		if i == 0 {
			text = ""
		} else {
			text += ", "
		}
		text += s.Prefix.String()
	}
	return text
}

// replaceMember sets one member of a JSON object, whatever the letter case of
// its name there.
func replaceMember(doc []byte, name string, value json.RawMessage) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, err
	}
	for k := range members {
		if strings.EqualFold(k, name) {
			delete(members, k)
		}
	}
	members[name] = value
	return json.Marshal(members)
}
