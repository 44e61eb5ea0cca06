package flows_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// names reports whether a diagnosis names the object that was removed: by its
// id or name, or, for one whose name goes with it, by its address.
func names(d *flows.Diagnosis, gone flows.Ref, addrs []netip.Addr) bool {
	o := d.Object
	if o.Node != gone.Node || o.Kind != gone.Kind || o.Policy != gone.Policy {
		return false
	}
	if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return strings.Contains(o.Detail, a.String()) }) {
		return true
	}
	if len(addrs) > 0 && !o.ID.IsZero() && o.ID == gone.ID {
		return true
	}
	word, _, _ := strings.Cut(gone.Detail, " ")
	detail := o.Detail == gone.Detail || word == "Exceptions" && o.Detail == "Exceptions" || covers(o.Detail, gone.Detail)
	return detail && (o.ID == gone.ID && !o.ID.IsZero() || o.Name == gone.Name || gone.Kind == flows.KindResolver || gone.Kind == flows.KindService)
}

// covers reports whether two details are about one thing: "assigned
// 10.244.1.3" and "assigned 10.244.1.0/24", or an SDN route's own destination
// and the prefix that held it.
func covers(have, gone string) bool {
	at := func(s string) (string, netip.Prefix) {
		word, text, ok := strings.Cut(s, " ")
		if !ok {
			word, text = "", s
		}
		if a, err := netip.ParseAddr(text); err == nil {
			return word, netip.PrefixFrom(a, a.BitLen())
		}
		p, _ := netip.ParsePrefix(text)
		return word, p
	}
	w, p := at(have)
	v, q := at(gone)
	return w == v && p.IsValid() && q.IsValid() && q.Contains(p.Addr())
}

// addressesOf returns the addresses of the object that a reference names.
func addressesOf(c *flows.Cluster, r flows.Ref) []netip.Addr {
	for _, h := range c.Outside {
		if r.Kind == flows.KindOutside && h.Name == r.Name {
			return []netip.Addr{h.Address}
		}
	}
	for _, n := range c.Nodes {
		if n.Name != r.Node || r.Policy != "" {
			continue
		}
		if n.Linux != nil {
			for _, p := range n.Linux.Pods {
				if r.Kind == flows.KindPod && p.Name == r.Name {
					return []netip.Addr{p.Address}
				}
			}
			continue
		}
		for _, e := range n.Windows.HNS.Endpoints {
			if r.Kind == flows.KindEndpoint && e.ID == r.ID && !r.ID.IsZero() && isWhole(e, r) {
				return e.Addresses()
			}
		}
	}
	return nil
}

// isWhole reports whether r means the endpoint, not a part of it.
func isWhole(e *hns.Endpoint, r flows.Ref) bool {
	return r.Policy == "" && (r.Detail == "" || slices.ContainsFunc(e.Addresses(), func(a netip.Addr) bool { return a.String() == r.Detail }))
}

// TestNeeds: whatever works stops working when any one of the objects that it
// needs is removed, and the diagnosis names that object.
func TestNeeds(t *testing.T) {
	removed := 0
	for _, m := range modes.All() {
		t.Run(string(m), func(t *testing.T) {
			for _, col := range world(t, cluster(t, m)).Nine() {
				for _, cell := range col.Cells {
					for _, k := range cell.Cases {
						if !k.Trace.Works() || strings.HasPrefix(k.Name, hns.UDP.String()) {
							continue
						}
						removed += withoutEach(t, m, fmt.Sprintf("%s, %s", cell.Flow, k.Name), k.Trace)
					}
				}
			}
		})
	}
	if removed < 200 {
		t.Errorf("only %d objects were removed", removed)
	}
}

// beside reports whether an object is one that others take to act, and acts
// nowhere itself.
func beside(tr *flows.Trace, r flows.Ref) bool {
	for _, s := range tr.Steps {
		if s.Needed && s.Object == r || s.Query != nil && !beside(s.Query, r) {
			return false
		}
	}
	return true
}

func withoutEach(t *testing.T, m modes.Mode, what string, healthy *flows.Trace) int {
	t.Helper()
	needs := healthy.Needs()
	if len(needs) == 0 {
		t.Errorf("%s: needs nothing at all", what)
	}
	for _, r := range needs {
		c := cluster(t, m)
		addrs := addressesOf(c, r)
		remove(t, c, r)
		got := world(t, c).Trace(healthy.Packet)
		switch {
		case got.Works():
			t.Errorf("%s: works without %s", what, r)
		case r.Kind == flows.KindEndpoint && r.Policy == "" && got.Diagnosis.Reason == flows.BadPacket, r.Kind == flows.KindPod && got.Diagnosis.Reason == flows.BadPacket, r.Kind == flows.KindOutside && got.Diagnosis.Reason == flows.BadPacket:
			if !strings.Contains(got.Diagnosis.Text, "no pod") && !strings.Contains(got.Diagnosis.Text, "no outside host") {
				t.Errorf("%s: without %s: %s", what, r, got.Diagnosis)
			}
		case beside(healthy, r), r.Detail == "virtual network": // what is found may be what could stand in its place
		case !names(got.Diagnosis, r, addrs):
			t.Errorf("%s: without %s the diagnosis names %s: %s", what, r, got.Diagnosis.Object, got.Diagnosis)
		}
	}
	return len(needs)
}
