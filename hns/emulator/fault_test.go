package emulator_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestFaultHitsTheNthCall(t *testing.T) {
	const c = hns.CodeRPCCallFailed
	tests := []struct {
		nth, times int
		want       []hns.Code
	}{
		{0, 0, []hns.Code{c, 0, 0, 0}},
		{1, 1, []hns.Code{c, 0, 0, 0}},
		{3, 0, []hns.Code{0, 0, c, 0}},
		{2, 2, []hns.Code{0, c, c, 0}},
		{2, -1, []hns.Code{0, c, c, c}},
	}
	for _, tt := range tests {
		n := newNode(t)
		remove := n.Inject(emulator.Fault{Verb: hns.VerbList, Kind: hns.KindNetwork, Nth: tt.nth, Times: tt.times, Code: c})
		var got []hns.Code
		for range 4 {
			_, code := n.try(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork})
			got = append(got, code)
			n.list(hns.KindEndpoint, "") // not hit and not counted
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Nth %d, Times %d: %s", tt.nth, tt.times, diff)
		}
		remove()
		n.list(hns.KindNetwork, "")
	}
}

func TestFaultBeforeAndAfterTheEffect(t *testing.T) {
	for _, after := range []bool{false, true} {
		n := newNode(t)
		n.Inject(emulator.Fault{Verb: hns.VerbCreate, After: after, Code: hns.CodeObjectAlreadyExists, Text: "eigener Text"})
		_, err := n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(network("lake", "L2Bridge", "10.50.3.0/24"))})
		if n.code(err) != hns.CodeObjectAlreadyExists || message(err) != "eigener Text" {
			t.Errorf("error %v", err)
		}
		if got := len(n.list(hns.KindNetwork, "")) == 1; got != after {
			t.Errorf("after %v: effect %v", after, got)
		}
	}
}

func TestFaultMatch(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	victim := n.id(hns.KindEndpoint, endpoint(lake, "a"))
	other := n.id(hns.KindEndpoint, endpoint(lake, "b"))
	n.Inject(emulator.Fault{Match: func(r hns.Request) bool { return r.ID == victim }, Times: -1, Code: hns.CodeAccessDenied})
	if code := n.delete(hns.KindEndpoint, victim); code != hns.CodeAccessDenied {
		t.Errorf("victim: %s", code)
	}
	if code := n.delete(hns.KindEndpoint, other); code != 0 {
		t.Errorf("other: %s", code)
	}
}

// antrea-io/antrea#3345: a delete that hangs must not hold up the rest.
func TestHangHoldsUpNobodyElse(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	ep := n.id(hns.KindEndpoint, endpoint(lake, "a"))
	hang, entered := make(chan struct{}), make(chan struct{})
	n.Inject(emulator.Fault{Verb: hns.VerbDelete, Hang: hang, Match: func(hns.Request) bool { close(entered); return true }})
	done := make(chan hns.Code)
	go func() {
		_, err := n.Do(hns.Request{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, ID: ep})
		done <- n.code(err)
	}()
	<-entered
	n.id(hns.KindEndpoint, endpoint(lake, "b"))
	if got := len(n.list(hns.KindEndpoint, "")); got != 2 {
		t.Errorf("%d endpoints while the delete hangs, want 2", got)
	}
	close(hang)
	if code := <-done; code != 0 {
		t.Errorf("the late delete: %s", code)
	}
	if got := len(n.list(hns.KindEndpoint, "")); got != 1 {
		t.Errorf("%d endpoints afterwards, want 1", got)
	}
}

func TestSeriesHoldsUpAll(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.Serial = true })
	hang, entered := make(chan struct{}), make(chan struct{})
	n.Inject(emulator.Fault{Verb: hns.VerbCall, Hang: hang, Match: func(hns.Request) bool { close(entered); return true }})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var order []string
	run := func(name string, r hns.Request) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, _ = n.Do(r)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		}()
	}
	run("hanging", hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/globals/version"})
	<-entered
	run("second", hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork})
	for len(n.Calls()) < 2 { // the second has come in
		time.Sleep(time.Millisecond)
	}
	if calls := n.Calls(); calls[1].Done {
		t.Error("the second call went past the hanging one")
	}
	close(hang)
	wg.Wait()
	if len(order) != 2 {
		t.Errorf("returned: %s", order)
	}
}

// Calls that wait before or after their effect wait side by side, or one after
// the other in series: counted by how many are inside at once.
func TestCallsOverlap(t *testing.T) {
	const crowd = 20
	for _, serial := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			for _, file := range []bool{false, true} {
				t.Run(fmt.Sprintf("serial %v, after %v, file %v", serial, after, file), func(t *testing.T) {
					opts := &emulator.Options{Serial: serial}
					n := &node{t, emulator.New(opts)}
					if file {
						n = openNode(t, filepath.Join(t.TempDir(), "hns.json"), opts)
					}
					inside := newMeeting(crowd, serial)
					for _, f := range []emulator.Fault{{Exit: inside.enter}, {Delay: time.Millisecond}, {Exit: inside.leave}} {
						f.Verb, f.Times, f.After = hns.VerbCreate, -1, after
						n.Inject(f)
					}
					var wg sync.WaitGroup
					for range crowd {
						wg.Add(1)
						go func() {
							defer wg.Done()
							_, err := n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNamespace, Document: []byte(namespaceDoc)})
							if err != nil {
								t.Error(err)
							}
						}()
					}
					wg.Wait()
					want := crowd
					if serial {
						want = 1
					}
					if inside.most != want {
						t.Errorf("%d of %d calls were inside at once, want %d", inside.most, crowd, want)
					}
					if got := len(n.list(hns.KindNamespace, "")); got != crowd {
						t.Errorf("%d namespaces, want %d", got, crowd)
					}
				})
			}
		}
	}
}

// meeting counts who is inside at once. Unless it is for one at a time,
// everybody waits there for everybody else.
type meeting struct {
	mu        sync.Mutex
	size      int
	single    bool
	now, most int
	full      chan struct{}
}

func newMeeting(size int, single bool) *meeting {
	return &meeting{size: size, single: single, full: make(chan struct{})}
}

func (m *meeting) enter() {
	m.mu.Lock()
	m.now++
	m.most = max(m.most, m.now)
	if m.now == m.size {
		close(m.full)
	}
	m.mu.Unlock()
	if m.single {
		return
	}
	select {
	case <-m.full:
	case <-time.After(time.Minute): // they will never come: most tells
	}
}

func (m *meeting) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now--
}

func TestDelay(t *testing.T) {
	n := newNode(t)
	const delay = 20 * time.Millisecond
	n.Inject(emulator.Fault{Delay: delay, After: true})
	start := time.Now()
	n.list(hns.KindNetwork, "")
	if took := time.Since(start); took < delay {
		t.Errorf("took %s, want at least %s", took, delay)
	}
}

func TestExitIsCalledAtItsPlace(t *testing.T) {
	n := newNode(t)
	var seen []int
	count := func() { seen = append(seen, len(n.list(hns.KindNetwork, ""))) }
	n.Inject(emulator.Fault{Verb: hns.VerbCreate, Exit: count})
	n.Inject(emulator.Fault{Verb: hns.VerbCreate, Exit: count, After: true})
	n.lake()
	if diff := cmp.Diff([]int{0, 1}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestStopAndStart(t *testing.T) {
	for _, set := range []hns.Code{0, hns.CodeServiceNotActive} {
		n := newNode(t, func(o *emulator.Options) { o.StoppedCode = set })
		lake := n.lake()
		n.Stop()
		want := hns.CodeRPCUnavailable
		if set != 0 {
			want = set
		}
		if _, code := n.try(hns.Request{Verb: hns.VerbGet, Kind: hns.KindNetwork, ID: lake}); code != want {
			t.Errorf("stopped: %s, want %s", code, want)
		}
		if _, code := n.call("GET", "/networks/", ""); code != want {
			t.Errorf("stopped, v1: %s, want %s", code, want)
		}
		n.Start()
		n.get(hns.KindNetwork, lake)
	}
}

func TestMessages(t *testing.T) {
	missing := hns.Request{Verb: hns.VerbGet, Kind: hns.KindEndpoint, ID: hns.NewID()}
	n := newNode(t)
	if _, err := n.Do(missing); message(err) != "The endpoint was not found. " {
		t.Errorf("English: %v", err)
	}
	german := newNode(t, func(o *emulator.Options) {
		o.Text = func(c hns.Code) string { return "Fehler " + c.String() + " " }
	})
	if _, err := german.Do(missing); message(err) != "Fehler HCN_E_ENDPOINT_NOT_FOUND (0x803b0002) " {
		t.Errorf("own text: %v", err)
	}
}

func TestCalls(t *testing.T) {
	n := newNode(t)
	doc := network("lake", "L2Bridge", "10.50.3.0/24")
	id := n.id(hns.KindNetwork, doc)
	n.try(hns.Request{Verb: hns.VerbList, Kind: hns.KindEndpoint, Filter: `{"Name":"x"}`})
	n.delete(hns.KindEndpoint, id)
	n.call("GET", "/networks/", "")
	want := []emulator.Call{
		{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Name: "lake", Document: []byte(doc), Done: true},
		{Verb: hns.VerbList, Kind: hns.KindEndpoint, Name: "x", Filter: `{"Name":"x"}`, Done: true},
		{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, ID: id, Done: true, Code: hns.CodeEndpointNotFound, Text: "The endpoint was not found. "},
		{Verb: hns.VerbCall, Method: "GET", Path: "/networks/", Document: []byte{}, Done: true},
	}
	if diff := cmp.Diff(want, n.Calls()); diff != "" {
		t.Error(diff)
	}
	n.Calls()[0].Document[0] = 'x' // a copy
	n.ResetCalls()
	if got := n.Calls(); len(got) != 0 {
		t.Errorf("after a reset: %v", got)
	}
}

func TestUnknownRequests(t *testing.T) {
	n := newNode(t)
	for _, r := range []hns.Request{{}, {Verb: hns.VerbGet}, {Verb: 99, Kind: hns.KindNetwork}, {Verb: hns.VerbGet, Kind: 99}} {
		if _, code := n.try(r); code != hns.CodeNotImplemented {
			t.Errorf("%s %s: %s", r.Verb, r.Kind, code)
		}
	}
}

func TestCallerKeepsItsDocuments(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	doc := []byte(endpoint(lake, "x", policies(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}`)))
	sent := string(doc)
	resp, err := n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Document: doc})
	if err != nil {
		t.Fatal(err)
	}
	if string(doc) != sent {
		t.Error("the document sent was changed")
	}
	before := n.state()
	for i := range doc {
		doc[i] = 'x'
	}
	for i := range resp.Documents[0] {
		resp.Documents[0][i] = 'x'
	}
	for _, d := range n.list(hns.KindNetwork, "") {
		for i := range d {
			d[i] = 'x'
		}
	}
	if n.state() != before {
		t.Error("the state shares memory with its callers")
	}
}
