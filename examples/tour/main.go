// Command tour shows what this module does, on any system and without rights:
//
//	go run ./examples/tour
//
// It makes two emulated Windows nodes in a temporary directory, one with an
// L2Bridge network and one with an Overlay network, gives each three pods by way
// of the flannel plugin and the real host-local, shows what came of it, checks
// every pod, deletes them all, and counts what is left. It ends with the nine
// flows that Kubernetes wants and whether they work in each mode. Nothing outside
// the directory is touched. The exit status is 1 if anything failed or leaked.
//
// With -plant one endpoint and one lease are left behind on purpose, to see that
// they are found.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/hnskit/hnskit/internal/toolbuild"
)

func main() {
	plant := flag.Bool("plant", false, "self-test: leave one endpoint and one lease behind on purpose; they must be found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := tour(ctx, os.Stdout, *plant)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "tour: %v\n", err)
		os.Exit(1)
	}
}

// tour goes round both nodes. Whatever fails, the nodes are cleaned up and the
// leaks counted; a leak is an error too.
func tour(ctx context.Context, w io.Writer, plant bool) (err error) {
	fmt.Fprintln(w, "Two emulated Windows nodes, flannel's plugin, the real host-local (built on the first run).")
	hostLocal, err := toolbuild.HostLocal(ctx)
	if err != nil {
		return fmt.Errorf("the tour needs the host-local plugin: %w", err)
	}
	dir, err := os.MkdirTemp("", "hnskit-tour-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	var left leftovers
	for i, l := range layouts {
		n, errNode := newNode(ctx, l, filepath.Join(dir, l.node), filepath.Dir(hostLocal))
		if errNode != nil {
			return errors.Join(err, wrap(l.node, errNode))
		}
		err = errors.Join(err, n.visit(ctx, w, plant && i == len(layouts)-1))
		err = errors.Join(err, left.add(n)) //nolint:contextcheck // a snapshot takes none
	}
	fmt.Fprintln(w)
	left.show(w)
	if !left.none() {
		err = errors.Join(err, errors.New("something was left behind"))
	}
	return errors.Join(err, wrap("the nine flows", showFlows(ctx, w)))
}

// visit adds the node's pods, shows and checks them, and deletes them; with
// plant all but the last.
func (n *node) visit(ctx context.Context, w io.Writer, plant bool) error {
	showNode(w, n)
	var errs []error
	pods := make([]*pod, podsPerNode)
	for i := range pods {
		pods[i] = &pod{id: fmt.Sprintf("pod-%d", i+1)}
		errs = append(errs, wrap(pods[i].id, n.add(ctx, pods[i])))
	}
	errs = append(errs, showPods(ctx, w, n))
	for _, p := range pods {
		errs = append(errs, report(w, "CHECK "+p.id, n.check(ctx, p)))
	}
	if plant {
		fmt.Fprintf(w, "  %s is not deleted, on purpose\n", pods[len(pods)-1].id)
		pods = pods[:len(pods)-1]
	}
	for _, p := range pods {
		errs = append(errs, report(w, "DEL "+p.id, n.del(ctx, p)))
	}
	return wrap(n.node, errors.Join(errs...))
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
