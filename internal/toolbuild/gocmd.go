package toolbuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// goBuild runs go build for pkg in the module whose directory is given.
func (t Target) goBuild(ctx context.Context, module, out, pkg string) error {
	_, err := t.run(ctx, module, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", out, pkg)
	return err
}

// run runs the go command in dir and returns its standard output.
func (t Target) run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// GOWORK=off: a workspace around the repository must not change the pins.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+t.goos(), "GOARCH="+t.goarch())
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return "", fmt.Errorf("go %s: %w\n%s(the go command must be on PATH and able to download modules: try it by hand in %s)",
			strings.Join(args, " "), err, indent(stderr.String()), dir)
	}
	return stdout.String(), nil
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("\t" + strings.TrimRight(line, "\r\n") + "\n")
	}
	return b.String()
}

// key names the directory of what is built from the tools module: a digest of
// its files, the target, and the version of Go that builds it.
func (t Target) key(ctx context.Context, module string) (string, error) {
	version, err := t.run(ctx, module, "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write([]byte(strings.Join([]string{strings.TrimSpace(version), t.goos(), t.goarch(), ""}, "\x00"))) // never fails
	if err := digestModule(sum, module); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil))[:20], nil
}

// digestModule adds the files that decide what is built: go.mod, go.sum and the
// sources, but not those of modules further down.
func digestModule(w io.Writer, module string) error {
	return filepath.WalkDir(module, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != module && isFile(filepath.Join(name, "go.mod")) {
				return fs.SkipDir
			}
			return nil
		}
		base := entry.Name()
		if base != "go.mod" && base != "go.sum" && filepath.Ext(base) != ".go" || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(module, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		// A checkout with CRLF line ends is the same source.
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		_, err = fmt.Fprintf(w, "%s\x00%d\x00%s", filepath.ToSlash(rel), len(data), data)
		return err
	})
}
