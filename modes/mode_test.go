package modes_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

func TestParseMode(t *testing.T) {
	tests := []struct {
		in   string
		want modes.Mode
	}{
		{"L2Bridge", modes.L2Bridge},
		{"L2BRIDGE", modes.L2Bridge},
		{"l2bridge", modes.L2Bridge},
		{"l2tunnel", modes.L2Tunnel},
		{"OverLay", modes.Overlay},
		{"transparent", modes.Transparent},
		{"nat", modes.NAT},
		// The type of a plugin is no mode; HNS once got it as a network type
		// (microsoft/SDN#238).
		{"mybridge.exe", ""},
		{"win-bridge", ""},
		{"sdnbridge", ""},
		{"bridge", ""},
		{"ipvlan", ""},
		{"ICS", ""},
		{"", ""},
		{" L2Bridge", ""},
	}
	for _, tt := range tests {
		got, err := modes.ParseMode(tt.in)
		if got != tt.want {
			t.Errorf("ParseMode(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if (err == nil) != (tt.want != "") {
			t.Errorf("ParseMode(%q) error: %v", tt.in, err)
		}
		if err == nil {
			continue
		}
		var fe *hns.FieldError
		if !errors.As(err, &fe) || fe.Value != tt.in || !errors.Is(err, hns.ErrInvalid) {
			t.Errorf("ParseMode(%q): %#v is no FieldError with the value", tt.in, err)
		}
		for _, m := range modes.All() {
			if !strings.Contains(err.Error(), string(m)) {
				t.Errorf("ParseMode(%q) does not name %s: %v", tt.in, m, err)
			}
		}
	}
}

func TestNetworkType(t *testing.T) {
	want := map[modes.Mode]hns.NetworkType{
		modes.L2Bridge: hns.L2Bridge, modes.L2Tunnel: hns.L2Tunnel, modes.Overlay: hns.Overlay,
		modes.Transparent: hns.Transparent, modes.NAT: hns.NAT,
	}
	if len(modes.All()) != len(want) {
		t.Fatalf("All() = %v", modes.All())
	}
	for _, m := range modes.All() {
		if got := m.NetworkType(); got != want[m] {
			t.Errorf("%s.NetworkType() = %s, want %s", m, got, want[m])
		}
		if back, ok := modes.ModeOf(m.NetworkType()); !ok || back != m {
			t.Errorf("ModeOf(%s) = %s, %t", m.NetworkType(), back, ok)
		}
	}
	for _, none := range []hns.NetworkType{hns.ICS, hns.Private, hns.Internal, hns.Mirrored, ""} {
		if m, ok := modes.ModeOf(none); ok || m != "" {
			t.Errorf("ModeOf(%q) = %q, %t", none, m, ok)
		}
	}
}

func TestModeInJSON(t *testing.T) {
	var conf struct{ Mode modes.Mode }
	if err := json.Unmarshal([]byte(`{"mode":"L2BRIDGE"}`), &conf); err != nil || conf.Mode != modes.L2Bridge {
		t.Errorf("got %q, %v", conf.Mode, err)
	}
	if err := json.Unmarshal([]byte(`{"mode":""}`), &conf); err != nil || conf.Mode != "" {
		t.Errorf("got %q, %v", conf.Mode, err)
	}
	if err := json.Unmarshal([]byte(`{"mode":"bridge"}`), &conf); !errors.Is(err, hns.ErrInvalid) {
		t.Errorf("got %q, %v", conf.Mode, err)
	}
}

func FuzzParseMode(f *testing.F) {
	f.Add("l2bridge")
	f.Add("win-overlay")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := modes.ParseMode(s)
		if (err == nil) != (m != "") {
			t.Fatalf("ParseMode(%q) = %q, %v", s, m, err)
		}
		if err == nil && !strings.EqualFold(string(m), s) {
			t.Fatalf("ParseMode(%q) = %q", s, m)
		}
	})
}
