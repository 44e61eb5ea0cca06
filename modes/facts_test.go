package modes_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/modes"
)

// TestFactsComplete wants every text, list and choice of all five modes filled.
// Flags and the MTU have a meaningful zero; TestFacts has them.
func TestFactsComplete(t *testing.T) {
	for _, m := range modes.All() {
		v := reflect.ValueOf(m.Facts())
		for i := range v.NumField() {
			name, f := v.Type().Field(i).Name, v.Field(i)
			switch f.Kind() {
			case reflect.String:
				if s := f.String(); s == "" || s != strings.TrimSpace(s) {
					t.Errorf("%s: %s = %q", m, name, s)
				}
			case reflect.Slice:
				if f.Len() == 0 {
					t.Errorf("%s: no %s", m, name)
				}
				for j := range f.Len() {
					if f.Index(j).String() == "" {
						t.Errorf("%s: %s[%d] is empty", m, name, j)
					}
				}
			case reflect.Bool, reflect.Int:
			default:
				t.Errorf("%s is a %s, which this test does not know", name, f.Kind())
			}
		}
	}
	if got := modes.Mode("bridge").Facts(); !reflect.DeepEqual(got, modes.Facts{}) {
		t.Errorf("facts of no mode: %+v", got)
	}
}

func TestFacts(t *testing.T) {
	type choices struct {
		Mode         modes.Mode
		VSwitch      modes.VSwitch
		Support      modes.Support
		IPv6         bool
		MTUOverhead  int
		Gateway      modes.GatewayRule
		HNSAddresses bool
		VNI          bool
	}
	want := []choices{
		{modes.L2Bridge, modes.ExternalVSwitch, modes.SupportStable, true, 0, modes.GatewayHostEndpoint, true, false},
		{modes.L2Tunnel, modes.ExternalVSwitch, modes.SupportListed, true, 0, modes.GatewaySubnet, false, false},
		{modes.Overlay, modes.ExternalVSwitch, modes.SupportBeta, false, 50, modes.GatewaySubnet, true, true},
		{modes.Transparent, modes.ExternalVSwitch, modes.SupportListed, true, 0, modes.GatewaySubnet, false, false},
		{modes.NAT, modes.InternalVSwitch, modes.SupportNone, false, 0, modes.GatewaySubnet, true, false},
	}
	var got []choices
	for _, m := range modes.All() {
		f := m.Facts()
		got = append(got, choices{f.Mode, f.VSwitch, f.Support, f.IPv6, f.MTUOverhead, f.Gateway, f.HNSAddresses, f.VNI})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFactsAreTheCallers(t *testing.T) {
	f := modes.Overlay.Facts()
	f.Plugins[0] = "changed"
	if again := modes.Overlay.Facts(); again.Plugins[0] == "changed" {
		t.Error("a change of the result is seen by others")
	}
}
