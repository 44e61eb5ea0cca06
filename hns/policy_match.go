package hns

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// match says which packets a rule is about; ACLs, tiers and proxies share it.
// On the wire each list is one text, by comma.
type match struct {
	protocols, local, remote, localPorts, remotePorts []string
}

// wirePlaces is the part of a match that all documents have in this order.
type wirePlaces struct {
	LocalAddresses  string `json:",omitempty"`
	RemoteAddresses string `json:",omitempty"`
	LocalPorts      string `json:",omitempty"`
	RemotePorts     string `json:",omitempty"`
}

func (m match) wire() wirePlaces {
	return wirePlaces{joinList(m.local), joinList(m.remote), joinList(m.localPorts), joinList(m.remotePorts)}
}

func readMatch(r reader) match {
	return match{
		splitList(r.str("Protocols")), splitList(r.str("LocalAddresses")), splitList(r.str("RemoteAddresses")),
		splitList(r.str("LocalPorts")), splitList(r.str("RemotePorts")),
	}
}

// protocolVXLAN is the number that stands for VXLAN in a rule.
const protocolVXLAN = "252"

func (m match) features() []Feature {
	for _, s := range m.protocols {
		if strings.TrimSpace(s) == protocolVXLAN {
			return []Feature{FeatureACLProtocol252}
		}
	}
	return nil
}

func (m match) check() []*FieldError {
	bad := checkEach("Protocols", m.protocols, "acl-protocol", badProtocol)
	bad = append(bad, checkEach("LocalAddresses", m.local, "acl-address", badACLAddress)...)
	bad = append(bad, checkEach("RemoteAddresses", m.remote, "acl-address", badACLAddress)...)
	bad = append(bad, checkEach("LocalPorts", m.localPorts, "acl-port", badPorts)...)
	return append(bad, checkEach("RemotePorts", m.remotePorts, "acl-port", badPorts)...)
}

// checkEach asks judge for each element what is wrong with it. The path has no
// index: on the wire the list is one text.
func checkEach(name string, l []string, rule string, judge func(string) string) []*FieldError {
	var bad []*FieldError
	for _, s := range l {
		if reason := judge(strings.TrimSpace(s)); reason != "" {
			bad = append(bad, &FieldError{Path: name, Value: clip(s, 64), Reason: reason, Rule: rule})
		}
	}
	return bad
}

// anyProtocol is the largest number: it stands for all protocols.
const anyProtocol = 256

func badProtocol(s string) string {
	for n, name := range protocolNames {
		if n != 0 && strings.EqualFold(name, s) {
			return fmt.Sprintf("a protocol is a number here: %d", n)
		}
	}
	if n, err := strconv.ParseUint(s, 10, 16); err != nil || n > anyProtocol {
		return "not a protocol number such as 6 or 17"
	}
	return ""
}

// badACLAddress lets through what may be the id of an address set: any text
// that is neither a word for "any", which HNS refuses (microsoft/hcsshim#1059),
// nor a broken address, nor a mark that nobody filled in.
func badACLAddress(s string) string {
	if isPlace(s) {
		return ""
	}
	switch {
	case s == "":
		return "empty element"
	case strings.EqualFold(s, "any"), s == "*":
		return "HNS has no word for any address; leave the list empty"
	case strings.Trim(s, "0123456789.:/") == "", strings.Contains(s, "/"):
		return "not an address, nor a prefix such as 10.0.0.0/8"
	case strings.ContainsAny(s, " <>{}"):
		return "not an address, a prefix, nor the id of an address set"
	}
	return ""
}

// isPlace reports whether s is a prefix, host bits and all, or an address.
func isPlace(s string) bool {
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	a, err := netip.ParseAddr(s)
	return err == nil && a.Zone() == ""
}

func badPorts(s string) string {
	lo, hi, isRange := strings.Cut(s, "-")
	a, errA := strconv.ParseUint(lo, 10, 16)
	b, errB := a, error(nil)
	if isRange {
		b, errB = strconv.ParseUint(hi, 10, 16)
	}
	if errA != nil || errB != nil || b < a {
		return "not a port, nor a range such as 8000-8080"
	}
	return ""
}
