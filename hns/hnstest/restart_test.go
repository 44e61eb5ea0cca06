package hnstest_test

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// unsteady is an emulator whose service is stopped and starts again before each
// request, and fails once after that. The request is put at each stage; the
// answer is that of the last.
type unsteady struct {
	hns     *emulator.HNS
	stopped hns.Code
	mu      sync.Mutex // a stop is everybody's
	failed  map[string]int
	wrong   func(format string, args ...any)
}

func (u *unsteady) Do(r hns.Request) (hns.Response, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hns.Stop()
	u.refused(r, "stopped", u.stopped)
	if err := u.hns.Restart(); err != nil {
		return hns.Response{}, err
	}
	remove := u.hns.Inject(emulator.Fault{Code: hns.CodeRPCCallFailed})
	u.refused(r, "failing", hns.CodeRPCCallFailed)
	remove()
	return u.hns.Do(r)
}

// refused puts a request that must fail with the code, which tells callers that
// the service is not available.
func (u *unsteady) refused(r hns.Request, state string, want hns.Code) {
	resp, err := u.hns.Do(r)
	var be *hns.BackendError
	if !errors.As(err, &be) || be.Code != want || len(resp.Documents) != 0 {
		u.wrong("%s: %s %s: %v, %d documents", state, r.Verb, r.Kind, err, len(resp.Documents))
		return
	}
	wrapped := &hns.Error{Verb: r.Verb, Kind: r.Kind, Code: be.Code, Err: err}
	if !errors.Is(wrapped, hns.ErrUnavailable) || errors.Is(wrapped, hns.ErrNotFound) {
		u.wrong("%s: %s %s: %v is not ErrUnavailable alone", state, r.Verb, r.Kind, wrapped)
	}
	u.failed[fmt.Sprintf("%s %s", r.Verb, r.Kind)]++
}

// Whatever the suite asks, the stopped service does not do it and says that it
// is not there, so does one that fails, and after each restart all objects are
// there again as they were: no answer differs from those of a steady one.
func TestRestartsChangeNothing(t *testing.T) {
	for _, o := range []emulator.Options{
		{Version: emulator.WindowsServer2019},                                                // the code of microsoft/WSL#4112
		{Version: emulator.WindowsServer2025Serviced, StoppedCode: hns.CodeServiceNotActive}, // docker/for-win#8226
	} {
		t.Run(o.Version.String(), func(t *testing.T) {
			want := asked(t, emulator.New(&o))
			u := &unsteady{hns: emulator.New(&o), stopped: cmp.Or(o.StoppedCode, hns.CodeRPCUnavailable), failed: map[string]int{}, wrong: t.Errorf}
			got := asked(t, u)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("answers (-steady +unsteady):\n%s", diff)
			}
			for _, kind := range []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindNamespace, hns.KindLoadBalancer, hns.KindRoute} {
				for verb := hns.VerbList; verb <= hns.VerbDelete; verb++ {
					if u.failed[fmt.Sprintf("%s %s", verb, kind)] == 0 {
						t.Errorf("%s %s was never asked of the stopped service", verb, kind)
					}
				}
			}
			if u.failed[fmt.Sprintf("%s %s", hns.VerbCall, hns.KindService)] == 0 {
				t.Error("no schema 1 call was asked of the stopped service")
			}
		})
	}
}

// unsteadied makes an emulator unsteady for a mutant, which whatever is wrong
// ends.
func unsteadied(b hns.Backend) hns.Backend {
	return &unsteady{hns: b.(*emulator.HNS), stopped: hns.CodeRPCUnavailable, failed: map[string]int{},
		wrong: func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }}
}
