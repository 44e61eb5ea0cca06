package flows

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// State is what HNS holds on one node. Nobody but HNS changes it: a [World]
// only reads it.
type State struct {
	// Version of HNS; zero is unknown.
	Version       hns.Version
	Networks      []*hns.Network
	Endpoints     []*hns.Endpoint
	Namespaces    []*hns.Namespace
	LoadBalancers []*hns.LoadBalancer
	Routes        []*hns.SDNRouteObject
	// Unread are the documents that were no objects, such as "Endpoints[3]:
	// not a JSON object". A trace that could have met one says so.
	Unread []string
}

// StateOf reads the documents of a snapshot. Values that cannot be read are
// left out, as the hns package does it; what is no object at all is in Unread.
// A nil snapshot is an empty State.
func StateOf(s *hns.Snapshot) *State {
	out := &State{}
	if s == nil {
		return out
	}
	out.Version = s.Version
	out.Networks = decodeAll(out, "Networks", s.Networks, hns.DecodeNetwork)
	out.Endpoints = decodeAll(out, "Endpoints", s.Endpoints, hns.DecodeEndpoint)
	out.Namespaces = decodeAll(out, "Namespaces", s.Namespaces, hns.DecodeNamespace)
	out.LoadBalancers = decodeAll(out, "LoadBalancers", s.LoadBalancers, hns.DecodeLoadBalancer)
	out.Routes = decodeAll(out, "Routes", s.Routes, hns.DecodeSDNRouteObject)
	return out
}

func decodeAll[T any](s *State, kind string, docs []json.RawMessage, decode func([]byte) (*T, error)) []*T {
	var out []*T
	for i, d := range docs {
		o, err := decode(d)
		if err != nil {
			s.Unread = append(s.Unread, fmt.Sprintf("%s[%d]: %v", kind, i, err))
			continue
		}
		out = append(out, o)
	}
	return out
}

// ReadState reads the state of a live HNS.
func ReadState(ctx context.Context, c *hns.Client) (*State, error) {
	s, err := c.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return StateOf(s), nil
}

// SnapshotNode describes a Windows node of which only a snapshot is known. Its
// addresses are those that HNS notes on Overlay networks (ProviderAddress);
// for other modes give them, and [Windows.Host], where they are known.
func SnapshotNode(name string, s *hns.Snapshot) Node {
	n := Node{Name: name, Windows: &Windows{HNS: StateOf(s)}}
	for _, net := range n.Windows.HNS.Networks {
		if a := net.ProviderAddress(); a.IsValid() && !slices.Contains(n.Addresses, a) {
			n.Addresses = append(n.Addresses, a)
		}
	}
	return n
}
