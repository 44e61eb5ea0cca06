package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// ErrAdapter says that the adapter for a network cannot be told. The error
// lists those that there are.
var ErrAdapter = errors.New("no one adapter for the network")

// adapter chooses the adapter of the network. Left to HNS the choice differs
// from time to time. For a network that is there a choice that fails does not
// matter: the address that it has is checked.
func (e *ensurer) adapter(ctx context.Context, s *Step) error {
	d := &e.plan.Description
	if d.Mode == modes.NAT {
		s.Action = ""
		return nil
	}
	err := e.patiently(ctx, func() (err error) {
		e.there, err = e.client.Networks.ByName(ctx, d.Name)
		return err
	})
	there := err == nil
	if err != nil && !errors.Is(err, hns.ErrNotFound) {
		return err
	}
	before, err := hostnet.Take(ctx, e.host)
	if err != nil {
		return err
	}
	a, err := chooseAdapter(d, before.Adapters)
	if there && errors.Is(err, ErrAdapter) {
		return nil
	}
	if err != nil {
		return err
	}
	e.state.Adapter = a.Name
	if !there {
		e.before = &before
	}
	return checkMTU(d, before.Adapters, a)
}

// checkMTU refuses a link that carries less than pods would send.
func checkMTU(d *Description, all []hostnet.Adapter, a hostnet.Adapter) error {
	for _, x := range all {
		if x.Name != a.Name && !slices.ContainsFunc(d.NodeAddresses, x.Has) {
			continue
		}
		if x.MTU > 0 && x.MTU < d.LinkMTU {
			return &hns.FieldError{Path: "LinkMTU", Value: fmt.Sprint(d.LinkMTU), Reason: fmt.Sprintf("adapter %q has an MTU of %d", x.Name, x.MTU)}
		}
	}
	return nil
}

// chooseAdapter goes by the name, then by the node's addresses, then by there
// being but one.
func chooseAdapter(d *Description, all []hostnet.Adapter) (hostnet.Adapter, error) {
	fail := func(format string, args ...any) (hostnet.Adapter, error) {
		return hostnet.Adapter{}, fmt.Errorf("%w: %s; there are %s", ErrAdapter, fmt.Sprintf(format, args...), describe(all))
	}
	if d.Adapter != "" {
		i := slices.IndexFunc(all, func(a hostnet.Adapter) bool { return strings.EqualFold(a.Name, d.Adapter) })
		switch {
		case i < 0:
			return fail("none is called %q", d.Adapter)
		case all[i].Virtual:
			return fail("%q is a vNIC, and networks are put on adapters with hardware", d.Adapter)
		}
		return all[i], nil
	}
	var found []hostnet.Adapter
	for _, a := range all {
		if len(d.NodeAddresses) == 0 && !a.Virtual || slices.ContainsFunc(d.NodeAddresses, a.Has) {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 0 && len(d.NodeAddresses) > 0:
		return fail("none has one of the node's addresses %v", d.NodeAddresses)
	case len(found) != 1:
		return fail("the description names none, and %d may be it", len(found))
	case !found[0].Virtual:
		return found[0], nil
	}
	if below, ok := below(found[0], all); ok {
		return below, nil
	}
	return fail("%q has the node's address, and which adapter is below it is not known", found[0].Name)
}

// below returns the adapter that a vNIC has taken the addresses of: HNS names
// the vNIC after it, and gives it the same MAC address.
func below(nic hostnet.Adapter, all []hostnet.Adapter) (hostnet.Adapter, bool) {
	i := slices.IndexFunc(all, func(a hostnet.Adapter) bool {
		return !a.Virtual && strings.EqualFold("vEthernet ("+a.Name+")", nic.Name)
	})
	if i < 0 && slices.ContainsFunc(nic.MAC, func(b byte) bool { return b != 0 }) {
		i = slices.IndexFunc(all, func(a hostnet.Adapter) bool { return !a.Virtual && slices.Equal(a.MAC, nic.MAC) })
	}
	if i < 0 {
		return hostnet.Adapter{}, false
	}
	return all[i], true
}

func describe(all []hostnet.Adapter) string {
	var texts []string
	for _, a := range all {
		texts = append(texts, fmt.Sprintf("%q %v", a.Name, a.Addresses))
	}
	if texts == nil {
		return "none"
	}
	return strings.Join(texts, ", ")
}

func hostnetHas(a netip.Addr) func(hostnet.Adapter) bool {
	return func(x hostnet.Adapter) bool { return x.Has(a) }
}

// adapterWith waits for an adapter: Windows makes it, and moves addresses, a
// while after HNS has answered.
func (e *ensurer) adapterWith(ctx context.Context, is func(hostnet.Adapter) bool, what string) (hostnet.Adapter, error) {
	var wait time.Duration
	for {
		all, err := e.host.Adapters(ctx)
		if err != nil {
			return hostnet.Adapter{}, err
		}
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i], nil
		}
		if err := pause(ctx, &wait); err != nil {
			return hostnet.Adapter{}, fmt.Errorf("no adapter %s (there are %s): %w", what, describe(all), err)
		}
	}
}
