package cniplugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// ConfIntent is what a configuration for a plugin of this package shall say.
type ConfIntent struct {
	// CNIVersion; empty is "1.0.0", which every containerd reads since 1.6.
	CNIVersion string
	// Name of the network, in CNI and in HNS.
	Name string
	// Plugin is the name of the program, without ".exe".
	Plugin string
	// Mode of the network, which the program serves. Of it depends which
	// capabilities are declared, for a runtime passes nothing that is not
	// (containerd/nerdctl#5157).
	Mode modes.Mode
	// IPAM is the ipam object, such as {"type": "host-local", …}; nil lets HNS
	// give the addresses.
	IPAM json.RawMessage
	// HNSNetwork describes the HNS network; nil leaves that to the node's agent.
	HNSNetwork *HNSNetwork
	// DNS is for pods that the runtime gives none.
	DNS types.DNS
	// Masquerade asks for source NAT, except to Exceptions; neither is for NAT and
	// Transparent.
	Masquerade bool
	Exceptions []netip.Prefix
	// LoopbackDSR lets pods reach themselves through a service.
	LoopbackDSR bool
	// Policies of every pod's endpoint.
	Policies []hns.EndpointPolicy
}

// ConfList returns a configuration list, as a runtime reads it from a file
// "10-name.conflist", indented. What no ADD would take is an error with the path
// in the list's plugin, as ADD gives it.
func ConfList(in ConfIntent) ([]byte, error) {
	plugin := confPlugin{
		Type: in.Plugin, Mode: strings.ToLower(string(in.Mode)), Capabilities: capabilitiesOf(in), IPAM: in.IPAM, HNSNetwork: in.HNSNetwork,
		DNS: in.DNS, LoopbackDSR: in.LoopbackDSR,
	}
	if in.Masquerade || len(in.Exceptions) > 0 {
		plugin.Masquerade, plugin.Exceptions = &in.Masquerade, in.Exceptions
	}
	values, err := policyDocuments(in.Policies)
	if err != nil {
		return nil, fmt.Errorf("configuration of network %q: %w", in.Name, err)
	}
	for _, v := range values {
		plugin.Policies = append(plugin.Policies, confPolicy{"EndpointPolicy", v})
	}
	if in.Plugin == "" {
		return nil, &hns.FieldError{Path: "plugins[0].type", Reason: "missing"}
	}
	list := confList{CNIVersion: cmp.Or(in.CNIVersion, "1.0.0"), Name: in.Name, Plugins: []confPlugin{plugin}}
	if err := list.check(in.Mode); err != nil {
		return nil, err
	}
	return indented(list)
}

type confList struct {
	CNIVersion string       `json:"cniVersion"`
	Name       string       `json:"name"`
	Plugins    []confPlugin `json:"plugins"`
}

type confPlugin struct {
	Type         string          `json:"type"`
	Mode         string          `json:"mode"`
	Capabilities map[string]bool `json:"capabilities"`
	IPAM         json.RawMessage `json:"ipam,omitempty"`
	HNSNetwork   *HNSNetwork     `json:"hnsNetwork,omitempty"`
	DNS          types.DNS       `json:"dns,omitzero"`
	Masquerade   *bool           `json:"ipMasq,omitempty"`
	Exceptions   []netip.Prefix  `json:"ipMasqNetworks,omitempty"`
	LoopbackDSR  bool            `json:"loopbackDSR,omitempty"`
	Policies     []confPolicy    `json:"policies,omitempty"`
}

type confPolicy struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// capabilitiesOf are those that the plugin serves in the mode.
func capabilitiesOf(in ConfIntent) map[string]bool {
	out := map[string]bool{"dns": true, "mac": true, "ips": true, "bandwidth": true}
	if in.Mode.Rule(modes.OnEndpoint, hns.PortMapping{}.PolicyType()).Verdict != modes.Forbidden {
		out["portMappings"] = true
	}
	var i struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(in.IPAM, &i) == nil && ipam.IsHostLocal(i.Type) {
		out["ipRanges"] = true
	}
	return out
}

// check reads the list's plugin as ADD does.
func (l confList) check(m modes.Mode) error {
	whole := struct {
		CNIVersion string `json:"cniVersion"`
		Name       string `json:"name"`
		confPlugin
	}{l.CNIVersion, l.Name, l.Plugins[0]}
	doc, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	c, err := ParseConfig(doc)
	if err != nil {
		return err
	}
	p, err := (&Plugin{Name: l.Plugins[0].Type, Mode: m}).forConfig(c)
	if err != nil {
		return err
	}
	if err := p.checkConfig(c); err != nil {
		return err
	}
	r := &run{p: p, Pod: Pod{Config: c}}
	if n := r.describedNetwork(); n != nil {
		_, err = r.planNetwork(n)
	}
	return err
}

// policyDocuments are the policies as HNS gets them.
func policyDocuments(ps []hns.EndpointPolicy) ([]json.RawMessage, error) {
	var bad []error
	for i, pol := range ps {
		for _, f := range hns.FieldErrors(hns.CheckEndpointPolicy(pol)) {
			at := *f
			at.Path = strings.TrimSuffix(fmt.Sprintf("policies[%d].%s", i, f.Path), ".")
			bad = append(bad, &at)
		}
	}
	if err := errlist.Join(bad...); err != nil {
		return nil, err
	}
	doc, err := (&hns.Endpoint{Policies: ps}).Encode()
	if err != nil {
		return nil, err
	}
	var e struct{ Policies []json.RawMessage }
	err = json.Unmarshal(doc, &e)
	return e.Policies, err
}

// MarshalJSON writes the key hnsNetwork.
func (n *HNSNetwork) MarshalJSON() ([]byte, error) {
	drift := ""
	switch n.Drift {
	case hns.DriftRefuse:
	case hns.DriftKeep:
		drift = "keep"
	default:
		return nil, errors.New(keyHNSNetwork + ".drift: is for refuse and keep alone")
	}
	return json.Marshal(struct {
		Subnets         []netip.Prefix `json:"subnets,omitempty"`
		Gateways        []netip.Addr   `json:"gateways,omitempty"`
		Adapter         string         `json:"adapter,omitempty"`
		ProviderAddress netip.Addr     `json:"providerAddress,omitzero"`
		VNI             uint32         `json:"vni,omitempty"`
		VXLANPort       uint16         `json:"vxlanPort,omitempty"`
		VLAN            uint16         `json:"vlan,omitempty"`
		Persistent      bool           `json:"persistent,omitempty"`
		Drift           string         `json:"drift,omitempty"`
	}{n.Subnets, n.Gateways, n.Adapter, n.ProviderAddress, n.VNI, n.VXLANPort, n.VLAN, n.Persistent, drift})
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}
