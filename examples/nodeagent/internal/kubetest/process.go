package kubetest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/hnskit/hnskit/internal/boundchild"
)

// process is a program that runs until it is killed.
type process struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when it has
	err    error         // why; set before ended is closed
}

// run starts a program, which outlives ctx. What it says is added to a file.
func run(ctx context.Context, logFile, program string, args ...string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &process{cancel: cancel, ended: make(chan struct{})}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	go func() {
		defer close(p.ended)
		defer log.Close()
		p.err = boundchild.Run(cmd)
	}()
	return p, nil
}

// kill ends the program if it still runs, and returns when it is gone.
func (p *process) kill() {
	p.cancel()
	<-p.ended
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// waitFor returns when ready says that the program is, or with an error when it
// has ended or is not ready in time.
func (p *process) waitFor(ctx context.Context, name, logFile string, ready func(context.Context) bool) error {
	over := poll(ctx, func() bool { return p.hasEnded() || ready(ctx) })
	switch {
	case p.hasEnded():
		return fmt.Errorf("%s ended: %w\n%s", name, p.err, tail(logFile))
	case !over:
		p.kill()
		return fmt.Errorf("%s is not ready after %s\n%s", name, patience, tail(logFile))
	}
	return nil
}

// freePorts returns ports of loopback that nobody listens on. Somebody may take
// one before it is used: whoever starts a program on it tries again.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // all at the end, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// tries is how often a program is started on other ports.
const tries = 3

// tail returns the end of a file.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4000):])
}
