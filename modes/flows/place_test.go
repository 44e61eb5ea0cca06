package flows_test

import (
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// TestPlaces: pods are meant by name, by name and node, by address, or by ID.
func TestPlaces(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	e := endpoint(t, c, mixedcluster.Client)
	nodeOf(t, c, mixedcluster.Lin1).Linux.Pods[0].Name = mixedcluster.Client
	w := world(t, c)
	for _, k := range []struct {
		place   flows.Place
		want    string // the sender
		refused string // why there is none
	}{
		{flows.Place{Pod: "client_cbr0"}, "10.244.1.3", ""},
		{flows.Place{Pod: mixedcluster.Client, Node: mixedcluster.Win1}, "10.244.1.3", ""},
		{flows.Place{Pod: mixedcluster.Client, Node: mixedcluster.Lin1}, "10.244.3.3", ""},
		{flows.Place{Pod: "10.244.1.3"}, "10.244.1.3", ""},
		{flows.Place{Pod: "10.244.3.3"}, "10.244.3.3", ""},
		{flows.Place{Pod: e.ID.String()}, "10.244.1.3", ""},
		{flows.Place{Pod: e.ID.Upper(), Node: mixedcluster.Win1}, "10.244.1.3", ""},
		{flows.Place{Pod: mixedcluster.Client}, "", `there are 2 pods "client": endpoint "client_cbr0" on win-1, pod "client" on lin-1; say which`},
		{flows.Place{Pod: mixedcluster.Client, Node: mixedcluster.Win2}, "", `there is no pod "client" on node win-2`},
		{flows.Place{Pod: mixedcluster.Client, Node: "x"}, "", `there is no node "x"`},
		{flows.Place{Pod: "192.0.2.11"}, "", `there is no pod "192.0.2.11"`},
		{flows.Place{Pod: endpoint(t, c, "cbr0").ID.String()}, "", "there is no pod"},
	} {
		tr := w.Trace(flows.Packet{From: k.place, To: flows.Target{Address: web2}})
		if k.refused != "" {
			if tr.Works() || tr.Diagnosis.Reason != flows.BadPacket || !strings.Contains(tr.Diagnosis.Text, k.refused) {
				t.Errorf("%s: %s, want %s", k.place, tr.Diagnosis, k.refused)
			}
			continue
		}
		if got := tr.Steps[0].After.Src.String(); !tr.Works() || got != k.want {
			t.Errorf("%s sends from %s, want %s", k.place, got, k.want)
		}
	}
	if got := (flows.Place{Pod: "a", Node: "b"}).String(); got != "pod a on b" {
		t.Error(got)
	}
}

// TestNineWithoutNames: the nine flows are between endpoints, whatever these are
// called: HNS takes several of one name, and some without any.
func TestNineWithoutNames(t *testing.T) {
	for _, m := range modes.All() {
		want := world(t, cluster(t, m)).Nine().Text()
		for _, name := range []string{"", "Ethernet", mixedcluster.Web3} {
			c := cluster(t, m)
			for _, n := range c.Nodes {
				if n.Windows == nil {
					continue
				}
				for _, e := range n.Windows.HNS.Endpoints {
					if !e.Namespace.IsZero() {
						e.Name = name
						e.Document = hns.Document{Raw: e.Document.Raw}
					}
				}
			}
			table := world(t, c).Nine()
			if got := table.Text(); got != want {
				t.Errorf("%s, all called %q:\n%s%s", m, name, got, table.Reasons())
			}
		}
	}
}
