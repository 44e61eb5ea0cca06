package wine_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

// wineCommand returns the script wine with arguments, and with variables
// beside those of the test, without what a user may have set for programs of
// his own. It gives up in the end, so that a hang is a
// failure with its output and not the end of the test binary.
func wineCommand(t *testing.T, vars []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "./wine", args...)
	for _, v := range cmd.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case native.StateVariable, native.LogVariable, native.VersionVariable, native.AdaptersVariable, "HNSKIT_NO_HNS":
		default:
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, vars...)
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// result is what a program left behind.
type result struct {
	stdout, stderr string
	status         int
}

func run(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		// Among others, output that stays open after the end: what the first
		// program of a session started still holds it.
		t.Errorf("%s: %v\n%s%s", cmd, err, stdout.String(), stderr.String())
		return result{status: -1}
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// notInstalled is the script's exit status when Wine is missing.
const notInstalled = 3

var setup = sync.OnceValues(func() (int, string) {
	if runtime.GOOS != "linux" {
		return notInstalled, "the script wine is for Linux"
	}
	cmd := exec.Command("./wine", "setup", "--offline")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return -1, err.Error()
	}
	return cmd.ProcessState.ExitCode(), string(out)
})

// needWine sets Wine up for the test. Where it is not installed the test
// skips, or fails if HNSKIT_WINE=1 promises that it is.
func needWine(t *testing.T) {
	t.Helper()
	switch status, out := setup(); {
	case status == 0:
	case status == notInstalled && os.Getenv("HNSKIT_WINE") != "1":
		t.Skipf("Wine is missing (\"wine setup\" as root installs it; HNSKIT_WINE=1 makes this a failure): %s", out)
	default:
		t.Fatalf("wine setup: status %d\n%s", status, out)
	}
}

// build builds one of the Windows programs in testdata.
func build(t *testing.T, name string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), name+".exe")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", exe, "./testdata/"+name)
	cmd.Env = append(cmd.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return exe
}

func TestRun(t *testing.T) {
	needWine(t)
	exe := build(t, "exit")
	cmd := wineCommand(t, nil, "run", exe, "one", "two words", `quo"te`, "")
	cmd.Stdin = strings.NewReader("from outside")
	got := run(t, cmd)
	want := result{
		stdout: `windows ["one" "two words" "quo\"te" ""] "from outside"` + "\n",
		stderr: "on standard error\n",
		status: 3,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A program that waits for ever is stopped, and so is all that holds its
// output.
func TestRunTimeout(t *testing.T) {
	needWine(t)
	cmd := wineCommand(t, []string{"HNSKIT_WINE_TIMEOUT=1"}, "run", build(t, "exit"))
	never, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer never.Close()
	defer hold.Close()
	cmd.Stdin = never
	got := run(t, cmd)
	if got.status != 124 || got.stdout != "" || !strings.Contains(got.stderr, "took longer than 1 s") {
		t.Errorf("got %+v, want status 124 and a message", got)
	}
}

// Killing the script, as exec.CommandContext does, ends the program, too: its
// output is closed.
func TestRunKilled(t *testing.T) {
	needWine(t)
	cmd := wineCommand(t, nil, "run", build(t, "wait"))
	stdin, err := cmd.StdinPipe() // never written to
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("waiting"))
	if _, err := stdout.Read(line); err != nil || string(line) != "waiting" {
		t.Fatalf("first output %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(stdout); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed, as it will say
}

func TestRunMany(t *testing.T) {
	needWine(t)
	exe := build(t, "exit")
	atOnce(t, 12, func() {
		if got := run(t, wineCommand(t, nil, "run", exe, "x")); got.status != 3 || got.stdout != "windows [\"x\"] \"\"\n" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestBadUse(t *testing.T) {
	needWine(t)
	empty := "HNSKIT_WINE_DIR=" + t.TempDir()
	tests := []struct {
		name   string
		vars   []string
		args   []string
		status int
		says   string
	}{
		{"unknown verb", nil, []string{"dance"}, 2, `unknown verb "dance"`},
		{"setup with an argument", nil, []string{"setup", "--now"}, 2, `unexpected "--now"`},
		{"run nothing", nil, []string{"run"}, 2, "which program?"},
		{"missing program", nil, []string{"run", "./missing.exe"}, 127, "no such file: ./missing.exe"},
		{"bad timeout", []string{"HNSKIT_WINE_TIMEOUT=soon"}, []string{"run", "cmd"}, 2, `HNSKIT_WINE_TIMEOUT="soon"`},
		{"not set up", []string{empty}, []string{"run", "cmd"}, 3, `run "wine setup"`},
		{"suite, not set up", []string{empty}, []string{"hcsshim"}, 3, `run "wine setup"`},
		{"suite with an argument", nil, []string{"hnslib", "-v"}, 2, `hnslib: unexpected "-v"`},
		{"stop where nothing is", []string{empty}, []string{"stop"}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, wineCommand(t, tt.vars, tt.args...))
			if got.status != tt.status || !strings.Contains(got.stderr, tt.says) || got.stdout != "" {
				t.Errorf("got %+v, want status %d and %q", got, tt.status, tt.says)
			}
		})
	}
}

// The exports of "wine env" are enough to call Wine without the script.
func TestEnv(t *testing.T) {
	needWine(t)
	exe := build(t, "exit")
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", `eval "$(./wine env)"; exec "$WINE" "$0" x`, exe)
	if got := run(t, cmd); got.status != 3 || got.stdout != "windows [\"x\"] \"\"\n" {
		t.Errorf("got %+v", got)
	}
}

// Package native passes its tests as a Windows program, too: the locks and
// files of Windows are not those of Linux.
func TestGoTest(t *testing.T) {
	needWine(t)
	overlay := run(t, wineCommand(t, nil, "overlay"))
	script, err := filepath.Abs("wine")
	if overlay.status != 0 || err != nil {
		t.Fatalf("%+v, %v", overlay, err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", strings.TrimSpace(overlay.stdout), "-exec", "'"+script+"' run", "./native")
	cmd.Env = append(cmd.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if got := run(t, cmd); got.status != 0 || !strings.HasPrefix(got.stdout, "ok ") {
		t.Errorf("%+v", got)
	}
}

func TestHelp(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script wine is for Linux")
	}
	cmd := wineCommand(t, []string{"PATH=/usr/bin:/bin"}, "help")
	got := run(t, cmd)
	if got.status != 0 || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
	for _, word := range []string{
		"setup", "run", "env", "overlay", "hcsshim", "hnslib", "stop",
		"HNSKIT_WINE_DIR", "HNSKIT_WINE_TIMEOUT", "HNSKIT_STATE", "HNSKIT_CALL_LOG", "HNSKIT_HNS_VERSION", "HNSKIT_ADAPTERS", "HNSKIT_NO_HNS",
	} {
		if !strings.Contains(got.stdout, word) {
			t.Errorf("the help does not tell of %s", word)
		}
	}
}
