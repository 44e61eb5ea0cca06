package emulator

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

// Restart stops and starts the service: it reads its networks, endpoints and
// namespaces back. With Options.RestartDetaches endpoints are then attached to
// nothing. The error is of the state file; nil in memory.
func (h *HNS) Restart() error {
	err := h.exclusive(func() error {
		if h.opts.RestartDetaches {
			h.tx().detachAll()
		}
		return nil
	})
	h.setStopped(false)
	return err
}

// Reboot restarts the host: NAT and non-persistent networks are gone with
// their endpoints, and so are all namespaces but the host's own. The endpoints
// of the other networks come back, attached to nothing. The error is of the
// state file; nil in memory.
func (h *HNS) Reboot() error {
	err := h.exclusive(func() error {
		tx := h.tx()
		tx.detachAll()
		for _, n := range tx.allNetworks() {
			persists := n.kind != typeNAT || n.flags&flagPersistent != 0
			if !persists || n.flags&flagNonPersistent != 0 {
				if err := tx.deleteNetwork(n.id); err != nil {
					return err
				}
			}
		}
		for _, n := range tx.allNamespaces() {
			if n.number != 1 {
				tx.removeNamespace(n)
			}
		}
		return nil
	})
	h.setStopped(false)
	return err
}

// detachAll takes every endpoint out of its namespace, machine or container.
func (tx *tx) detachAll() {
	for _, e := range tx.allEndpoints() {
		if e.attached() {
			c := e.detached()
			if c.state == stateDetached {
				c.state = stateCreated
			}
			tx.putEndpoint(c)
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
