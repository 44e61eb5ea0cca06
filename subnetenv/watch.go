package subnetenv

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"time"
)

const (
	// DefaultSettle is how long something must be wrong before Watch gives the error.
	DefaultSettle = time.Second

	// fastPoll is the default of WatchOptions.Poll where the system tells nothing,
	// slowPoll where it does.
	fastPoll = time.Second
	slowPoll = 30 * time.Second
)

// WatchOptions change what Watch does; nil and the zero value are the defaults.
type WatchOptions struct {
	// Poll is how often the file is looked at without being told of a change.
	// Zero: every 30 seconds where the system tells of changes, since it does not of
	// all (those that another node makes on a network share, for one), and once a
	// second where it tells nothing. Negative is an error.
	Poll time.Duration
	// NoNotify looks by Poll alone and takes nothing of the system's.
	NoNotify bool
	// Settle is how long something must be wrong before the error is given, so that
	// a file caught half-written, or missing while it is replaced, is none. Zero is
	// DefaultSettle; negative is an error.
	Settle time.Duration
}

// Watch gives the file at path as it is, and then again each time that it says
// something else:
//
//	for env, err := range subnetenv.Watch(ctx, path, nil) {
//
// It gives either an Env, which is the loop's own, or an error; an error that
// stays is given once. Errors are those of Read. They do not end the loop, and
// neither does a file or directory that is not there: once the file is right,
// its Env comes, also if it is the one from before the error. The loop ends with
// ctx, or when its body leaves it; nothing is left running then. Options that
// cannot be are given as an error, and end it.
//
// While the body runs nothing is looked at. Changes during that time, and changes
// in quick succession, count as one: what comes next is what the file says then.
//
// The file may be rewritten in any way: replaced by rename, written in place,
// removed and made again, or reached by a symbolic link (as in a Kubernetes volume)
// that is pointed elsewhere; its directories too. Where the system cannot tell of
// changes, Watch polls. On Windows a watched directory, and those it lies in,
// cannot be renamed meanwhile.
func Watch(ctx context.Context, path string, opts *WatchOptions) iter.Seq2[*Env, error] {
	return func(yield func(*Env, error) bool) {
		if opts == nil {
			opts = &WatchOptions{}
		}
		if opts.Poll < 0 || opts.Settle < 0 {
			yield(nil, fmt.Errorf("subnetenv: watch %s: Poll %s and Settle %s: negative", path, opts.Poll, opts.Settle))
			return
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			yield(nil, fmt.Errorf("subnetenv: watch %s: %w", path, err))
			return
		}
		n := newNotifier(abs, opts)
		defer n.close()
		w := watcher{
			read:   func() (*Env, error) { return Read(path) },
			wait:   n.wait,
			now:    time.Now,
			settle: opts.Settle,
		}
		if w.settle == 0 {
			w.settle = DefaultSettle
		}
		for ctx.Err() == nil {
			// Before the file is read, so that no change falls in between.
			n.follow()
			if !w.look(yield) || !w.pause(ctx) {
				return
			}
		}
	}
}

// watcher decides what to give. It knows nothing of how changes are noticed.
type watcher struct {
	read func() (*Env, error)
	// wait returns when it may be worth looking, at the latest after most if that is
	// not 0, or when ctx ends.
	wait   func(ctx context.Context, most time.Duration)
	now    func() time.Time
	settle time.Duration

	given    []byte // the Env given last, as text; nil if an error came after it
	givenErr string // the error given last; empty if an Env came after it
	bad      bool   // something is wrong that has not been given
	since    time.Time
}

// look reads the file and gives what is new. It returns false if the loop's body
// has left.
func (w *watcher) look(yield func(*Env, error) bool) bool {
	env, err := w.read()
	if err == nil {
		w.bad = false
		text := Format(env)
		if w.given != nil && bytes.Equal(w.given, text) {
			return true
		}
		w.given, w.givenErr = text, ""
		return yield(env, nil)
	}
	if err.Error() == w.givenErr {
		w.bad = false
		return true
	}
	now := w.now()
	if !w.bad {
		w.bad, w.since = true, now
	}
	if now.Sub(w.since) < w.settle {
		return true
	}
	w.bad, w.given, w.givenErr = false, nil, err.Error()
	return yield(nil, err)
}

// pause waits for the next look. It returns false if ctx has ended.
func (w *watcher) pause(ctx context.Context) bool {
	var most time.Duration
	if w.bad {
		most = max(w.settle-w.now().Sub(w.since), time.Millisecond)
	}
	w.wait(ctx, most)
	return ctx.Err() == nil
}
