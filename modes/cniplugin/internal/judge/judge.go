// Package judge tells what a verb of a plugin left on a node, or took from
// somebody else, from HNS's state and from files alone. Tests of plugins use it:
// it knows none of the code that has to have cleaned up.
package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Scene is what there is on a node at one moment.
type Scene struct {
	// Objects are HNS's, by kind and id ("Endpoints/2f3a…"), as indented JSON.
	Objects map[string]string
	// Leases are those of host-local's kind, by network and address
	// ("lake/10.50.3.3"), with their owner, "container/interface".
	Leases map[string]string
	// Files are the plugin's own, by path, with what is in them.
	Files map[string]string

	endpoints []endpoint
	leased    bool // whether addresses come with leases
}

// endpoint is what the judge reads of one.
type endpoint struct {
	ID, Name             string
	HostComputeNamespace string
	IpConfigurations     []struct{ IpAddress string }
}

// Place says where to look.
type Place struct {
	// Store is the state of HNS: the text form of a snapshot, or a state file.
	Store []byte
	// Leases is the directory with a directory of leases for each network; empty
	// if HNS gives the addresses. State is the plugin's directory.
	Leases, State string
}

// Look reads a node.
func Look(p Place) (*Scene, error) {
	s := &Scene{Objects: map[string]string{}, Leases: map[string]string{}, leased: p.Leases != ""}
	var store map[string]json.RawMessage
	if err := json.Unmarshal(p.Store, &store); err != nil {
		return nil, fmt.Errorf("state of HNS: %w", err)
	}
	for _, kind := range []string{"Networks", "Endpoints", "Namespaces", "LoadBalancers", "Routes"} {
		if err := s.objects(kind, store[kind]); err != nil {
			return nil, fmt.Errorf("state of HNS: %s: %w", kind, err)
		}
	}
	var err error
	if s.Files, err = tree(p.State); err != nil {
		return nil, err
	}
	if !s.leased {
		return s, nil
	}
	files, err := tree(p.Leases)
	if err != nil {
		return nil, err
	}
	for path, text := range files {
		name := path[strings.LastIndex(path, "/")+1:]
		if name == "lock" || strings.HasPrefix(name, "last_reserved_ip.") {
			continue // host-local keeps these
		}
		// On Windows host-local writes "_" for ":".
		s.Leases[strings.ReplaceAll(path, "_", ":")] = strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "/")
	}
	return s, nil
}

func (s *Scene) objects(kind string, list json.RawMessage) error {
	if len(list) == 0 {
		return nil
	}
	var docs []json.RawMessage
	if err := json.Unmarshal(list, &docs); err != nil {
		return err
	}
	for _, doc := range docs {
		var e endpoint
		var text bytes.Buffer
		if err := errors.Join(json.Unmarshal(doc, &e), json.Indent(&text, doc, "", " ")); err != nil {
			return err
		}
		s.Objects[kind+"/"+strings.ToLower(e.ID)] = text.String()
		if kind == "Endpoints" {
			s.endpoints = append(s.endpoints, e)
		}
	}
	return nil
}

// tree returns the files below a directory by path; none if there is none.
func tree(root string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		out[filepath.ToSlash(rel)] = string(text)
		return err
	})
	return out, err
}

// Verdict compares the node as it must be with what it is now: what is left of
// the pod, and what of others is gone or has changed. Nothing is as it must be.
func (s *Scene) Verdict(now *Scene) []string {
	var out []string
	for _, part := range []struct {
		what      string
		want, got map[string]string
	}{{"", s.Objects, now.Objects}, {"lease ", s.Leases, now.Leases}, {"file ", s.Files, now.Files}} {
		for _, key := range slices.Sorted(maps.Keys(part.got)) {
			switch old, ok := part.want[key]; {
			case !ok:
				out = append(out, fmt.Sprintf("left: %s%s: %s", part.what, key, oneLine(part.got[key])))
			case old != part.got[key]:
				out = append(out, fmt.Sprintf("changed: %s%s: %s, was %s", part.what, key, oneLine(part.got[key]), oneLine(old)))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(part.want)) {
			if _, ok := part.got[key]; !ok {
				out = append(out, fmt.Sprintf("gone: %s%s: %s", part.what, key, oneLine(part.want[key])))
			}
		}
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// New returns the endpoints that are not in s, by name, and how many of them are
// in a namespace.
func (s *Scene) New(now *Scene) (names []string, attached int) {
	for _, e := range s.added(now) {
		names = append(names, e.Name)
		if strings.Trim(e.HostComputeNamespace, "0-") != "" {
			attached++
		}
	}
	return names, attached
}

func (s *Scene) added(now *Scene) (out []endpoint) {
	for _, e := range now.endpoints {
		if _, ok := s.Objects["Endpoints/"+strings.ToLower(e.ID)]; !ok {
			out = append(out, e)
		}
	}
	return out
}

// Unsafe returns the addresses that endpoints have which are not in s, though
// they are free for another pod, or another's: the address of an endpoint must
// have a lease, and the endpoint's name is "container_network".
func (s *Scene) Unsafe(now *Scene) (out []string) {
	for _, e := range s.added(now) {
		for _, c := range e.IpConfigurations {
			if now.leased && !now.holds(e.Name, c.IpAddress) {
				out = append(out, fmt.Sprintf("endpoint %s has %s, which it has no lease for", e.Name, c.IpAddress))
			}
		}
	}
	return out
}

func (s *Scene) holds(endpoint, address string) bool {
	for key, owner := range s.Leases {
		network, a, _ := strings.Cut(key, "/")
		container, _, _ := strings.Cut(owner, "/")
		if a == address && container+"_"+network == endpoint {
			return true
		}
	}
	return false
}

// Doubles returns what two endpoints have though it is for one: a name, an
// address, a MAC address; and attachments that have two leases.
func (s *Scene) Doubles() []string {
	seen := map[string]int{}
	for key, text := range s.Objects {
		if !strings.HasPrefix(key, "Endpoints/") {
			continue
		}
		var e struct {
			Name, MacAddress, HostComputeNetwork string
			IpConfigurations                     []struct{ IpAddress string }
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			seen[key+": "+err.Error()] += 2
			continue
		}
		seen["name "+e.Name]++
		seen["MAC address "+e.MacAddress]++
		for _, c := range e.IpConfigurations {
			seen["address "+c.IpAddress+" on "+e.HostComputeNetwork]++
		}
	}
	for key, owner := range s.Leases {
		network, _, _ := strings.Cut(key, "/")
		seen["lease of "+owner+" on "+network]++
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		if seen[what] > 1 {
			out = append(out, what)
		}
	}
	return out
}
