package hns_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// HNS writes dashes, flannel and kube-proxy colons (flannel-io/flannel#1061).
func TestParseMAC(t *testing.T) {
	want := hns.MAC{0x0e, 0x2a, 0x0a, 0xf0, 0x01, 0x43}
	for _, s := range []string{"0E-2A-0A-F0-01-43", "0e-2a-0a-f0-01-43", "0e:2a:0a:f0:01:43", "0E:2a:0A:F0:01:43"} {
		got, err := hns.ParseMAC(s)
		if err != nil || got != want {
			t.Errorf("ParseMAC(%q) = %v, %v", s, got, err)
		}
	}
	if got := want.String(); got != "0E-2A-0A-F0-01-43" {
		t.Errorf("String() = %s", got)
	}
}

func TestParseMACRefuses(t *testing.T) {
	for _, s := range []string{
		"", "0e2a0af00143", "0E-2A", "0E-2A-0A-F0-01", "0E-2A-0A-F0-01-43-00", "0E-2A:0A-F0-01-43", "0E-2A-0A-F0-01:43",
		"0E.2A.0A.F0.01.43", "0G-2A-0A-F0-01-43", "0E-2A-0A-F0-01-4 ", " 0E-2A-0A-F0-01-4", "0E-2A-0A-F0-0143-",
	} {
		m, err := hns.ParseMAC(s)
		if !errors.Is(err, hns.ErrInvalid) || !m.IsZero() {
			t.Errorf("ParseMAC(%q) = %v, %v", s, m, err)
		}
	}
}

func TestMACText(t *testing.T) {
	type doc struct{ A, B hns.MAC }
	in := doc{A: mustMAC("00-15-5d-01-02-03")}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"A":"00-15-5D-01-02-03","B":""}`; string(b) != want {
		t.Errorf("got %s", b)
	}
	out := doc{B: hns.MAC{1}}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	same(t, "read back", in, out)
	if err := json.Unmarshal([]byte(`{"A":"x"}`), &out); !errors.Is(err, hns.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

// The model is the standard library's parser, which takes a few forms more.
func FuzzParseMAC(f *testing.F) {
	f.Add("00-15-5D-01-02-03")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := hns.ParseMAC(s)
		hw, errNet := net.ParseMAC(s)
		pairs := len(s) == 17 && (strings.Count(s, "-") == 5 || strings.Count(s, ":") == 5)
		if ok := errNet == nil && len(hw) == len(m) && pairs; ok != (err == nil) || ok && !bytes.Equal(hw, m[:]) {
			t.Fatalf("ParseMAC(%q) = %v, %v; net has %v, %v", s, m, err, hw, errNet)
		}
		if err == nil && !m.IsZero() {
			if again, err := hns.ParseMAC(m.String()); err != nil || again != m {
				t.Fatalf("%s does not read back: %v, %v", m, again, err)
			}
		}
	})
}
