package emulator

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"sync"

	"github.com/hnskit/hnskit/hns"
)

// HNS is an emulated Host Networking Service. Its methods may be called from
// several goroutines at once. Make one with [New] or [Open].
type HNS struct {
	serial sync.Mutex // held for a whole call when HNS works in series

	mu      sync.Mutex // guards what follows
	given   Options    // as the caller gave them
	opts    Options    // with defaults; those of the file in file mode
	file    *stateFile // nil in memory
	store   *store
	stopped bool

	faults faults
	log    callLog
}

var _ hns.Backend = (*HNS)(nil)

// New returns an HNS without networks, held in memory. nil options are the
// defaults.
func New(opts *Options) *HNS {
	h := &HNS{store: newStore()}
	if opts != nil {
		h.given = *opts
	}
	h.opts = h.given.withDefaults()
	h.populate()
	return h
}

// populate makes what a fresh host has.
func (h *HNS) populate() {
	h.store.counter.Compartment = hostCompartment
	if !h.opts.HostNamespace {
		return
	}
	tx := h.tx()
	n := &namespace{id: tx.newID(), number: hostCompartment, seq: tx.nextSeq()}
	n.private.Seq = n.seq
	n.doc = append(tx.base(n.id, "", &reader{}),
		member{"State", number(1)}, member{"NamespaceId", nil}, member{"Type", quote("HostDefault")}, member{"Resources", nil})
	tx.putNamespace(n)
	tx.commit()
}

// tx is an operation at work on the store.
type tx struct {
	*store
	opts    *Options
	version hns.Version
	residue func() // what a failed operation leaves behind; nil for nothing
}

func (h *HNS) tx() *tx { return &tx{store: h.store, opts: &h.opts, version: h.opts.Version} }

// Do carries out one request, wholly or not at all. A failure is a
// *hns.BackendError with the code that HNS gives.
func (h *HNS) Do(r hns.Request) (hns.Response, error) {
	call := h.log.add(r)
	if h.series() {
		h.serial.Lock()
		defer h.serial.Unlock()
	}
	docs, err := h.do(r)
	if err != nil {
		err = h.wrap(r, err)
		call.end(err)
		return hns.Response{}, err
	}
	call.end(nil)
	return hns.Response{Documents: docs}, nil
}

func (h *HNS) series() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opts.Serial
}

func (h *HNS) do(r hns.Request) ([]json.RawMessage, error) {
	hit := h.faults.match(r)
	if err := hit.before(); err != nil {
		return nil, err
	}
	var docs []json.RawMessage
	var failed error
	err := h.exclusive(func() (err error) {
		if h.stopped {
			return failure(h.opts.stoppedCode())
		}
		tx := h.tx()
		docs, err = tx.run(r)
		if err != nil && tx.residue != nil {
			tx.rollback()
			tx.residue()
			failed, err = err, nil
		}
		return err
	})
	if err == nil {
		err = failed
	}
	if late := hit.after(); late != nil {
		err = late
	}
	return docs, err
}

// wrap turns a failure into what a Backend returns.
func (h *HNS) wrap(r hns.Request, err error) error {
	h.mu.Lock()
	opts := h.opts
	h.mu.Unlock()
	var e *hns.BackendError
	var code failure
	var more detail
	var fault injected
	switch {
	case errors.As(err, &code):
		e = &hns.BackendError{Code: hns.Code(code), Text: opts.text(hns.Code(code))}
		if errors.As(err, &more) {
			e.Text += more.text
		}
	case errors.As(err, &fault):
		e = &hns.BackendError{Code: fault.code, Text: fault.text}
		if e.Text == "" {
			e.Text = opts.text(e.Code)
		}
	default:
		return &hns.BackendError{Err: err}
	}
	if r.Verb == hns.VerbCall && opts.V1TextErrors {
		e.Code = 0
	}
	return e
}

// operations are the verbs of one kind of object.
type operations struct {
	list   func(*tx, string) ([]json.RawMessage, error)
	get    func(*tx, hns.ID) (json.RawMessage, error)
	create func(*tx, hns.Request) (json.RawMessage, error)
	modify func(*tx, hns.ID, json.RawMessage) error
	remove func(*tx, hns.ID) error
}

// kinds holds the operations of every kind of object.
var kinds = map[hns.Kind]operations{
	hns.KindNetwork: {
		(*tx).listNetworks, (*tx).getNetwork, (*tx).createNetwork, (*tx).modifyNetwork, (*tx).deleteNetwork,
	},
	hns.KindEndpoint: {
		(*tx).listEndpoints, (*tx).getEndpoint, (*tx).createEndpoint, (*tx).modifyEndpoint, (*tx).deleteEndpoint,
	},
	hns.KindNamespace: {
		(*tx).listNamespaces, (*tx).getNamespace, (*tx).createNamespace, (*tx).modifyNamespace, (*tx).deleteNamespace,
	},
	hns.KindLoadBalancer: {
		(*tx).listLoadBalancers, (*tx).getLoadBalancer, (*tx).createLoadBalancer, (*tx).modifyLoadBalancer, (*tx).deleteLoadBalancer,
	},
	hns.KindRoute: {
		(*tx).listRoutes, (*tx).getRoute, (*tx).createRoute, (*tx).modifyRoute, (*tx).deleteRoute,
	},
}

func (tx *tx) run(r hns.Request) ([]json.RawMessage, error) {
	if r.Verb == hns.VerbCall {
		return tx.call(r)
	}
	ops, ok := kinds[r.Kind]
	if !ok {
		return nil, failure(hns.CodeNotImplemented)
	}
	switch r.Verb {
	case hns.VerbList:
		return ops.list(tx, r.Filter)
	case hns.VerbGet:
		return single(ops.get(tx, r.ID))
	case hns.VerbCreate:
		return single(ops.create(tx, r))
	case hns.VerbModify:
		return nil, ops.modify(tx, r.ID, r.Document)
	case hns.VerbDelete:
		return nil, ops.remove(tx, r.ID)
	}
	return nil, failure(hns.CodeNotImplemented)
}

func single(doc json.RawMessage, err error) ([]json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return []json.RawMessage{doc}, nil
}

// newObjectID returns the id of a new object: the one asked for beside the
// document, the one in it, or a new one.
func (tx *tx) newObjectID(asked hns.ID, r *reader) (hns.ID, error) {
	id, err := r.id("ID")
	switch {
	case err != nil:
		return id, err
	case !asked.IsZero():
		return asked, nil
	case !id.IsZero():
		return id, nil
	}
	return tx.newID(), nil
}

// newID returns an id that no object has; with a seed always the same ones.
func (tx *tx) newID() hns.ID {
	for {
		var b [16]byte
		tx.fill(b[:])
		id := guid(b)
		if tx.networks[id] == nil && tx.endpoints[id] == nil && tx.namespaces[id] == nil && tx.lists[id] == nil {
			return id
		}
	}
}

// guid makes random bits a GUID of version 5, as HNS makes them.
func guid(b [16]byte) hns.ID {
	b[6] = b[6]&0x0f | 0x50
	b[8] = b[8]&0x3f | 0x80
	return hns.ID(b)
}

// random returns a number of so many bits.
func (tx *tx) random(bits int) uint64 {
	var b [8]byte
	tx.fill(b[:])
	return binary.BigEndian.Uint64(b[:]) >> (64 - bits)
}

// fill fills b, of at most 32 bytes, from the seed, or at random without one.
func (tx *tx) fill(b []byte) {
	if tx.opts.Seed == 0 {
		_, _ = rand.Read(b) // never fails
		return
	}
	tx.count(func(c *counters) { c.IDs++ })
	var in [16]byte
	binary.BigEndian.PutUint64(in[:], tx.opts.Seed)
	binary.BigEndian.PutUint64(in[8:], tx.counter.IDs)
	sum := sha256.Sum256(in[:])
	copy(b, sum[:])
}
