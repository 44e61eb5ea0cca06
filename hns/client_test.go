package hns_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// gate is a Backend whose calls wait to be let through.
type gate struct {
	arrived chan hns.Request
	pass    chan hns.Response
}

func newGate() *gate {
	return &gate{make(chan hns.Request, 100), make(chan hns.Response)}
}

func (g *gate) Do(r hns.Request) (hns.Response, error) {
	g.arrived <- r
	return <-g.pass, nil
}

// watched is a context that tells when somebody waits for its end.
type watched struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func watch(ctx context.Context) *watched {
	return &watched{Context: ctx, asked: make(chan struct{})}
}

func (w *watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.asked) })
	return w.Context.Done()
}

// background runs f and returns where its error will be.
func background(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// settle waits until no call is out any more. It does not look at the clock; a
// goroutine that stays for ever lets the test time out.
func settle() {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if !bytes.Contains(stacks[:n], []byte("hns.(*Client).send.func")) {
			return
		}
		runtime.Gosched()
	}
}

func TestMaxInFlight(t *testing.T) {
	for _, max := range []int{0, 1, 3} {
		want := max
		if want == 0 {
			want = 16
		}
		var in, most atomic.Int64
		full := make(chan struct{})
		open := sync.OnceFunc(func() { close(full) })
		b := backend(func(hns.Request) (hns.Response, error) {
			n := in.Add(1)
			defer in.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if int(n) == want {
				open()
			}
			<-full // nobody leaves before as many as allowed are in
			return hns.Response{}, nil
		})
		c := hns.New(b, &hns.Options{MaxInFlight: max})
		var all sync.WaitGroup
		for range 4 * want {
			all.Add(1)
			go func() {
				defer all.Done()
				if _, err := c.Networks.List(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		all.Wait()
		if int(most.Load()) != want {
			t.Errorf("MaxInFlight %d: %d calls were out at once", max, most.Load())
		}
	}
}

// A call that hangs answers its caller at once when the context ends, names
// what hung, and keeps its place until HNS answers (Azure/azure-container-networking#358).
func TestHungCall(t *testing.T) {
	g := newGate()
	late := make(chan hns.LateResult, 1)
	c := hns.New(g, &hns.Options{MaxInFlight: 1, OnLate: func(r hns.LateResult) { late <- r }})

	ctx, cancel := context.WithCancel(t.Context())
	first := background(func() error { return c.Endpoints.Delete(ctx, podID) })
	<-g.arrived
	cancel()
	err := <-first
	wantIs(t, err, hns.ErrOutcomeUnknown)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "delete endpoint "+podID.String()) {
		t.Errorf("error %v", err)
	}

	ctx2, cancel2 := context.WithCancel(t.Context())
	waiting := watch(ctx2)
	second := background(func() error { _, err := c.Networks.List(waiting); return err })
	<-waiting.asked
	cancel2()
	err = <-second
	wantIs(t, err, hns.ErrNotSent)
	if !strings.Contains(err.Error(), "1 calls are out") {
		t.Errorf("error %v", err)
	}

	third := background(func() error { _, err := c.Networks.List(t.Context()); return err })
	g.pass <- hns.Response{Documents: []json.RawMessage{json.RawMessage(`"late"`)}}
	r := <-late
	if r.Request.Verb != hns.VerbDelete || r.Request.ID != podID || string(r.Response.Documents[0]) != `"late"` || r.Err != nil {
		t.Errorf("OnLate got %+v", r)
	}
	if q := <-g.arrived; q.Verb != hns.VerbList {
		t.Errorf("%s %s got the place that came free", q.Verb, q.Kind)
	}
	g.pass <- hns.Response{}
	if err := <-third; err != nil {
		t.Error(err)
	}
	settle()
	if len(late) > 0 || len(g.arrived) > 0 {
		t.Error("a call came twice, or OnLate for one that was in time")
	}
}

// A hung call blocks no other one.
func TestHungCallBlocksNoOther(t *testing.T) {
	hang := make(chan struct{})
	arrived := make(chan struct{})
	c := hns.New(backend(func(r hns.Request) (hns.Response, error) {
		if r.Verb == hns.VerbDelete {
			close(arrived)
			<-hang
		}
		return hns.Response{}, nil
	}), nil)
	hung := background(func() error { return c.Endpoints.Delete(t.Context(), podID) })
	<-arrived
	for range 100 {
		if _, err := c.Endpoints.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	close(hang)
	if err := <-hung; err != nil {
		t.Error(err)
	}
	settle()
}

// Whoever comes first, the answer or the end of the context: the result goes
// to the caller or to OnLate, never to both and never to neither.
func TestLateExactlyOnce(t *testing.T) {
	late := make(chan hns.LateResult, 1000)
	c := hns.New(answering(), &hns.Options{OnLate: func(r hns.LateResult) { late <- r }})
	unknown := 0
	for range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		done := background(func() error { _, err := c.Networks.List(ctx); return err })
		go cancel()
		err := <-done
		switch {
		case err == nil, errors.Is(err, hns.ErrNotSent):
		case errors.Is(err, hns.ErrOutcomeUnknown):
			unknown++
		default:
			t.Fatal(err)
		}
	}
	settle()
	if len(late) != unknown {
		t.Errorf("%d calls ended unknown, OnLate was called %d times", unknown, len(late))
	}
}

// A failure that comes late is told too.
func TestLateFailure(t *testing.T) {
	arrived, pass := make(chan struct{}), make(chan struct{})
	late := make(chan hns.LateResult, 1)
	c := hns.New(backend(func(r hns.Request) (hns.Response, error) {
		close(arrived)
		<-pass
		return failing(hns.CodeEndpointNotFound, "")(r)
	}), &hns.Options{OnLate: func(r hns.LateResult) { late <- r }})
	ctx, cancel := context.WithCancel(t.Context())
	done := background(func() error { return c.Endpoints.Delete(ctx, podID) })
	<-arrived
	cancel()
	<-done
	close(pass)
	var be *hns.BackendError
	if r := <-late; !errors.As(r.Err, &be) || be.Code != hns.CodeEndpointNotFound {
		t.Errorf("OnLate got %+v", r)
	}
}

func TestDoneContextIsNotSent(t *testing.T) {
	rec := &recorder{Backend: answering()}
	c := hns.New(rec, &hns.Options{OnLate: func(hns.LateResult) { t.Error("OnLate was called") }})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, do := range operations {
		err := do(ctx, c)
		wantIs(t, err, hns.ErrNotSent)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	same(t, "requests", nil, rec.verbs())
}

// ending is a context that ends between two looks at it.
type ending struct {
	context.Context
	looks int
}

func (e *ending) Err() error {
	e.looks++
	if e.looks > 1 {
		return context.Canceled
	}
	return nil
}

// A place that comes free when the context ends is not used, and is given back.
func TestContextEndsWithThePlace(t *testing.T) {
	rec := &recorder{Backend: answering()}
	c := hns.New(rec, &hns.Options{MaxInFlight: 1})
	for range 2 {
		_, err := c.Networks.List(&ending{Context: t.Context()})
		wantIs(t, err, hns.ErrNotSent)
		if want := "hns: list networks: request not sent: context canceled"; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
	same(t, "requests", nil, rec.verbs())
	if _, err := c.Networks.List(t.Context()); err != nil {
		t.Error(err)
	}
}

// Both the context's own error and the cause that somebody gave are found.
func TestContextCause(t *testing.T) {
	cause := errors.New("the pod is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := hns.New(answering(), nil).Networks.List(ctx)
	if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || !errors.Is(err, hns.ErrNotSent) {
		t.Errorf("error %v", err)
	}

	g := newGate()
	ctx, cancel = context.WithCancelCause(t.Context())
	done := background(func() error { return hns.New(g, nil).Endpoints.Delete(ctx, podID) })
	<-g.arrived
	cancel(cause)
	err = <-done
	if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || !errors.Is(err, hns.ErrOutcomeUnknown) {
		t.Errorf("error %v", err)
	}
	g.pass <- hns.Response{}
	settle()

	ctx, cancelTime := context.WithTimeoutCause(t.Context(), 0, cause)
	defer cancelTime()
	_, err = hns.New(answering(), nil).Networks.List(ctx)
	if !errors.Is(err, cause) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// A backend that panics, or ends its goroutine, is an error and leaves its
// place to others: a plugin must answer (containernetworking/cni#732).
func TestBrokenBackend(t *testing.T) {
	var next func() (hns.Response, error)
	c := hns.New(backend(func(hns.Request) (hns.Response, error) { return next() }), &hns.Options{MaxInFlight: 1})
	for text, f := range map[string]func() (hns.Response, error){
		"panic in backend: index out of range": func() (hns.Response, error) { panic("index out of range") },
		"the backend did not return":           func() (hns.Response, error) { runtime.Goexit(); panic("not reached") },
	} {
		next = f
		_, err := c.Networks.ByID(t.Context(), lake)
		if err == nil || !strings.Contains(err.Error(), "get network "+lake.String()+": "+text) {
			t.Errorf("error %v, want %q", err, text)
		}
		wantIs(t, err)
	}
	next = func() (hns.Response, error) { return answering(`{}`)(hns.Request{}) }
	if _, err := c.Networks.ByID(t.Context(), lake); err != nil {
		t.Error(err)
	}
}

func TestObserve(t *testing.T) {
	var calls []hns.Call
	b := backend(func(r hns.Request) (hns.Response, error) {
		if r.Verb == hns.VerbDelete {
			return failing(hns.CodeEndpointNotFound, "x")(r)
		}
		return answering(`{}`)(r)
	})
	c := hns.New(b, &hns.Options{Observe: func(call hns.Call) { calls = append(calls, call) }})
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = c.Networks.ByID(ctx, lake)
	_, _ = c.Endpoints.Create(ctx, &hns.Endpoint{}) // refused here: no call
	_ = c.Endpoints.Delete(ctx, podID)
	cancel()
	_ = c.Namespaces.Delete(ctx, podNS)
	if len(calls) != 3 {
		t.Fatalf("observed %+v", calls)
	}
	for i, want := range []hns.Call{
		{Verb: hns.VerbGet, Kind: hns.KindNetwork, ID: lake},
		{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, ID: podID, Code: hns.CodeEndpointNotFound},
		{Verb: hns.VerbDelete, Kind: hns.KindNamespace, ID: podNS},
	} {
		got := calls[i]
		if got.Verb != want.Verb || got.Kind != want.Kind || got.ID != want.ID || got.Code != want.Code || got.Duration < 0 {
			t.Errorf("call %d: %+v", i, got)
		}
	}
	if calls[0].Err != nil || !errors.Is(calls[1].Err, hns.ErrNotFound) || !errors.Is(calls[2].Err, hns.ErrNotSent) {
		t.Errorf("errors %v, %v, %v", calls[0].Err, calls[1].Err, calls[2].Err)
	}
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := hns.New(failing(hns.CodeInvalidPolicy, "Die Richtlinie ist ungültig."), &hns.Options{Logger: log})
	e := pod()
	e.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "Encryption", Settings: json.RawMessage(`{"Key":"secret"}`)}}
	_, _ = c.Endpoints.Create(t.Context(), e)
	line := out.String()
	for _, s := range []string{"level=DEBUG", "create endpoint", "sbx-01_lake", "HCN_E_INVALID_POLICY"} {
		if !strings.Contains(line, s) {
			t.Errorf("the line lacks %q: %s", s, line)
		}
	}
	if strings.Contains(line, "secret") || strings.Count(line, "\n") != 1 {
		t.Errorf("logged %s", line)
	}
}
