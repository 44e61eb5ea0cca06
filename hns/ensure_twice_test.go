package hns_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Names of endpoints are not unique in HNS: calls that look at the same moment
// find nothing and would make two, which is ErrAmbiguous for ever.
func TestSameNameAtOnce(t *testing.T) {
	n := newNode(t, nil)
	const calls = 12
	var all sync.WaitGroup
	errs := make([]error, calls)
	for i := range calls {
		all.Add(1)
		go func() {
			defer all.Done()
			if i%3 == 0 {
				_, errs[i] = n.Attach(t.Context(), hns.Attachment{Name: "x", Network: n.lake, Namespace: podNS, Build: func(context.Context) (*hns.Endpoint, error) {
					return &hns.Endpoint{}, nil
				}})
			} else {
				_, _, errs[i] = n.Endpoints.Ensure(t.Context(), &hns.Endpoint{Name: "x", Network: n.lake}, nil)
			}
		}()
	}
	all.Wait()
	n.must(errors.Join(errs...))
	if got := n.endpoints(); len(got) != 1 {
		t.Errorf("%d endpoints", len(got))
	}
}

// A call that waits for its turn ends with its context.
func TestSameNameWaits(t *testing.T) {
	n := newNode(t, nil)
	release := make(chan struct{})
	building := make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := n.Attach(t.Context(), hns.Attachment{Name: "x", Network: n.lake, Namespace: podNS, Build: func(context.Context) (*hns.Endpoint, error) {
			close(building)
			<-release
			return &hns.Endpoint{}, nil
		}})
		done <- err
	}()
	<-building
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := n.Endpoints.Ensure(ctx, &hns.Endpoint{Name: "x", Network: n.lake}, nil)
	wantIs(t, err, hns.ErrNotSent)
	_, _, err = n.Endpoints.Ensure(t.Context(), &hns.Endpoint{Name: "y", Network: n.lake}, nil) // another name
	n.must(err)
	close(release)
	n.must(<-done)
	_, _, err = n.Endpoints.Ensure(t.Context(), &hns.Endpoint{Name: "x", Network: n.lake}, nil)
	n.must(err)
}

// Another program makes an endpoint of the name between the look and the create.
// Both notice after their creates; the one with the greater id goes.
func TestSameNameOfAnotherProgram(t *testing.T) {
	least, greatest := mustID("00000000-0000-4000-8000-000000000001"), mustID("ffffffff-ffff-4fff-bfff-ffffffffffff")
	tests := []struct {
		name   string
		theirs hns.ID
		leaves bool // the other program notices too, and takes its own back
		stays  bool // theirs is the one in the end
	}{
		{"theirs is smaller", least, false, true},
		{"theirs is greater and goes", greatest, true, false},
		// It looked before ours was there, so it will never know.
		{"theirs is greater and stays", greatest, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // it waits
			n := newNode(t, nil)
			other := hns.New(n.h, nil)
			h, looks := n.rec.Backend, 0
			n.rec.Backend = backend(func(r hns.Request) (hns.Response, error) {
				resp, err := h.Do(r)
				switch {
				case r.Kind != hns.KindEndpoint:
				case r.Verb == hns.VerbCreate:
					_, errOther := other.Endpoints.Create(t.Context(), &hns.Endpoint{ID: tt.theirs, Name: "x", Network: n.lake})
					if errOther != nil {
						t.Error(errOther)
					}
				case r.Verb == hns.VerbList:
					if looks++; looks == 3 && tt.leaves { // before the create, after it, and once more
						if errOther := other.Endpoints.Delete(t.Context(), tt.theirs); errOther != nil {
							t.Error(errOther)
						}
					}
				}
				return resp, err
			})
			got, d, err := n.Endpoints.Ensure(t.Context(), &hns.Endpoint{Name: "x", Network: n.lake}, nil)
			n.must(err)
			if all := n.endpoints(); len(all) != 1 || all[0].ID != got.ID || (got.ID == tt.theirs) != tt.stays {
				t.Errorf("got %s, %s; HNS has %v", got.ID, d, all)
			}
			if want := map[bool]hns.Action{true: hns.ActionKeep, false: hns.ActionCreate}[tt.stays]; d.Action != want {
				t.Errorf("decision %s", d)
			}
		})
	}

	// Theirs is not as wanted: it is refused, and ours is gone all the same.
	n := newNode(t, nil)
	h := n.rec.Backend
	n.rec.Backend = backend(func(r hns.Request) (hns.Response, error) {
		resp, err := h.Do(r)
		if r.Verb == hns.VerbCreate {
			_, errOther := hns.New(n.h, nil).Endpoints.Create(t.Context(), &hns.Endpoint{ID: least, Name: "x", Network: n.lake})
			if errOther != nil {
				t.Error(errOther)
			}
		}
		return resp, err
	})
	_, d, err := n.Endpoints.Ensure(t.Context(), &hns.Endpoint{Name: "x", Network: n.lake, DNS: hns.DNS{Domain: "example"}}, nil)
	wantIs(t, err, hns.ErrDrift)
	decided(t, d, hns.ActionRefuse, "Dns.Domain")
	if all := n.endpoints(); len(all) != 1 || all[0].ID != least {
		t.Errorf("HNS has %v", all)
	}

	// The look after the create fails: the endpoint is made.
	n = newNode(t, nil)
	n.h.Inject(emulator.Fault{Verb: hns.VerbList, Kind: hns.KindEndpoint, Nth: 2, Code: hns.CodeRPCUnavailable})
	_, d, err = n.Endpoints.Ensure(t.Context(), &hns.Endpoint{Name: "x", Network: n.lake}, nil)
	n.must(err)
	decided(t, d, hns.ActionCreate)
}
