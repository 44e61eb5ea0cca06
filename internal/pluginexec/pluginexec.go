// Package pluginexec runs CNI plugins as processes, for those that delegate to
// others: to an IPAM plugin, or from a meta-plugin.
package pluginexec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/internal/boundchild"
)

const (
	// pipeGrace is how long to wait for a plugin's output after it has ended or
	// has been killed: a process that it started may hold the pipes open.
	pipeGrace = 2 * time.Second

	// busyPause and busyTries bound the wait for a plugin whose file is being
	// replaced at the moment.
	busyPause = 200 * time.Millisecond
	busyTries = 25

	// maxStdout is how much a plugin may write to standard output, in bytes: a
	// result has some hundred for each address and route. maxStderr is how much of
	// standard error is kept.
	maxStdout = 1 << 20
	maxStderr = 64 << 10
)

// ErrTooMuch is matched if a plugin wrote more than 1 MiB to standard output. It was
// killed then, so nobody knows what it has done.
var ErrTooMuch = errors.New("the plugin wrote too much to standard output")

// Exec runs plugins. Other than package invoke's default it gives up on pipes
// that are held open, takes no more than 1 MiB, writes to this process's
// standard error only if asked to, keeps the cause of a failure, and takes the
// plugin along when this process dies.
type Exec struct {
	version.PluginDecoder
	// Stderr, if not nil, gets what plugins write to standard error, each call's in
	// one Write.
	Stderr io.Writer
}

var _ invoke.Exec = (*Exec)(nil)

// FindInPath returns the absolute path of a plugin: a bare name, which an empty
// entry in the list gives, would be looked up in PATH when it is run.
func (e *Exec) FindInPath(plugin string, paths []string) (string, error) {
	path, err := invoke.FindInPath(plugin, paths)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// ExecPlugin returns what the plugin wrote to standard output. The error of one
// that failed is a *types.Error if it printed one.
func (e *Exec) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	for try := 1; ; try++ {
		out, err := e.once(ctx, path, stdin, environ)
		if !isBusy(err) || try == busyTries {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(busyPause):
		}
	}
}

func (e *Exec) once(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	stdout := &stream{most: maxStdout, full: kill}
	stderr := &stream{most: maxStderr, full: func() {}}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, bytes.NewReader(stdin), stdout, stderr
	cmd.WaitDelay = pipeGrace
	err := boundchild.Run(cmd)
	if e.Stderr != nil && stderr.kept.Len() > 0 {
		// What a plugin says here is for people; failing to pass it on is no failure.
		_, _ = e.Stderr.Write(stderr.text())
	}
	switch {
	case stdout.left > 0:
		return nil, fmt.Errorf("%w, more than %d bytes: %q", ErrTooMuch, maxStdout, shorten(stdout.kept.Bytes()))
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it ended well and left a process behind
		return stdout.kept.Bytes(), nil
	}
	return nil, pluginError(err, stdout.kept.Bytes(), stderr.kept.Bytes())
}

// stream keeps the begin of what is written to it, and calls full when more
// comes. It is read when the writing is over.
type stream struct {
	kept bytes.Buffer
	most int
	left int // bytes that were not kept
	full func()
}

func (s *stream) Write(p []byte) (int, error) {
	fits := min(len(p), s.most-s.kept.Len())
	s.kept.Write(p[:fits])
	if fits < len(p) {
		s.left += len(p) - fits
		s.full()
	}
	return len(p), nil
}

// text says what is missing from it.
func (s *stream) text() []byte {
	if s.left == 0 {
		return s.kept.Bytes()
	}
	return fmt.Appendf(s.kept.Bytes(), "\n… %d bytes left out\n", s.left)
}

// pluginError is the error that a plugin printed, or what is known without one.
func pluginError(err error, stdout, stderr []byte) error {
	var printed types.Error
	if json.Unmarshal(stdout, &printed) == nil && (printed.Code != 0 || printed.Msg != "") {
		return &printed
	}
	for _, stream := range []struct {
		name string
		text []byte
	}{{"stdout", stdout}, {"stderr", stderr}} {
		if text := shorten(stream.text); text != "" {
			err = fmt.Errorf("%w; %s: %q", err, stream.name, text)
		}
	}
	return err
}

// shorten makes an output fit into an error message.
func shorten(output []byte) string {
	const limit = 300
	text := string(bytes.TrimSpace(output))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}
