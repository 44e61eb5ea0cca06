package main

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/hnskit/hnskit/examples/nodeagent/agent"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node"
)

// fixed is an agent in one state.
type fixed agent.Status

func (f fixed) status() agent.Status { return agent.Status(f) }

// /healthz answers as flanneld's does, whatever the node is like: manifests have
// it as a liveness probe. /readyz says why.
func TestProbes(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    reporter
		code int
		body string
	}{
		{"no agent yet", &watched{}, http.StatusServiceUnavailable, "not ready: the program is starting\n"},
		{"at the start", fixed{}, http.StatusServiceUnavailable, "not ready yet\n"},
		{"not ready", fixed{Err: errors.New("no podCIDR")}, http.StatusServiceUnavailable, "not ready: no podCIDR\n"},
		{"ready", fixed{Ready: true}, http.StatusOK, "ready\n"},
		{"ready, with trouble", fixed{Ready: true, Err: errors.New("a way was refused")}, http.StatusOK, "ready, but the last look at the node failed: a way was refused\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(tt.s, newMetrics(tt.s).registry)
			ask := func(method, path string) (int, string) {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
				return w.Code, w.Body.String()
			}
			if code, body := ask("GET", "/readyz"); code != tt.code || body != tt.body {
				t.Errorf("/readyz: %d %q, want %d %q", code, body, tt.code, tt.body)
			}
			if code, body := ask("GET", "/healthz"); code != http.StatusOK || body != "nodeagent is running\n" {
				t.Errorf("/healthz: %d %q", code, body)
			}
			if code, _ := ask("POST", "/healthz"); code != http.StatusMethodNotAllowed {
				t.Errorf("POST /healthz: %d", code)
			}
			if code, _ := ask("GET", "/"); code != http.StatusNotFound {
				t.Errorf("/: %d", code)
			}
		})
	}
}

func ask(t *testing.T, h http.Handler, path string) (status int) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	return w.Code
}

// A server that breaks down ends the program with its error, and one that is shut
// down is none.
func TestServerEnds(t *testing.T) {
	broken := make(chan error, 1)
	s, err := listen(t.Context(), "127.0.0.1:0", http.NotFoundHandler(), func(err error) { broken <- err })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-broken; !strings.HasPrefix(err.Error(), "health and metrics: ") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("broken down"))
	if err := whyEnded(ctx, nil); err == nil || err.Error() != "broken down" {
		t.Errorf("the program ends with %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := whyEnded(ctx, ctx.Err()); err != nil {
		t.Errorf("told to stop, it ends with %v", err)
	}

	s, err = listen(t.Context(), "127.0.0.1:0", http.NotFoundHandler(), func(err error) { broken <- err })
	if err != nil {
		t.Fatal(err)
	}
	s.shutdown(t.Context())
	if _, err := http.Get("http://" + s.address()); err == nil { //nolint:bodyclose,noctx // nobody answers
		t.Error("it serves on")
	}
	select {
	case err := <-broken:
		t.Errorf("shut down, it says %v", err)
	default:
	}
}

// What the metrics say of a status and of counters.
func TestMetrics(t *testing.T) {
	st := fixed{Ready: true, Nodes: 7, Synced: time.Unix(1700000000, 500e6), Syncs: 9, Failures: 2, Patches: 3,
		Report: node.Report{Added: 1, Changed: 2, Removed: 8, Kept: 3, Held: 1, Failed: []*node.RouteError{{Prefix: netip.MustParsePrefix("10.244.9.0/24"), Err: fs.ErrPermission}},
			Skipped: []node.Skipped{{Node: "a", Fault: node.FaultNoMAC}, {Node: "b", Fault: node.FaultNoMAC}, {Node: "c", Fault: "new_one"}}}}
	m := newMetrics(st)
	m.observe(hns.Call{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Duration: 20 * time.Millisecond})
	m.observe(hns.Call{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Duration: 2 * time.Second, Code: hns.CodeNetworkExists, Err: errors.New("x")})
	m.observe(hns.Call{Verb: hns.VerbList, Kind: hns.KindEndpoint, Err: hns.ErrNotSent})
	m.observe(hns.Call{Verb: hns.VerbList, Kind: hns.KindEndpoint, Err: hns.ErrOutcomeUnknown})
	m.observe(hns.Call{Verb: hns.VerbList, Kind: hns.KindEndpoint, Err: errors.New("x")})
	m.late(hns.LateResult{Request: hns.Request{Verb: hns.VerbModify, Kind: hns.KindNetwork}})
	want := `
# HELP hnskit_hns_calls_total Calls to HNS. The code is the HRESULT of HNS, or ok, not_sent, outcome_unknown, error.
# TYPE hnskit_hns_calls_total counter
hnskit_hns_calls_total{code="0x803b0010",kind="network",verb="create"} 1
hnskit_hns_calls_total{code="error",kind="endpoint",verb="list"} 1
hnskit_hns_calls_total{code="not_sent",kind="endpoint",verb="list"} 1
hnskit_hns_calls_total{code="ok",kind="network",verb="create"} 1
hnskit_hns_calls_total{code="outcome_unknown",kind="endpoint",verb="list"} 1
# HELP hnskit_hns_late_calls_total Calls that HNS answered when nobody waited any more.
# TYPE hnskit_hns_late_calls_total counter
hnskit_hns_late_calls_total{kind="network",verb="modify"} 1
# HELP hnskit_nodeagent_last_sync_success 1 if the last look at everything ended well, else 0.
# TYPE hnskit_nodeagent_last_sync_success gauge
hnskit_nodeagent_last_sync_success 1
# HELP hnskit_nodeagent_last_sync_timestamp_seconds When a look at everything last ended well; 0: never.
# TYPE hnskit_nodeagent_last_sync_timestamp_seconds gauge
hnskit_nodeagent_last_sync_timestamp_seconds 1.7000000005e+09
# HELP hnskit_nodeagent_node_patches_total Writes to the Node object.
# TYPE hnskit_nodeagent_node_patches_total counter
hnskit_nodeagent_node_patches_total 3
# HELP hnskit_nodeagent_nodes Other nodes of the cluster that flannel manages.
# TYPE hnskit_nodeagent_nodes gauge
hnskit_nodeagent_nodes 7
# HELP hnskit_nodeagent_ready 1 if the node has its network and its files, else 0.
# TYPE hnskit_nodeagent_ready gauge
hnskit_nodeagent_ready 1
# HELP hnskit_nodeagent_skipped_nodes Nodes that are skipped now, by fault.
# TYPE hnskit_nodeagent_skipped_nodes gauge
hnskit_nodeagent_skipped_nodes{fault="address_in_use"} 0
hnskit_nodeagent_skipped_nodes{fault="duplicate"} 0
hnskit_nodeagent_skipped_nodes{fault="malformed"} 0
hnskit_nodeagent_skipped_nodes{fault="new_one"} 1
hnskit_nodeagent_skipped_nodes{fault="no_address"} 0
hnskit_nodeagent_skipped_nodes{fault="no_mac"} 2
hnskit_nodeagent_skipped_nodes{fault="no_subnet"} 0
hnskit_nodeagent_skipped_nodes{fault="off_link"} 0
hnskit_nodeagent_skipped_nodes{fault="outside_cluster"} 0
hnskit_nodeagent_skipped_nodes{fault="overlap"} 0
hnskit_nodeagent_skipped_nodes{fault="port"} 0
hnskit_nodeagent_skipped_nodes{fault="vni"} 0
# HELP hnskit_nodeagent_sync_failures_total Looks at everything that ended with an error.
# TYPE hnskit_nodeagent_sync_failures_total counter
hnskit_nodeagent_sync_failures_total 2
# HELP hnskit_nodeagent_syncs_total Looks at everything: the node's network, the other nodes, the node's files and its Node object.
# TYPE hnskit_nodeagent_syncs_total counter
hnskit_nodeagent_syncs_total 9
# HELP hnskit_nodeagent_routes Pod subnets that are led to their node.
# TYPE hnskit_nodeagent_routes gauge
hnskit_nodeagent_routes 7
# HELP hnskit_nodeagent_routes_refused Pod subnets that could not be led to their node, or away from it.
# TYPE hnskit_nodeagent_routes_refused gauge
hnskit_nodeagent_routes_refused 1
`
	names := []string{"hnskit_hns_calls_total", "hnskit_hns_late_calls_total", "hnskit_nodeagent_last_sync_success", "hnskit_nodeagent_last_sync_timestamp_seconds",
		"hnskit_nodeagent_node_patches_total", "hnskit_nodeagent_nodes", "hnskit_nodeagent_ready", "hnskit_nodeagent_skipped_nodes",
		"hnskit_nodeagent_sync_failures_total", "hnskit_nodeagent_syncs_total", "hnskit_nodeagent_routes", "hnskit_nodeagent_routes_refused"}
	if err := testutil.GatherAndCompare(m.registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(m.registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// All counters and faults of package node are shown, from the start.
func TestCountersShown(t *testing.T) {
	counters, kinds := map[string]bool{}, map[string]bool{}
	pkgs, err := parser.ParseDir(token.NewFileSet(), "../../modes/node", nil, 0) //nolint:staticcheck // constants need no types
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(pkgs["node"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if i >= len(spec.Values) {
				continue
			}
			lit, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case name.Name == "CountNodesSkipped":
			case strings.HasPrefix(name.Name, "Count"):
				counters[text] = true
			case strings.HasPrefix(name.Name, "Fault"):
				kinds[text] = true
			}
		}
		return true
	})
	got, gotKinds := map[string]bool{}, map[string]bool{}
	for name := range events {
		got[name] = true
	}
	for _, f := range node.Faults() {
		gotKinds[string(f)] = true
	}
	if diff := cmp.Diff(counters, got); diff != "" {
		t.Errorf("counters: -package node +shown:\n%s", diff)
	}
	if diff := cmp.Diff(kinds, gotKinds); diff != "" {
		t.Errorf("faults: -package node +shown:\n%s", diff)
	}
	n, err := testutil.GatherAndCount(newMetrics(fixed{}).registry, "hnskit_node_nodes_skipped_total")
	if err != nil || n != len(kinds) {
		t.Errorf("%d kinds of skipped nodes are shown at the start, %v", n, err)
	}
}

// Every metric of the program stands in the README, and nothing else does.
func TestMetricsInReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := newMetrics(fixed{Report: node.Report{}})
	m.observe(hns.Call{Verb: hns.VerbList, Kind: hns.KindNetwork})
	m.late(hns.LateResult{})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "hnskit_") {
			want[f.GetName()] = true
		}
	}
	got := map[string]bool{}
	for _, name := range regexp.MustCompile("(?m)^\\| `(hnskit_[a-z_]+)`").FindAllStringSubmatch(string(readme), -1) {
		got[name[1]] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-shown +README.md:\n%s", diff)
	}
}
