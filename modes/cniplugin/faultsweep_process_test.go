package cniplugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// orderVar makes the test binary a plugin that does as the order says, which is an
// order as JSON.
const orderVar = "HNSKIT_TEST_ORDER"

// order is a plugin in a process of its own.
type order struct {
	Name            string
	Mode            modes.Mode
	Store, StateDir string
	IPAM            *folderIPAM // nil: of the configuration
	Delay           time.Duration
	Scenario        []trouble
}

// exitKilled is the status of a plugin that died as it was told to.
const exitKilled = 7

func obey(text string) {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	p := &cniplugin.Plugin{Name: o.Name, Mode: o.Mode, StateDir: o.StateDir, Open: o.open}
	if o.IPAM != nil {
		p.IPAM = o.IPAM
		o.IPAM.around = func(_ context.Context, nth int, do func() error) error {
			tr, ok := scenario{troubles: o.Scenario}.ofIPAM(nth)
			if !ok {
				return do()
			}
			if tr.After {
				_ = do() // what becomes of it the judge sees
			}
			if tr.Act == dies {
				os.Exit(exitKilled)
			}
			return errBroken
		}
	}
	p.Main()
}

func (o order) open(opts *hns.Options) (*hns.Client, error) {
	h, err := emulator.Open(o.Store, nil)
	if err != nil {
		return nil, err
	}
	if o.Delay > 0 {
		h.Inject(emulator.Fault{Times: -1, Delay: o.Delay})
	}
	for _, tr := range o.Scenario {
		f := emulator.Fault{Nth: tr.Nth, After: tr.After, Code: tr.Code}
		switch {
		case tr.IPAM:
			continue
		case tr.Act == dies:
			f.Exit = func() { os.Exit(exitKilled) }
		}
		h.Inject(f)
	}
	return hns.New(h, opts), nil
}

// command is the plugin in a process of its own.
func (a *actor) command(verb string, troubles []trouble, delay time.Duration) *exec.Cmd {
	a.tb.Helper()
	text, err := json.Marshal(order{a.pod.plugin.Name, a.mode, a.store, a.pod.plugin.StateDir, a.own, delay, troubles})
	must(a.tb, err)
	args := a.args(a.pod.node.network.Name)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orderVar+"="+string(text), "CNI_COMMAND="+verb, "CNI_CONTAINERID="+args.ContainerID,
		"CNI_NETNS="+args.Netns, "CNI_IFNAME="+args.IfName, "CNI_PATH="+args.Path)
	cmd.Stdin = bytes.NewReader(args.StdinData)
	return cmd
}

// runAndDie runs a verb that is killed. land lets an IPAM plugin that outlives it go
// on, and returns when it has ended, too.
func (a *actor) runAndDie(s scenario) (land func()) {
	a.tb.Helper()
	for _, tr := range s.troubles {
		if tr.IPAM && a.source == byHostLocal {
			a.path = installShim(a.tb, a, tr)
		}
	}
	cmd := a.command(s.verb, s.troubles, 0)
	var gone *os.File
	if s.has(outlives) {
		r, w, err := os.Pipe() // the plugin and its IPAM plugin have it open
		must(a.tb, err)
		cmd.ExtraFiles, gone = []*os.File{w}, r
		defer w.Close()
		a.tb.Cleanup(func() { r.Close() })
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if killed := errors.As(err, &exit) && (exit.ExitCode() == exitKilled || isReached(a.path)); !killed {
		a.tb.Fatalf("%s: it was to be killed, and did not die of that: %v, %s", s, err, out)
	}
	return func() {
		must(a.tb, os.WriteFile(filepath.Join(a.dir, "bin", "go"), nil, 0o600))
		if _, err := io.Copy(io.Discard, gone); err != nil {
			a.tb.Fatal(err)
		}
	}
}

// The test binary also stands in for host-local: it runs the real one, and does
// what a file beside it says to one of the calls.

// shimOrder is that file.
type shimOrder struct {
	Real    string
	Trouble trouble
}

// installShim makes a directory with the stand-in, and returns it.
func installShim(tb testing.TB, a *actor, tr trouble) string {
	tb.Helper()
	dir := filepath.Join(a.dir, "bin")
	must(tb, os.Mkdir(dir, 0o700))
	name := "host-local"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if os.Link(os.Args[0], filepath.Join(dir, name)) != nil { // on another volume
		program, err := os.ReadFile(os.Args[0])
		must(tb, err)
		must(tb, os.WriteFile(filepath.Join(dir, name), program, 0o700))
	}
	text, err := json.Marshal(shimOrder{filepath.Join(a.tools, name), tr})
	must(tb, err)
	must(tb, os.WriteFile(filepath.Join(dir, "order"), text, 0o600))
	return dir
}

// isShim reports whether this process is the stand-in.
func isShim() bool {
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "host-local"
}

func shim() {
	dir := filepath.Dir(os.Args[0])
	text, err := os.ReadFile(filepath.Join(dir, "order"))
	var o shimOrder
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		panic(err)
	}
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	nth := countCall(dir)
	tr := o.Trouble
	if tr.Act == "" || nth != tr.Nth {
		os.Exit(runReal(o.Real, stdin, os.Stdout))
	}
	if tr.After {
		if status := runReal(o.Real, stdin, io.Discard); status != 0 {
			os.Exit(status)
		}
	}
	switch tr.Act {
	case fails:
		os.Stdout.WriteString(`{"cniVersion": "1.0.0", "code": 999, "msg": "as the test wants it"}`)
	case hangs:
		reach(dir)
		time.Sleep(time.Hour) // until it is killed
	case dies, outlives:
		reach(dir)
		parent, err := os.FindProcess(os.Getppid())
		if err == nil {
			err = parent.Kill()
		}
		if err != nil {
			panic(err)
		}
	}
	if tr.Act == outlives {
		for !exists(filepath.Join(dir, "go")) {
			time.Sleep(time.Millisecond)
		}
		runReal(o.Real, stdin, io.Discard)
	}
	os.Exit(1)
}

func runReal(program string, stdin []byte, stdout io.Writer) (status int) {
	cmd := exec.Command(program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return 1
	}
	return 0
}

// countCall writes down a call and returns which it is. Calls come one after the other.
func countCall(dir string) (nth int) {
	path := filepath.Join(dir, "calls")
	text, err := os.ReadFile(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		text = append(text, os.Getenv("CNI_COMMAND")+"\n"...)
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		panic(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// shimCalls returns the verbs that the stand-in was called with.
func shimCalls(tb testing.TB, dir string) []string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	must(tb, err)
	return strings.Fields(string(text))
}

// reach tells the test that the call has come to where it hangs or kills.
func reach(dir string) {
	if err := os.WriteFile(filepath.Join(dir, "reached"), nil, 0o600); err != nil {
		panic(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isReached(dir string) bool { return exists(filepath.Join(dir, "reached")) }

// passWhenReached lets the deadline pass when the stand-in hangs.
func passWhenReached(ctx context.Context, dir string, pass func()) {
	for ctx.Err() == nil && !isReached(dir) {
		time.Sleep(time.Millisecond)
	}
	pass()
}
