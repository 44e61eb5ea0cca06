package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// show writes the table of the clusters, or the ways of one flow.
func show(w io.Writer, o options, clusters ...*flows.Cluster) error {
	var table flows.Table
	for _, c := range clusters {
		world, err := flows.New(*c)
		if err != nil {
			return err
		}
		for _, col := range world.Nine() {
			if o.mode == "" || col.Mode == o.mode {
				table = append(table, col)
			}
		}
	}
	if len(table) == 0 {
		return fmt.Errorf("no Windows pod is on a network of a mode that was asked for")
	}
	if o.flow == 0 {
		fmt.Fprintf(w, "%s\n%s", table.Text(), table.Reasons())
		return nil
	}
	for _, col := range table {
		cell := col.Cell(flows.Flows()[o.flow-1])
		fmt.Fprintf(w, "%s, %s: %s\n", col.Mode, cell.Flow, cell)
		for i, c := range cell.Cases {
			if strings.HasPrefix(c.Name, hns.UDP.String()) && i > 0 && c.Trace.Outcome == cell.Cases[i-1].Trace.Outcome {
				continue // goes as TCP does
			}
			fmt.Fprintf(w, "\n%s:\n", c.Name)
			write(w, o, c.Trace)
		}
	}
	return nil
}

// write writes a way in the form that was asked for.
func write(w io.Writer, o options, t *flows.Trace) {
	if o.mermaid {
		fmt.Fprint(w, t.Mermaid())
		return
	}
	fmt.Fprint(w, t.Text())
}

func listBreaks(w io.Writer, m modes.Mode) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, b := range mixedcluster.Breaks() {
		if m == "" || b.Mode == m {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", b.Mode, b.Name, b.Text, b.Report)
		}
	}
	return t.Flush()
}

// showBreak breaks a cluster and shows the way of a packet that works in the
// healthy one, and what of the nine flows is left.
func showBreak(ctx context.Context, w io.Writer, o options) error {
	all := mixedcluster.Breaks()
	i := slices.IndexFunc(all, func(b mixedcluster.Break) bool { return b.Name == o.fault && b.Mode == cmp.Or(o.mode, b.Mode) })
	if i < 0 {
		return fmt.Errorf("-break %s: there is none of that name; -breaks lists them", o.fault)
	}
	b := all[i]
	c, err := mixedcluster.New(ctx, b.Mode)
	if err != nil {
		return err
	}
	healthy, err := flows.New(*c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, healthy: %s: %s\n", b.Mode, b.Packet, healthy.Trace(b.Packet).Outcome)
	b.Do(c)
	broken, err := flows.New(*c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "broken: %s\n\n", b.Text)
	write(w, o, broken.Trace(b.Packet))
	if !o.mermaid {
		fmt.Fprintf(w, "\n%s", broken.Nine().Text())
	}
	return nil
}

// readSnapshots makes a cluster of dumps alone, each a node named after its
// file.
func readSnapshots(files []string) (*flows.Cluster, error) {
	c := &flows.Cluster{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		s, err := hns.ParseSnapshot(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		name := strings.TrimSuffix(filepath.Base(f), filepath.Ext(f))
		c.Nodes = append(c.Nodes, flows.SnapshotNode(name, s))
	}
	return c, nil
}
