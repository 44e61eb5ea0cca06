package flows_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// verdicts are those of the facts, written by hand: the Kubernetes page
// "Networking on Windows", Microsoft's page on the network drivers, and what
// the plugins set up. "?" is what no source says. In the order of flows.Flows.
//
// NAT: nothing comes in but through port mappings, so of pods and nodes only
// those of one node reach each other; there are no load balancers, and DNS is
// HNS's own. Overlay, node to pod: to pods of other nodes it is inferred.
var verdicts = map[modes.Mode][9]string{
	modes.L2Bridge:    {"yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes"},
	modes.L2Tunnel:    {"yes", "yes?", "yes?", "yes?", "yes?", "yes", "yes?", "yes", "yes"},
	modes.Overlay:     {"yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes?", "yes"},
	modes.Transparent: {"yes?", "yes?", "yes?", "yes?", "yes?", "yes?", "yes?", "yes?", "yes?"},
	modes.NAT:         {"no", "no", "no", "no", "no", "yes", "yes", "no", "yes"},
}

func nine(t testing.TB) flows.Table {
	t.Helper()
	var all flows.Table
	for _, m := range modes.All() {
		of := world(t, cluster(t, m)).Nine()
		if len(of) != 1 || of[0].Mode != m {
			t.Fatalf("%s: the table has other modes: %v", m, of)
		}
		all = append(all, of...)
	}
	return all
}

func TestNine(t *testing.T) {
	for _, col := range nine(t) {
		for i, cell := range col.Cells {
			if got, want := cell.String(), verdicts[col.Mode][i]; got != want {
				t.Errorf("%s, %s: %s, want %s; %+v", col.Mode, cell.Flow, got, want, cell.Why())
			}
			if len(cell.Cases) < 2 {
				t.Errorf("%s, %s: only %d cases", col.Mode, cell.Flow, len(cell.Cases))
			}
		}
	}
}

// TestNineGolden holds the table, its reasons, and for each mode the whole way
// of the TCP packets of each flow.
func TestNineGolden(t *testing.T) {
	table := nine(t)
	golden.File(t, filepath.Join("testdata", "nine.golden"), table.Text()+"\n"+table.Reasons())
	for _, col := range table {
		var b strings.Builder
		for _, cell := range col.Cells {
			for _, c := range cell.Cases {
				if strings.HasPrefix(c.Name, hns.TCP.String()) {
					fmt.Fprintf(&b, "== %s, %s\n%s\n", cell.Flow, c.Name, c.Trace.Text())
				}
			}
		}
		golden.File(t, filepath.Join("testdata", strings.ToLower(string(col.Mode))+".golden"), b.String())
	}
}

// TestUDPAsTCP: the two protocols go the same ways.
func TestUDPAsTCP(t *testing.T) {
	for _, col := range nine(t) {
		for _, cell := range col.Cells {
			for i := 0; i+1 < len(cell.Cases); i += 2 {
				tcp, udp := cell.Cases[i].Trace, cell.Cases[i+1].Trace
				if len(tcp.Steps) != len(udp.Steps) || tcp.Outcome != udp.Outcome {
					t.Errorf("%s, %s: TCP has %d steps, UDP %d", col.Mode, cell.Flow, len(tcp.Steps), len(udp.Steps))
				}
			}
		}
	}
}

// TestNotApplicable: without a service and hosts outside, those flows are n/a.
func TestNotApplicable(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	c.Services, c.Outside, c.Resolvers = nil, nil, nil
	for i := range c.Nodes {
		if w := c.Nodes[i].Windows; w != nil {
			w.HNS.LoadBalancers = nil
		}
	}
	col := world(t, c).Nine()[0]
	for _, f := range []flows.Flow{flows.PodToPodName, flows.PodToServiceIP, flows.PodToServicePQDN, flows.PodToServiceFQDN, flows.PodToOutsideIP, flows.PodToOutsideName} {
		if got := col.Cell(f).String(); got != "n/a" {
			t.Errorf("%s: %s", f, got)
		}
	}
	if got := col.Cell(flows.PodToPodIP).String(); got != "yes" {
		t.Errorf("pod to pod: %s", got)
	}
	if got := flows.Flow(77).String(); got != "flow 77" {
		t.Errorf("a flow that is none: %s", got)
	}
}

// TestSnapshotsAlone: with nothing but the documents, no flow is said to work
// that depends on what they do not hold, and none is said not to.
func TestSnapshotsAlone(t *testing.T) {
	for _, m := range []modes.Mode{modes.L2Bridge, modes.Overlay} {
		c := cluster(t, m)
		c.Physical = nil
		for i := range c.Nodes {
			if w := c.Nodes[i].Windows; w != nil {
				w.Host = nil
			}
		}
		col := world(t, c).Nine()[0]
		for _, cell := range col.Cells {
			if got := cell.String(); got != "maybe?" {
				t.Errorf("%s, %s: %s: %v", m, cell.Flow, got, cell.Why())
			}
		}
	}
}

// TestOneSnapshot: with the documents of one node alone nothing in the cluster
// is wrong, as far as can be seen: what is on the node works, and the rest goes
// out of sight.
func TestOneSnapshot(t *testing.T) {
	for _, m := range modes.All() {
		for _, addressed := range []bool{true, false} {
			w := world(t, oneSnapshot(t, m, addressed))
			what := fmt.Sprintf("%s, addresses known %t", m, addressed)
			for _, from := range []flows.Place{client, {Node: "node"}} {
				for _, to := range []flows.Target{{Address: web1}, {Address: web2}, {Address: mixedcluster.WebVIP}, {Address: wwwAddr}, {Address: netip.MustParseAddr("192.0.2.12")},
					{Address: win1}, {Place: flows.Place{Node: "node"}}, {Name: "web"}, {Name: mixedcluster.WWW}} {
					for _, p := range []hns.Protocol{hns.TCP, hns.UDP} {
						tr := w.Trace(flows.Packet{From: from, To: to, Protocol: p})
						if err := checkTrace(tr); err != nil {
							t.Errorf("%s: %v", what, err)
						}
						if !tr.Works() {
							t.Errorf("%s: a firm fault:\n%s", what, tr)
						}
						here := to.Address == web1 || (to.Node != "" || to.Address == win1) && (addressed || m == modes.Overlay)
						if from == client && !here && tr.Outcome != flows.Unjudged {
							t.Errorf("%s: what is not known is said to work:\n%s", what, tr)
						}
					}
				}
			}
			col := w.Nine()[0]
			for _, cell := range col.Cells {
				if cell.Verdict == flows.No {
					t.Errorf("%s, %s: %s", what, cell.Flow, cell.Why().Trace)
				}
			}
			want := flows.Maybe
			if m == modes.NAT || m == modes.Transparent {
				want = flows.NotApplicable
			}
			if cell := col.Cell(flows.PodToServiceIP); cell.Verdict != want {
				t.Errorf("%s: to the services that HNS has load balancers for: %s, want %s", what, cell, want)
			}
		}
	}
}

// oneSnapshot is a cluster of which the documents of one node are known.
func oneSnapshot(t *testing.T, m modes.Mode, addressed bool) *flows.Cluster {
	t.Helper()
	s, err := hns.ParseSnapshot(snapshotText(t, cluster(t, m)))
	if err != nil {
		t.Fatal(err)
	}
	n := flows.SnapshotNode("node", s)
	if addressed {
		n.Addresses = []netip.Addr{win1}
	}
	return &flows.Cluster{Nodes: []flows.Node{n}}
}
