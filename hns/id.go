package hns

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

// ID identifies an HNS object: a GUID. The zero ID means none; HNS itself
// writes the all-zero GUID for "not in a namespace". IDs are comparable, so
// letter case, which differs between the two APIs of HNS, never matters.
type ID [16]byte

// The groups of a GUID's text, as byte offsets into ID.
var idGroups = [...][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}}

// NewID returns a random ID (version 4).
func NewID() ID {
	var id ID
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseID reads the 8-4-4-4-12 text of a GUID in either letter case, with or
// without braces round it. Anything else, blanks and the empty text included,
// is an error that matches [ErrInvalid].
func ParseID(s string) (ID, error) {
	t := s
	if len(t) == 38 && t[0] == '{' && t[37] == '}' {
		t = t[1:37]
	}
	if len(t) != 36 {
		return ID{}, invalidID(s)
	}
	var id ID
	at := 0
	for i, g := range idGroups {
		if i > 0 {
			if t[at] != '-' {
				return ID{}, invalidID(s)
			}
			at++
		}
		n := 2 * (g[1] - g[0])
		if _, err := hex.Decode(id[g[0]:g[1]], []byte(t[at:at+n])); err != nil {
			return ID{}, invalidID(s)
		}
		at += n
	}
	return id, nil
}

func invalidID(s string) error {
	return &FieldError{Value: clip(s, 64), Reason: "not a GUID of the form 8-4-4-4-12"}
}

// IsZero reports whether id is none.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the one canonical text: 8-4-4-4-12 in small letters, no
// braces, all zeros for the zero ID.
func (id ID) String() string {
	var b [36]byte
	at := 0
	for i, g := range idGroups {
		if i > 0 {
			b[at] = '-'
			at++
		}
		at += hex.Encode(b[at:], id[g[0]:g[1]])
	}
	return string(b[:])
}

// Upper returns the text in capital letters, as HNS writes ids in the v1 API
// and in a namespace's resources.
func (id ID) Upper() string { return strings.ToUpper(id.String()) }

// MarshalText returns the canonical text.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what [ParseID] reads; the empty text is the zero ID.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = ID{}
		return nil
	}
	v, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// MAC is an Ethernet address. The zero MAC means none: HNS then takes the next
// of the network's pool.
type MAC [6]byte

// ParseMAC reads six pairs of hex digits joined by dashes or by colons, in
// either letter case. The form without separators is refused, as HNS does.
func ParseMAC(s string) (MAC, error) {
	var m MAC
	bad := func() (MAC, error) {
		return MAC{}, &FieldError{Value: clip(s, 64), Reason: "not a MAC address such as 00-15-5D-01-02-03"}
	}
	if len(s) != 17 {
		return bad()
	}
	sep := s[2]
	if sep != '-' && sep != ':' {
		return bad()
	}
	for i := range m {
		if i > 0 && s[3*i-1] != sep {
			return bad()
		}
		if _, err := hex.Decode(m[i:i+1], []byte(s[3*i:3*i+2])); err != nil {
			return bad()
		}
	}
	return m, nil
}

// IsZero reports whether m is none.
func (m MAC) IsZero() bool { return m == MAC{} }

// String returns the one canonical text: capital hex digits joined by dashes,
// as HNS writes the addresses it makes itself; "" for the zero MAC.
func (m MAC) String() string {
	if m.IsZero() {
		return ""
	}
	return fmt.Sprintf("%02X-%02X-%02X-%02X-%02X-%02X", m[0], m[1], m[2], m[3], m[4], m[5])
}

// MarshalText returns the canonical text.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what [ParseMAC] reads; the empty text is the zero MAC.
func (m *MAC) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*m = MAC{}
		return nil
	}
	v, err := ParseMAC(string(b))
	if err != nil {
		return err
	}
	*m = v
	return nil
}

// clip shortens a foreign text so that an error stays readable.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
