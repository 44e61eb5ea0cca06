package emulator

import (
	"maps"

	"github.com/hnskit/hnskit/hns"
)

// Vanish removes an object behind the back of HNS's callers, as an
// administrator, another program, or HNS itself may do: it is no call, so no
// fault hits it and the stopped service does not matter, and nothing holds the
// object, be it a container in a namespace or a load balancer over an endpoint.
// What goes along with it in a delete goes along here. The error is a
// *hns.BackendError: HNS's own code for an object that is not there, a cause
// for a state file that cannot be used.
func (h *HNS) Vanish(kind hns.Kind, id hns.ID) error {
	r := hns.Request{Verb: hns.VerbDelete, Kind: kind, ID: id}
	err := h.exclusive(func() error {
		tx := h.tx()
		switch kind {
		case hns.KindEndpoint:
			e, err := tx.findEndpoint(id)
			if err != nil {
				return err
			}
			tx.dropEndpoint(e)
			return nil
		case hns.KindNamespace:
			n, err := tx.findNamespace(id)
			if err != nil {
				return err
			}
			tx.dropNamespace(n)
			return nil
		}
		_, err := tx.run(r)
		return err
	})
	if err != nil {
		return h.wrap(r, err)
	}
	return nil
}

// Ghost makes HNS disagree with itself about networks of a name
// (microsoft/hcsshim#850): none is shown any more, one that was there is gone
// with its endpoints, and yet a create says that one exists. A restart of the
// service or the host mends it. The error is of the state file; nil in memory.
func (h *HNS) Ghost(network string) error {
	return h.exclusive(func() error {
		tx := h.tx()
		for _, n := range tx.networksNamed(network, tx.opts.NetworkNamesIgnoreCase) {
			if err := tx.deleteNetwork(n.id); err != nil {
				return err
			}
		}
		ghosts := maps.Clone(tx.ghosts)
		ghosts[network] = true
		tx.setGhosts(ghosts)
		return nil
	})
}

// LoseSwitch removes the virtual switch below a network by hand: the network is
// still shown, and nothing can be attached to it any more. The error is that of
// Vanish.
func (h *HNS) LoseSwitch(network hns.ID) error {
	err := h.exclusive(func() error {
		tx := h.tx()
		n, err := tx.findNetwork(network)
		if err != nil {
			return err
		}
		c := *n
		c.private.NoSwitch = true
		tx.putNetwork(&c)
		return nil
	})
	if err != nil {
		return h.wrap(hns.Request{Kind: hns.KindNetwork, ID: network}, err)
	}
	return nil
}
