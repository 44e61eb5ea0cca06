// Command flows shows where packets go, and why one does not arrive. It runs on
// any system and without rights:
//
//	go run ./examples/flows                                  the nine flows, by mode
//	go run ./examples/flows -mode overlay -flow 3            the ways of one flow
//	go run ./examples/flows -mode l2bridge -break route      a fault, and what is found
//	go run ./examples/flows -breaks                          the faults there are
//	flows.exe -take node1.json                               on a Windows node: dump its HNS
//	go run ./examples/flows -snapshot node1.json node2.json  the flows over dumps of real nodes
//
// The cluster has two Windows nodes and a Linux node, and is set up anew in each
// mode: on emulated HNSs, through the planners of modes and the CNI plugin of
// cniplugin. A dump is what hns.Client.Snapshot gives, one file for each node.
// One is enough: what stays on its node is judged, and where a packet leaves for
// what HNS does not hold, such as routes and other nodes, the table says "maybe".
// Services are those that the dump has load balancers for.
//
// In the table "yes" is a flow that works, packet and answer, "no" one that does
// not, "n/a" one that the cluster has nobody for; "?" stands behind what no
// source says, but follows from the rest. With -mermaid ways are printed as
// Mermaid sequence diagrams. The exit status is 1 if anything failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/hnskit/hnskit/examples/internal/hnsopen"
	"github.com/hnskit/hnskit/internal/atomicfile"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// options are what the command line asks for.
type options struct {
	mode     modes.Mode // empty: all
	flow     int        // 0: the table
	fault    string
	list     bool
	mermaid  bool
	take     string
	snapshot string
	files    []string // more snapshots
}

func main() {
	var o options
	flag.Func("mode", "only this `mode`: L2Bridge, L2Tunnel, Overlay, Transparent or NAT", func(s string) (err error) {
		o.mode, err = modes.ParseMode(s)
		return err
	})
	flag.IntVar(&o.flow, "flow", 0, "show the ways of a flow, by its `number` in the table, 1 to 9")
	flag.StringVar(&o.fault, "break", "", "break one thing, by `name`, and show what is found")
	flag.BoolVar(&o.list, "breaks", false, "list what can be broken")
	flag.BoolVar(&o.mermaid, "mermaid", false, "show ways as Mermaid sequence diagrams")
	flag.StringVar(&o.take, "take", "", "write the snapshot of this node's HNS to `file`, and nothing else")
	flag.StringVar(&o.snapshot, "snapshot", "", "read the snapshot of a node from `file`; more files may follow")
	flag.Parse()
	o.files = flag.Args()
	if err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintf(os.Stderr, "flows: %v\n", err)
		os.Exit(1)
	}
}

// take writes what is in HNS here to a file.
func take(ctx context.Context, path string) error {
	c, err := hnsopen.Open(nil)
	if err != nil {
		return err
	}
	s, err := c.Snapshot(ctx)
	if err != nil {
		return err
	}
	text, err := s.Bytes()
	if err != nil {
		return err
	}
	return atomicfile.Write(path, text, 0o600)
}

func run(ctx context.Context, w io.Writer, o options) error {
	switch {
	case o.flow < 0 || o.flow > len(flows.Flows()):
		return fmt.Errorf("-flow %d: there are the flows 1 to %d", o.flow, len(flows.Flows()))
	case o.snapshot == "" && len(o.files) > 0:
		return fmt.Errorf("%q: files belong behind -snapshot", o.files)
	case o.take != "":
		return take(ctx, o.take)
	case o.list:
		return listBreaks(w, o.mode)
	case o.fault != "":
		return showBreak(ctx, w, o)
	case o.snapshot != "":
		c, err := readSnapshots(append([]string{o.snapshot}, o.files...))
		if err != nil {
			return err
		}
		return show(w, o, c)
	}
	var clusters []*flows.Cluster
	for _, m := range modes.All() {
		if o.mode != "" && m != o.mode {
			continue
		}
		c, err := mixedcluster.New(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		clusters = append(clusters, c)
	}
	return show(w, o, clusters...)
}
