package subnetenv

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const whole = "FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// containernetworking/cni#72 and flannel-io/flannel#1399: the message must say
// which file, and a missing file must be told from a wrong one.
func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing", "subnet.env")
	torn := filepath.Join(dir, "torn.env")
	writeFile(t, torn, whole[:40])
	wrong := filepath.Join(dir, "wrong.env")
	writeFile(t, wrong, strings.Replace(whole, "1450", "1", 1))

	tests := []struct {
		path     string
		notExist bool
		notReady bool
		says     string
	}{
		{missing, true, false, "is it running"},
		{torn, false, true, "is flanneld running"},
		{wrong, false, false, `line 3: FLANNEL_MTU "1"`},
		// A missing mount source becomes a directory: flannel-io/flannel#2232.
		{dir, false, false, "is a directory"},
	}
	for _, tt := range tests {
		t.Run(filepath.Base(tt.path), func(t *testing.T) {
			_, err := Read(tt.path)
			if err == nil {
				t.Fatal("no error")
			}
			if errors.Is(err, fs.ErrNotExist) != tt.notExist || errors.Is(err, ErrNotReady) != tt.notReady {
				t.Errorf("%v: ErrNotExist %t, ErrNotReady %t", err, errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrNotReady))
			}
			for _, s := range []string{tt.path, tt.says} {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
		})
	}
}

func TestWriteRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "flannel", "subnet.env")
	want, err := Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		if err := Write(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("read %+v, %v; want %+v", got, err, want)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != whole {
		t.Errorf("file holds %q, %v; want %q", text, err, whole)
	}
}

func TestWriteRefusesInvalid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subnet.env")
	writeFile(t, path, whole)
	var parseErr *ParseError
	if err := Write(path, &Env{MTU: 1450}); !errors.As(err, &parseErr) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want a *ParseError that names the file", err)
	}
	if text, _ := os.ReadFile(path); string(text) != whole {
		t.Errorf("the file was changed to %q", text)
	}
}

// Wait looks again while the file is missing or not complete, and only then.
// flannel-io/flannel#1399 and #2253: after a reboot pods come before flanneld.
func TestWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flannel", "subnet.env")
	states := []func(){
		func() {}, // not even the directory
		func() {
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		func() { writeFile(t, path, "") },
		func() { writeFile(t, path, whole[:5]) },
		func() { writeFile(t, path, whole[:len("FLANNEL_NETWORK=10.50.0.0/1")]) },
		func() { writeFile(t, path, whole[:len(whole)-3]) },
		func() { writeFile(t, path, whole) },
	}
	looked := 0
	read := func() (*Env, error) {
		states[looked]()
		looked++
		return Read(path)
	}
	var pauses []time.Duration
	env, err := wait(t.Context(), read, func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	})
	if err != nil || env.MTU != 1450 || looked != len(states) {
		t.Fatalf("%+v, %v after %d looks; want the whole file after %d", env, err, looked, len(states))
	}
	for i, d := range pauses {
		if d > lastPoll || i > 0 && d < pauses[i-1] {
			t.Errorf("pauses %v do not grow up to %v", pauses, lastPoll)
			break
		}
	}
}

func TestWaitFailsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subnet.env")
	writeFile(t, path, strings.Replace(whole, "1450", "70000", 1))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Wait(ctx, path)
	var parseErr *ParseError
	if !errors.As(err, &parseErr) || errors.Is(err, ErrNotReady) {
		t.Errorf("error %v, want a final *ParseError", err)
	}
}

func TestWaitContext(t *testing.T) {
	dir := t.TempDir()
	torn := filepath.Join(dir, "torn.env")
	writeFile(t, torn, whole[:50])
	tests := map[string]error{
		filepath.Join(dir, "missing.env"): fs.ErrNotExist,
		torn:                              ErrNotReady,
	}
	for path, reason := range tests {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := Wait(ctx, path)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, reason) || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want both the deadline and %v, naming %s", err, reason, path)
		}
	}

	// A file that is there is returned even without time to wait.
	writeFile(t, torn, whole)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Wait(ctx, torn); err != nil {
		t.Errorf("Wait with an ended context: %v, want the file", err)
	}
}
