// Package kubetest runs a real kube-apiserver, with an etcd of its own, for
// tests: on loopback, on free ports, with its data in a temporary directory.
// There is no kubelet, no scheduler and no controller, so tests write the Node
// objects that those would write; [Node] makes them.
//
// The programs are found by two variables: HNSKIT_KUBE_APISERVER is the path of
// kube-apiserver, and HNSKIT_ETCD that of etcd, which is looked for in PATH
// without. The script .ci/kube-apiserver builds the one and installs the other:
//
//	export HNSKIT_KUBE_APISERVER=$(.ci/kube-apiserver)
//
// Without them tests are skipped. Both processes end with the test, and with
// the test program however that ends.
package kubetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The variables with the paths of the programs.
const (
	ServerVariable = "HNSKIT_KUBE_APISERVER"
	EtcdVariable   = "HNSKIT_ETCD"
)

// ServiceCIDR is the range of the services' addresses that the server is told.
const ServiceCIDR = "10.96.0.0/16"

// patience is what starting a program may take on a busy machine. It bounds
// waits that end as soon as the program is ready.
const patience = 3 * time.Minute

// Server is a kube-apiserver and its etcd. Authorization is RBAC.
type Server struct {
	dir, program string
	etcd         etcd
	port         int // the same through all starts
	proc         *process
	token        string // of a user in the group system:masters
}

// New starts a server for a test and waits until it is ready. The test is
// skipped if the programs are not there.
func New(tb testing.TB) *Server {
	tb.Helper()
	program, etcdProgram := programs(tb)
	s := &Server{dir: tb.TempDir(), program: program, token: randomToken()}
	if err := s.prepare(); err != nil {
		tb.Fatal(err)
	}
	s.etcd = etcd{program: etcdProgram, dir: filepath.Join(s.dir, "etcd")}
	if err := s.etcd.start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.etcd.proc.kill) // before the directory goes, as cleanups run backwards
	if err := s.start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			tb.Logf("the last that kube-apiserver said:\n%s", tail(s.logFile()))
		}
	})
	return s
}

// Available reports whether New does not skip.
func Available() bool {
	_, _, missing := find()
	return missing == ""
}

func programs(tb testing.TB) (server, etcd string) {
	tb.Helper()
	server, etcd, missing := find()
	if missing != "" {
		tb.Skip(missing)
	}
	return server, etcd
}

// find returns the paths of the programs, or what is missing.
func find() (server, etcd, missing string) {
	if server = os.Getenv(ServerVariable); server == "" {
		return "", "", ServerVariable + " is not set: .ci/kube-apiserver prints the path that it wants"
	}
	if etcd = os.Getenv(EtcdVariable); etcd != "" {
		return server, etcd, ""
	}
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return "", "", "no etcd in PATH, and " + EtcdVariable + " is not set"
	}
	return server, etcd, ""
}

// Kill ends the server at once, as a crash does. What it had acknowledged is in
// etcd. All connections to it break.
func (s *Server) Kill() { s.proc.kill() }

// Start starts a killed server again, on the same port with the same data, and
// waits until it is ready. Tokens stay good.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	if err := s.start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// Config is the way to the server for a user who may do all. It has no limit
// of requests per second.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: s.address(), BearerToken: s.token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAFile: s.certFile()}}
}

// Admin is a client of a user who may do all.
func (s *Server) Admin(tb testing.TB) kubernetes.Interface { return ClientOf(tb, s.Config()) }

// ClientOf makes a client.
func ClientOf(tb testing.TB, c *rest.Config) kubernetes.Interface {
	tb.Helper()
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// Compact makes etcd forget every state before the present one. Watches that
// go on from an older state are refused (410 Gone, reason Expired), once the
// server has forgotten it, too: it keeps the last changes in memory until it is
// started again.
func (s *Server) Compact(tb testing.TB) {
	tb.Helper()
	if err := s.etcd.compact(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// poll calls f until it returns true or the deadline is over. The time between
// two calls is no part of any result.
func poll(ctx context.Context, f func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !f() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
	return true
}
