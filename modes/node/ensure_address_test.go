package node_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
)

// The description has an address that the node does not: to make the network anew
// would not help, and the error says what there is.
func TestEnsureAddressOfNoAdapter(t *testing.T) {
	for _, mode := range []modes.Mode{modes.L2Bridge, modes.Overlay} {
		t.Run(string(mode), func(t *testing.T) {
			m := newMachine(t, emulator.Options{})
			d := givenIPAM("")
			d.Mode, d.IPAM = mode, nil
			ctx := context.Background()
			if _, err := node.Ensure(ctx, m.client, m.host, planOf(t, d), nil); err != nil {
				t.Fatal(err)
			}
			d.NodeAddresses = []netip.Addr{netip.MustParseAddr("192.0.2.99")}
			_, err := node.Ensure(ctx, m.client, m.host, planOf(t, d), &node.EnsureOptions{Drift: hns.DriftRecreate})
			if !errors.Is(err, node.ErrAdapter) || !strings.Contains(err.Error(), "192.0.2.99; there are") || !errors.Is(err, hns.ErrDrift) {
				t.Errorf("got %v", err)
			}
		})
	}
}
