package modes

import (
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// Mode is one of the five network modes that Kubernetes and Docker know on
// Windows. The zero Mode is none.
type Mode string

// The five modes, in the order of the Kubernetes documentation. Each is spelled
// as HNS spells the network type.
const (
	L2Bridge    Mode = "L2Bridge"
	L2Tunnel    Mode = "L2Tunnel"
	Overlay     Mode = "Overlay"
	Transparent Mode = "Transparent"
	NAT         Mode = "NAT"
)

// All returns the five modes, in the order of the Kubernetes documentation.
func All() []Mode { return []Mode{L2Bridge, L2Tunnel, Overlay, Transparent, NAT} }

// ParseMode reads the name of a mode, ignoring letter case. Anything else is a
// *[hns.FieldError] that lists the five. Names of plugins, such as
// "win-bridge", are none: a plugin may serve several modes.
func ParseMode(s string) (Mode, error) {
	for _, m := range All() {
		if strings.EqualFold(string(m), s) {
			return m, nil
		}
	}
	return "", &hns.FieldError{Value: s, Reason: "not a network mode; there are " + list(All()) + notTheEmpty(s)}
}

func notTheEmpty(s string) string {
	if s == "" {
		return " (the name is empty)"
	}
	return ""
}

func list(ms []Mode) string {
	var names []string
	for _, m := range ms {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// ModeOf returns the mode of a network type. Types that are no mode, such as
// ICS of the Hyper-V default switch, report false. Letter case is ignored.
func ModeOf(t hns.NetworkType) (Mode, bool) {
	m, err := ParseMode(string(t))
	return m, err == nil
}

// NetworkType returns the type of the HNS networks of the mode.
func (m Mode) NetworkType() hns.NetworkType { return hns.NetworkType(m) }

// UnmarshalText reads what [ParseMode] reads; the empty text is the zero Mode.
func (m *Mode) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*m = ""
		return nil
	}
	v, err := ParseMode(string(b))
	if err != nil {
		return err
	}
	*m = v
	return nil
}

func (m Mode) known() bool {
	_, err := ParseMode(string(m))
	return err == nil
}
