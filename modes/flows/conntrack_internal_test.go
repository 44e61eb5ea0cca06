package flows

import (
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// TestUndoOnlyWhatFits: a translation is undone for the answer to what it
// translated, at the port or the node where it was made, and once.
func TestUndoOnlyWhatFits(t *testing.T) {
	a, b, vip := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.96.0.1")
	n, other := newNode(&Node{Name: "n", Windows: &Windows{}}), newNode(&Node{Name: "o", Windows: &Windows{}})
	asked := Header{Src: a, Dst: vip, SrcPort: 50000, DstPort: 80, Protocol: hns.TCP}
	led := Header{Src: a, Dst: b, SrcPort: 50000, DstPort: 8080, Protocol: hns.TCP}
	answer := Header{Src: b, Dst: a, SrcPort: 8080, DstPort: 50000, Protocol: hns.TCP}
	for _, k := range []struct {
		name   string
		change func(*flight, *Header, **node)
		want   bool
	}{
		{"the answer", func(*flight, *Header, **node) {}, true},
		{"the packet itself", func(f *flight, _ *Header, _ **node) { f.reply = false }, false},
		{"another node", func(_ *flight, _ *Header, at **node) { *at = other }, false},
		{"another sender", func(_ *flight, h *Header, _ **node) { h.Src = vip }, false},
		{"another port", func(_ *flight, h *Header, _ **node) { h.SrcPort = 8081 }, false},
		{"another receiver", func(_ *flight, h *Header, _ **node) { h.Dst = b }, false},
		{"another receiver's port", func(_ *flight, h *Header, _ **node) { h.DstPort = 50001 }, false},
	} {
		f := &flight{t: &Trace{}, h: led}
		f.remember(entry{node: n, atNode: true, ref: n.ref("")}, asked)
		f.h, f.reply = answer, true
		at := n
		k.change(f, &f.h, &at)
		was := f.h
		_, ok := f.undoAll(at)
		if ok != k.want || !ok && f.h != was || ok && f.h.flow() != asked.flow().reversed() {
			t.Errorf("%s: undone %t, %s", k.name, ok, f.h)
		}
		if _, again := f.undoAll(at); again {
			t.Errorf("%s: undone twice", k.name)
		}
	}
}

// TestTunnelBack: an answer goes back into VXLAN to whom the packet came so from,
// at the node where it came out, and nothing else does.
func TestTunnelBack(t *testing.T) {
	sender, other, provider := netip.MustParseAddr("10.0.1.1"), netip.MustParseAddr("203.0.113.80"), netip.MustParseAddr("192.0.2.1")
	n, elsewhere := newNode(&Node{Name: "n", Windows: &Windows{}}), newNode(&Node{Name: "o", Windows: &Windows{}})
	f := &flight{t: &Trace{}, h: Header{Src: sender, Dst: netip.MustParseAddr("10.0.2.1")}}
	f.cameBy(n, provider)
	if got := f.tunnelBack(n); got.IsValid() {
		t.Errorf("the packet itself goes to %s", got)
	}
	f.reply = true
	for _, k := range []struct {
		at   *node
		to   netip.Addr
		want netip.Addr
	}{{n, sender, provider}, {n, other, netip.Addr{}}, {elsewhere, sender, netip.Addr{}}} {
		f.h.Dst = k.to
		if got := f.tunnelBack(k.at); got != k.want {
			t.Errorf("at %s to %s: %v, want %v", k.at.spec.Name, k.to, got, k.want)
		}
	}
	// The answer comes out of VXLAN elsewhere, and who asked is no pod.
	f.h = Header{Src: other, Dst: sender}
	f.cameBy(elsewhere, provider)
	f.h.Dst = other
	if got := f.tunnelBack(elsewhere); got.IsValid() {
		t.Errorf("an answer is answered, to %s", got)
	}
}
