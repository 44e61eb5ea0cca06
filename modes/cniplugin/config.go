package cniplugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/utils"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/internal/errlist"
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
	// IPAMType is ipam.type; empty lets HNS assign the address, unless the plugin
	// has an IPAM of its own.
	IPAMType string
	// DNS is what the pod gets: of each field what the runtime says, else what
	// the configuration says. What neither says is left to IPAM.
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
	// Mode is the key mode: of which mode the HNS network is; empty if the
	// configuration leaves that to the plugin.
	Mode modes.Mode
	// HNSNetwork is what the configuration says of the HNS network; nil if it
	// says nothing. Then the network must be there, whatever it is like.
	HNSNetwork *HNSNetwork
	// Gateways are the pods' gateways, and Routes are routes of theirs that lead
	// elsewhere, from the routes of an ipam object without a type and from
	// additionalRoutes. Without Gateways the plugin's rule holds.
	Gateways []netip.Addr
	Routes   []hns.Route
	// HostGateway is optionalFlags.forceBridgeGateway: the pods' gateway is the
	// node's endpoint.
	HostGateway bool
	// PortMappings is the runtime's capability argument. LocalRoutedPorts lets the
	// node itself reach the ports ([hns.NATLocalRoutedVIP]), and AllowMappedPorts
	// adds an ACL for each that lets it in; both are optionalFlags.
	PortMappings                       []PortMapping
	LocalRoutedPorts, AllowMappedPorts bool
	// EgressRate is what the pod may send, in bits a second, by the capability
	// argument bandwidth; zero is no limit.
	EgressRate uint64
	// MAC is the capability argument mac; zero leaves the MAC address to the mode.
	MAC hns.MAC
	// IPs is the capability argument ips and, where HNS gives the addresses, what
	// args.cni.ips and CNI_ARGS ask for. One without a length has that of its
	// address.
	IPs []netip.Prefix
	// Timeout of a verb, a second at least. A failed ADD may take up to twice 15
	// seconds more to give back what it took.
	Timeout time.Duration
	// StateDir overrides the plugin's own; LogFile is where the verb is logged.
	// Absolute paths; empty: not set.
	StateDir, LogFile string
	// PrevResult is the result of an earlier plugin or, for CHECK, of ADD.
	PrevResult json.RawMessage
	// Raw is the configuration as it was, but for a byte order mark.
	Raw []byte

	logLevel slog.Level
	// ipRanges is runtimeConfig.ipRanges, and forIPAM the names of what else
	// there is for the IPAM plugin alone.
	ipRanges json.RawMessage
	forIPAM  []string
	// args is the key args, as it stood.
	args json.RawMessage
	// bareIPs are those of IPs that came without a length.
	bareIPs map[netip.Addr]bool
	// policyPaths, gatewayPaths and ipPaths are where Policies, Gateways and IPs
	// stand.
	policyPaths, gatewayPaths, ipPaths []string
	// ipamErr and otherErr are what DEL puts up with.
	ipamErr, otherErr error
}

// wireConfig is the form on stdin. Whatever may be malformed without harm to a
// DEL stays raw until it is looked at.
type wireConfig struct {
	CNIVersion     string          `json:"cniVersion"`
	Name           string          `json:"name"`
	Type           json.RawMessage `json:"type"`
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
	Args           json.RawMessage `json:"args"`
	Mode           json.RawMessage `json:"mode"`
	HNSNetwork     json.RawMessage `json:"hnsNetwork"`
	// Of upstream plugins once: policies of schema 2, without names.
	HCNPolicyArgs json.RawMessage `json:"HcnPolicyArgs"`
	// Of Microsoft's plugins nat, sdnbridge and sdnoverlay.
	Master           json.RawMessage `json:"master"`
	AdditionalArgs   json.RawMessage `json:"AdditionalArgs"`
	OptionalFlags    json.RawMessage `json:"optionalFlags"`
	AdditionalRoutes json.RawMessage `json:"additionalRoutes"`
	Timeout          json.RawMessage `json:"timeout"`
	StateDir         json.RawMessage `json:"stateDir"`
	LogFile          json.RawMessage `json:"logFile"`
	LogLevel         json.RawMessage `json:"logLevel"`
	PrevResult       json.RawMessage `json:"prevResult"`
	// Of GC.
	ValidAttachments json.RawMessage `json:"cni.dev/valid-attachments"`
	OldAttachments   json.RawMessage `json:"cni.dev/attachments"`
}

// ParseConfig reads a network configuration for ADD and CHECK. Every complaint
// is a *hns.FieldError with the path of the value, all of them joined; a fault
// of syntax says line and column. Nothing else is touched.
//
// What depends on the plugin is not checked here: whether its mode has the key,
// and the configuration of IPAM, which is the IPAM plugin's own.
func ParseConfig(stdin []byte) (*Config, error) {
	c, w, err := parseBase(stdin)
	if err != nil {
		return nil, err
	}
	p := &configParser{}
	if !slices.Contains(version.All.SupportedVersions(), c.CNIVersion) {
		p.complain("cniVersion", c.CNIVersion, fmt.Errorf("not a version that this plugin speaks: %s",
			strings.Join(version.All.SupportedVersions(), ", ")))
	}
	p.apiVersion(w.APIVersion)
	c.DNS = p.dns("dns", dnsNames{"nameservers", "search"}, w.DNS)
	p.policies(c, "policies", w.Policies)
	p.policies(c, "AdditionalArgs", w.AdditionalArgs)
	p.list("HcnPolicyArgs", w.HCNPolicyArgs, func(path string, raw json.RawMessage) { p.addPolicy(c, path, raw) })
	p.value("endpointMacPrefix", w.MACPrefix, &c.MACPrefix)
	if c.MACPrefix != "" {
		if _, err := modes.EndpointMAC(c.MACPrefix, netip.IPv4Unspecified().Next()); err != nil {
			p.complain("endpointMacPrefix", c.MACPrefix, errors.New(reasonOf(err)))
		}
	}
	p.value("ipMasq", w.IPMasq, &c.Masquerade)
	c.MasqueradeExceptions = p.masqueradeNetworks(w)
	p.value("loopbackDSR", w.LoopbackDSR, &c.LoopbackDSR)
	p.optionalFlags(c, w.OptionalFlags)
	c.HNSNetwork = p.hnsNetwork(c, w)
	p.routes(c, "additionalRoutes", w.AdditionalRoutes)
	c.args = w.Args
	p.runtime(w.RuntimeConfig, c)
	if err := c.invalid(append([]error{c.ipamErr, c.otherErr}, p.bad...)); err != nil {
		return nil, err
	}
	return c, nil
}

// parseBase reads what every verb needs. DEL stops here: a policy that no
// longer parses must not keep a pod from going, nor must a key of our own.
// Such faults are noted in ipamErr and otherErr, and the default taken.
func parseBase(stdin []byte) (*Config, *wireConfig, error) {
	var w wireConfig
	if err := confjson.Unmarshal(stdin, &w); err != nil {
		var e *confjson.Error
		if errors.As(err, &e) && e.Path != "" {
			return nil, nil, invalidConfig(fmt.Errorf("configuration: %w", err))
		}
		return nil, nil, &Error{Code: codeDecoding, Err: fmt.Errorf("configuration: %w", err)}
	}
	twice := decodeOnce(stdin, &w)
	c := &Config{CNIVersion: cmp.Or(w.CNIVersion, "0.1.0"), Name: w.Name,
		PrevResult: present(w.PrevResult), Raw: bytes.TrimPrefix(stdin, []byte("\ufeff"))}
	if err := checkNetworkName(c.Name); err != nil {
		return nil, nil, c.invalid([]error{err})
	}
	c.readIPAM(w.IPAM)
	p := &configParser{}
	p.value("type", w.Type, &c.Type)
	c.StateDir, c.LogFile = p.absolute("stateDir", w.StateDir), p.absolute("logFile", w.LogFile)
	c.Timeout = p.timeout(w.Timeout)
	p.mode(c, w.Mode)
	var level string
	p.value("logLevel", w.LogLevel, &level)
	if level != "" {
		if err := c.logLevel.UnmarshalText([]byte(level)); err != nil {
			p.complain("logLevel", level, errors.New("not debug, info, warn or error"))
		}
	}
	c.otherErr = errlist.Join(append(p.bad, twice)...)
	return c, &w, nil
}

// readIPAM reads the ipam object.
func (c *Config) readIPAM(raw json.RawMessage) {
	p := &configParser{}
	var i struct {
		Type string `json:"type"`
	}
	c.IPAM = present(raw)
	p.value("ipam", c.IPAM, &i)
	c.IPAMType, c.ipamErr = i.Type, errlist.Join(p.bad...)
}

// checkNetworkName wants what the CNI specification allows: names of files and
// of HNS objects come of it.
func checkNetworkName(name string) error {
	if name == "" {
		return &hns.FieldError{Path: "name", Reason: "missing"}
	}
	if err := utils.ValidateNetworkName(name); err != nil {
		return &hns.FieldError{Path: "name", Value: name, Reason: "not a network name (letters, digits, and not first: _ . -)"}
	}
	return nil
}

// invalid returns the complaints as one error, nil if there are none.
func (c *Config) invalid(bad []error) error {
	err := errlist.Join(bad...)
	if err == nil {
		return nil
	}
	return invalidConfig(fmt.Errorf("configuration of network %q: %w", c.Name, err))
}
