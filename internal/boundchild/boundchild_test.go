package boundchild

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// roleVar makes this test binary the caller, or the program that it runs.
const roleVar = "BOUNDCHILD_TEST_ROLE"

// patience is for the slowest machine; no test waits so long unless it fails.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "caller":
		os.Exit(caller(os.Args[1:]))
	case "program":
		os.Exit(program(os.Args[1]))
	}
	os.Exit(m.Run())
}

func caller(args []string) int {
	self, err := os.Executable()
	if err != nil {
		return 90
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleVar+"=program")
	cmd.Stdout = os.Stdout // the pipe itself, so that it stays open with the program
	if Run(cmd) != nil {
		return 91
	}
	return 0
}

// program says that it runs and waits for the file to be gone.
func program(file string) int {
	if _, err := os.Stdout.WriteString("running\n"); err != nil {
		return 92
	}
	for {
		if _, err := os.Stat(file); err != nil {
			return 0
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// start starts the caller and waits for its program. What is read from the answer
// ends when both have.
func start(t *testing.T) (cmd *exec.Cmd, out io.Reader, file string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "test-is-running")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, file)
	cmd.Env = append(os.Environ(), roleVar+"=caller")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Remove(file)
		_ = r.Close()
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); err != nil || line != "running\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	return cmd, lines, file
}

// TestEndsWithItsCaller, however that ends.
func TestEndsWithItsCaller(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("this system cannot")
	}
	cmd, out, _ := start(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, out)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the program runs on without its caller")
	}
}

// TestRunWaits: otherwise it is cmd.Run.
func TestRunWaits(t *testing.T) {
	cmd, out, file := start(t)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the caller: %v", err)
	}
	if err := Run(exec.Command(filepath.Join(t.TempDir(), "no-such"))); err == nil {
		t.Error("a program that is not there runs")
	}
}
