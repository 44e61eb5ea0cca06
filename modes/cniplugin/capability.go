package cniplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// mode reads the key mode.
func (p *configParser) mode(c *Config, raw json.RawMessage) {
	var text string
	if !p.value("mode", raw, &text) || text == "" {
		return
	}
	var err error
	if c.Mode, err = modes.ParseMode(text); err != nil {
		p.complain("mode", text, errors.New(reasonOf(err)))
	}
}

// optionalFlags reads the switches of Microsoft's sdnbridge and sdnoverlay.
func (p *configParser) optionalFlags(c *Config, raw json.RawMessage) {
	const key = "optionalFlags"
	members := p.object(key, raw)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		path := key + "." + name
		var on bool
		p.value(path, members[name], &on)
		switch strings.ToLower(name) {
		case "loopbackdsr":
			c.LoopbackDSR = c.LoopbackDSR || on
		case "localroutedportmapping":
			c.LocalRoutedPorts = on
		case "allowaclportmapping":
			c.AllowMappedPorts = on
		case "forcebridgegateway":
			c.HostGateway = on
		case "enabledualstack", "gatewayfromadditionalroutes":
			// Both families, and default routes of additionalRoutes, always count.
		default:
			p.complain(path, shorten(members[name]), errors.New("no switch that this plugin knows"))
		}
	}
}

// mac reads the capability argument mac (CNI conventions): the MAC address that
// the pod shall have.
func (p *configParser) mac(path string, raw json.RawMessage) hns.MAC {
	var text string
	if !p.value(path, raw, &text) || text == "" {
		return hns.MAC{}
	}
	m, err := hns.ParseMAC(text)
	if err != nil || m.IsZero() {
		p.complain(path, text, errors.New("not a MAC address such as 02:15:5d:00:00:07"))
		return hns.MAC{}
	}
	return m
}

// bandwidth reads the capability argument bandwidth: rates in bits a second, and
// bursts in bits. HNS limits what leaves a pod and nothing else, so a limit for
// what comes in is an error: the pod would run without. It knows no bursts, and
// keeps to the rate without them, so the pod never sends more than was allowed.
func (p *configParser) bandwidth(c *Config, path string, raw json.RawMessage) {
	members := p.object(path, raw)
	rates := map[string]uint64{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at, key := path+"."+name, strings.ToLower(name)
		var n uint64
		switch key {
		case "ingressrate", "ingressburst", "egressrate", "egressburst":
			p.value(at, members[name], &n)
			rates[key] = n
		default:
			p.complain(at, shorten(members[name]), errors.New("HNS limits what leaves the pod as a whole, and nothing else"))
		}
		if key == "ingressrate" && n > 0 {
			p.complain(at, fmt.Sprint(n), errors.New("HNS cannot limit what comes in (policy QOS is for what leaves the pod)"))
		}
	}
	if c.EgressRate = rates["egressrate"]; c.EgressRate == 0 && rates["egressburst"] > 0 {
		p.complain(path+".egressBurst", fmt.Sprint(rates["egressburst"]), errors.New("a burst without a rate limits nothing"))
	}
}

// limited returns the policies with the limit of the capability bandwidth, which
// goes before one that is configured. HNS counts bytes, and a rate below one
// byte a second is one.
func (c *Config) limited(ps []hns.EndpointPolicy, paths []string) ([]hns.EndpointPolicy, []string) {
	if c.EgressRate == 0 {
		return ps, paths
	}
	limit := hns.QOS{MaximumOutgoingBandwidthInBytes: max(c.EgressRate/8, 1)}
	for i, pol := range ps {
		if strings.EqualFold(pol.PolicyType(), limit.PolicyType()) {
			ps, paths = slices.Clone(ps), slices.Clone(paths)
			ps[i], paths[i] = limit, "runtimeConfig.bandwidth"
			return ps, paths
		}
	}
	return append(ps, limit), append(paths, "runtimeConfig.bandwidth")
}

// checkCapabilities finds what the mode cannot do for the runtime or the
// configuration.
func (c *Config) checkCapabilities(m modes.Mode) []error {
	var bad []error
	cannot := func(path, value, reason string) {
		bad = append(bad, &modes.UnsupportedError{Mode: m, Path: path, Value: value, Reason: reason})
	}
	if r := m.Rule(modes.OnEndpoint, hns.PortMapping{}.PolicyType()); r.Verdict == modes.Forbidden {
		for _, pm := range c.PortMappings {
			cannot(pm.path, fmt.Sprintf("%d to %d", pm.HostPort, pm.ContainerPort), r.Reason)
		}
	}
	masquerade := c.Masquerade
	switch {
	case m == modes.Transparent && (masquerade != nil && *masquerade || masquerade == nil && len(c.MasqueradeExceptions) > 0):
		path := "ipMasq"
		if masquerade == nil {
			path = "ipMasqNetwork"
		}
		cannot(path, "", "HNS changes no packets; a router or the SDN controller translates addresses")
	case m == modes.NAT && masquerade != nil && !*masquerade:
		cannot("ipMasq", "false", "WinNAT translates all that leaves the node")
	case m == modes.NAT && len(c.MasqueradeExceptions) > 0:
		cannot("ipMasqNetwork", c.MasqueradeExceptions[0].String(), "WinNAT translates all that leaves the node, without exceptions")
	}
	return bad
}
