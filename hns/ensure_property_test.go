package hns_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Whatever is wanted in whatever order: what Ensure did, it keeps when it is
// called again, and a dry run before it says what it will do.
func TestEnsureTwiceIsKeep(t *testing.T) {
	versions := []hns.Version{emulator.WindowsServer2019, emulator.WindowsServer2022, emulator.WindowsServer2025Serviced}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			n, pods := serviceNode(t, &emulator.Options{Version: versions[seed%3], Seed: seed + 1})
			r := rand.New(rand.NewPCG(seed, 1))
			for range 25 {
				o := hns.EnsureOptions{Drift: hns.Drift(r.IntN(3))}
				ensure := anyWant(t, n, r, pods)
				n.forget()
				dry := o
				dry.DryRun = true
				planned, errPlan := ensure(&dry)
				n.wantChanges()
				done, err := ensure(&o)
				if planned.String() != done.String() || (errPlan == nil) != (err == nil) {
					t.Fatalf("planned %s (%v), did %s (%v)", planned, errPlan, done, err)
				}
				if changed := len(n.changing()) > 0; changed != done.Changes() {
					t.Fatalf("%s with requests %v", done, n.changing())
				}
				if err != nil {
					continue
				}
				n.forget()
				again, err := ensure(&o)
				if again.Action != hns.ActionKeep || err != nil {
					t.Fatalf("after %s: %s, %v", done, again, err)
				}
				n.wantChanges()
			}
		})
	}
}

// anyWant returns an Ensure of something.
func anyWant(t *testing.T, n *node, r *rand.Rand, pods []hns.ID) func(*hns.EnsureOptions) (hns.Decision, error) {
	switch r.IntN(4) {
	case 0:
		w := anyNetwork(r)
		return func(o *hns.EnsureOptions) (hns.Decision, error) {
			_, d, err := n.Networks.Ensure(t.Context(), w, o)
			return d, err
		}
	case 1:
		w := anyEndpoint(n, r)
		host := r.IntN(2) == 0
		return func(o *hns.EnsureOptions) (d hns.Decision, err error) {
			if host {
				_, d, err = n.Endpoints.EnsureHost(t.Context(), w, o)
			} else {
				_, d, err = n.Endpoints.Ensure(t.Context(), w, o)
			}
			return d, err
		}
	case 2:
		w := &hns.Namespace{ID: hns.ID{9, byte(r.IntN(2))}, Type: []hns.NamespaceType{"", hns.NamespaceHost, hns.NamespaceGuest}[r.IntN(3)]}
		return func(o *hns.EnsureOptions) (hns.Decision, error) {
			_, d, err := n.Namespaces.Ensure(t.Context(), w, o)
			return d, err
		}
	}
	w := webService()
	for _, id := range pods {
		if r.IntN(2) == 0 {
			w.Endpoints = append(w.Endpoints, id)
		}
	}
	w.PortMappings[0].InternalPort = uint16(8443 + r.IntN(2))
	w.PortMappings[0].ExternalPort = uint16(443 + r.IntN(2))
	return func(o *hns.EnsureOptions) (hns.Decision, error) {
		_, d, err := n.LoadBalancers.Ensure(t.Context(), w, o)
		return d, err
	}
}

func anyNetwork(r *rand.Rand) *hns.Network {
	w := wantMoor(5000 + uint32(r.IntN(2)))
	if r.IntN(2) == 0 {
		w.Policies = append(w.Policies, hns.HostRoute{})
	}
	for i := range r.IntN(3) {
		w.Policies = append(w.Policies, route(fmt.Sprintf("10.60.%d.0/24", 7+i), fmt.Sprintf("192.0.2.%d", 7+r.IntN(3)), "4e-0a-00-00-00-07"))
	}
	if r.IntN(2) == 0 {
		w.DNS.ServerList = []string{fmt.Sprintf("10.96.0.%d", 10+r.IntN(2))}
	}
	return w
}

func anyEndpoint(n *node, r *rand.Rand) *hns.Endpoint {
	w := n.bridge()
	w.IPConfigs[0].Address = addr(fmt.Sprintf("10.50.3.%d", 202+r.IntN(2)))
	for range r.IntN(2) {
		w.Policies = append(w.Policies, hns.OutBoundNAT{Exceptions: []string{fmt.Sprintf("10.%d.0.0/16", r.IntN(3))}})
	}
	for i := range r.IntN(3) {
		w.Policies = append(w.Policies, hns.ACL{Action: hns.ACLAllow, Direction: hns.In, Priority: uint16(200 + i)})
	}
	return w
}
