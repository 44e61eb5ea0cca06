package subnetenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// withMTU is a file that differs from others of its kind by the MTU.
func withMTU(mtu int) string { return strings.Replace(whole, "1450", fmt.Sprint(mtu), 1) }

// TestWatcherGives is what is given, look by look, of what the file says, at
// times that the test sets.
func TestWatcherGives(t *testing.T) {
	const settle = 3 * time.Second
	gone := errors.New("gone")
	type step struct {
		after time.Duration // since the step before
		file  any           // the text, or the error of reading it
		give  string        // MTU or error; empty: nothing
		most  time.Duration // how long to wait at the most; 0: until told
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"what is new", []step{
			{0, withMTU(1450), "1450", 0},
			{0, withMTU(1450), "", 0}, // written again
			{0, withMTU(1400), "1400", 0},
			{0, "\ufeff# said in another way\r\n" + withMTU(1400), "", 0},
			{0, withMTU(1450), "1450", 0},
		}},
		{"caught half-written", []step{
			{0, withMTU(1450), "1450", 0},
			{0, "", "", settle},
			{time.Second, withMTU(1400)[:40], "", 2 * time.Second},
			{0, withMTU(1400), "1400", 0},
			{time.Hour, withMTU(1400)[:41], "", settle}, // time runs from the first
			{settle - 1, withMTU(1450), "1450", 0},
		}},
		{"replaced by the same", []step{
			{0, withMTU(1450), "1450", 0},
			{0, gone, "", settle},
			{time.Second, withMTU(1450), "", 0},
		}},
		{"an error that stays", []step{
			{0, gone, "", settle},
			{settle - 1, gone, "", time.Millisecond},
			{1, gone, "gone", 0},
			{time.Hour, gone, "", 0}, // once
			{0, withMTU(1), "", settle},
			{time.Second, gone, "", 0}, // the one that is known
			{0, withMTU(1), "", settle},
			{settle, withMTU(1), "FLANNEL_MTU", 0},
			{0, withMTU(1450), "1450", 0},
			{0, gone, "", settle},
			{settle, gone, "gone", 0},
			{0, withMTU(1450), "1450", 0}, // the one from before the error
		}},
		{"wrong in a new way all the time", []step{
			{0, withMTU(1), "", settle},
			{settle - 1, withMTU(2), "", time.Millisecond},
			{1, withMTU(3), `"3"`, 0},
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			var file any
			var waits []time.Duration
			w := watcher{
				read: func() (*Env, error) {
					if err, ok := file.(error); ok {
						return nil, err
					}
					return Parse([]byte(file.(string)))
				},
				wait:   func(_ context.Context, most time.Duration) { waits = append(waits, most) },
				now:    func() time.Time { return now },
				settle: settle,
			}
			for i, s := range tc.steps {
				now = now.Add(s.after)
				file = s.file
				given := ""
				w.look(func(env *Env, err error) bool {
					if given = fmt.Sprint(err); err == nil {
						given = fmt.Sprint(env.MTU)
					}
					return true
				})
				if given == "" != (s.give == "") || !strings.Contains(given, s.give) {
					t.Fatalf("step %d: given %q, want %q", i, given, s.give)
				}
				if !w.pause(t.Context()) {
					t.Fatal("it ends")
				}
				if got := waits[len(waits)-1]; got != s.most {
					t.Errorf("step %d: waits for %v, want %v", i, got, s.most)
				}
			}
		})
	}
}

// watching runs Watch; what it gives comes one by one from next.
type watching struct {
	t       *testing.T
	path    string
	next    func() string // MTU or error
	content chan string
}

// patience is for the slowest machine; no test waits so long unless it fails.
const patience = 2 * time.Minute

func startWatch(t *testing.T, path string, opts WatchOptions) *watching {
	t.Helper()
	w := &watching{t: t, path: path, content: make(chan string)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for env, err := range Watch(ctx, path, &opts) {
			text := fmt.Sprint(err)
			if err == nil {
				text = fmt.Sprint(env.MTU)
			}
			select {
			case w.content <- text:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	w.next = func() string {
		t.Helper()
		select {
		case text := <-w.content:
			return text
		case <-time.After(patience):
			t.Fatalf("nothing given for %s", path)
			return ""
		}
	}
	return w
}

// TestWatch: every change is noticed, by what the system tells alone, and by
// polling alone. A node that gets another subnet must not go on with the one it
// had (lf-edge/eve#6614, flannel-io/flannel#1182).
func TestWatch(t *testing.T) {
	modes := map[string]WatchOptions{
		// Nothing that a change goes through on its way is given as an error.
		"told":   {Poll: 24 * time.Hour, Settle: 24 * time.Hour},
		"polled": {Poll: time.Millisecond, Settle: 24 * time.Hour, NoNotify: true},
	}
	for how, opts := range modes {
		for change, prepare := range changes {
			t.Run(how+", "+change, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "flannel", "subnet.env")
				must(t, os.Mkdir(filepath.Dir(path), 0o700))
				steps := prepare(t, path)
				if steps == nil {
					t.Skip("this system has no such change")
				}
				w := startWatch(t, path, opts)
				if _, err := os.Stat(path); err == nil {
					if got := w.next(); got != "1400" {
						t.Fatalf("at first %s", got)
					}
				}
				for i, step := range steps {
					mtu := 1401 + i
					step(mtu)
					if got := w.next(); got != fmt.Sprint(mtu) {
						t.Fatalf("step %d: given %s, want %d", i, got, mtu)
					}
				}
			})
		}
	}
}

// TestWatchErrors: what stays wrong is told with the path, and is not the end.
func TestWatchErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flannel", "subnet.env")
	w := startWatch(t, path, WatchOptions{Poll: time.Millisecond, Settle: time.Millisecond})
	if got := w.next(); !strings.Contains(got, path) || !strings.Contains(got, "is it running") {
		t.Fatalf("no directory: %s", got)
	}
	must(t, os.Mkdir(filepath.Dir(path), 0o700))
	writeFile(t, path, withMTU(1)) // it may be seen when it is empty still
	for got := w.next(); !strings.Contains(got, `FLANNEL_MTU "1"`); got = w.next() {
		if !strings.Contains(got, path) {
			t.Fatalf("wrong MTU: %s", got)
		}
	}
	eventually(t, func() error { return os.Remove(path) })
	for got := w.next(); !strings.Contains(got, "is it running"); got = w.next() {
		t.Logf("on the way: %s", got)
	}
	writeFile(t, path, whole)
	for got := w.next(); got != "1450"; got = w.next() {
		t.Logf("on the way: %s", got)
	}
}

func TestWatchRefuses(t *testing.T) {
	for _, opts := range []WatchOptions{{Poll: -1}, {Settle: -1}} {
		n := 0
		for env, err := range Watch(t.Context(), "subnet.env", &opts) {
			if n++; env != nil || err == nil || !strings.Contains(err.Error(), "negative") {
				t.Errorf("%+v, %v", env, err)
			}
		}
		if n != 1 {
			t.Errorf("%d values", n)
		}
	}
}

// TestWatchCountsAsOne: what happens while the loop's body runs is one change.
func TestWatchCountsAsOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subnet.env")
	writeFile(t, path, withMTU(1400))
	var got []int
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for env, err := range Watch(ctx, path, &WatchOptions{Settle: time.Hour}) {
		must(t, err)
		if got = append(got, env.MTU); len(got) == 2 {
			break
		}
		for mtu := 1401; mtu <= 1440; mtu++ {
			must(t, Write(path, &Env{Networks: env.Networks, Subnet: env.Subnet, MTU: mtu}))
		}
	}
	if want := []int{1400, 1440}; !slices.Equal(got, want) {
		t.Errorf("given %v, want %v", got, want)
	}
}

// TestWatchLeavesNothing behind, whichever way the loop ends.
func TestWatchLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subnet.env")
	writeFile(t, path, whole)
	before, handles := runtime.NumGoroutine(), openFiles()
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		for range Watch(ctx, path, nil) {
			if i%2 == 0 {
				break
			}
			cancel()
		}
		cancel()
	}
	eventually(t, func() error {
		if now := runtime.NumGoroutine(); now > before {
			return fmt.Errorf("%d goroutines, %d before", now, before)
		}
		if now := openFiles(); now > handles {
			return fmt.Errorf("%d open files, %d before", now, handles)
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for env, err := range Watch(ctx, path, nil) {
		t.Errorf("%v, %v given after the end", env, err)
	}
}

// openFiles counts this process's open files where the system tells.
func openFiles() int {
	if runtime.GOOS != "linux" {
		return 0
	}
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}
