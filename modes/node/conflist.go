package node

import (
	"encoding/json"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// cniVersion is what every supported runtime and the upstream plugins speak.
const cniVersion = "1.0.0"

type wireConflist struct {
	CNIVersion string       `json:"cniVersion"`
	Name       string       `json:"name"`
	Plugins    []wirePlugin `json:"plugins"`
}

// wirePlugin has the keys of win-bridge and win-overlay.
type wirePlugin struct {
	Type         string          `json:"type"`
	APIVersion   int             `json:"apiVersion"` // of HNS: policies are of schema 2
	Capabilities map[string]bool `json:"capabilities"`
	MTU          int             `json:"mtu"`
	MACPrefix    string          `json:"endpointMacPrefix,omitempty"`
	LoopbackDSR  bool            `json:"loopbackDSR,omitempty"`
	DNS          *wireDNS        `json:"dns,omitempty"`
	IPAM         json.RawMessage `json:"ipam,omitempty"`
	Policies     []wirePolicy    `json:"policies,omitempty"`
}

type wireDNS struct {
	Nameservers []string `json:"nameservers"`
	Search      []string `json:"search,omitempty"`
}

type wirePolicy struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// conflist writes the CNI configuration. Source NAT stands there as a policy,
// not as ipMasq: of several cluster CIDRs the key for win-bridge holds one.
func (p *Plan) conflist() error {
	d := &p.Description
	plugin := wirePlugin{
		Type: d.Plugin, APIVersion: 2, MTU: p.MTU, MACPrefix: d.MACPrefix, LoopbackDSR: d.DSR && byNode(d.Mode), IPAM: p.IPAM,
		Capabilities: map[string]bool{"dns": true, "portMappings": d.Mode != modes.Transparent},
	}
	if !p.DNS.IsZero() {
		plugin.DNS = &wireDNS{p.DNS.ServerList, p.DNS.Search}
	}
	doc, err := (&hns.Endpoint{Policies: p.Policies}).Encode()
	if err != nil {
		return err
	}
	var e struct{ Policies []json.RawMessage }
	if err := json.Unmarshal(doc, &e); err != nil {
		return err
	}
	for _, value := range e.Policies {
		plugin.Policies = append(plugin.Policies, wirePolicy{"EndpointPolicy", value})
	}
	p.Conflist, err = json.MarshalIndent(wireConflist{cniVersion, d.Name, []wirePlugin{plugin}}, "", "  ")
	p.Conflist = append(p.Conflist, '\n')
	return err
}
