// Command nodeagent keeps a Windows node in a flannel cluster: it stands where
// flanneld with --kube-subnet-mgr stands on Linux nodes.
//
// It reads the cluster's net-conf.json, makes the HNS network for the node's pod
// subnet, leads the pod subnets of the other nodes to them, tells them in the
// annotations of flannel where this node is, and writes subnet.env and a CNI
// configuration once the network is there. It takes the flags of flanneld; those
// that mean nothing on Windows are refused, or named in the log.
//
//	nodeagent --ip-masq --kube-subnet-mgr --healthz-port=8081
//
// The name of the node comes from NODE_NAME, or from the pod that POD_NAME and
// POD_NAMESPACE name. Every flag can be given as a variable, too: FLANNELD_IFACE
// is --iface.
//
// On systems other than Windows it runs on an emulated HNS in the file that
// HNS_EMULATOR names, against any API server, and changes nothing else on the
// machine but its two files. HNS_EMULATOR_ADAPTERS says what adapters that node
// has, such as "Ethernet=192.0.2.11/24".
//
// It logs to the standard error. The exit status is 0 when it was told to stop, 1
// if it cannot go on, 2 if flags or variables are wrong; those are all named.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"k8s.io/client-go/kubernetes"

	"github.com/hnskit/hnskit/examples/nodeagent/agent"
	"github.com/hnskit/hnskit/hns"
)

// Exit statuses.
const (
	stopped = iota
	failed
	misused
)

func main() {
	// Windows tells of a shutdown, a log-off or a closed console by events that
	// the Go runtime passes on as SIGTERM.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, cancel) // a second signal ends the program at once
	status := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	cancel()
	os.Exit(status)
}

func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	c, err := parseFlags(args, environ)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(stdout)
		return stopped
	case err != nil:
		fmt.Fprintf(stderr, "nodeagent: %v\nnodeagent --help lists the flags\n", err)
		return misused
	case c.version:
		fmt.Fprintln(stdout, version())
		return stopped
	}
	log := c.logger(stderr)
	sendKlogTo(log, c.verbosity)
	log.InfoContext(ctx, "nodeagent starts", "version", version(), "flags", c.given)
	for _, n := range c.notes {
		log.WarnContext(ctx, n)
	}
	if err := serve(ctx, c, environment(environ), log); err != nil {
		log.ErrorContext(ctx, "nodeagent ends", "error", err)
		return failed
	}
	log.InfoContext(ctx, "nodeagent ends: it was told to stop")
	return stopped
}

// serve runs the agent until ctx ends. The HTTP server is there first, so that
// probes have an answer while the rest waits for HNS and the API server.
func serve(ctx context.Context, c *config, env environment, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &watched{}
	m := newMetrics(w)
	if c.healthzPort != 0 {
		s, err := listen(ctx, c.healthzAddress(), newHandler(w, m.registry), func(err error) { cancel(err) })
		if err != nil {
			return fmt.Errorf("--healthz-ip, --healthz-port: %w", err)
		}
		log.InfoContext(ctx, "health and metrics are served", "address", s.address())
		defer s.shutdown(ctx)
	}
	a, err := newAgent(ctx, c, env, m, log)
	if err != nil {
		return whyEnded(ctx, err)
	}
	w.set(a)
	return whyEnded(ctx, a.Run(ctx))
}

// whyEnded returns the error that ended the context, if that was not a signal.
func whyEnded(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.Is(cause, context.Canceled):
		return nil
	default:
		return cause
	}
}

// newAgent opens what the agent works on.
func newAgent(ctx context.Context, c *config, env environment, m *metrics, log *slog.Logger) (*agent.Agent, error) {
	netConf, err := readNetConf(c.netConfPath, env)
	if err != nil {
		return nil, fmt.Errorf("--net-config-path: %w", err)
	}
	kube, err := c.kubeConfig(env)
	if err != nil {
		return nil, err
	}
	kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &apiTransport{next: next, log: log, count: func(code string) { m.requests.WithLabelValues(code).Inc() }}
	})
	client, err := kubernetes.NewForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	services, host, err := openNode(ctx, c, env, log, &hns.Options{Logger: log, Observe: m.observe, OnLate: m.late})
	if err != nil {
		return nil, err
	}
	name, err := nodeName(ctx, env, client, log)
	if err != nil {
		return nil, err
	}
	o := c.agentOptions()
	o.NodeName, o.Client, o.HNS, o.Host, o.NetConf = name, client, services, host, netConf
	o.Logger, o.Counters = log, m.counters
	return agent.New(o)
}

// version is the module's version, or the commit that the program was built of.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value
		}
	}
	return v
}
