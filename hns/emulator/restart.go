package emulator

import "github.com/hnskit/hnskit/hns"

// flagNonPersistent and flagPersistent are NetworkFlags.
const (
	flagNonPersistent = 8
	flagPersistent    = 16
)

// Stop stops the service: every call fails until Start.
func (h *HNS) Stop() { h.setStopped(true) }

// Start starts the stopped service, with the state it had.
func (h *HNS) Start() { h.setStopped(false) }

func (h *HNS) setStopped(v bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = v
}

// Restart stops and starts the service: it reads all its objects back, and
// ghosts are gone. The error is of the state file; nil in memory.
func (h *HNS) Restart() error {
	err := h.exclusive(func() error {
		tx := h.tx()
		tx.exorcise()
		if h.opts.RestartDetaches {
			tx.losePorts()
		}
		return nil
	})
	h.setStopped(false)
	return err
}

// Reboot restarts the host: NAT and non-persistent networks are gone with
// their endpoints, load balancers and routes, and so are all namespaces but the
// host's own. The endpoints of the other networks come back, attached to
// nothing, and with them load balancers and routes. The error is of the state
// file; nil in memory.
func (h *HNS) Reboot() error {
	err := h.exclusive(func() error {
		tx := h.tx()
		tx.exorcise()
		tx.losePorts()
		tx.emptyNamespaces()
		for _, n := range tx.allNetworks() {
			persists := n.kind != typeNAT || n.flags&flagPersistent != 0
			if !persists || n.flags&flagNonPersistent != 0 {
				if err := tx.deleteNetwork(n.id); err != nil {
					return err
				}
			}
		}
		for _, n := range tx.allNamespaces() {
			if n.number != hostCompartment {
				tx.removeNamespace(n)
			}
		}
		return nil
	})
	h.setStopped(false)
	return err
}

// exorcise ends the memory of ghosts.
func (tx *tx) exorcise() {
	if len(tx.ghosts) > 0 {
		tx.setGhosts(map[string]bool{})
	}
}

// losePorts takes the switch port of every endpoint. What is in a namespace
// still says so, but only adding it there once more attaches it.
func (tx *tx) losePorts() {
	for _, e := range tx.allEndpoints() {
		if !e.attached() {
			continue
		}
		c := e.detached()
		c.namespace = e.namespace
		if c.state == stateDetached {
			c.state = stateCreated
		}
		tx.putEndpoint(c)
	}
}

// emptyNamespaces takes every endpoint and container out of its namespace.
func (tx *tx) emptyNamespaces() {
	for _, e := range tx.allEndpoints() {
		if !e.namespace.IsZero() {
			c := *e
			c.namespace = hns.ID{}
			tx.putEndpoint(&c)
		}
	}
	for _, n := range tx.allNamespaces() {
		if len(n.resources) > 0 {
			c := *n
			c.resources = nil
			tx.putNamespace(&c)
		}
	}
}

// Adapters returns the adapters of the host as they are now, with the vNICs
// that HNS made. An adapter below a virtual switch has given its addresses to
// the vNIC "vEthernet (<adapter>)"; NAT, ICS and Internal networks have
// "vEthernet (<network>)", and endpoints attached to the host
// "vEthernet (<endpoint>)".
func (h *HNS) Adapters() ([]Adapter, error) {
	var out []Adapter
	err := h.exclusive(func() error {
		out = h.tx().adapters()
		return nil
	})
	return out, err
}
