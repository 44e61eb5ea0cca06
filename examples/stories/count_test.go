package stories_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// What is left is counted from the files themselves, not by the code that has
// to have cleaned up.

// podEndpoints returns the names of all endpoints that are not bystanders.
func (n *node) podEndpoints() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(n.work, "hns.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var state struct {
		Endpoints []struct{ ID, Name string }
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, err
	}
	var out []string
	for _, e := range state.Endpoints {
		if !slices.Contains(n.bystanders, strings.ToLower(e.ID)) {
			out = append(out, e.Name)
		}
	}
	return out, nil
}

// files lists the files below a directory of the story; none if there is none.
func (n *node) files(dir string) (out []string, err error) {
	root := filepath.Join(n.work, dir)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return nil
		}
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

// leases lists host-local's leases: each file but its lock and the addresses it
// gave last.
func (n *node) leases() ([]string, error) {
	all, err := n.files("leases")
	return slices.DeleteFunc(all, func(path string) bool {
		name := filepath.Base(path)
		return name == "lock" || strings.HasPrefix(name, "last_reserved_ip.")
	}), err
}

func (n *node) scratch() ([]string, error) { return n.files("scratch") }

// count checks how many there are of something.
func count(ts *testscript.TestScript, neg bool, what string, args []string, list func() ([]string, error)) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: %s N", what)
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, err := list()
	ts.Check(err)
	if len(got) != want {
		ts.Fatalf("%d %s, want %d: %v", len(got), what, want, got)
	}
}

func cmdEndpoints(ts *testscript.TestScript, neg bool, args []string) {
	count(ts, neg, "endpoints", args, nodeOf(ts).podEndpoints)
}

func cmdLeases(ts *testscript.TestScript, neg bool, args []string) {
	count(ts, neg, "leases", args, nodeOf(ts).leases)
}

func cmdScratch(ts *testscript.TestScript, neg bool, args []string) {
	count(ts, neg, "scratch", args, nodeOf(ts).scratch)
}

// cmdDistinct fails unless N pods have an address and a MAC address that no
// other endpoint of the node has, and the last cni-all printed just these
// addresses.
func cmdDistinct(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: distinct N")
	}
	var state struct {
		Endpoints []struct {
			Name, MacAddress string
			IpConfigurations []struct{ IpAddress string }
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("hns.json")), &state))
	owner := map[string]string{}
	pods := 0
	printed := strings.Fields(ts.ReadFile("stdout"))
	for _, e := range state.Endpoints {
		has := []string{e.MacAddress}
		for _, a := range e.IpConfigurations {
			has = append(has, a.IpAddress)
			if slices.Contains(printed, a.IpAddress) {
				pods++
			}
		}
		for _, value := range has {
			if other, ok := owner[value]; ok {
				ts.Fatalf("%s and %s both have %s", other, e.Name, value)
			}
			owner[value] = e.Name
		}
	}
	if args[0] != strconv.Itoa(pods) || len(printed) != pods {
		ts.Fatalf("%d endpoints have one of the %d addresses printed, want %s", pods, len(printed), args[0])
	}
}

// cmdClean fails if a pod's endpoint, lease, scratch or lock file is left, or a
// namespace holds an endpoint.
func cmdClean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: clean")
	}
	n := nodeOf(ts)
	var left []string
	for _, list := range []func() ([]string, error){n.podEndpoints, n.leases, n.scratch, n.strays} {
		got, err := list()
		ts.Check(err)
		left = append(left, got...)
	}
	if len(left) > 0 {
		ts.Fatalf("left behind: %v", left)
	}
}

// strays lists endpoints in namespaces, and files in the places for locks: a lock
// file goes with its lock.
func (n *node) strays() (out []string, err error) {
	_, errStat := os.Stat(filepath.Join(n.work, "hns.json"))
	if errStat == nil {
		_, c, err := n.open()
		if err != nil {
			return nil, err
		}
		all, err := c.Namespaces.List(context.Background())
		if err != nil {
			return nil, err
		}
		for _, ns := range all {
			for _, e := range ns.Endpoints() {
				out = append(out, fmt.Sprintf("endpoint %s in namespace %s", e, ns.ID))
			}
		}
	}
	for _, dir := range []string{".tmp", "state"} {
		files, err := n.files(dir)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}
