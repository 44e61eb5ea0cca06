package flows

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// wfpProxy is an L4WFPPROXY policy with its filter read.
type wfpProxy struct {
	hns.L4WFPProxy
	filter match
}

// proxyOut redirects what a pod sends to a proxy, by the L4Proxy policies of
// the endpoint and of its network, and by L4WFPPROXY.
func (f *flight) proxyOut(e *endpoint) {
	for _, l := range []struct {
		proxies []hns.L4Proxy
		ref     Ref
	}{{e.proxies, e.ref("L4Proxy", "")}, {e.net.proxies, e.net.ref("L4Proxy", "")}} {
		for _, p := range l.proxies {
			if !f.redirected(p, e) {
				continue
			}
			before := f.h
			f.h.Dst, f.h.DstPort = p.IP, p.Port
			f.remember(entry{node: e.node, ep: e, ref: l.ref}, before)
			f.step(Step{Object: l.ref, Effect: Rewritten, Before: before, Certainty: Practice, Text: fmt.Sprintf("redirects it to the proxy %s", socket(p.IP, p.Port))})
			return
		}
	}
	for i := range e.wfp {
		if p := &e.wfp[i]; p.OutboundPort != 0 {
			f.throughPod(e, p, p.OutboundPort, p.OutboundExceptions, f.h.Dst, f.h.DstPort, hns.Out)
		}
	}
}

// redirected reports whether an L4Proxy policy is about the packet. What the
// proxy itself sends is not redirected.
func (f *flight) redirected(p hns.L4Proxy, e *endpoint) bool {
	if !p.IP.IsValid() || e.hasAddr(p.IP) || p.IP.Is4() != f.h.Dst.Is4() || p.Protocol != hns.ProtocolAny && p.Protocol != f.h.Protocol || isICMP(f.h.Protocol) {
		return false
	}
	except, _ := places(append(append([]string(nil), p.Exceptions...), p.ExceptionList...))
	if _, n := holding(except, f.h.Dst); n > 0 {
		return false
	}
	if p.Destination == "" {
		return true
	}
	to, _ := places([]string{p.Destination})
	_, n := holding(to, f.h.Dst)
	return n > 0
}

// throughPod notes a proxy inside of the pod. The proxy opens a connection of
// its own; what it does with it is not modelled: it is taken to go where the
// packet was meant to.
func (f *flight) throughPod(e *endpoint, p *wfpProxy, port uint16, except hns.ProxyExceptions, other netip.Addr, otherPort uint16, way hns.Direction) {
	if fits, _ := f.fits(&p.filter, f.h, way); !fits || isICMP(f.h.Protocol) {
		return
	}
	if ps, _ := places(except.Addresses); len(ps) > 0 {
		if _, n := holding(ps, other); n > 0 {
			return
		}
	}
	ports := readPorts(except.Ports)
	if fits, _ := ports.holds(otherPort); len(except.Ports) > 0 && fits {
		return
	}
	f.pass(e.ref("L4WFPPROXY", fmt.Sprint(port)), Inferred, false, fmt.Sprintf("hands it to the proxy on port %d in the pod, which sends it on", port))
}

// proxyIn notes a proxy inside of the pod for what comes in.
func (f *flight) proxyIn(e *endpoint) {
	for i := range e.wfp {
		if p := &e.wfp[i]; p.InboundPort != 0 {
			f.throughPod(e, p, p.InboundPort, p.InboundExceptions, f.h.Src, f.h.DstPort, hns.In)
		}
	}
}
