package modes_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

func TestMTU(t *testing.T) {
	tests := []struct {
		mode modes.Mode
		link int
		ipv6 bool
		want int // 0 is an error
	}{
		{modes.L2Bridge, 1500, false, 1500},
		{modes.L2Bridge, 1500, true, 1500},
		{modes.L2Tunnel, 9000, true, 9000},
		{modes.Transparent, 1400, false, 1400},
		{modes.NAT, 1500, false, 1500},
		// flannel's daemon takes 50 off too, and its plugin lost it on Windows.
		{modes.Overlay, 1500, false, 1450},
		{modes.Overlay, 9001, false, 8951},
		{modes.Overlay, 65535, false, 65485},
		{modes.Overlay, 626, false, 576},
		{modes.Overlay, 625, false, 0},
		{modes.L2Bridge, 576, false, 576},
		{modes.L2Bridge, 575, false, 0},
		{modes.L2Bridge, 1280, true, 1280},
		{modes.L2Bridge, 1279, true, 0},
		{modes.NAT, 65536, false, 0},
		{modes.NAT, 0, false, 0},
		{modes.NAT, -1, false, 0},
		{modes.Overlay, 1500, true, 0},
		{modes.NAT, 1500, true, 0},
		{"bridge", 1500, false, 0},
	}
	for _, tt := range tests {
		name := fmt.Sprintf("%s, %d, IPv6 %v", tt.mode, tt.link, tt.ipv6)
		got, err := tt.mode.MTU(tt.link, tt.ipv6)
		if got != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("%s: %d, %v", name, got, err)
		}
		if err != nil && !errors.Is(err, hns.ErrInvalid) && !errors.Is(err, hns.ErrUnsupported) {
			t.Errorf("%s: an error without a type: %v", name, err)
		}
	}
}
