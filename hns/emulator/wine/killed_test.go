package wine_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
	"github.com/hnskit/hnskit/internal/atomicfile"
)

// TestKilled has two Windows programs work on one state file, and kills one of
// them at any moment, again and again. The other one goes on; the state loads
// and holds what the programs did, up to the one step that was cut short; and
// nothing is left beside it but, until the next change, one temporary file. Every
// way to die has its turn in three rounds; HNSKIT_KILL_ROUNDS makes more than the
// usual twelve.
func TestKilled(t *testing.T) {
	needWine(t)
	const seed = 20
	rounds := 12
	if text := os.Getenv("HNSKIT_KILL_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(seed, seed))
	n := newChurn(t)
	for round := range rounds {
		adderDies, moment := round%3 > 0, time.Duration(rng.IntN(12_000))*time.Microsecond
		aim := round%3 == 2 // at a write of the state
		n.start()
		n.files(fmt.Sprintf("round %d, all started", round), 0)
		victim, survivor := n.lister, n.adder
		if adderDies {
			victim, survivor = n.adder, n.lister
		}
		before := []int{victim.count(), survivor.count()}
		victim.tell("go")
		survivor.tell("go")
		victim.wait(before[0] + 1)
		survivor.wait(before[1] + 1)
		time.Sleep(moment)
		if aim {
			n.awaitTemporary()
		}
		victim.kill()
		survivor.wait(survivor.count() + 2) // the lock of the dead holds nobody up
		survivor.halt()
		what := fmt.Sprintf("round %d, %s killed", round, victim.name)
		if adderDies {
			n.files(what, 1)
		} else {
			n.files(what, 0)
		}
		n.compare(what, adderDies)
	}
	n.start()
	n.files("end", 0)
	n.adder.end()
	n.lister.end()
	t.Logf("%d steps were done but not told, %d temporary files were left", n.cut, n.temporary)
	if _, err := native.ReadLog(n.log); err != nil {
		t.Error(err)
	}
	if _, err := emulator.Open(n.state, nil); err != nil {
		t.Error(err)
	}
}

// churn is a node in a state file and the two programs at work on it.
type churn struct {
	t                    *testing.T
	dir, state, log, exe string
	adder, lister        *worker
	made                 []string // ids of the endpoints, oldest first
	temporary, cut       int      // files seen, steps cut short
}

func newChurn(t *testing.T) *churn {
	n := &churn{t: t, dir: t.TempDir(), exe: build(t, "churn")}
	n.state, n.log = filepath.Join(n.dir, "hns.json"), filepath.Join(n.dir, "calls.jsonl")
	h, err := emulator.Open(n.state, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = hns.New(h, nil).Networks.Create(t.Context(), &hns.Network{Name: "cbr0", Type: hns.L2Bridge,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix("10.244.3.0/24"),
			Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.244.3.1"))}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// start starts what does not run.
func (n *churn) start() {
	n.t.Helper()
	if n.adder == nil || n.adder.dead {
		n.adder = n.startWorker("add")
	}
	if n.lister == nil || n.lister.dead {
		n.lister = n.startWorker("list")
	}
}

// files checks what is in the directory of the state file.
func (n *churn) files(when string, mayHave int) {
	n.t.Helper()
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		n.t.Fatal(err)
	}
	temporary := 0
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "hns.json", name == "hns.json.lock", name == "calls.jsonl", name == "calls.jsonl.lock":
		case atomicfile.IsTemp(name, "hns.json"):
			temporary++
		default:
			n.t.Errorf("%s: stray file %s", when, name)
		}
	}
	n.temporary += temporary
	if temporary > mayHave {
		n.t.Errorf("%s: %d temporary files, want at most %d", when, temporary, mayHave)
	}
}

// awaitTemporary returns when the state is being written, as far as can be
// seen from outside.
func (n *churn) awaitTemporary() {
	n.t.Helper()
	for range 1_000_000 {
		found, err := filepath.Glob(filepath.Join(n.dir, ".hns.json.*.tmp"))
		if err != nil {
			n.t.Fatal(err)
		}
		if len(found) > 0 {
			return
		}
	}
	n.t.Fatal("the state is never written")
}

// compare loads a copy of the state, which leaves the original as it is, and
// compares it with what the adder said; its last step may be one that it had
// no time to tell.
func (n *churn) compare(when string, cutShort bool) {
	n.t.Helper()
	n.made = n.adder.apply(n.made)
	text, err := os.ReadFile(n.state)
	if err != nil {
		n.t.Fatal(err)
	}
	path := filepath.Join(n.t.TempDir(), "copy.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		n.t.Fatal(err)
	}
	h, err := emulator.Open(path, nil)
	if err != nil {
		n.t.Fatalf("%s: %v", when, err)
	}
	eps, err := hns.New(h, nil).Endpoints.List(n.t.Context())
	if err != nil {
		n.t.Fatalf("%s: %v", when, err)
	}
	var have []string
	for _, e := range eps {
		have = append(have, e.ID.String())
	}
	same := slices.Equal(have, n.made)
	one := len(have) == len(n.made)+1 && slices.Equal(have[:len(n.made)], n.made)
	gone := len(n.made) > 0 && slices.Equal(have, n.made[1:])
	if !same && (!cutShort || !one && !gone) {
		n.t.Errorf("%s: the state has the endpoints\n%v\nbut made were\n%v", when, have, n.made)
	}
	if !same {
		n.cut++
	}
	n.made = have
}

// worker is a running churn program.
type worker struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	err  strings.Builder // standard error
	eof  chan struct{}
	dead bool

	mu    sync.Mutex
	news  *sync.Cond
	lines []string // said, and not yet applied
	said  int
	ended bool
}

// startWorker starts Wine itself, not the script, so that the kill hits the
// Windows program, and waits until it is ready.
func (n *churn) startWorker(name string) *worker {
	n.t.Helper()
	w := &worker{t: n.t, name: name, eof: make(chan struct{})}
	w.news = sync.NewCond(&w.mu)
	w.cmd = exec.CommandContext(n.t.Context(), "bash", "-euc", `eval "$(./wine env)"; exec "$WINE" "$0" "$1"`, n.exe, name)
	w.cmd.Env = append(w.cmd.Environ(), "HNSKIT_STATE="+zPath(n.state), "HNSKIT_CALL_LOG="+zPath(n.log))
	w.cmd.Stderr = &w.err
	w.cmd.WaitDelay = 30 * time.Second // whoever else holds its output
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		n.t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		defer close(w.eof)
		for s := bufio.NewScanner(out); s.Scan(); {
			w.hear(s.Text(), false)
		}
		w.hear("", true)
	}()
	w.until(func() bool { return slices.Contains(w.lines, "ready") })
	w.mu.Lock()
	w.lines, w.said = nil, 0
	w.mu.Unlock()
	return w
}

func (w *worker) hear(line string, end bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended = end; !end {
		w.lines = append(w.lines, line)
		w.said++
	}
	w.news.Broadcast()
}

// until waits for what the program says. Three minutes are a hang.
func (w *worker) until(ok func() bool) {
	w.t.Helper()
	hung := false
	timer := time.AfterFunc(3*time.Minute, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		hung = true
		w.news.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	for !ok() && !w.ended && !hung {
		w.news.Wait()
	}
	good := ok()
	ended := w.ended
	w.mu.Unlock()
	switch {
	case good:
	case ended:
		<-w.eof
		_ = w.cmd.Wait()
		w.t.Fatalf("%s ended by itself: %s%s", w.name, w.cmd.ProcessState, w.err.String())
	default:
		_ = w.cmd.Process.Kill()
		w.t.Fatalf("%s hangs", w.name)
	}
}

func (w *worker) tell(command string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, command+"\n"); err != nil {
		w.t.Fatalf("%s: %v", w.name, err)
	}
}

// count is how many lines it has said since it is ready.
func (w *worker) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said
}

func (w *worker) wait(lines int) {
	w.t.Helper()
	w.until(func() bool { return w.said >= lines })
}

func (w *worker) halt() {
	w.t.Helper()
	w.tell("halt")
	w.until(func() bool { return len(w.lines) > 0 && w.lines[len(w.lines)-1] == "halted" })
}

// kill sends SIGKILL and waits until Wine, too, has noticed.
func (w *worker) kill() {
	w.t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	<-w.eof
	if err := w.cmd.Wait(); err == nil || w.err.Len() > 0 {
		w.t.Errorf("%s ended before it was killed: %v\n%s", w.name, err, w.err.String())
	}
	w.dead = true
}

// end ends the program the normal way.
func (w *worker) end() {
	w.t.Helper()
	_ = w.in.Close()
	<-w.eof
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("%s: %v\n%s", w.name, err, w.err.String())
	}
}

// apply takes what the adder said off it and returns the endpoints there
// should be.
func (w *worker) apply(made []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		switch id := strings.TrimLeft(line, "+-"); line[0] {
		case '+':
			made = append(made, id)
		case '-':
			made = slices.DeleteFunc(made, func(m string) bool { return m == id })
		}
	}
	w.lines = nil
	return made
}
