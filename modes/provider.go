package modes

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// provider sees to the node's address on the endpoint. On Overlay it must be
// there, and be the one that the network has: peers send to that.
func (p *podPlan) provider(ps []hns.EndpointPolicy) []hns.EndpointPolicy {
	var known netip.Addr
	if p.mode == Overlay {
		known = p.in.Network.ProviderAddress()
		if known.IsLinkLocalUnicast() {
			known = netip.Addr{} // an adapter without an address yet
		}
	}
	want := p.in.ProviderAddress
	if want.IsValid() {
		if why := notNodeAddr(want); why != "" {
			p.bad.field("ProviderAddress", want.String(), "%s", why)
		} else {
			p.agree("ProviderAddress", want, known)
		}
	} else {
		want = known
	}
	if p.userProvider(want) {
		return ps
	}
	if want.IsValid() {
		return append(ps, hns.ProviderAddress{Address: want})
	}
	if p.mode == Overlay {
		p.bad.add(fmt.Errorf("%w: ProviderAddress: network %q has no provider address yet", ErrNotReady, p.in.Network.Name))
	}
	return ps
}

// userProvider checks the user's own ProviderAddress policies and reports
// whether there is one.
func (p *podPlan) userProvider(want netip.Addr) bool {
	found := false
	for i, u := range p.in.Policies {
		a, ok := asProviderAddress(u)
		if !ok {
			continue
		}
		path := fmt.Sprintf("Policies[%d].Settings.ProviderAddress", i)
		if found {
			p.bad.field(path, addrText(a), "second ProviderAddress of the endpoint")
		}
		found = true
		p.agree(path, a, want)
	}
	return found
}

func (p *podPlan) agree(path string, a, want netip.Addr) {
	if a.IsValid() && want.IsValid() && a != want {
		p.bad.field(path, a.String(), "differs from the provider address %s of this node on network %q", want, p.in.Network.Name)
	}
}

// asProviderAddress returns the address of a ProviderAddress policy. One kept
// raw for members that its struct lacks is read too. What cannot be read at
// all is reported by the check of the policies.
func asProviderAddress(p hns.EndpointPolicy) (netip.Addr, bool) {
	switch p := p.(type) {
	case hns.ProviderAddress:
		return p.Address, true
	case hns.RawPolicy:
		if !strings.EqualFold(p.Type, hns.ProviderAddress{}.PolicyType()) {
			return netip.Addr{}, false
		}
		var s struct{ ProviderAddress netip.Addr }
		if json.Unmarshal(p.Settings, &s) != nil {
			return netip.Addr{}, true
		}
		return s.ProviderAddress, true
	}
	return netip.Addr{}, false
}
