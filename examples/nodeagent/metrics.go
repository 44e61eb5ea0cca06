package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node"
)

// metrics are what /metrics shows.
type metrics struct {
	registry  *prometheus.Registry
	counters  *node.Counters
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	lateCalls *prometheus.CounterVec
	requests  *prometheus.CounterVec
}

func newMetrics(s reporter) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		counters: &node.Counters{},
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hnskit_hns_calls_total",
			Help: "Calls to HNS. The code is the HRESULT of HNS, or ok, not_sent, outcome_unknown, error.",
		}, []string{"verb", "kind", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hnskit_hns_call_duration_seconds",
			Help:    "How long calls to HNS took.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60},
		}, []string{"verb", "kind"}),
		lateCalls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hnskit_hns_late_calls_total",
			Help: "Calls that HNS answered when nobody waited any more.",
		}, []string{"verb", "kind"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hnskit_nodeagent_api_requests_total",
			Help: "Requests to the API server. The code is that of HTTP, or error where it did not answer.",
		}, []string{"code"}),
	}
	m.requests.WithLabelValues("error") // shown from the start, so that the first one is an increase
	m.registry.MustRegister(m.calls, m.durations, m.lateCalls, m.requests, newCollector(s, m.counters),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observe is told of every call to HNS.
func (m *metrics) observe(c hns.Call) {
	m.calls.WithLabelValues(c.Verb.String(), c.Kind.String(), codeLabel(c)).Inc()
	m.durations.WithLabelValues(c.Verb.String(), c.Kind.String()).Observe(c.Duration.Seconds())
}

// late is told of answers that nobody waited for.
func (m *metrics) late(r hns.LateResult) {
	m.lateCalls.WithLabelValues(r.Request.Verb.String(), r.Request.Kind.String()).Inc()
}

func codeLabel(c hns.Call) string {
	switch {
	case c.Err == nil:
		return "ok"
	case c.Code != 0:
		return fmt.Sprintf("0x%08x", uint32(c.Code))
	case errors.Is(c.Err, hns.ErrNotSent):
		return "not_sent"
	case errors.Is(c.Err, hns.ErrOutcomeUnknown):
		return "outcome_unknown"
	}
	return "error"
}

// collector shows the counters of package node and the agent's status.
type collector struct {
	status   reporter
	counters *node.Counters

	events                          map[string]*prometheus.Desc
	skips                           *prometheus.Desc
	syncs, failures, patches        *prometheus.Desc
	ready, nodes, ways, refused     *prometheus.Desc
	skipped, lastSync, lastSyncGood *prometheus.Desc
}

// events are the counters of package node, but for those of faults.
var events = map[string]string{
	node.CountEnsures:           "Looks at the node's network.",
	node.CountEnsureFailures:    "Looks at the node's network that ended with an error.",
	node.CountEnsureChanges:     "Changes of the node's network.",
	node.CountReconciles:        "Looks at the routes to the other nodes.",
	node.CountReconcileFailures: "Looks at the routes to the other nodes that ended with an error.",
	node.CountRoutesAdded:       "Ways to other nodes that were added.",
	node.CountRoutesChanged:     "Ways to other nodes that were changed.",
	node.CountRoutesRemoved:     "Ways to other nodes that were removed.",
	node.CountBatchesRefused:    "Requests with several routes that HNS did not carry out, tried again one by one.",
}

func newCollector(s reporter, counters *node.Counters) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("hnskit_"+name, help, labels, nil)
	}
	c := &collector{
		status: s, counters: counters, events: map[string]*prometheus.Desc{},
		skips:        desc("node_nodes_skipped_total", "Nodes that were found faulty, by fault.", "fault"),
		syncs:        desc("nodeagent_syncs_total", "Looks at everything: the node's network, the other nodes, the node's files and its Node object."),
		failures:     desc("nodeagent_sync_failures_total", "Looks at everything that ended with an error."),
		patches:      desc("nodeagent_node_patches_total", "Writes to the Node object."),
		ready:        desc("nodeagent_ready", "1 if the node has its network and its files, else 0."),
		nodes:        desc("nodeagent_nodes", "Other nodes of the cluster that flannel manages."),
		ways:         desc("nodeagent_routes", "Pod subnets that are led to their node."),
		refused:      desc("nodeagent_routes_refused", "Pod subnets that could not be led to their node, or away from it."),
		skipped:      desc("nodeagent_skipped_nodes", "Nodes that are skipped now, by fault.", "fault"),
		lastSync:     desc("nodeagent_last_sync_timestamp_seconds", "When a look at everything last ended well; 0: never."),
		lastSyncGood: desc("nodeagent_last_sync_success", "1 if the last look at everything ended well, else 0."),
	}
	for name, help := range events {
		c.events[name] = desc("node_"+name+"_total", help)
	}
	return c
}

// Describe is part of prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.events {
		ch <- d
	}
	for _, d := range []*prometheus.Desc{c.skips, c.syncs, c.failures, c.patches, c.ready, c.nodes, c.ways, c.refused, c.skipped, c.lastSync, c.lastSyncGood} {
		ch <- d
	}
}

// Collect is part of prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counts := c.counters.Snapshot()
	for name, d := range c.events {
		counter(d, counts[name])
	}
	found := zeroOfEach()
	for name, n := range counts {
		if fault, ok := strings.CutPrefix(name, node.CountNodesSkipped); ok {
			found[node.Fault(fault)] = int(n)
		}
	}
	for fault, n := range found {
		counter(c.skips, uint64(n), string(fault))
	}
	st := c.status.status()
	now := zeroOfEach()
	for _, s := range st.Report.Skipped {
		now[s.Fault]++
	}
	for fault, n := range now {
		gauge(c.skipped, float64(n), string(fault))
	}
	counter(c.syncs, st.Syncs)
	counter(c.failures, st.Failures)
	counter(c.patches, st.Patches)
	gauge(c.ready, truth(st.Ready))
	gauge(c.nodes, float64(st.Nodes))
	gauge(c.ways, float64(st.Report.Added+st.Report.Changed+st.Report.Kept+st.Report.Held))
	gauge(c.refused, float64(len(st.Report.Failed)))
	gauge(c.lastSyncGood, truth(st.Err == nil && !st.Synced.IsZero()))
	var at float64
	if !st.Synced.IsZero() {
		at = float64(st.Synced.UnixMilli()) / 1000
	}
	gauge(c.lastSync, at)
}

// zeroOfEach has every fault, as a series that begins with its first event shows
// no increase.
func zeroOfEach() map[node.Fault]int {
	out := map[node.Fault]int{}
	for _, f := range node.Faults() {
		out[f] = 0
	}
	return out
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
