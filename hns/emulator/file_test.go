package emulator_test

import (
	"bufio"
	"encoding/json"
	"errors"
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

	"github.com/google/go-cmp/cmp"

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

func openNode(t testing.TB, path string, opts *emulator.Options) *node {
	t.Helper()
	h, err := emulator.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &node{t, h}
}

func TestFileIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "hns.json")
	a := openNode(t, path, &emulator.Options{Seed: 1})
	b := openNode(t, path, nil)
	lake := a.lake()
	ns := b.id(hns.KindNamespace, namespaceDoc)
	ep := b.id(hns.KindEndpoint, endpoint(lake, "x"))
	if code := a.join("Add", ns, ep); code != 0 {
		t.Fatal(code)
	}
	if code := b.join("Add", a.id(hns.KindNamespace, namespaceDoc), ep); code != hns.CodeEndpointInNamespace {
		t.Errorf("second namespace: %s", code)
	}
	if diff := cmp.Diff(a.state(), b.state()); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("mode %s, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := hns.ParseSnapshot(text)
	if err != nil || len(s.Networks) != 1 || len(s.Endpoints) != 1 || len(s.Namespaces) != 2 {
		t.Errorf("the file is no snapshot: %v\n%s", err, text)
	}
}

func TestFileKeepsWhatSnapshotsDoNotShow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	a := openNode(t, path, &emulator.Options{Seed: 3, AddressAfterReads: 3, V1LowerCaseIDs: true})
	doc, _ := a.call("POST", "/networks/", `{"Name":"ext","Type":"l2bridge","Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}]}`)
	ep := a.id(hns.KindEndpoint, endpoint(a.parse(text(t, doc, "ID")), "lake_ep"))
	a.call("POST", "/endpoints/"+ep.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
	b := openNode(t, path, nil)
	for i, want := range []string{"", "", "192.0.2.10"} {
		doc, _ := b.call("GET", "/networks/"+text(t, doc, "ID"), "")
		if got := text(t, doc, "ManagementIP"); got != want {
			t.Errorf("read %d: management IP %q, want %q", i, got, want)
		}
		if got := text(t, doc, "Type"); got != "l2bridge" {
			t.Errorf("type is spelled %s", got)
		}
		if id := text(t, doc, "ID"); id != strings.ToLower(id) {
			t.Errorf("the switch was lost: %s", id)
		}
	}
	if _, ok := b.adapters()["vEthernet (lake_ep)"]; !ok {
		t.Error("the host attachment was lost")
	}
	if diff := cmp.Diff(a.adapters(), b.adapters(), cmp.Comparer(samePrefix)); diff != "" {
		t.Error(diff)
	}
}

func TestOpenReplacesOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	a := openNode(t, path, &emulator.Options{Version: emulator.WindowsServer2019})
	if out, _ := openNode(t, path, nil).call("GET", "/globals/version", ""); string(out) != `{"Major":9,"Minor":5}` {
		t.Errorf("version %s", out)
	}
	openNode(t, path, &emulator.Options{Version: emulator.WindowsServer2025})
	if out, _ := a.call("GET", "/globals/version", ""); string(out) != `{"Major":15,"Minor":4}` {
		t.Errorf("version of the first, %s, did not follow", out)
	}
}

func TestOpenTakesADump(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	if err := os.WriteFile(path, []byte("\ufeff"+foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, path, nil)
	if got := len(n.list(hns.KindNetwork, "")); got != 4 {
		t.Errorf("%d networks", got)
	}
	if got := len(openNode(t, path, nil).list(hns.KindEndpoint, "")); got != 3 {
		t.Errorf("%d endpoints", got)
	}
}

func TestBrokenFile(t *testing.T) {
	for _, content := range []string{"", "   ", "{", `{"Networks":[{}]}`, `{"Emulator":7}`} {
		path := filepath.Join(t.TempDir(), "hns.json")
		n := openNode(t, path, nil)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := emulator.Open(path, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("open of %q: error %v, want one that names the file", content, err)
		}
		_, err := n.Do(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork})
		var be *hns.BackendError
		if !errors.As(err, &be) || be.Code != 0 || be.Err == nil {
			t.Errorf("call with %q: %v, want a BackendError with a cause and no code", content, err)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("the broken file %q was overwritten", content)
		}
	}
}

func TestRefusedCallDoesNotTouchTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	n := openNode(t, path, nil)
	n.lake()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	n.create(hns.KindNetwork, network("lake", "L2Bridge", "10.9.0.0/24"))
	n.list(hns.KindNetwork, "")
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Errorf("the file was written again: %v", err)
	}
}

// A write that fails leaves the operation undone.
func TestUnwritableFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	path := filepath.Join(dir, "hns.json")
	n := openNode(t, path, nil)
	n.lake()
	before := n.state()
	// A directory in the way of the temporary file's rename cannot be made
	// portably; a state file that became a directory can.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(network("x", "L2Bridge", "10.9.0.0/24"))})
	var be *hns.BackendError
	if !errors.As(err, &be) || be.Err == nil {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := n.state(); got != before {
		t.Errorf("state is now\n%s", got)
	}
}

func TestManyHandles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	lake := openNode(t, path, nil).lake()
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for range 4 {
		n := openNode(t, path, nil)
		for range 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 5 {
					resp, err := n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Document: []byte(endpoint(lake, "x"))})
					if err != nil {
						t.Error(err)
						return
					}
					a := text(t, resp.Documents[0], "IpConfigurations", 0, "IpAddress")
					mu.Lock()
					if seen[a] {
						t.Errorf("%s was given twice", a)
					}
					seen[a] = true
					mu.Unlock()
				}
			}()
		}
	}
	wg.Wait()
	if got := len(openNode(t, path, nil).list(hns.KindEndpoint, "")); got != 40 {
		t.Errorf("%d endpoints, want 40", got)
	}
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
