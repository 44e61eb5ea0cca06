package cniplugin

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// reserve returns the configuration that the IPAM plugin gets. For host-local
// it checks the ranges against the network's subnets, and takes the addresses
// out that the mode needs itself: host-local alone gives the first pod of an
// L2Bridge network its own gateway (kubernetes/kubernetes#74766,
// microsoft/SDN#333). Any other IPAM, and a host-local that already leaves
// them free, gets the configuration byte for byte.
func (r *run) reserve() ([]byte, error) {
	if r.p.IPAM != nil || r.Config.IPAMType != ipam.HostLocalType {
		return r.Config.Raw, nil
	}
	hl, err := ipam.ParseHostLocal(r.Config.IPAM)
	if err != nil {
		return nil, invalidConfig(err)
	}
	var taken []ipam.Reservation
	for i, set := range hl.Sets {
		for j, rg := range set {
			s, ok := subnetFor(r.Network, rg.Subnet)
			if !ok {
				return nil, invalidConfig(&hns.FieldError{Path: fmt.Sprintf("ipam.ranges[%d][%d].subnet", i, j), Value: rg.Subnet.String(),
					Reason: fmt.Sprintf("not inside a subnet of HNS network %q (%s); the configuration or subnet.env is stale",
						r.Network.Name, subnetTexts(r.Network))})
			}
			for _, a := range modes.Reserved(r.p.Mode, s.Prefix, r.p.Gateway, s.Gateway()) {
				taken = append(taken, ipam.Reservation{Address: a.Addr, Reason: a.Why})
			}
		}
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
