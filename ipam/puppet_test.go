package ipam_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hnskit/hnskit/ipam"
)

// TestMain lets this test binary, under the name puppet, stand in for an IPAM
// plugin that behaves as the configuration's key "puppet" says.
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "puppet" {
		os.Exit(puppet())
	}
	os.Exit(m.Run())
}

// behaviour is what the puppet does when called with a verb.
type behaviour struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Exit   int    `json:"exit,omitempty"`
	// Flood: write to this stream, "stdout" or "stderr", without end or for 128 KiB.
	Flood string `json:"flood,omitempty"`
	// Hang: wait until the test is over.
	Hang bool `json:"hang,omitempty"`
	// Child: leave a process behind that holds the output open until the test is
	// over.
	Child bool `json:"child,omitempty"`
}

// heard is what the puppet saw of one call.
type heard struct {
	Verb, ContainerID, IfName, Netns, Args, Path, Stdin string
}

func puppet() int {
	if len(os.Args) > 1 { // the child
		waitUntilGone(os.Args[1])
		return 0
	}
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 90
	}
	var conf struct {
		Dir    string
		Puppet map[string]behaviour
	}
	if json.Unmarshal(stdin, &conf) != nil {
		return 91
	}
	h := heard{
		Verb: os.Getenv("CNI_COMMAND"), ContainerID: os.Getenv("CNI_CONTAINERID"), IfName: os.Getenv("CNI_IFNAME"),
		Netns: os.Getenv("CNI_NETNS"), Args: os.Getenv("CNI_ARGS"), Path: os.Getenv("CNI_PATH"), Stdin: string(stdin),
	}
	note, _ := json.Marshal(h)
	running := filepath.Join(conf.Dir, "test-is-running")
	calls, _ := filepath.Glob(filepath.Join(conf.Dir, "call-*"))
	draft := filepath.Join(conf.Dir, "draft") // the test may be waiting for the note
	if os.WriteFile(draft, note, 0o600) != nil || os.Rename(draft, filepath.Join(conf.Dir, fmt.Sprintf("call-%02d", len(calls)))) != nil {
		return 92
	}
	do := conf.Puppet[h.Verb]
	fmt.Print(do.Stdout)
	fmt.Fprint(os.Stderr, do.Stderr)
	flood(do.Flood)
	if do.Child {
		child := exec.Command(os.Args[0], running)
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if child.Start() != nil {
			return 93
		}
	}
	if do.Hang {
		waitUntilGone(running)
	}
	return do.Exit
}

func flood(stream string) {
	line := strings.Repeat("x", 1023) + "\n"
	switch stream {
	case "stdout":
		for {
			_, _ = os.Stdout.WriteString(line) // whether anybody reads it or not
		}
	case "stderr":
		for range 128 {
			_, _ = os.Stderr.WriteString(line)
		}
	}
}

func waitUntilGone(file string) {
	for {
		if _, err := os.Stat(file); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stage is a test with the puppet.
type stage struct {
	t       *testing.T
	dir     string // where the puppet leaves notes
	plugins string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), plugins: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(s.plugins, "puppet")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	// On Windows a link to a running program cannot be removed.
	if runtime.GOOS == "windows" || os.Symlink(self, name) != nil && os.Link(self, name) != nil {
		data, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(name, data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	running := filepath.Join(s.dir, "test-is-running")
	if err := os.WriteFile(running, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(running) })
	return s
}

// request makes a request whose plugin, the puppet, behaves as given.
func (s *stage) request(cniVersion string, do map[string]behaviour) ipam.Request {
	s.t.Helper()
	config, err := json.MarshalIndent(map[string]any{
		"cniVersion": cniVersion, "name": "lake", "type": "win-bridge",
		"ipam": map[string]any{"type": "puppet", "zone": "a<b"}, "dir": s.dir, "puppet": do,
	}, "", "\t")
	if err != nil {
		s.t.Fatal(err)
	}
	return ipam.Request{
		ContainerID: "sbx-01", IfName: "eth0", Netns: "ns-01", Args: "IgnoreUnknown=1;IP=10.50.3.7",
		PluginPath: []string{s.dir, s.plugins}, Config: config,
	}
}

// calls returns what the puppet has heard so far.
func (s *stage) calls() []heard {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "call-*"))
	if err != nil {
		s.t.Fatal(err)
	}
	var out []heard
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		var h heard
		if err := json.Unmarshal(data, &h); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}

// verbs returns the verbs the puppet has heard so far.
func (s *stage) verbs() string {
	var out []string
	for _, c := range s.calls() {
		out = append(out, c.Verb)
	}
	return strings.Join(out, " ")
}

// waitForCall waits until the puppet has been called.
func (s *stage) waitForCall() {
	for {
		if files, _ := filepath.Glob(filepath.Join(s.dir, "call-*")); len(files) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
