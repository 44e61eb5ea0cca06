package hnstest

import "fmt"

// Certainty says how much is known of what a case expects. The zero Certainty
// is Documented.
type Certainty uint8

// The degrees, surest first.
const (
	// Documented: in Microsoft's reference.
	Documented Certainty = iota
	// Tested: a public test asserts it that is meant to run against the real
	// service (hcsshim, hnslib, windows-container-networking, kube-proxy).
	Tested
	// Seen: in a public log, dump or report.
	Seen
	// Client: a program in use sends, expects or works around it.
	Client
	// Assumed: nothing is known; the choice is this library's.
	Assumed
)

var certaintyNames = [...]string{"documented", "tested", "seen", "client", "assumed"}

// String returns the degree in small letters, such as "tested".
func (c Certainty) String() string {
	if int(c) >= len(certaintyNames) {
		return fmt.Sprintf("certainty(%d)", uint8(c))
	}
	return certaintyNames[c]
}

// MarshalText returns what String returns.
func (c Certainty) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText writes, and nothing else.
func (c *Certainty) UnmarshalText(b []byte) error {
	for i, name := range certaintyNames {
		if name == string(b) {
			*c = Certainty(i)
			return nil
		}
	}
	return fmt.Errorf("hnstest: %q is no certainty", b)
}

// binding reports whether a backend must do as the case expects, whatever it
// is.
func (c Certainty) binding() bool { return c <= Tested }
