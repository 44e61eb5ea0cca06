package native_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

const eHandle hns.Code = 0x80070006

func TestHandles(t *testing.T) {
	api, b := newAPI()
	first := opened(t, api, b, hns.KindNetwork, netID)
	second := opened(t, api, b, hns.KindNetwork, netID)
	if first == second {
		t.Fatal("two opens gave one handle")
	}
	if a := api.Close(hns.KindNetwork, first); a.Code != 0 {
		t.Fatalf("close: %+v", a)
	}
	if a := api.Query(hns.KindNetwork, second, ""); a.Code != 0 {
		t.Errorf("closing one handle closed the other: %+v", a)
	}
	third := opened(t, api, b, hns.KindNetwork, netID)
	if third == first {
		t.Error("a closed handle was given out again: use after close goes unnoticed")
	}

	b.answer(`{"ID":"` + epID.String() + `"}`)
	for name, bad := range map[string]uint64{"closed": first, "zero": 0, "made up": 12345, "invalid handle value": ^uint64(0)} {
		t.Run(name, func(t *testing.T) {
			for what, code := range map[string]hns.Code{
				"query":           api.Query(hns.KindNetwork, bad, "").Code,
				"modify":          api.Modify(hns.KindNetwork, bad, "{}").Code,
				"close":           api.Close(hns.KindNetwork, bad).Code,
				"create endpoint": api.Create(hns.KindEndpoint, bad, hns.ID{}, "{}").Code,
			} {
				if code != eHandle {
					t.Errorf("%s: %s, want E_HANDLE", what, code)
				}
			}
		})
	}
	t.Run("of another kind", func(t *testing.T) {
		if a := api.Query(hns.KindEndpoint, second, ""); a.Code != eHandle {
			t.Errorf("query: %s, want E_HANDLE", a.Code)
		}
		if a := api.Close(hns.KindEndpoint, second); a.Code != eHandle {
			t.Errorf("close: %s, want E_HANDLE", a.Code)
		}
		if a := api.Close(hns.KindNetwork, second); a.Code != 0 {
			t.Errorf("the failed close closed it: %s", a.Code)
		}
	})
	if len(b.got) != 0 {
		t.Errorf("the backend was asked about bad handles: %+v", b.got)
	}
}

// A handle survives its object, and then says that the object is gone.
func TestHandleOfDeletedObject(t *testing.T) {
	api, b := newAPI()
	h := opened(t, api, b, hns.KindEndpoint, epID)
	if a := api.Delete(hns.KindEndpoint, epID); a.Code != 0 {
		t.Fatalf("delete: %+v", a)
	}
	b.err = &hns.BackendError{Code: hns.CodeEndpointNotFound, Text: "Gone."}
	if a := api.Query(hns.KindEndpoint, h, ""); a.Code != hns.CodeEndpointNotFound {
		t.Errorf("query: %s, want %s", a.Code, hns.CodeEndpointNotFound)
	}
	if a := api.Close(hns.KindEndpoint, h); a.Code != 0 {
		t.Errorf("close: %s", a.Code)
	}
}

// constant is a backend with one object, safe for concurrent use.
type constant string

func (c constant) Do(hns.Request) (hns.Response, error) {
	return hns.Response{Documents: []json.RawMessage{json.RawMessage(c)}}, nil
}

// Handles stay unique when many goroutines open and close at once.
func TestHandlesInParallel(t *testing.T) {
	api := native.New(constant(`{}`), nil)
	var mu sync.Mutex
	seen := make(map[uint64]bool)
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 100 {
				h := api.Open(hns.KindNetwork, netID).Handle
				if a := api.Close(hns.KindNetwork, h); a.Code != 0 {
					t.Errorf("close of handle %#x: %s", h, a.Code)
				}
				mu.Lock()
				if seen[h] {
					t.Errorf("handle %#x was given out twice", h)
				}
				seen[h] = true
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
}
