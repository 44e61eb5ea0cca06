package delegate_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/subnetenv/delegate"
)

const (
	lakeConf = `{"name":"lake","type":"win-bridge","ipam":{"type":"host-local"}}`
	pondConf = `{"name":"pond","type":"win-overlay"}`
)

var lake = delegate.Attachment{Network: "lake", ContainerID: "sbx-01", IfName: "eth0"}

func scratch(t *testing.T) delegate.Scratch {
	t.Helper()
	return delegate.Scratch{Dir: filepath.Join(t.TempDir(), "cni", "flannel")}
}

func save(t *testing.T, s delegate.Scratch, a delegate.Attachment, conf string) {
	t.Helper()
	if err := s.Save(a, []byte(conf)); err != nil {
		t.Fatal(err)
	}
}

// put writes a file as another program, or a power cut, leaves it.
func put(t *testing.T, s delegate.Scratch, name, content string) {
	t.Helper()
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func assertLoads(t *testing.T, s delegate.Scratch, a delegate.Attachment, want string) {
	t.Helper()
	got, err := s.Load(a)
	if err != nil || string(got) != want {
		t.Errorf("Load(%v) = %s, %v; want %s", a, got, err, want)
	}
}

func assertMissing(t *testing.T, s delegate.Scratch, a delegate.Attachment) {
	t.Helper()
	if got, err := s.Load(a); !errors.Is(err, fs.ErrNotExist) || got != nil {
		t.Errorf("Load(%v) = %s, %v; want fs.ErrNotExist", a, got, err)
	}
}

func files(t *testing.T, s delegate.Scratch) []string {
	t.Helper()
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestScratch(t *testing.T) {
	s := scratch(t)
	assertMissing(t, s, lake)
	save(t, s, lake, pondNamed("lake"))
	save(t, s, lake, lakeConf) // an ADD that is repeated
	assertLoads(t, s, lake, lakeConf)
	if diff := cmp.Diff([]string{"sbx-01@lake@eth0.json"}, files(t, s)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{s.Dir: 0o700, filepath.Join(s.Dir, "sbx-01@lake@eth0.json"): 0o600} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, want)
			}
		}
	}
	for range 2 { // a DEL that is repeated
		if err := s.Remove(lake); err != nil {
			t.Fatal(err)
		}
	}
	assertMissing(t, s, lake)
	if left := files(t, s); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func pondNamed(name string) string { return strings.Replace(pondConf, "pond", name, 1) }

// One pod on two flannel networks, or twice on one: upstream's file per sandbox
// gave the DEL of one the configuration of the other.
func TestScratchKeepsAttachmentsApart(t *testing.T) {
	s := scratch(t)
	all := []delegate.Attachment{
		{Network: "lake", ContainerID: "a_b", IfName: "eth0"},
		{Network: "b_lake", ContainerID: "a", IfName: "eth0"},
		{Network: "lake", ContainerID: "a_b", IfName: "eth1"},
		{Network: "lake", ContainerID: "A_b", IfName: "eth0"},
		{Network: "Lake", ContainerID: "a_b", IfName: "eth0"},
		{Network: "lake", ContainerID: "a_b", IfName: "Eth0"},
		{Network: "lake", ContainerID: "a_b", IfName: "a@b%40*?\\"},
		{Network: "lake.json", ContainerID: "a.b", IfName: "eth0.json"},
		{Network: "lake", ContainerID: strings.Repeat("0123456789abcdef", 4), IfName: "eth0"},
	}
	lower := map[string]bool{}
	for i, a := range all {
		save(t, s, a, `{"type":"p`+string(rune('0'+i))+`","name":"`+a.Network+`"}`)
	}
	for i, a := range all {
		assertLoads(t, s, a, `{"type":"p`+string(rune('0'+i))+`","name":"`+a.Network+`"}`)
	}
	for _, name := range files(t, s) {
		if lower[strings.ToLower(name)] {
			t.Errorf("%s is the same file as another where case is ignored", name)
		}
		lower[strings.ToLower(name)] = true
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var got []delegate.Attachment
	for _, l := range list {
		got = append(got, l.Attachment)
	}
	sortAttachments := cmpopts.SortSlices(func(a, b delegate.Attachment) bool {
		return a.ContainerID+a.Network+a.IfName < b.ContainerID+b.Network+b.IfName
	})
	if diff := cmp.Diff(all, got, sortAttachments); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

func TestAttachmentValidate(t *testing.T) {
	tests := []struct {
		a    delegate.Attachment
		path string // empty if it is good
	}{
		{lake, ""},
		{delegate.Attachment{Network: "flannel.4096", ContainerID: "comma", IfName: "Ethernet 2"}, "CNI_IFNAME"},
		{delegate.Attachment{Network: "nul", ContainerID: "console.x", IfName: "con"}, ""},
		{delegate.Attachment{ContainerID: "a", IfName: "eth0"}, "name"},
		{delegate.Attachment{Network: "../lake", ContainerID: "a", IfName: "eth0"}, "name"},
		{delegate.Attachment{Network: "lake", IfName: "eth0"}, "CNI_CONTAINERID"},
		{delegate.Attachment{Network: "lake", ContainerID: "..", IfName: "eth0"}, "CNI_CONTAINERID"},
		{delegate.Attachment{Network: "lake", ContainerID: `a\b`, IfName: "eth0"}, "CNI_CONTAINERID"},
		{delegate.Attachment{Network: "lake", ContainerID: "a/b", IfName: "eth0"}, "CNI_CONTAINERID"},
		{delegate.Attachment{Network: "lake", ContainerID: "a@b", IfName: "eth0"}, "CNI_CONTAINERID"},
		{delegate.Attachment{Network: "lake", ContainerID: "a"}, "CNI_IFNAME"},
		{delegate.Attachment{Network: "lake", ContainerID: "a", IfName: ".."}, "CNI_IFNAME"},
		{delegate.Attachment{Network: "lake", ContainerID: "a", IfName: "a/b"}, "CNI_IFNAME"},
	}
	for _, tt := range tests {
		err := tt.a.Validate()
		var want []string
		if tt.path != "" {
			want = []string{tt.path}
		}
		if diff := cmp.Diff(want, paths(err)); diff != "" {
			t.Errorf("%+v: %v, want a complaint about %q", tt.a, err, tt.path)
		}
		if tt.path == "" {
			continue
		}
		s := scratch(t)
		if err := s.Save(tt.a, []byte(lakeConf)); err == nil {
			t.Errorf("%+v: saved", tt.a)
		}
		if _, err := s.Load(tt.a); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: Load: %v", tt.a, err)
		}
		if err := s.Remove(tt.a); err == nil {
			t.Errorf("%+v: removed", tt.a)
		}
	}
}

// Every container id that CNI allows has a file of its own, also those that Windows
// takes for a device, or no file system for a name.
func TestStrangeContainerIDs(t *testing.T) {
	s := scratch(t)
	long := strings.Repeat("a", 300)
	ids := []string{"con", "CON", "nul.txt", "com1", "lpt9.x.y", "a", "a.", "A", long, long + "b", strings.ToUpper(long)}
	names := map[string]bool{}
	for _, id := range ids {
		a := delegate.Attachment{Network: "lake", ContainerID: id, IfName: "eth0"}
		if _, err := s.Load(a); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%.20s before Save: %v, want ErrNotExist", id, err)
		}
		save(t, s, a, strings.Replace(lakeConf, "{", `{"id":"`+id+`",`, 1))
	}
	for _, f := range filesIn(t, s.Dir) {
		base, _, _ := strings.Cut(strings.ToLower(f), ".")
		if names[strings.ToLower(f)] || len(f) > 200 || slices.Contains([]string{"con", "nul", "com1", "lpt9"}, base) {
			t.Errorf("file %s", f)
		}
		names[strings.ToLower(f)] = true
	}
	listed, err := s.List()
	if err != nil || len(listed) != len(ids)-3 {
		t.Errorf("%d listed, %v; want all but the long ones", len(listed), err)
	}
	for _, id := range ids {
		a := delegate.Attachment{Network: "lake", ContainerID: id, IfName: "eth0"}
		conf, err := s.Load(a)
		if err != nil || !strings.Contains(string(conf), `"`+id+`"`) {
			t.Errorf("%.20s: %.60s, %v", id, conf, err)
		}
		if err := s.Remove(a); err != nil {
			t.Error(err)
		}
	}
	if left := filesIn(t, s.Dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func filesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestSaveRefuses(t *testing.T) {
	s := scratch(t)
	for _, conf := range []string{"", "{", "[]", `{"type":"win-bridge"}`, `{"name":"lake"}`, pondConf} {
		if err := s.Save(lake, []byte(conf)); err == nil || !strings.Contains(err.Error(), "lake") {
			t.Errorf("Save(%q): %v, want an error that names the network", conf, err)
		}
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

// flannel-io/cni-plugin#43 and flannel-io/flannel#1662: a file torn by a power cut
// kept its pod from ever being deleted.
func TestBrokenScratch(t *testing.T) {
	for _, name := range []string{"sbx-01@lake@eth0.json", "sbx-01"} { // ours, upstream's
		for _, content := range []string{"", "{", "\x00\x00\x00", `{"name":"lake"}`, `{"type":"win-bridge"}`, `"text"`} {
			s := scratch(t)
			put(t, s, name, content)
			conf, err := s.Load(lake)
			if !errors.Is(err, delegate.ErrBrokenScratch) || conf != nil {
				t.Errorf("%s holding %q: %q, %v; want ErrBrokenScratch", name, content, conf, err)
			}
			if !strings.Contains(err.Error(), filepath.Join(s.Dir, name)) {
				t.Errorf("error %q does not name the file", err)
			}
			if err := s.Remove(lake); err != nil {
				t.Error(err)
			}
			if left := files(t, s); len(left) > 0 {
				t.Errorf("%s holding %q: %v stay behind", name, content, left)
			}
		}
	}
}

// Pods that upstream's plugin made are deleted with what it saved.
func TestUpstreamScratch(t *testing.T) {
	s := scratch(t)
	put(t, s, "sbx-01", lakeConf)
	pond := delegate.Attachment{Network: "pond", ContainerID: "sbx-01", IfName: "eth1"}
	assertLoads(t, s, lake, lakeConf)
	assertMissing(t, s, pond) // it is of another network

	save(t, s, pond, pondConf)
	if err := s.Remove(pond); err != nil {
		t.Fatal(err)
	}
	assertLoads(t, s, lake, lakeConf) // not pond's to remove

	ours := `{"name":"lake","type":"win-bridge","mtu":1}`
	save(t, s, lake, ours)
	assertLoads(t, s, lake, ours) // ours is newer

	if err := s.Remove(lake); err != nil {
		t.Fatal(err)
	}
	if left := files(t, s); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestList(t *testing.T) {
	s := scratch(t)
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Errorf("List without a directory: %v, %v", list, err)
	}
	save(t, s, lake, lakeConf)
	put(t, s, "sbx-02@lake@eth0.json", "{")
	put(t, s, "sbx-03", pondConf)
	put(t, s, "sbx-04", "")
	put(t, s, ".sbx-05@lake@eth0.json.12.1.tmp", "torn") // of a killed Save
	put(t, s, "note to self@.txt", "not ours")
	if err := os.Mkdir(filepath.Join(s.Dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}

	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(s.Dir, name) }
	want := []delegate.Leftover{
		{Attachment: lake, Path: in("sbx-01@lake@eth0.json")},
		{Attachment: delegate.Attachment{Network: "lake", ContainerID: "sbx-02", IfName: "eth0"}, Path: in("sbx-02@lake@eth0.json"), Err: delegate.ErrBrokenScratch},
		{Attachment: delegate.Attachment{Network: "pond", ContainerID: "sbx-03"}, Path: in("sbx-03"), Upstream: true},
		{Attachment: delegate.Attachment{ContainerID: "sbx-04"}, Path: in("sbx-04"), Upstream: true, Err: delegate.ErrBrokenScratch},
	}
	if diff := cmp.Diff(want, list, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}

	// The DEL of the pod that the killed Save was for takes its rest away.
	if err := s.Remove(delegate.Attachment{Network: "lake", ContainerID: "sbx-05", IfName: "eth0"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(in(".sbx-05@lake@eth0.json.12.1.tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("temporary file: %v, want it gone", err)
	}
}

func TestPluginType(t *testing.T) {
	for conf, want := range map[string]string{lakeConf: "win-bridge", `{"Name":"lake","TYPE":"x"}`: "x", `{"name":"lake"}`: "", "{": "", "": ""} {
		got, err := delegate.PluginType([]byte(conf))
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, delegate.ErrBrokenScratch) {
			t.Errorf("PluginType(%q) = %q, %v; want %q", conf, got, err, want)
		}
	}
}
