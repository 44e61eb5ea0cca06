package native

import (
	"fmt"
	"sync"

	"github.com/hnskit/hnskit/hns"
)

// handles is the table of open handles. A handle names an object by id, so it
// outlives the object: calls on it then give the code for "not found". The
// zero value is empty.
type handles struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]object
}

type object struct {
	kind hns.Kind
	id   hns.ID
}

// add opens a handle. No number is given out twice, so that use after close
// is always noticed; numbers are multiples of four, as in Windows.
func (h *handles) add(k hns.Kind, id hns.ID) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = make(map[uint64]object)
	}
	h.last += 4
	h.open[h.last] = object{k, id}
	return h.last
}

// object returns the id behind a handle of that kind.
func (h *handles) object(k hns.Kind, handle uint64) (hns.ID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.look(k, handle)
}

// remove closes a handle of that kind and returns the id it had.
func (h *handles) remove(k hns.Kind, handle uint64) (hns.ID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, err := h.look(k, handle)
	if err == nil {
		delete(h.open, handle)
	}
	return id, err
}

// look must be called with the lock held.
func (h *handles) look(k hns.Kind, handle uint64) (hns.ID, error) {
	o, ok := h.open[handle]
	if !ok {
		return hns.ID{}, badHandle(fmt.Sprintf("%s handle %#x is not open", k, handle))
	}
	if o.kind != k {
		return hns.ID{}, badHandle(fmt.Sprintf("handle %#x is of a %s, not of a %s", handle, o.kind, k))
	}
	return o.id, nil
}

func badHandle(text string) error {
	return &hns.BackendError{Code: codeHandle, Text: text}
}
