package wine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/hns/emulator/wine/native"
	"github.com/hnskit/hnskit/internal/toolbuild"
)

// pluginHost is a system that runs CNI plugins: the one of this test, where they
// have the emulator in their own process, or Windows as Wine plays it, where they
// know of no emulator and call the DLLs.
type pluginHost struct {
	windows bool
	dirs    []string // of the plugins, as CNI_PATH has them
}

// examplePlugins are the programs that the library shows its users.
var examplePlugins = []string{"win-bridge", "win-overlay", "flannel", "nat", "custom-plugin"}

// newPluginHost builds the plugins, stripped, as they would be shipped.
func newPluginHost(t *testing.T, windows bool) *pluginHost {
	t.Helper()
	h, dir := &pluginHost{windows: windows}, t.TempDir()
	var target toolbuild.Target
	if windows {
		target = toolbuild.Target{GOOS: "windows", GOARCH: "amd64"}
	}
	root, err := toolbuild.Root()
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, name := range examplePlugins {
		examples = append(examples, "./examples/"+name)
	}
	for module, packages := range map[string][]string{root: examples, ".": {"./anymode"}} {
		args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", dir + string(filepath.Separator)}
		cmd := exec.CommandContext(t.Context(), "go", append(args, packages...)...)
		cmd.Dir = module
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+target.GOOS, "GOARCH="+target.GOARCH)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	hostLocal, err := target.HostLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.dirs = []string{dir, filepath.Dir(hostLocal)}
	return h
}

// program is the file name of a plugin.
func (h *pluginHost) program(plugin string) string {
	if h.windows {
		return plugin + ".exe"
	}
	return plugin
}

// path is a path as the host's programs take it.
func (h *pluginHost) path(path string) string {
	if h.windows {
		return zPath(path)
	}
	return path
}

// execution is one start of a plugin, as libcni asked for it.
type execution struct {
	verb string
	// What Windows saw: the native calls, by function, and the programs that were
	// started, the plugin first.
	calls    map[string]int
	programs []string
}

func (e execution) total() (n int) {
	for _, c := range e.calls {
		n += c
	}
	return n
}

// runner starts plugins for libcni.
type runner struct {
	version.PluginDecoder
	t          *testing.T
	host       *pluginHost
	state, log string // of HNS, and of its DLLs
	executions []execution
}

// FindInPath is part of libcni's interface.
func (r *runner) FindInPath(plugin string, paths []string) (string, error) {
	return invoke.FindInPath(r.host.program(plugin), paths)
}

// ExecPlugin is part of libcni's interface. The environment that libcni made of
// its own goes no further, but for CNI's variables.
func (r *runner) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	e := execution{programs: []string{strings.TrimSuffix(filepath.Base(path), ".exe")}}
	var vars []string
	for _, v := range environ {
		switch name, value, _ := strings.Cut(v, "="); {
		case name == "CNI_PATH" && r.host.windows:
			dirs := filepath.SplitList(value)
			for i := range dirs {
				dirs[i] = zPath(dirs[i])
			}
			vars = append(vars, "CNI_PATH="+strings.Join(dirs, ";"))
		case strings.HasPrefix(name, "CNI_"):
			vars = append(vars, v)
			if name == "CNI_COMMAND" {
				e.verb = value
			}
		}
	}
	cmd := r.command(ctx, path, vars)
	cmd.Stdin = bytes.NewReader(stdin)
	got := run(r.t, cmd)
	if r.host.windows {
		started, rest := startedPrograms(got.stderr)
		e.programs, got.stderr = append(e.programs, started...), rest
		e.calls = r.takeLog()
	}
	if got.stderr != "" {
		r.t.Errorf("%s wrote to standard error: %s", e.verb, got.stderr)
	}
	r.executions = append(r.executions, e)
	if got.status == 0 {
		return []byte(got.stdout), nil
	}
	var failure types.Error
	if err := json.Unmarshal([]byte(got.stdout), &failure); err != nil {
		return nil, fmt.Errorf("status %d and no error of CNI (%w): %s", got.status, err, got.stdout)
	}
	return nil, &failure
}

// command is a plugin's process. HNS_EMULATOR is for the plugin that is not
// Windows' alone.
func (r *runner) command(ctx context.Context, path string, vars []string) *exec.Cmd {
	if r.host.windows {
		vars = append(vars, native.StateVariable+"="+zPath(r.state), native.LogVariable+"="+zPath(r.log), "WINEDEBUG=-all,trace+process")
		return wineCommand(r.t, vars, "run", path) //nolint:contextcheck // it has the test's, which is ctx's parent
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(withoutVariable(cmd.Environ(), "HNS_EMULATOR"), append(vars, "HNS_EMULATOR="+r.state)...)
	return cmd
}

func withoutVariable(environ []string, name string) (out []string) {
	for _, v := range environ {
		if !strings.HasPrefix(v, name+"=") {
			out = append(out, v)
		}
	}
	return out
}

// takeLog counts the calls in the log by function, and deletes it.
func (r *runner) takeLog() map[string]int {
	calls := map[string]int{}
	logged, err := native.ReadLog(r.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Error(err)
	}
	for _, c := range logged {
		calls[c.Func]++
	}
	if err := os.Remove(r.log); err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Error(err)
	}
	return calls
}

// Wine tells of each process that a process starts; what the started ones tell
// comes the same way, because a plugin passes on what its delegates write.
var (
	traceLine   = regexp.MustCompile(`(?m)^[0-9a-f]{4}:trace:process:.*\r?\n?`)
	tracedStart = regexp.MustCompile(`:NtCreateUserProcess .* image L"(?:[^"]*\\\\)?([^"\\]+?)(?:\.exe)?" cmdline `)
)

// startedPrograms returns the names of the programs that Wine says were started,
// and what else there is in the text.
func startedPrograms(text string) (programs []string, rest string) {
	for _, line := range traceLine.FindAllString(text, -1) {
		if m := tracedStart.FindStringSubmatch(line); m != nil {
			programs = append(programs, m[1])
		}
	}
	return programs, traceLine.ReplaceAllString(text, "")
}

func TestStartedPrograms(t *testing.T) {
	const text = "0164:trace:process:CreateProcessInternalW app L\"Z:\\\\a b\\\\host-local.exe\" cmdline L\"host-local\"\r\n" +
		"0164:trace:process:NtCreateUserProcess L\"\\\\??\\\\Z:\\\\a b\\\\host-local.exe\" image L\"Z:\\\\a b\\\\host-local.exe\" cmdline L\"host-local\" parent (nil)\n" +
		"0164:trace:process:NtCreateUserProcess L\"\\\\??\\\\Z:\\\\a b\\\\host-local.exe\" pid 0188 tid 018c handles 0x13c/0x140\n" +
		"panic: trouble\n" +
		"018c:trace:process:NtCreateUserProcess L\"\\\\??\\\\C:\\\\dhcp.exe\" image L\"C:\\\\dhcp.exe\" cmdline L\"dhcp\" parent (nil)\n"
	programs, rest := startedPrograms(text)
	if want := []string{"host-local", "dhcp"}; !slices.Equal(programs, want) || rest != "panic: trouble\n" {
		t.Errorf("got %q and %q, want %q and the line that is no trace", programs, rest, want)
	}
}
