package cniplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/modes"
)

// DefaultTimeout is the deadline of a verb whose configuration names none. It
// lies below the two minutes that kubelet gives a runtime call.
const DefaultTimeout = 90 * time.Second

// Config is a network configuration, read and checked.
type Config struct {
	// CNIVersion is the version the result is given in; "0.1.0" if the
	// configuration has none, as the specification says.
	CNIVersion string
	// Name is the name of the CNI network and of the HNS network.
	Name string
	// Type is the name of the plugin. It never reaches HNS.
	Type string
	// IPAM is the ipam object as it stood; nil if there is none.
	IPAM json.RawMessage
	// IPAMType is ipam.type; empty lets HNS assign the address.
	IPAMType string
	// DNS is what the pod gets unless the runtime says otherwise.
	DNS types.DNS
	// Policies are the configured policies, those of v1 shape converted.
	Policies []hns.EndpointPolicy
	// MACPrefix is endpointMacPrefix, such as "0E-2A"; empty is the default.
	MACPrefix string
	// Masquerade is ipMasq; nil if the configuration does not say.
	Masquerade *bool
	// MasqueradeExceptions are ipMasqNetwork and ipMasqNetworks.
	MasqueradeExceptions []netip.Prefix
	// LoopbackDSR lets a pod reach itself through a service.
	LoopbackDSR bool
	// PortMappings is the runtime's capability argument.
	PortMappings []PortMapping
	// Timeout of a verb.
	Timeout time.Duration
	// StateDir, LogFile and LogLevel override the plugin's own.
	StateDir, LogFile string
	// PrevResult is the result of an earlier plugin or, for CHECK, of ADD.
	PrevResult json.RawMessage
	// Raw is the configuration as it was.
	Raw []byte

	logLevel slog.Level
}

// wireConfig is the form on stdin. Whatever may be malformed without harm to a
// DEL stays raw until ADD or CHECK looks at it.
type wireConfig struct {
	CNIVersion     string          `json:"cniVersion"`
	Name           string          `json:"name"`
	Type           string          `json:"type"`
	IPAM           json.RawMessage `json:"ipam"`
	DNS            json.RawMessage `json:"dns"`
	APIVersion     json.RawMessage `json:"apiVersion"`
	Policies       json.RawMessage `json:"policies"`
	MACPrefix      json.RawMessage `json:"endpointMacPrefix"`
	IPMasq         json.RawMessage `json:"ipMasq"`
	IPMasqNetwork  json.RawMessage `json:"ipMasqNetwork"`
	IPMasqNetworks json.RawMessage `json:"ipMasqNetworks"`
	LoopbackDSR    json.RawMessage `json:"loopbackDSR"`
	RuntimeConfig  json.RawMessage `json:"runtimeConfig"`
	Timeout        json.RawMessage `json:"timeout"`
	StateDir       string          `json:"stateDir"`
	LogFile        string          `json:"logFile"`
	LogLevel       string          `json:"logLevel"`
	PrevResult     json.RawMessage `json:"prevResult"`
}

// ParseConfig reads a network configuration for ADD and CHECK. Every complaint
// is a *hns.FieldError with the path of the value, all of them joined; a fault
// of syntax says line and column. Nothing else is touched.
func ParseConfig(stdin []byte) (*Config, error) {
	c, w, err := parseBase(stdin)
	if err != nil {
		return nil, err
	}
	p := &configParser{}
	p.apiVersion(w.APIVersion)
	p.value("dns", w.DNS, &c.DNS)
	c.DNS = p.dns("dns", c.DNS)
	c.Policies = p.policies(w.Policies)
	p.value("endpointMacPrefix", w.MACPrefix, &c.MACPrefix)
	if c.MACPrefix != "" {
		if _, err := modes.EndpointMAC(c.MACPrefix, netip.IPv4Unspecified().Next()); err != nil {
			p.complain("endpointMacPrefix", c.MACPrefix, err)
		}
	}
	p.value("ipMasq", w.IPMasq, &c.Masquerade)
	c.MasqueradeExceptions = p.masqueradeNetworks(w)
	p.value("loopbackDSR", w.LoopbackDSR, &c.LoopbackDSR)
	p.runtime(w.RuntimeConfig, c)
	if err := errors.Join(p.bad...); err != nil {
		return nil, invalidConfig(fmt.Errorf("configuration of network %q: %w", c.Name, err))
	}
	return c, nil
}

// parseBase reads what every verb needs. DEL stops here: a policy that no
// longer parses must not keep a pod from going.
func parseBase(stdin []byte) (*Config, *wireConfig, error) {
	var w wireConfig
	if err := confjson.Unmarshal(stdin, &w); err != nil {
		var e *confjson.Error
		if errors.As(err, &e) && e.Path != "" {
			return nil, nil, invalidConfig(fmt.Errorf("configuration: %w", err))
		}
		return nil, nil, &Error{Code: codeDecoding, Err: fmt.Errorf("configuration: %w", err)}
	}
	c := &Config{
		CNIVersion: w.CNIVersion, Name: w.Name, Type: w.Type, IPAM: present(w.IPAM),
		Timeout: DefaultTimeout, StateDir: w.StateDir, LogFile: w.LogFile, PrevResult: present(w.PrevResult), Raw: stdin,
	}
	p := &configParser{}
	if c.CNIVersion == "" {
		c.CNIVersion = "0.1.0"
	}
	if c.Name == "" {
		p.complain("name", "", errors.New("missing"))
	}
	if c.IPAM != nil {
		var i struct {
			Type *string `json:"type"`
		}
		if p.value("ipam", c.IPAM, &i) && i.Type != nil {
			c.IPAMType = *i.Type
		}
	}
	c.Timeout = p.timeout(w.Timeout)
	if w.LogLevel != "" {
		if err := c.logLevel.UnmarshalText([]byte(w.LogLevel)); err != nil {
			p.complain("logLevel", w.LogLevel, errors.New("not debug, info, warn or error"))
		}
	}
	if err := errors.Join(p.bad...); err != nil {
		return nil, nil, invalidConfig(fmt.Errorf("configuration of network %q: %w", c.Name, err))
	}
	return c, &w, nil
}

// configParser gathers every complaint, not only the first.
type configParser struct{ bad []error }

func (p *configParser) complain(path, value string, reason error) {
	p.bad = append(p.bad, &hns.FieldError{Path: path, Value: value, Reason: reason.Error()})
}

// value decodes a member if it is there, and reports whether it was.
func (p *configParser) value(path string, raw json.RawMessage, into any) bool {
	if present(raw) == nil {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			if wrong.Field != "" {
				path += "." + wrong.Field
			}
			err = fmt.Errorf("a %s cannot stand here", wrong.Value)
		}
		p.complain(path, shorten(raw), err)
		return false
	}
	return true
}

func present(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

func shorten(raw []byte) string {
	const most = 80
	s := strings.Trim(string(raw), `"`)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func (p *configParser) apiVersion(raw json.RawMessage) {
	var v int
	if !p.value("apiVersion", raw, &v) || v == 2 {
		return
	}
	reason := errors.New("not an API version; 2 is the one of HNS namespaces")
	if v == 1 {
		reason = errors.New("the v1 API cannot attach to an HNS namespace, which the runtime gave in CNI_NETNS; use 2 or leave the key out")
	}
	p.complain("apiVersion", fmt.Sprint(v), reason)
}

func (p *configParser) timeout(raw json.RawMessage) time.Duration {
	var text string
	if !p.value("timeout", raw, &text) {
		return DefaultTimeout
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		p.complain("timeout", text, errors.New("not a duration such as 45s"))
		return DefaultTimeout
	}
	return d
}

func (p *configParser) masqueradeNetworks(w *wireConfig) []netip.Prefix {
	var one string
	var more []string
	p.value("ipMasqNetwork", w.IPMasqNetwork, &one)
	p.value("ipMasqNetworks", w.IPMasqNetworks, &more)
	var out []netip.Prefix
	add := func(path, text string) {
		if pr, ok := p.prefix(path, text); ok {
			out = append(out, pr)
		}
	}
	if one != "" {
		add("ipMasqNetwork", one)
	}
	for i, s := range more {
		add(fmt.Sprintf("ipMasqNetworks[%d]", i), s)
	}
	return out
}

// prefix reads a prefix and clears its host bits: Windows Server 2022 refuses
// them in exceptions (microsoft/hcsshim#1951), and what is meant is clear.
func (p *configParser) prefix(path, text string) (netip.Prefix, bool) {
	pr, err := netip.ParsePrefix(text)
	if err != nil {
		p.complain(path, text, errors.New("not a prefix such as 10.244.0.0/16"))
		return netip.Prefix{}, false
	}
	return pr.Masked(), true
}

// dns checks nameservers and drops empty texts, which are how some generators
// write an empty list.
func (p *configParser) dns(path string, d types.DNS) types.DNS {
	for i, s := range d.Nameservers {
		if _, err := netip.ParseAddr(s); err != nil && s != "" {
			p.complain(fmt.Sprintf("%s.nameservers[%d]", path, i), s, errors.New("not an IP address"))
		}
	}
	return types.DNS{Nameservers: nonEmpty(d.Nameservers), Domain: d.Domain, Search: nonEmpty(d.Search), Options: nonEmpty(d.Options)}
}

func nonEmpty(l []string) []string {
	var out []string
	for _, s := range l {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// runtime reads runtimeConfig: the arguments of the capabilities that the
// configuration declares. One that this plugin cannot serve is an error, since
// the pod would run without what it asked for.
func (p *configParser) runtime(raw json.RawMessage, c *Config) {
	var members map[string]json.RawMessage
	p.value("runtimeConfig", raw, &members)
	for name, v := range members {
		path := "runtimeConfig." + name
		switch strings.ToLower(name) {
		case "portmappings":
			c.PortMappings = p.portMappings(path, v)
		case "dns":
			var d struct {
				Servers  []string `json:"servers"`
				Searches []string `json:"searches"`
				Options  []string `json:"options"`
			}
			if p.value(path, v, &d) {
				run := p.dns(path, types.DNS{Nameservers: d.Servers, Search: d.Searches, Options: d.Options})
				c.DNS = preferDNS(run, c.DNS)
			}
		default:
			if present(v) != nil {
				p.complain(path, shorten(v), errors.New("this plugin does not serve the capability"))
			}
		}
	}
}

// preferDNS takes each field from the first that has it.
func preferDNS(first, second types.DNS) types.DNS {
	pick := func(a, b []string) []string {
		if len(a) > 0 {
			return a
		}
		return b
	}
	out := types.DNS{
		Nameservers: pick(first.Nameservers, second.Nameservers),
		Domain:      first.Domain,
		Search:      pick(first.Search, second.Search),
		Options:     pick(first.Options, second.Options),
	}
	if out.Domain == "" {
		out.Domain = second.Domain
	}
	return out
}
