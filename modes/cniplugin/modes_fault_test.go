package cniplugin_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
)

// describes makes the plugin of a bare node make its network.
func describes(m modes.Mode) string {
	in := intents[m]
	doc, err := json.Marshal(in.Subnets)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`"hnsNetwork": {"subnets": %s}`, doc)
}

// In each mode every call of the first ADD, which makes the network, fails, before
// or after its effect, or hangs until the deadline. No address is free that HNS
// has; the DEL that follows leaves nothing but the network, and the next ADD
// serves the pod, with one network of the name.
func TestFirstPodWithFaults(t *testing.T) {
	scenarios := 0
	for _, m := range modes.All() {
		conf := []string{describes(m), `"loopbackDSR": true`, `"runtimeConfig": {"bandwidth": {"egressRate": 8000}}`}
		clean := bareMode(t, m)
		clean.pod("sbx-01").mustAdd(conf...)
		calls := clean.hns.Calls()
		for nth := range calls {
			for _, f := range []emulator.Fault{{Code: hns.CodeAccessDenied}, {Code: hns.CodeRPCUnavailable}, {Code: hns.CodeElementNotFound}, {}} {
				for _, after := range []bool{false, true} {
					scenarios++
					n := bareMode(t, m)
					p := n.pod("sbx-01")
					f.Nth, f.After = nth+1, after
					ctx, pass := deadline()
					if f.Code == 0 {
						f.Hang, f.Exit = hang(t), nil
						exit := f
						exit.Hang, exit.Exit = nil, pass
						n.hns.Inject(exit)
					}
					remove := n.hns.Inject(f)
					what := fmt.Sprintf("%s: %s %s (%d of %d) fails with %s, after=%v", m, calls[nth].Verb, calls[nth].Kind, nth+1, len(calls), f.Code, after)
					_, err := p.addUntil(ctx, conf...)
					consistent(t, n)
					remove()
					for try := 0; ; try++ {
						errDel := p.del(conf...)
						if errDel == nil {
							break
						}
						if try == 4 {
							t.Fatalf("%s: ADD %v; DEL %v", what, err, errDel)
						}
					}
					if got := n.state(); len(got) > 0 && f.Code != 0 { // a create that hangs may land late: GC's
						t.Errorf("%s: ADD %v; left %v", what, err, got)
					}
					if f.Code == 0 {
						continue
					}
					if _, err := p.add(conf...); err != nil {
						t.Errorf("%s: the next ADD: %v", what, err)
					}
					n.made() // one alone, or it is an error
				}
			}
		}
	}
	if scenarios < 100 {
		t.Errorf("%d scenarios", scenarios)
	}
}

// bareMode is a bareNode whose IPAM leaves Azure's addresses alone.
func bareMode(tb testing.TB, m modes.Mode) *node {
	tb.Helper()
	n := bareNode(tb, nil, m)
	n.ipam.avoid = azureAddresses
	return n
}
