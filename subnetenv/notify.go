package subnetenv

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is the pause after a notification. Writing a file takes several, and
	// however many there are, the file is looked at no more often than this allows.
	quiet = 20 * time.Millisecond
	// mostLinks bounds the symbolic links on the way to a file, as systems do.
	mostLinks = 40
	// mostFollows bounds the attempts to catch up with links that change meanwhile.
	mostFollows = 8
)

// notifier learns from the system that it may be worth looking at a file.
type notifier struct {
	path string // absolute
	poll time.Duration
	// system is nil if only polling is left.
	system *fsnotify.Watcher
	// names are the paths on which it depends what path leads to.
	names []string
	// deaf is set if some directory cannot be watched.
	deaf bool
}

func newNotifier(path string, opts *WatchOptions) *notifier {
	n := &notifier{path: path, poll: opts.Poll}
	if !opts.NoNotify {
		// It fails if the system has none, or no more to give (as Linux's
		// fs.inotify.max_user_instances). Then there is polling.
		n.system, _ = fsnotify.NewWatcher()
	}
	return n
}

func (n *notifier) close() {
	if n.system != nil {
		// Nothing follows from a failure: the file is not used any more.
		_ = n.system.Close()
	}
}

// follow watches the directories that hold what leads to the file now.
func (n *notifier) follow() {
	if n.system == nil {
		return
	}
	for range mostFollows {
		n.names = trail(n.path)
		if !n.watch(dirsOf(n.names)) {
			return
		}
		// Again, for what changed before its directory was watched.
	}
}

// watch makes dirs the ones that are watched, and reports whether there is a new
// one among them.
func (n *notifier) watch(dirs []string) bool {
	have := n.system.WatchList()
	for _, dir := range have {
		if !slices.Contains(dirs, dir) {
			_ = n.system.Remove(dir) // gone already, perhaps
		}
	}
	n.deaf = false
	added := false
	for _, dir := range dirs {
		if slices.Contains(have, dir) {
			continue
		}
		if n.system.Add(dir) == nil {
			added = true
		} else {
			n.deaf = true
		}
	}
	return added
}

// wait returns when something that the file depends on may have changed, when it
// is time to poll, after most if that is not 0, or when ctx ends.
func (n *notifier) wait(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(n.interval(most))
	defer timer.Stop()
	var events chan fsnotify.Event // nil blocks
	var errs chan error
	if n.system != nil {
		events, errs = n.system.Events, n.system.Errors
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case event := <-events:
			if !n.concerns(event) {
				continue
			}
		case <-errs: // events may have been lost
		}
		_ = pause(ctx, quiet) // the caller sees that ctx has ended
		drain(events, errs)
		return
	}
}

// interval is how long wait waits at the most.
func (n *notifier) interval(most time.Duration) time.Duration {
	d := n.poll
	if d == 0 && (n.system == nil || n.deaf) {
		d = fastPoll
	}
	d = cmp.Or(d, slowPoll)
	if most > 0 {
		d = min(d, most)
	}
	return d
}

// drain drops the notifications that have come by now; what they tell of is
// before the look that follows. The channels are closed by close alone.
func drain(events chan fsnotify.Event, errs chan error) {
	for {
		select {
		case <-events:
		case <-errs:
		default:
			return
		}
	}
}

// concerns reports whether an event is about something on the way to the file.
// Its name may be spelled otherwise where letter case does not count.
func (n *notifier) concerns(event fsnotify.Event) bool {
	return slices.ContainsFunc(n.names, func(name string) bool { return strings.EqualFold(name, event.Name) })
}

// trail returns the paths on which it depends what an absolute path leads to: the
// path, the directories above it, and the same of each symbolic link on the way,
// up to the first that is not there. None has a symbolic link above it.
func trail(path string) []string {
	var names []string
	root, rest := splitRoot(path)
	at := root
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if !slices.Contains(names, next) {
			names = append(names, next)
		}
		info, err := os.Lstat(next)
		if err != nil {
			return names
		}
		target, isLink := linkTarget(next, info)
		if !isLink {
			at = next
			continue
		}
		if links++; links > mostLinks {
			return names
		}
		if filepath.IsAbs(target) {
			var more []string
			at, more = splitRoot(target)
			rest = append(more, rest...)
		} else {
			rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
		}
	}
	return names
}

// linkTarget returns where a symbolic link, or a junction of Windows, leads.
func linkTarget(path string, info fs.FileInfo) (string, bool) {
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return "", false
	}
	target, err := os.Readlink(path)
	return target, err == nil
}

// splitRoot splits an absolute path into its root and the names below.
func splitRoot(path string) (root string, rest []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), strings.Split(filepath.ToSlash(path[len(volume):]), "/")
}

// dirsOf returns the directories that hold the names, each once.
func dirsOf(names []string) []string {
	var dirs []string
	for _, name := range names {
		if dir := filepath.Dir(name); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
