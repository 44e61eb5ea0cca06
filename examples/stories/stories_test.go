package stories_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hnskit/hnskit/internal/toolbuild"
)

// programs are what the stories run.
type programs struct {
	client  string // drives plugins as containerd does
	plugins string // directories of the plugins, in the form of PATH
}

// built is set once, before any story.
var built programs

func TestMain(m *testing.M) {
	testscript.Main(builder{m}, map[string]func(){"fake-delegate": fakeDelegate, "any-mode": anyMode})
}

// builder builds the programs before the tests, and in the test process alone:
// TestMain also runs where the test binary stands in for a plugin.
type builder struct{ *testing.M }

func (b builder) Run() int {
	if runtime.GOOS == "windows" {
		return b.M.Run()
	}
	dir, err := os.MkdirTemp("", "hnskit-stories-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if built, err = build(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return b.M.Run()
}

func build(ctx context.Context, dir string) (p programs, err error) {
	for _, name := range []string{"flannel", "win-bridge", "win-overlay", "nat", "custom-plugin"} {
		if _, err := toolbuild.Local(ctx, "./examples/"+name, dir); err != nil {
			return p, err
		}
	}
	hostLocal, err := toolbuild.HostLocal(ctx)
	if err != nil {
		return p, err
	}
	if p.client, err = toolbuild.CNIClient(ctx); err != nil {
		return p, err
	}
	p.plugins = dir + string(filepath.ListSeparator) + filepath.Dir(hostLocal)
	return p, nil
}

func TestStories(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the example plugins speak to the real HNS here")
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), Setup: setup, Cmds: commands, RequireExplicitExec: true, RequireUniqueNames: true,
	})
}

// TestStoriesEndClean demands that each story ends by looking for what is left.
func TestStoriesEndClean(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d stories, %v", len(files), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(data), "\n-- ")
		lines := strings.Split(strings.TrimSpace(script), "\n")
		if last := lines[len(lines)-1]; last != "clean" {
			t.Errorf("%s ends with %q, not with clean", f, last)
		}
	}
}

// setup gives a story its own node: files, HNS, and a place for locks.
func setup(env *testscript.Env) error {
	env.Setenv("HNS_EMULATOR", filepath.Join(env.WorkDir, "hns.json"))
	env.Values[nodeKey{}] = &node{work: env.WorkDir, namespaces: map[string]string{}}
	return fillIn(env.WorkDir)
}

// fillIn replaces $WORK in the story's files, which must hold absolute paths, by
// its directory, in the form that JSON wants.
func fillIn(work string) error {
	quoted, err := json.Marshal(work)
	if err != nil {
		return err
	}
	text := bytes.Trim(quoted, `"`)
	return filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(data, []byte("$WORK"), text), 0o600)
	})
}
