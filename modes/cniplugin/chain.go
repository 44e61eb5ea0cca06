package cniplugin

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
)

// readPrevResult reads prevResult, whatever version it is in; nil if there is none.
func (c *Config) readPrevResult() (*types100.Result, error) {
	if c.PrevResult == nil {
		return nil, nil
	}
	fail := func(err error) (*types100.Result, error) {
		return nil, invalidConfig(&hns.FieldError{Path: "prevResult", Value: shorten(c.PrevResult), Reason: err.Error()})
	}
	if err := checkNulls(c.PrevResult); err != nil {
		return nil, invalidConfig(err)
	}
	res, err := version.NewResult(c.CNIVersion, c.PrevResult)
	if err != nil {
		return fail(err)
	}
	r, err := types100.NewResultFromResult(res)
	if err != nil {
		return fail(err)
	}
	for i, ip := range r.IPs {
		if ip.Interface != nil && (*ip.Interface < 0 || *ip.Interface >= len(r.Interfaces)) {
			return nil, invalidConfig(&hns.FieldError{Path: fmt.Sprintf("prevResult.ips[%d].interface", i), Value: fmt.Sprint(*ip.Interface),
				Reason: "there is no such interface"})
		}
	}
	return r, nil
}

// checkNulls finds elements of lists that nothing may look into.
func checkNulls(result json.RawMessage) error {
	var lists struct{ Interfaces, IPs, Routes []json.RawMessage }
	if json.Unmarshal(result, &lists) != nil {
		return nil //nolint:nilerr // the decoder of its version says what is wrong
	}
	var bad []error
	check := func(name string, list []json.RawMessage) {
		for i, e := range list {
			if present(e) == nil {
				bad = append(bad, &hns.FieldError{Path: fmt.Sprintf("prevResult.%s[%d]", name, i), Value: "null", Reason: "missing"})
			}
		}
	}
	check("interfaces", lists.Interfaces)
	check("ips", lists.IPs)
	check("routes", lists.Routes)
	return errlist.Join(bad...)
}

// earlier is what the plugins before this one in a chain have made, when ADD is
// called; nil if it is the first. The interface must not be among it: there
// cannot be two of one name in a sandbox.
func (c *Config) earlier(ifName string) (*types100.Result, error) {
	prev, err := c.readPrevResult()
	if err != nil || prev == nil {
		return nil, err
	}
	var bad []error
	for i, x := range prev.Interfaces {
		if x.Name == ifName && x.Sandbox != "" {
			bad = append(bad, &hns.FieldError{Path: fmt.Sprintf("prevResult.interfaces[%d].name", i), Value: x.Name,
				Reason: "an earlier plugin of the chain has made this interface"})
		}
	}
	holdsMany, err := version.GreaterThanOrEqualTo(c.CNIVersion, "0.3.0")
	if err != nil {
		return nil, err
	}
	if len(prev.IPs) > 0 && !holdsMany {
		bad = append(bad, &hns.FieldError{Path: "prevResult", Value: shorten(c.PrevResult),
			Reason: "has an address, and a result of version " + c.CNIVersion + " has no room for that of a second interface"})
	}
	return prev, c.invalid(bad)
}

// chained puts a result behind what the earlier plugins have made, none of which
// may get lost (CNI specification, "ADD").
func chained(prev, own *types100.Result) *types100.Result {
	if prev == nil {
		return own
	}
	shift := len(prev.Interfaces)
	out := &types100.Result{
		CNIVersion: own.CNIVersion,
		Interfaces: append(slices.Clone(prev.Interfaces), own.Interfaces...),
		IPs:        slices.Clone(prev.IPs),
		Routes:     slices.Clone(prev.Routes),
		DNS: types.DNS{
			Nameservers: union(own.DNS.Nameservers, prev.DNS.Nameservers),
			Domain:      own.DNS.Domain,
			Search:      union(own.DNS.Search, prev.DNS.Search),
			Options:     union(own.DNS.Options, prev.DNS.Options),
		},
	}
	if out.DNS.Domain == "" {
		out.DNS.Domain = prev.DNS.Domain
	}
	for _, ip := range own.IPs {
		ip := ip.Copy()
		if ip.Interface != nil {
			*ip.Interface += shift
		}
		out.IPs = append(out.IPs, ip)
	}
	for _, rt := range own.Routes {
		if !slices.ContainsFunc(prev.Routes, func(other *types.Route) bool { return other.String() == rt.String() }) {
			out.Routes = append(out.Routes, rt)
		}
	}
	return out
}

func union(first, second []string) []string {
	out := slices.Clone(first)
	for _, s := range second {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// prevResult is what the result of ADD says of one interface.
type prevResult struct {
	lease *ipam.Lease
	mac   hns.MAC // zero if the result has none
}

// prevResult reads the interface of that name from the result of ADD, which may be
// without an address in a mode that can do without. A chain
// may have added interfaces, addresses, routes and DNS settings that are not ours.
func (c *Config) prevResult(ifName string, noAddressOK bool) (*prevResult, error) {
	fail := func(path, value string, reason string) (*prevResult, error) {
		return nil, invalidConfig(&hns.FieldError{Path: path, Value: value, Reason: reason})
	}
	r, err := c.readPrevResult()
	if err != nil {
		return nil, err
	}
	if r == nil {
		return fail("prevResult", "", "missing; CHECK needs the result of ADD")
	}
	out := &prevResult{}
	own := map[int]bool{}
	for i, x := range r.Interfaces {
		if x.Name != ifName {
			continue
		}
		own[i] = true
		if x.Mac == "" {
			continue
		}
		if out.mac, err = hns.ParseMAC(x.Mac); err != nil {
			return fail(fmt.Sprintf("prevResult.interfaces[%d].mac", i), x.Mac, "not a MAC address")
		}
	}
	ours := func(ip *types100.IPConfig) bool { return ip.Interface != nil && own[*ip.Interface] }
	if !slices.ContainsFunc(r.IPs, ours) { // some results do not say whose an address is
		ours = func(ip *types100.IPConfig) bool { return ip.Interface == nil }
	}
	shared := slices.ContainsFunc(r.IPs, func(ip *types100.IPConfig) bool { return !ours(ip) })
	r.IPs = slices.DeleteFunc(slices.Clone(r.IPs), func(ip *types100.IPConfig) bool { return !ours(ip) })
	if len(r.IPs) == 0 && !noAddressOK {
		return fail("prevResult.ips", "", "has no address of interface "+ifName)
	}
	out.lease, err = ipam.NewLease(r)
	if err != nil {
		return fail("prevResult", shorten(c.PrevResult), err.Error())
	}
	if shared {
		out.lease.DNS = types.DNS{} // nobody can tell whose it is
		out.lease.Routes = slices.DeleteFunc(out.lease.Routes, func(rt ipam.Route) bool {
			return !slices.ContainsFunc(out.lease.Addresses, func(a ipam.Address) bool { return a.Prefix.Contains(rt.Gateway) })
		})
	}
	return out, nil
}
