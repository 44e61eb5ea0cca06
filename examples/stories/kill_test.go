package stories_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdKilled starts ADD so many times and kills the plugin, each time a little
// later in its work, and runs DEL afterwards, which must leave nothing.
func cmdKilled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: killed N TYPE POD CONF")
	}
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	typ, pod, conf := args[1], args[2], args[3]
	for i := range count {
		ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
		ts.Check(startAndKill(pluginCommand(ctx, ts, typ, "add", pod, conf), time.Duration(i)*killStep))
		out, err := pluginCommand(ctx, ts, typ, "del", pod, conf).Output()
		cancel()
		if err != nil {
			ts.Fatalf("DEL after an ADD that was killed after %s: %v: %s", time.Duration(i)*killStep, err, out)
		}
		cmdClean(ts, false, nil)
	}
}

const killStep = 2 * time.Millisecond

// startAndKill returns when the plugin and what it had started are gone: an IPAM
// plugin goes on without it. All of them have the pipe open until then.
func startAndKill(cmd *exec.Cmd, after time.Duration) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return err
	}
	time.Sleep(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed, or done before
	_, err = io.Copy(io.Discard, r)
	return err
}
