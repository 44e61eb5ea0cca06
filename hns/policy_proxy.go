package hns

import (
	"fmt"
	"net/netip"
	"strconv"
)

var (
	_ EndpointPolicy = L4Proxy{}
	_ NetworkPolicy  = L4Proxy{}
	_ EndpointPolicy = L4WFPProxy{}
)

// L4Proxy sends connections to a proxy instead of where they were meant to go
// (schema L4Proxy), by rules of the virtual filtering platform: for one
// endpoint, or for all of a network. HNS versions with gaps, see
// [FeatureL4Proxy].
type L4Proxy struct {
	// IP and Port are where the proxy listens; both are needed.
	IP   netip.Addr
	Port uint16
	// Protocol of the connections; [ProtocolAny] leaves it to HNS.
	Protocol Protocol
	// Destination is the address or prefix whose connections are redirected;
	// empty is all.
	Destination string
	// Exceptions and ExceptionList are the destinations that are not
	// redirected: prefixes or addresses. The schema has the name
	// ExceptionList; Microsoft's own Go client, hcsshim, reads and writes
	// Exceptions. Which of the two a given Windows obeys is not documented, so
	// each is read from, and written to, the member of its name.
	Exceptions, ExceptionList []string
	// OutboundNAT translates the source as well.
	OutboundNAT bool
}

// PolicyType returns "L4Proxy".
func (L4Proxy) PolicyType() string  { return "L4Proxy" }
func (L4Proxy) endpointPolicy()     {}
func (L4Proxy) networkPolicy()      {}
func (L4Proxy) features() []Feature { return []Feature{FeatureL4Proxy} }
func (p L4Proxy) settings() any {
	return struct {
		IP            string   `json:",omitempty"`
		Port          string   `json:",omitempty"`
		Protocol      Protocol `json:",omitempty"`
		Exceptions    []string `json:",omitempty"`
		ExceptionList []string `json:",omitempty"`
		Destination   string   `json:",omitempty"`
		OutboundNat   bool     `json:",omitempty"`
	}{addrText(p.IP), portText(p.Port), p.Protocol, p.Exceptions, p.ExceptionList, p.Destination, p.OutboundNAT}
}

func (p L4Proxy) check() []*FieldError {
	var bad []*FieldError
	if !p.IP.IsValid() {
		bad = append(bad, &FieldError{Path: "IP", Reason: "missing", Rule: "proxy-target"})
	} else {
		bad = checkAddr("IP", p.IP)
	}
	if p.Port == 0 {
		bad = append(bad, &FieldError{Path: "Port", Reason: "missing", Rule: "proxy-target"})
	}
	bad = append(bad, p.Protocol.check()...)
	if p.Destination != "" && !isPlace(p.Destination) {
		bad = append(bad, &FieldError{Path: "Destination", Value: clip(p.Destination, 64), Reason: notPlace})
	}
	bad = append(bad, checkListed("Exceptions", p.Exceptions)...)
	return append(bad, checkListed("ExceptionList", p.ExceptionList)...)
}

const notPlace = "not a prefix such as 10.0.0.0/8, nor an address"

// checkListed wants prefixes or addresses. Nothing is known of host bits here.
func checkListed(name string, texts []string) []*FieldError {
	var bad []*FieldError
	for i, s := range texts {
		if !isPlace(s) {
			bad = append(bad, &FieldError{Path: fmt.Sprintf("%s[%d]", name, i), Value: clip(s, 64), Reason: notPlace})
		}
	}
	return bad
}

func readL4Proxy(r reader) L4Proxy {
	return L4Proxy{
		IP: r.addr("IP"), Port: readPort(r, "Port"), Protocol: readProtocol(r), Destination: r.str("Destination"),
		Exceptions: r.strs("Exceptions"), ExceptionList: r.strs("ExceptionList"), OutboundNAT: r.bool("OutboundNat"),
	}
}

// The proxies' ports are texts on the wire.
func readPort(r reader, name string) uint16 { return uint16(r.uint(name, 16)) }

func portText(p uint16) string {
	if p == 0 {
		return ""
	}
	return strconv.Itoa(int(p))
}

// L4WFPProxy sends an endpoint's connections to a proxy that runs inside the
// pod (schema L4WFPPROXY), by filters of the Windows Filtering Platform in the
// pod's compartment. HNS 13.2 and later. HNS may take the policy and fail
// later (microsoft/hcsshim#2571).
type L4WFPProxy struct {
	// InboundPort and OutboundPort are where the proxy listens for what comes
	// in and what goes out; zero redirects nothing. One is needed; the
	// outbound port is of schema 2.11.
	InboundPort, OutboundPort uint16
	// Filter says which connections are redirected; the zero Filter is all.
	Filter FiveTuple
	// UserSID is the account of the proxy, whose own connections are not
	// redirected, such as "S-1-5-18".
	UserSID string
	// InboundExceptions and OutboundExceptions are not redirected (schema
	// 2.14).
	InboundExceptions, OutboundExceptions ProxyExceptions
}

// FiveTuple says which connections a [L4WFPProxy] is about (schema FiveTuple).
// Its lists are those of [ACL]; empty is any.
type FiveTuple struct {
	Protocols                       []string
	LocalAddresses, RemoteAddresses []string
	LocalPorts, RemotePorts         []string
	// Priority of the filter, a small number; zero leaves it to HNS.
	Priority uint16
}

// ProxyExceptions are connections that a [L4WFPProxy] leaves alone.
type ProxyExceptions struct {
	// Addresses are addresses or prefixes.
	Addresses []string
	// Ports are ports or ranges, as text.
	Ports []string
}

type wireExceptions struct {
	IpAddressExceptions []string `json:",omitempty"`
	PortExceptions      []string `json:",omitempty"`
}

func (e ProxyExceptions) wire() *wireExceptions {
	if len(e.Addresses)+len(e.Ports) == 0 {
		return nil
	}
	return &wireExceptions{e.Addresses, e.Ports}
}

type wireTuple struct {
	Protocols string `json:",omitempty"`
	wirePlaces
	Priority uint16 `json:",omitempty"`
}

func (t FiveTuple) match() match {
	return match{t.Protocols, t.LocalAddresses, t.RemoteAddresses, t.LocalPorts, t.RemotePorts}
}

func (t FiveTuple) wire() *wireTuple {
	if w := (wireTuple{joinList(t.Protocols), t.match().wire(), t.Priority}); w != (wireTuple{}) {
		return &w
	}
	return nil
}

// PolicyType returns "L4WFPPROXY".
func (L4WFPProxy) PolicyType() string  { return "L4WFPPROXY" }
func (L4WFPProxy) endpointPolicy()     {}
func (L4WFPProxy) features() []Feature { return []Feature{FeatureL4WFPProxy} }
func (p L4WFPProxy) settings() any {
	return struct {
		InboundProxyPort   string          `json:",omitempty"`
		OutboundProxyPort  string          `json:",omitempty"`
		FilterTuple        *wireTuple      `json:",omitempty"`
		UserSID            string          `json:",omitempty"`
		InboundExceptions  *wireExceptions `json:",omitempty"`
		OutboundExceptions *wireExceptions `json:",omitempty"`
	}{portText(p.InboundPort), portText(p.OutboundPort), p.Filter.wire(), p.UserSID, p.InboundExceptions.wire(), p.OutboundExceptions.wire()}
}

func (p L4WFPProxy) check() []*FieldError {
	var bad []*FieldError
	if p.InboundPort == 0 && p.OutboundPort == 0 {
		bad = append(bad, &FieldError{Path: "InboundProxyPort", Reason: "missing, and so is OutboundProxyPort", Rule: "proxy-target"})
	}
	bad = append(bad, under("FilterTuple", p.Filter.match().check())...)
	bad = append(bad, under("InboundExceptions", p.InboundExceptions.check())...)
	return append(bad, under("OutboundExceptions", p.OutboundExceptions.check())...)
}

func (e ProxyExceptions) check() []*FieldError {
	bad := checkListed("IpAddressExceptions", e.Addresses)
	for i, s := range e.Ports {
		if reason := badPorts(s); reason != "" {
			bad = append(bad, &FieldError{Path: fmt.Sprintf("PortExceptions[%d]", i), Value: clip(s, 64), Reason: reason})
		}
	}
	return bad
}

func readL4WFPProxy(r reader) L4WFPProxy {
	f := r.sub("FilterTuple")
	m := readMatch(f)
	return L4WFPProxy{
		InboundPort: readPort(r, "InboundProxyPort"), OutboundPort: readPort(r, "OutboundProxyPort"),
		Filter: FiveTuple{Protocols: m.protocols, LocalAddresses: m.local, RemoteAddresses: m.remote,
			LocalPorts: m.localPorts, RemotePorts: m.remotePorts, Priority: uint16(f.uint("Priority", 16))},
		UserSID:            r.str("UserSID"),
		InboundExceptions:  readExceptions(r.sub("InboundExceptions")),
		OutboundExceptions: readExceptions(r.sub("OutboundExceptions")),
	}
}

func readExceptions(r reader) ProxyExceptions {
	return ProxyExceptions{r.strs("IpAddressExceptions"), r.strs("PortExceptions")}
}
