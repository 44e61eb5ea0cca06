package flannel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

// pipeGrace is how long to wait for a delegate's output after it has ended or was
// killed: a process that it started may hold the pipes open.
const pipeGrace = 2 * time.Second

// process runs delegates as processes. Unlike the Exec of package invoke it keeps
// to the deadline, and passes nothing on to standard error.
type process struct{ version.PluginDecoder }

var _ invoke.Exec = (*process)(nil)

// FindInPath returns an absolute path: what an empty entry of the list gives
// would be looked up in PATH.
func (*process) FindInPath(plugin string, paths []string) (string, error) {
	path, err := invoke.FindInPath(plugin, paths)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// ExecPlugin returns what the plugin wrote to standard output. The error of one
// that failed is a *types.Error if it printed one.
func (*process) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, bytes.NewReader(stdin), &stdout, &stderr
	cmd.WaitDelay = pipeGrace
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // it ended well and left a process behind
		return stdout.Bytes(), nil
	}
	var printed types.Error
	if json.Unmarshal(stdout.Bytes(), &printed) == nil && (printed.Code != 0 || printed.Msg != "") {
		return nil, &printed
	}
	if text := strings.TrimSpace(stderr.String()); text != "" {
		const most = 300
		err = fmt.Errorf("%w: %q", err, strings.ToValidUTF8(text[:min(len(text), most)], ""))
	}
	return nil, err
}
