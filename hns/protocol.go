package hns

import (
	"fmt"
	"strings"
)

// Protocol is an IP protocol by its IANA number (schema ProtocolType).
type Protocol uint32

// The protocols that the schema names.
const (
	// ProtocolAny is no protocol in particular; the schema calls it Unknown.
	ProtocolAny Protocol = 0
	ICMPv4      Protocol = 1
	IGMP        Protocol = 2
	TCP         Protocol = 6
	UDP         Protocol = 17
	ICMPv6      Protocol = 58
)

// protocolNames are the schema's names, by which HNS takes a protocol too.
var protocolNames = map[uint64]string{0: "Unknown", 1: "ICMPv4", 2: "IGMP", 6: "TCP", 17: "UDP", 58: "ICMPv6"}

// String returns the schema's name, "any" for zero, or the number.
func (p Protocol) String() string {
	if p == ProtocolAny {
		return "any"
	}
	if s, ok := protocolNames[uint64(p)]; ok {
		return s
	}
	return fmt.Sprint(uint32(p))
}

// check refuses what the schema does not name. ProtocolAny is for the caller
// to judge.
func (p Protocol) check() []*FieldError {
	if _, ok := protocolNames[uint64(p)]; !ok {
		return []*FieldError{{Path: "Protocol", Value: p.String(), Reason: "not a protocol of the schema, such as 6 (TCP) or 17 (UDP)", Rule: "protocol"}}
	}
	return nil
}

func readProtocol(r reader) Protocol { return Protocol(r.number("Protocol", 32, protocolNames)) }

// number returns a number that HNS also takes by name, in any letter case.
func (r reader) number(name string, bits int, names map[uint64]string) uint64 {
	s := r.str(name)
	for n, text := range names {
		if strings.EqualFold(s, text) {
			return n
		}
	}
	return r.uint(name, bits)
}

// splitList returns the elements of a text that lists by comma; none for the
// empty text. The elements stay as they are, blanks included.
func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func joinList(l []string) string { return strings.Join(l, ",") }
