package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// This file counts what is left. It reads HNS's documents and host-local's files
// by itself: were it to ask the code that is to have cleaned up, both could be
// wrong together.

// leftovers are what pods have left behind, one line of text for each.
type leftovers struct {
	endpoints, leases, scratch []string
}

// add looks at a node whose pods are all gone.
func (l *leftovers) add(n *node) error {
	after, err := n.hns.Snapshot()
	if err != nil {
		return err
	}
	endpoints, err := newEndpoints(n.before, after)
	leases, errLeases := filesBelow(n.leaseDir(), isBookkeeping)
	scratch, errScratch := filesBelow(n.scratchDir(), nil)
	for _, e := range endpoints {
		l.endpoints = append(l.endpoints, n.node+" endpoint "+e)
	}
	for _, f := range leases {
		l.leases = append(l.leases, n.node+" lease "+f)
	}
	for _, f := range scratch {
		l.scratch = append(l.scratch, n.node+" scratch file "+f)
	}
	return errors.Join(err, errLeases, errScratch)
}

func (l *leftovers) none() bool { return len(l.endpoints)+len(l.leases)+len(l.scratch) == 0 }

// show names what is left, and ends with the count.
func (l *leftovers) show(w io.Writer) {
	for _, list := range [][]string{l.endpoints, l.leases, l.scratch} {
		for _, text := range list {
			fmt.Fprintf(w, "left behind: %s\n", text)
		}
	}
	fmt.Fprintf(w, "leaked: %d endpoints, %d leases\n", len(l.endpoints), len(l.leases))
}

// newEndpoints returns the names of the endpoints that after has and before has
// not. Names are not unique in HNS, so it goes by id.
func newEndpoints(before, after *hns.Snapshot) ([]string, error) {
	type endpoint struct{ ID, Name string }
	known := map[string]bool{}
	for _, doc := range before.Endpoints {
		var e endpoint
		if err := json.Unmarshal(doc, &e); err != nil {
			return nil, err
		}
		known[strings.ToLower(e.ID)] = true
	}
	var out []string
	for _, doc := range after.Endpoints {
		var e endpoint
		if err := json.Unmarshal(doc, &e); err != nil {
			return nil, err
		}
		if !known[strings.ToLower(e.ID)] {
			out = append(out, e.Name)
		}
	}
	return out, nil
}

// filesBelow lists the files below dir but those that skip names, with their
// paths below dir. Without the directory there are none.
func filesBelow(dir string, skip func(name string) bool) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err != nil || d.IsDir() || skip != nil && skip(d.Name()) {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	return out, err
}

// isBookkeeping reports whether a file in a network's directory is host-local's
// own: its lock and, for each range set, the address it gave last. Every other
// one is a lease, named after its address.
func isBookkeeping(name string) bool {
	return name == "lock" || strings.HasPrefix(name, "last_reserved_ip.")
}
