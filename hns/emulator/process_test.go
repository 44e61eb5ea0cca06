package emulator_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/atomicfile"
)

// childVar makes the test binary a process that works on the state file it
// names, as child says.
const childVar = "HNSKIT_TEST_EMULATOR_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVar); path != "" {
		child(path, os.Getenv(childVar+"_EXIT"))
		return
	}
	os.Exit(m.Run())
}

// child makes and deletes endpoints on the network lake until its standard
// input ends, and tells each address it keeps. With exit it dies in the middle
// of its third create, before or after the effect.
func child(path, exit string) {
	h, err := emulator.Open(path, nil)
	check(err)
	if exit != "" {
		h.Inject(emulator.Fault{Verb: hns.VerbCreate, Nth: 3, After: exit == "after", Exit: func() { os.Exit(7) }})
	}
	resp, err := h.Do(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork, Filter: `{"Name":"lake"}`})
	check(err)
	lake, err := hns.ParseID(told(resp).ID)
	check(err)
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadByte(); err != nil {
			return
		}
		for i := range 2 { // one that stays, one that goes
			resp, err := h.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint,
				Document: []byte(endpoint(lake, "pid "+strconv.Itoa(os.Getpid())))})
			check(err)
			if i == 0 {
				fmt.Println(told(resp).IpConfigurations[0].IpAddress)
				continue
			}
			id, err := hns.ParseID(told(resp).ID)
			check(err)
			_, err = h.Do(hns.Request{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, ID: id})
			check(err)
		}
	}
}

// told reads the first document of an answer.
func told(resp hns.Response) (e seenEndpoint) {
	check(json.Unmarshal(resp.Documents[0], &e))
	return e
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is a child at work.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, path, exit string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childVar+"="+path, childVar+"_EXIT="+exit)
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// round lets the child make one endpoint more; "" if it has died.
func (p *process) round() string {
	if _, err := p.in.Write([]byte{1}); err != nil {
		return ""
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return ""
	}
	return strings.TrimSpace(line)
}

func TestManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	openNode(t, path, nil).lake()
	ps := []*process{start(t, path, ""), start(t, path, ""), start(t, path, "")}
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := map[string]bool{}
	for _, p := range ps {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				a := p.round()
				mu.Lock()
				if a == "" || seen[a] {
					t.Errorf("address %q", a)
				}
				seen[a] = true
				mu.Unlock()
			}
			p.in.Close()
			if err := p.cmd.Wait(); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	n := openNode(t, path, nil)
	if got := len(n.list(hns.KindEndpoint, "")); got != 15 {
		t.Errorf("%d endpoints, want 15", got)
	}
	checkInvariants(t, n)
}

func TestProcessDiesInACreate(t *testing.T) {
	for exit, want := range map[string]int{"before": 1, "after": 2} {
		path := filepath.Join(t.TempDir(), "hns.json")
		openNode(t, path, nil).lake()
		p := start(t, path, exit)
		for p.round() != "" {
		}
		if err := p.cmd.Wait(); p.cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%s: %v", exit, err)
		}
		if got := len(openNode(t, path, nil).list(hns.KindEndpoint, "")); got != want {
			t.Errorf("died %s the effect of the third create: %d endpoints, want %d", exit, got, want)
		}
	}
}

// Killed at any moment, the file holds a state and what was told to have
// happened; temporary files do not pile up.
func TestProcessIsKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hns.json")
	openNode(t, path, nil).lake()
	addresses := map[string]bool{}
	for i := range 8 {
		p := start(t, path, "")
		for range 1 + i%3 {
			if a := p.round(); a != "" {
				addresses[a] = true
			}
		}
		_, _ = p.in.Write([]byte{1}) // killed while it works on this one
		if i%2 == 1 {
			_, _ = p.out.ReadByte()
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait() // killed
		n := openNode(t, path, nil)
		checkInvariants(t, n)
		have := n.state()
		for a := range addresses {
			if !strings.Contains(have, `"`+a+`"`) {
				t.Errorf("%s is lost", a)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".hns.json.123456.1.tmp"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	openNode(t, path, nil)
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if atomicfile.IsTemp(p, "hns.json") {
			t.Errorf("%s is still there", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
