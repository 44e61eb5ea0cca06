package subnetenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTrail: which changes matter.
func TestTrail(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	if !canLink(t) {
		t.Skip("needs symbolic links")
	}
	must(t, os.MkdirAll(filepath.Join(root, "real", "flannel"), 0o700))
	writeFile(t, filepath.Join(root, "real", "file"), whole)
	for link, target := range map[string]string{
		"run": "real", "real/flannel/..data": "../flannel/..1", "real/flannel/subnet.env": "..data/subnet.env",
		"abs": filepath.Join(root, "real", "file"), "loop": "loop",
	} {
		must(t, os.Symlink(target, filepath.Join(root, link)))
	}
	tests := []struct {
		path string
		want []string
	}{
		{"real/file", []string{"real", "real/file"}},
		{"real/no/such", []string{"real", "real/no"}},
		{"run/file", []string{"run", "real", "real/file"}},
		{"abs", []string{"abs", "real", "real/file"}},
		{"run/flannel/subnet.env", []string{"run", "real", "real/flannel", "real/flannel/subnet.env", "real/flannel/..data", "real/flannel/..1"}},
		{"loop", []string{"loop"}},
		{"real/file/below", []string{"real", "real/file", "real/file/below"}},
	}
	for _, tc := range tests {
		var got []string
		for _, name := range trail(filepath.Join(root, tc.path)) {
			if below, ok := strings.CutPrefix(name, root+string(filepath.Separator)); ok {
				got = append(got, filepath.ToSlash(below))
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.path, diff)
		}
	}
}

// TestPollsWhereNothingIsTold without being asked to.
func TestPollsWhereNothingIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flannel", "subnet.env")
	told := newNotifier(path, &WatchOptions{})
	defer told.close()
	if told.system == nil {
		t.Skip("this system tells of no changes")
	}
	told.follow()
	if got := told.interval(0); got != slowPoll {
		t.Errorf("no directory yet: %v, want %v, since the one above tells", got, slowPoll)
	}
	if told.watch([]string{filepath.Dir(path)}); told.interval(0) != fastPoll {
		t.Errorf("a directory that cannot be watched: %v, want %v", told.interval(0), fastPoll)
	}
	polls := newNotifier(path, &WatchOptions{NoNotify: true})
	defer polls.close()
	asked := newNotifier(path, &WatchOptions{NoNotify: true, Poll: time.Hour})
	defer asked.close()
	for _, tc := range []struct {
		n          *notifier
		most, want time.Duration
	}{{polls, 0, fastPoll}, {polls, 1, 1}, {asked, 0, time.Hour}, {asked, time.Minute, time.Minute}} {
		if got := tc.n.interval(tc.most); got != tc.want {
			t.Errorf("Poll %v, at most %v: %v, want %v", tc.n.poll, tc.most, got, tc.want)
		}
	}
}
