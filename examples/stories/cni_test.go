package stories_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are what a story can say beside testscript's own.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"node":      cmdNode,
	"hns":       cmdHNS,
	"cni":       cmdCNI,
	"cni-all":   cmdCNIAll,
	"plugin":    cmdPlugin,
	"endpoints": cmdEndpoints,
	"leases":    cmdLeases,
	"scratch":   cmdScratch,
	"distinct":  cmdDistinct,
	"clean":     cmdClean,
	"truncate":  cmdTruncate,
	"nbsp":      cmdNoBreakSpaces,
	"hold":      cmdHold,
	"release":   cmdRelease,
	"stale":     cmdStale,
	"killed":    cmdKilled,
}

// commandTimeout ends what hangs; nothing should come near it.
const commandTimeout = time.Minute

// pluginPath lists the directories of the plugins: those built for the stories,
// host-local's, and that of the plugin that this test binary plays.
func pluginPath(ts *testscript.TestScript) string {
	fake, err := exec.LookPath("fake-delegate")
	ts.Check(err)
	return built.plugins + string(filepath.ListSeparator) + filepath.Dir(fake)
}

// clientArgs is the command line for one verb: cni VERB POD CONF [FLAG...].
func clientArgs(ts *testscript.TestScript, args []string) []string {
	verb, pod, conf := args[0], args[1], args[2]
	n := nodeOf(ts)
	out := []string{verb, "-conf", ts.MkAbs(conf), "-id", pod, "-cache", filepath.Join(n.work, "cache"),
		"-plugins", strings.Join(filepath.SplitList(pluginPath(ts)), ",")}
	netns := n.namespaces[pod]
	if verb == "add" {
		netns = n.namespace(ts, pod)
	}
	return append(append(out, "-netns", netns), args[3:]...) // a later -netns wins
}

// cmdCNI runs one verb as containerd does, and prints what containerd gets.
func cmdCNI(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: cni add|check|del|gc|status POD CONF [FLAG...]")
	}
	err := ts.Exec(built.client, clientArgs(ts, args)...)
	expect(ts, neg, err)
}

func expect(ts *testscript.TestScript, neg bool, err error) {
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		ts.Fatalf("%v", err)
	case err != nil && !neg:
		ts.Fatalf("unexpected failure: %v", err)
	case err == nil && neg:
		ts.Fatalf("unexpected success")
	}
}

// cmdCNIAll runs a verb for pod-1 to pod-N at once, or with -same N times for
// pod-1, and fails if any of them does. Of adds it prints the pods' addresses, one
// a line.
func cmdCNIAll(ts *testscript.TestScript, neg bool, args []string) {
	same := len(args) == 4 && args[3] == "-same"
	if neg || len(args) != 3 && !same {
		ts.Fatalf("usage: cni-all add|check|del N CONF [-same]")
	}
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	outs, errs := make([][]byte, count), make([]error, count)
	var wg sync.WaitGroup
	for i := range count {
		pod := "pod-1"
		if !same {
			pod = fmt.Sprintf("pod-%d", i+1)
		}
		cmd := exec.CommandContext(ctx, built.client, clientArgs(ts, []string{args[0], pod, args[2]})...)
		cmd.Env = environ(ts)
		wg.Add(1)
		go func() {
			defer wg.Done()
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if outs[i], errs[i] = cmd.Output(); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w: %s", pod, errs[i], stderr.String())
			}
		}()
	}
	wg.Wait()
	ts.Check(errors.Join(errs...))
	if args[0] != "add" {
		return
	}
	for _, out := range outs {
		var r struct{ PodIP string }
		ts.Check(json.Unmarshal(out, &r))
		fmt.Fprintln(ts.Stdout(), r.PodIP)
	}
}

// environ is the part of the story's environment that the plugins look at.
func environ(ts *testscript.TestScript) (env []string) {
	for _, name := range []string{"HNS_EMULATOR", "PATH", "TMPDIR", "HOME"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// cmdPlugin runs one verb of a plugin without a runtime in between, and checks
// what the CNI specification says about its output: one JSON document on
// standard output for a result or an error and nothing otherwise, and here also
// nothing on standard error.
func cmdPlugin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: plugin TYPE add|check|del|gc|status|version POD CONF [NAME=VALUE...]")
	}
	typ, verb, pod, conf := args[0], args[1], args[2], args[3]
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := pluginCommand(ctx, ts, typ, verb, pod, conf)
	cmd.Env = append(cmd.Env, args[4:]...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	fmt.Fprint(ts.Stdout(), stdout.String())
	fmt.Fprint(ts.Stderr(), stderr.String())
	expect(ts, neg, err)
	if stderr.Len() > 0 {
		ts.Fatalf("the plugin wrote to standard error")
	}
	ts.Check(checkOutput(verb, stdout.String(), err != nil))
}

// pluginCommand is a plugin's process for one verb.
func pluginCommand(ctx context.Context, ts *testscript.TestScript, typ, verb, pod, conf string) *exec.Cmd {
	path, err := exec.LookPath(filepath.Join(filepath.SplitList(built.plugins)[0], typ))
	ts.Check(err)
	netns := nodeOf(ts).namespaces[pod]
	if verb == "add" {
		netns = nodeOf(ts).namespace(ts, pod) //nolint:contextcheck // the runtime's work, not the plugin's
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(environ(ts), "CNI_COMMAND="+strings.ToUpper(verb), "CNI_CONTAINERID="+pod, "CNI_NETNS="+netns,
		"CNI_IFNAME=eth0", "CNI_PATH="+pluginPath(ts))
	cmd.Stdin = strings.NewReader(ts.ReadFile(conf))
	return cmd
}

func checkOutput(verb, stdout string, failed bool) error {
	if !failed && verb != "add" && verb != "version" {
		if stdout != "" {
			return fmt.Errorf("%s succeeded and wrote to standard output", verb)
		}
		return nil
	}
	d := json.NewDecoder(strings.NewReader(stdout))
	var doc struct {
		CNIVersion string
		Code       uint
		Msg        string
	}
	if err := d.Decode(&doc); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("standard output has more than one document")
	}
	switch {
	case failed && (doc.Code == 0 || doc.Msg == ""):
		return errors.New("the error has no code or no msg")
	case doc.CNIVersion == "":
		return errors.New("the result or error has no cniVersion")
	}
	return nil
}

// cmdTruncate cuts a file, as a power cut or a reader in the wrong moment has it.
func cmdTruncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate FILE BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

// cmdNoBreakSpaces makes a file's blanks no-break spaces (U+00A0), as web pages
// give them to those who copy from there.
func cmdNoBreakSpaces(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nbsp FILE")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), " ", "\u00a0")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
