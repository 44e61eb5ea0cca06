package node_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
)

// generated makes a sound description at random. What is sound is said here
// again, so that the package does not judge itself.
type generated struct {
	*rand.Rand
	d node.Description
}

func (g *generated) maybe() bool { return g.IntN(2) == 0 }

// nth is the nth address of a prefix, counted in its last four bytes.
func nth(p netip.Prefix, n uint32) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := len(b) - 1; n > 0; i-- {
		n += uint32(b[i])
		b[i] = byte(n)
		n >>= 8
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// size is how many addresses an IPv4 prefix has; of IPv6 a part is enough.
func size(p netip.Prefix) uint32 { return 1 << min(p.Addr().BitLen()-p.Bits(), 10) }

// part is a random prefix of that length in another.
func (g *generated) part(of netip.Prefix, bits int) netip.Prefix {
	b := of.Addr().AsSlice()
	for i := range b {
		for bit := range 8 {
			if at := 8*i + bit; at >= of.Bits() && at < bits && g.maybe() {
				b[i] |= 0x80 >> bit
			}
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(a, bits)
}

// byTheNode are the modes in which the node leads packets between pods and others.
func byTheNode(m modes.Mode) bool { return m != modes.NAT && m != modes.Transparent }

func (g *generated) description() node.Description {
	m := []modes.Mode{modes.L2Bridge, modes.L2Tunnel, modes.Overlay, modes.Transparent, modes.NAT}[g.IntN(5)]
	d := node.Description{Mode: m, Name: fmt.Sprintf("net.%d", g.IntN(100)), IPMasq: g.maybe(), NodeAddresses: addrs("198.51.100.7"), Plugin: "own"}
	cluster := prefixes("10.64.0.0/12", "10.80.0.0/13", "172.20.0.0/14")
	g.Shuffle(len(cluster), func(i, j int) { cluster[i], cluster[j] = cluster[j], cluster[i] })
	d.ClusterCIDRs = cluster[:1+g.IntN(3)]
	d.Subnets = []netip.Prefix{g.part(d.ClusterCIDRs[0], 20+g.IntN(10))}
	if m != modes.Overlay && m != modes.NAT && g.maybe() {
		six := netip.MustParsePrefix("fd00:64::/40")
		d.ClusterCIDRs = append(d.ClusterCIDRs, six)
		d.Subnets = append(d.Subnets, g.part(six, []int{56, 64, 112, 120}[g.IntN(4)]))
		d.NodeAddresses = append(d.NodeAddresses, addr("2001:db8::7"))
	}
	if g.IntN(3) == 0 { // whether the pods have IPv6 or not
		d.ClusterCIDRs = append(d.ClusterCIDRs, netip.MustParsePrefix("fd00:65::/48"))
	}
	if g.maybe() {
		d.ServiceCIDRs = prefixes("10.96.0.0/12", "fd00:96::/108")[:1+g.IntN(2)]
	}
	if g.maybe() {
		d.LinkMTU = 1400 + g.IntN(7600)
	}
	d.Persistent, d.DSR = m != modes.NAT && g.maybe(), byTheNode(m) && g.maybe()
	switch m {
	case modes.NAT:
		d.IPMasq = true
	case modes.Transparent:
		d.IPMasq = false
	case modes.L2Bridge:
		if g.maybe() {
			d.GatewayRule = modes.GatewaySubnet
		}
	case modes.Overlay:
		d.VNI, d.VXLANPort = []uint32{4096, 65535, uint32(4096 + g.IntN(61440))}[g.IntN(3)], uint16(1+g.IntN(65535))
		if g.maybe() {
			d.Linux = &node.LinuxVXLAN{VNI: d.VNI, Port: d.VXLANPort}
		}
		d.MACPrefix = []string{"", "0E-2B", "02-00"}[g.IntN(3)]
	}
	if d.IPMasq && byTheNode(m) && g.maybe() {
		d.NATExceptions = []netip.Prefix{g.part(netip.MustParsePrefix("192.168.0.0/16"), 16+g.IntN(17)), netip.MustParsePrefix("2001:db8:1::/48")}[:1+g.IntN(2)]
	}
	g.d = d
	g.addresses()
	return g.d
}

// addresses gives some of the pod subnets' addresses away.
func (g *generated) addresses() {
	d := &g.d
	for _, s := range d.Subnets {
		// Not the network's, .2 where the node's endpoint may be, .3 of Azure, the last.
		free := func() netip.Addr { return nth(s, 4+g.Uint32N(min(size(s), 200)-5)) }
		if g.IntN(3) == 0 {
			d.Gateways = append(d.Gateways, free())
		}
		for range g.IntN(4) {
			if a := free(); !slices.Contains(d.Gateways, a) {
				d.Reserved = append(d.Reserved, ipam.Reservation{Address: a, Reason: "a printer"})
			}
		}
	}
	if vip := nth(d.Subnets[0], 3); d.Mode == modes.Overlay && g.IntN(3) == 0 {
		d.SourceVIP = vip
	}
}

// model is what must follow from a description, worked out apart from the
// package.
type model struct {
	gateways []netip.Addr
	reserved map[netip.Addr]bool
	mtu      int
	vip      netip.Addr
}

func modelOf(d node.Description) model {
	m := model{reserved: map[netip.Addr]bool{}, mtu: d.LinkMTU}
	if m.mtu == 0 {
		m.mtu = 1500
	}
	for _, s := range d.Subnets {
		own := nth(s, 1)
		for _, g := range d.Gateways {
			if s.Contains(g) {
				own = g
			}
		}
		m.reserved[s.Addr()], m.reserved[own] = true, true
		gateway := own
		if d.Mode == modes.L2Bridge && d.GatewayRule != modes.GatewaySubnet {
			gateway = nth(s, 2)
		}
		if d.Mode == modes.L2Tunnel {
			m.reserved[nth(s, 2)], m.reserved[nth(s, 3)] = true, true
		}
		if s.Addr().Is4() {
			m.reserved[nth(s, size32(s)-1)] = true
		}
		m.reserved[gateway] = true
		m.gateways = append(m.gateways, gateway)
	}
	for _, r := range d.Reserved {
		m.reserved[r.Address] = true
	}
	if d.Mode == modes.Overlay {
		m.mtu -= 14 + 20 + 8 + 8 // Ethernet, IPv4, UDP, VXLAN
		m.vip = d.SourceVIP
		for n := uint32(2); !m.vip.IsValid(); n++ {
			if a := nth(d.Subnets[0], n); !m.reserved[a] {
				m.vip = a
			}
		}
		m.reserved[m.vip] = true
	}
	return m
}

func size32(p netip.Prefix) uint32 { return 1 << (32 - p.Bits()) }
