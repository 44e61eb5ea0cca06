package ipam

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
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
)

// process runs plugins. Other than package invoke's default it gives up on pipes
// that are held open, writes to this process's standard error only if asked to,
// keeps the cause of a failure, and takes the plugin along when this process dies.
type process struct {
	version.PluginDecoder
	stderr io.Writer
}

var _ invoke.Exec = (*process)(nil)

func (p *process) FindInPath(plugin string, paths []string) (string, error) {
	path, err := invoke.FindInPath(plugin, paths)
	if err != nil {
		return "", err
	}
	// A bare name, which an empty entry in the list gives, would be looked up in
	// PATH when it is run.
	return filepath.Abs(path)
}

func (p *process) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	for try := 1; ; try++ {
		out, err := p.once(ctx, path, stdin, environ)
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

func (p *process) once(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = environ
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = pipeGrace
	err := boundchild.Run(cmd)
	if p.stderr != nil && stderr.Len() > 0 {
		// What a plugin says here is for people; failing to pass it on is no failure.
		_, _ = p.stderr.Write(stderr.Bytes())
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		// ErrWaitDelay: it ended well and left a process behind.
		return stdout.Bytes(), nil
	}
	return nil, pluginError(err, stdout.Bytes(), stderr.Bytes())
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
