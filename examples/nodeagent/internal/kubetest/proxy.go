package kubetest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// Proxy is a way to the server that can be cut, while others reach it.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
}

// NewProxy opens a way to the server. It is closed with the test.
func (s *Server) NewProxy(tb testing.TB) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l, target: fmt.Sprintf("127.0.0.1:%d", s.port), conns: map[net.Conn]struct{}{}}
	p.running.Go(p.serve)
	tb.Cleanup(func() {
		_ = l.Close()
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Config returns c by way of the proxy.
func (p *Proxy) Config(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Host = "https://" + p.listener.Addr().String()
	return c
}

// Cut breaks all connections and lets no new one through.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		_ = c.Close()
	}
}

// Mend lets connections through again.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
}

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil { // closed
			return
		}
		p.running.Go(func() { p.pass(c) })
	}
}

func (p *Proxy) pass(c net.Conn) {
	defer p.drop(c)
	if !p.keep(c) {
		return
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target)
	if err != nil { // the server is down, and so the client sees it
		return
	}
	defer p.drop(server)
	if !p.keep(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { copyAndClose(server, c) })
	both.Go(func() { copyAndClose(c, server) })
	both.Wait()
}

// keep remembers an open connection, unless the way is cut.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

// copyAndClose copies until one side ends, and ends the other, as TLS has no
// use for half a connection.
func copyAndClose(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}
