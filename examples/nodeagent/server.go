package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hnskit/hnskit/examples/nodeagent/agent"
)

// watched is the agent as probes and metrics see it, which ask before there is
// one.
type watched struct{ agent atomic.Pointer[agent.Agent] }

func (w *watched) set(a *agent.Agent) { w.agent.Store(a) }

var errStarting = errors.New("the program is starting")

func (w *watched) status() agent.Status {
	a := w.agent.Load()
	if a == nil {
		return agent.Status{Err: errStarting}
	}
	return a.Status()
}

// reporter tells the status of an agent.
type reporter interface{ status() agent.Status }

// newHandler serves what flanneld serves, and metrics: /healthz answers 200 as
// long as the program runs, ready or not; /readyz once the node has its network.
func newHandler(s reporter, metrics *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "nodeagent is running")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch st := s.status(); {
		case !st.Ready && st.Err != nil:
			http.Error(w, "not ready: "+st.Err.Error(), http.StatusServiceUnavailable)
		case !st.Ready:
			http.Error(w, "not ready yet", http.StatusServiceUnavailable)
		case st.Err != nil:
			fmt.Fprintf(w, "ready, but the last look at the node failed: %v\n", st.Err)
		default:
			fmt.Fprintln(w, "ready")
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{Registry: metrics}))
	return mux
}

// server is an HTTP server that runs.
type server struct {
	http     http.Server
	listener net.Listener
	// failed is told if it stops by itself.
	failed func(error)
}

// listen starts a server. The address is taken when it returns.
func listen(ctx context.Context, address string, h http.Handler, failed func(error)) (*server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	s := &server{listener: l, failed: failed, http: http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
	}}
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed(fmt.Errorf("health and metrics: %w", err))
		}
	}()
	return s, nil
}

func (s *server) address() string { return s.listener.Addr().String() }

// grace is how long requests have to end; flanneld's is the same.
const grace = 3 * time.Second

// shutdown lets requests end, and stops the server. ctx may be done: the program
// ends, as a rule.
func (s *server) shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // whoever still asks gets no answer
	}
}
