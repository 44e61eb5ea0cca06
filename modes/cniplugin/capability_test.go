package cniplugin_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// Port mappings in every mode that has them, and an error with their path in the
// one that has not (containernetworking/plugins#530, containernetworking/plugins#475:
// they were left out).
func TestPortMappingsInEveryMode(t *testing.T) {
	ports := `"runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80, "protocol": "tcp"}, {"hostPort": 0, "containerPort": 81},
		{"hostPort": 8089, "containerPort": 53, "protocol": "UDP", "hostIP": "192.0.2.10"}]}`
	for _, m := range modes.All() {
		n := newMode(t, m, nil)
		p := n.pod("sbx-01")
		res, err := p.add(ports)
		if m == modes.Transparent {
			var cannot *modes.UnsupportedError
			if !errors.As(err, &cannot) || !strings.HasPrefix(cannot.Path, "runtimeConfig.portMappings[0]") || codeOf(err) != 7 || len(n.calls()) > 0 {
				t.Errorf("%s: code %d, %v; HNS was asked %v", m, codeOf(err), err, n.calls())
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", m, err)
			continue
		}
		var got []string
		for _, pm := range hns.PoliciesOf[hns.PortMapping](p.endpoint().Policies) {
			got = append(got, fmt.Sprintf("%d %s:%d to %d flags %d", pm.Protocol, pm.VIP, pm.ExternalPort, pm.InternalPort, pm.Flags))
		}
		want := []string{"6 invalid IP:8088 to 80 flags 0", "17 192.0.2.10:8089 to 53 flags 0"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m, diff)
		}
		if err := p.check(res, ports); err != nil {
			t.Errorf("%s: CHECK: %v", m, err)
		}
		// Another pod cannot have the port, and leaves nothing.
		before := n.state()
		if _, err := n.pod("sbx-02").add(ports); err == nil {
			t.Errorf("%s: two pods have one port", m)
		}
		if diff := cmp.Diff(before, n.state()); diff != "" {
			t.Errorf("%s: -before +after:\n%s", m, diff)
		}
	}
}

// The switches of sdnbridge for port mappings (microsoft/Windows-Containers#360: on
// L2Bridge the node itself does not reach the port without LocalRoutedVip).
func TestPortSwitches(t *testing.T) {
	p := newBridge(t, nil).pod("sbx-01")
	p.mustAdd(`"runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80}]}`,
		`"optionalFlags": {"localRoutedPortMapping": true, "allowAclPortMapping": true, "enableDualStack": true}`)
	ps := p.endpoint().Policies
	maps, acls := hns.PoliciesOf[hns.PortMapping](ps), hns.PoliciesOf[hns.ACL](ps)
	if len(maps) != 1 || maps[0].Flags != hns.NATLocalRoutedVIP {
		t.Errorf("port mappings %v", maps)
	}
	want := hns.ACL{Protocols: []string{"6"}, Action: hns.ACLAllow, Direction: hns.In, LocalPorts: []string{"80"}, Priority: 1000}
	if len(acls) != 1 || !cmp.Equal(acls[0], want) {
		t.Errorf("ACLs %v, want %v", acls, want)
	}
}

// The limit is one for what leaves the pod, in bytes.
func TestBandwidth(t *testing.T) {
	// As containerd passes it: it gives every rate the largest burst.
	const containerd = `"runtimeConfig": {"bandwidth": {"ingressRate": 0, "ingressBurst": 0, "egressRate": 8000000, "egressBurst": 4294967295}}`
	configured := `"policies": [{"name": "EndpointPolicy", "value": {"Type": "QOS", "Settings": {"MaximumOutgoingBandwidthInBytes": 5}}}]`
	tests := []struct {
		members []string
		want    []uint64
	}{
		{[]string{containerd}, []uint64{1000000}},
		{[]string{`"runtimeConfig": {"bandwidth": {"egressRate": 3, "egressBurst": 8}}`}, []uint64{1}},
		{[]string{`"runtimeConfig": {"bandwidth": {}}`}, nil},
		{[]string{configured}, []uint64{5}},
		{[]string{configured, containerd}, []uint64{1000000}}, // the pod's own goes before
	}
	for _, m := range modes.All() {
		for _, tt := range tests {
			p := newMode(t, m, nil).pod("sbx-01")
			res, err := p.add(tt.members...)
			if err != nil {
				t.Errorf("%s: %v: %v", m, tt.members, err)
				continue
			}
			var got []uint64
			for _, q := range hns.PoliciesOf[hns.QOS](p.endpoint().Policies) {
				got = append(got, q.MaximumOutgoingBandwidthInBytes)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v: %v, want %v", m, tt.members, got, tt.want)
			}
			if err := p.check(res, tt.members...); err != nil {
				t.Errorf("%s: CHECK: %v", m, err)
			}
		}
	}
}

// The pod has the MAC address that the runtime wants, in every mode.
func TestMACOfTheRuntime(t *testing.T) {
	want := `"runtimeConfig": {"mac": "02:15:5d:00:00:07"}`
	for _, m := range modes.All() {
		n := newMode(t, m, nil)
		p := n.pod("sbx-01")
		res, err := p.add(want)
		if err != nil {
			t.Errorf("%s: %v", m, err)
			continue
		}
		if got := p.endpoint().MAC.String(); got != "02-15-5D-00-00-07" || res.Interfaces[0].Mac != "02:15:5d:00:00:07" {
			t.Errorf("%s: %s and %s", m, got, res.Interfaces[0].Mac)
		}
		if diff := cmp.Diff(res, p.mustAdd(want)); diff != "" {
			t.Errorf("%s: repeated ADD:\n%s", m, diff)
		}
		if err := p.check(res, want); err != nil {
			t.Errorf("%s: CHECK: %v", m, err)
		}
		// An endpoint with another one is not what is asked for now.
		if _, err := p.add(`"runtimeConfig": {"mac": "02:15:5d:00:00:08"}`); codeOf(err) != 7 || !slices.Contains(paths(err), "runtimeConfig.mac") {
			t.Errorf("%s: code %d, %v", m, codeOf(err), err)
		}
		p.mustDel(want)
	}
}

// Addresses that the runtime wants: IPAM must give just them, and without IPAM
// HNS does.
func TestIPsOfTheRuntime(t *testing.T) {
	tests := []struct {
		name string
		mode modes.Mode
		ipam bool
		ips  string
		want string // the address, or part of the error
		path string
	}{
		{"HNS gives it", modes.NAT, false, `["172.30.0.77/20"]`, "172.30.0.77/20", ""},
		{"the length is the subnet's", modes.NAT, false, `["172.30.0.77"]`, "172.30.0.77/20", ""},
		{"the length is the subnet's, always", modes.L2Bridge, false, `["10.50.3.77/32"]`, "10.50.3.77/24", ""},
		{"on Overlay", modes.Overlay, false, `["10.60.4.77"]`, "10.60.4.77/24", ""},
		{"on Transparent", modes.Transparent, false, `["10.70.4.77"]`, "10.70.4.77/24", ""},
		{"of another subnet", modes.NAT, false, `["10.9.0.7"]`, "outside", "runtimeConfig.ips[0]"},
		{"the gateway's", modes.NAT, false, `["172.30.0.1"]`, "gateway of the HNS subnet", "runtimeConfig.ips[0]"},
		{"IPv6 where there is none", modes.NAT, false, `["172.30.0.7", "fd00::7"]`, "IPv4 only", "runtimeConfig.ips[1]"},
		{"two of a family", modes.NAT, false, `["172.30.0.7", "", "172.30.0.8"]`, "second", "runtimeConfig.ips[2]"},
		{"no address", modes.NAT, false, `["pod-1"]`, "not an IP address", "runtimeConfig.ips[0]"},
		{"IPAM gives it", modes.L2Bridge, true, `["10.50.3.3"]`, "10.50.3.3/24", ""},
		{"IPAM gives another", modes.L2Bridge, true, `["10.50.3.77/24"]`, "10.50.3.3", "runtimeConfig.ips[0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newMode(t, tt.mode, nil)
			members := []string{`"runtimeConfig": {"ips": ` + tt.ips + `}`}
			if !tt.ipam {
				n.plugin.IPAM, members = nil, append(members, `"ipam": null`)
			}
			p := n.pod("sbx-01")
			res, err := p.add(members...)
			if tt.path != "" {
				var cannot *modes.UnsupportedError
				at := paths(err)
				if errors.As(err, &cannot) {
					at = append(at, cannot.Path)
				}
				if !slices.Contains(at, tt.path) || codeOf(err) != 7 || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("code %d, %v", codeOf(err), err)
				}
				if got := n.state(); len(got) > 0 {
					t.Errorf("left %v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := addresses(res); len(got) != 1 || got[0].String() != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
			if diff := cmp.Diff(res, p.mustAdd(members...)); diff != "" {
				t.Errorf("repeated ADD:\n%s", diff)
			}
			if err := p.check(res, members...); err != nil {
				t.Error("CHECK:", err)
			}
			p.mustDel(members...)
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}

// A capability that cannot be met is an error with its path.
func TestBadCapabilities(t *testing.T) {
	tests := []struct {
		runtime string
		paths   []string
		text    string
	}{
		{`"mac": "02:15"`, []string{"runtimeConfig.mac"}, "not a MAC address"},
		{`"mac": "00:00:00:00:00:00"`, []string{"runtimeConfig.mac"}, "not a MAC address"},
		{`"mac": "01:15:5d:00:00:07"`, []string{"runtimeConfig.mac"}, "multicast"},
		{`"mac": 7`, []string{"runtimeConfig.mac"}, "number"},
		{`"bandwidth": {"ingressRate": 1000, "ingressBurst": 1000}`, []string{"runtimeConfig.bandwidth.ingressRate"}, "what comes in"},
		{`"bandwidth": {"egressRate": -1}`, []string{"runtimeConfig.bandwidth.egressRate"}, "number"},
		{`"bandwidth": {"egressBurst": 7}`, []string{"runtimeConfig.bandwidth.egressBurst"}, "without a rate"},
		{`"bandwidth": {"egressRate": 7, "unshapedSubnets": ["10.0.0.0/8"]}`, []string{"runtimeConfig.bandwidth.unshapedSubnets"}, "as a whole"},
		{`"bandwidth": [1]`, []string{"runtimeConfig.bandwidth"}, "array"},
		{`"ips": "10.50.3.7"`, []string{"runtimeConfig.ips"}, "string"},
		{`"ips": [` + strings.Repeat(`"10.50.3.7",`, 16) + `"10.50.3.7"]`, []string{"runtimeConfig.ips"}, `"17": more than 16`},
		{`"dns": {"servers": ["10.96.0.10"], "search": ["svc.test"], "Nameservers": ["10.96.0.11"]}`,
			[]string{"runtimeConfig.dns.Nameservers", "runtimeConfig.dns.search"}, "not one of servers, searches, options, domain"},
		{`"ipRanges": [[{"subnet": "10.50.3.0/24"}], [], [{"subnet": "10.50.3.0/24"}]]`, []string{"runtimeConfig.ipRanges"}, `"3": more than 2 sets`},
		{`"ipRanges": [[], [` + strings.Repeat(`{"subnet": "10.50.3.0/24"},`, 256) + `{"subnet": "10.50.3.0/24"}]]`,
			[]string{"runtimeConfig.ipRanges[1]"}, `"257": more than 256 ranges`},
		{`"ipRanges": [{"subnet": "10.50.3.0/24"}]`, []string{"runtimeConfig.ipRanges[0]"}, "object"},
		{`"ipRanges": [["10.50.3.0/24", null]]`, []string{"runtimeConfig.ipRanges[0][0]", "runtimeConfig.ipRanges[0][1]"}, "not a range"},
		{`"aliases": ["web"]`, []string{"runtimeConfig.aliases"}, "does not serve"},
		{`"portMappings": [{"hostPort": 80, "containerPort": 80, "protocol": "sctp"}]`, []string{"runtimeConfig.portMappings[0].protocol"}, "tcp and udp"},
	}
	for _, tt := range tests {
		n := newBridge(t, nil)
		_, err := n.pod("sbx-01").add(`"runtimeConfig": {` + tt.runtime + `}`)
		if diff := cmp.Diff(tt.paths, paths(err)); diff != "" || codeOf(err) != 7 || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%.80s: code %d, %v, paths (-want +got):\n%s", tt.runtime, codeOf(err), err, diff)
		}
		if got := n.state(); len(got) > 0 {
			t.Errorf("%s: left %v", tt.runtime, got)
		}
	}
}

// Source NAT is what a mode can do, or an error (kubernetes-sigs/sig-windows-tools#104).
func TestMasqueradeByMode(t *testing.T) {
	tests := []struct {
		mode modes.Mode
		conf string
		path string // "": accepted
		nat  int    // OutBoundNAT policies
	}{
		{modes.L2Bridge, `"ipMasqNetwork": "10.50.0.0/16"`, "", 1},
		{modes.L2Tunnel, `"ipMasqNetwork": "10.50.0.0/16"`, "", 1},
		{modes.L2Tunnel, `"ipMasq": false, "ipMasqNetwork": "10.50.0.0/16"`, "", 0},
		{modes.Overlay, `"ipMasq": true`, "", 1},
		{modes.NAT, `"ipMasq": true`, "", 0}, // WinNAT does
		{modes.NAT, `"ipMasq": false`, "ipMasq", 0},
		{modes.NAT, `"ipMasqNetwork": "10.50.0.0/16"`, "ipMasqNetwork", 0},
		{modes.Transparent, `"ipMasq": false`, "", 0},
		{modes.Transparent, `"ipMasq": true`, "ipMasq", 0},
		{modes.Transparent, `"ipMasqNetwork": "10.50.0.0/16"`, "ipMasqNetwork", 0},
	}
	for _, tt := range tests {
		n := newMode(t, tt.mode, nil)
		p := n.pod("sbx-01")
		_, err := p.add(tt.conf)
		var cannot *modes.UnsupportedError
		switch {
		case tt.path != "":
			if !errors.As(err, &cannot) || cannot.Path != tt.path || codeOf(err) != 7 || len(n.calls()) > 0 {
				t.Errorf("%s: %s: code %d, %v", tt.mode, tt.conf, codeOf(err), err)
			}
		case err != nil:
			t.Errorf("%s: %s: %v", tt.mode, tt.conf, err)
		default:
			if got := hns.PoliciesOf[hns.OutBoundNAT](p.endpoint().Policies); len(got) != tt.nat {
				t.Errorf("%s: %s: %v", tt.mode, tt.conf, got)
			}
		}
	}
}

// Loopback DSR in every mode that has services, with addresses of IPAM and of HNS
// (microsoft/windows-container-networking#125); elsewhere there is nothing to do.
func TestLoopbackDSRByMode(t *testing.T) {
	want := map[modes.Mode]int{modes.L2Bridge: 1, modes.L2Tunnel: 1, modes.Overlay: 1}
	for _, m := range modes.All() {
		for _, ipam := range []bool{true, false} {
			if m == modes.L2Tunnel && !ipam {
				continue // addresses are Azure's
			}
			n := newMode(t, m, nil)
			members := []string{`"loopbackDSR": true`}
			if m == modes.NAT {
				members = []string{`"optionalFlags": {"loopbackDSR": true}`}
			}
			if !ipam {
				n.plugin.IPAM, members = nil, append(members, `"ipam": {}`)
			}
			p := n.pod("sbx-01")
			res, err := p.add(members...)
			if err != nil {
				t.Errorf("%s: %v", m, err)
				continue
			}
			e := p.endpoint()
			got := hns.PoliciesOf[hns.OutBoundNAT](e.Policies)
			if len(got) != want[m] || len(got) > 0 && !slices.Equal(got[0].Destinations, []string{e.Addresses()[0].String()}) {
				t.Errorf("%s, IPAM %t: %v", m, ipam, got)
			}
			if err := p.check(res, members...); err != nil {
				t.Errorf("%s, IPAM %t: CHECK: %v", m, ipam, err)
			}
		}
	}
}

// The keys of Microsoft's plugins are read, and what is wrong in them is named.
func TestMicrosoftKeys(t *testing.T) {
	n := newBridge(t, nil)
	n.plugin.IPAM = nil
	p := n.pod("sbx-01")
	p.mustAdd(`"AdditionalArgs": [
		{"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.50.0.0/16"]}}},
		{"Name": "EndpointPolicy", "Value": {"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}]`,
		`"ipam": {"subnet": "10.50.3.0/24", "routes": [{"GW": "10.50.3.1"}, {"GW": "10.50.3.9", "dst": "198.51.100.0/24"}]}`)
	e := p.endpoint()
	if !hns.HasPolicy(e.Policies, "OutBoundNAT") || !hns.HasPolicy(e.Policies, "SDNRoute") {
		t.Errorf("policies %v", e.Policies)
	}
	var routes []string
	for _, r := range e.Routes {
		routes = append(routes, r.DestinationPrefix.String()+" "+r.NextHop.String())
	}
	if diff := cmp.Diff([]string{"0.0.0.0/0 10.50.3.1", "198.51.100.0/24 10.50.3.9"}, routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}

	// Upstream's plugins had policies of schema 2 in a key of their own once.
	p = n.pod("sbx-03")
	p.mustAdd(`"HcnPolicyArgs": [{"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}]`, `"ipam": {}`)
	if !hns.HasPolicy(p.endpoint().Policies, "SDNRoute") {
		t.Errorf("policies %v", p.endpoint().Policies)
	}
	if _, err := p.add(`"HcnPolicyArgs": [{"Type": "Bogus"}, null]`, `"ipam": {}`); len(paths(err)) != 2 || !strings.HasPrefix(paths(err)[1], "HcnPolicyArgs[1]") {
		t.Errorf("%v", err)
	}

	_, err := n.pod("sbx-02").add(`"AdditionalArgs": [{"Name": "EndpointPolicy", "Value": {"Type": "Bogus", "Settings": {}}}, {"Name": "NetworkPolicy", "Value": {}}]`,
		`"optionalFlags": {"forceBridge": true, "loopbackDSR": "yes"}`, `"additionalRoutes": [{"GW": "<gateway>", "Dst": "::/0"}]`, `"master": 7`, `"ipam": {}`)
	want := []string{"AdditionalArgs[0].value", "AdditionalArgs[1].name", "additionalRoutes[0].GW", "master", "optionalFlags.forceBridge", "optionalFlags.loopbackDSR"}
	got := paths(err)
	slices.Sort(got)
	for i := range got {
		got[i], _, _ = strings.Cut(got[i], ".Type")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v, paths (-want +got):\n%s", err, diff)
	}
}

// Both gateways of a dual-stack network, from the two places that sdnbridge's
// configurations have them in (microsoft/windows-container-networking#61).
func TestGatewaysOfBothFamilies(t *testing.T) {
	n := newNode(t, nil, "sdnbridge", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64")})
	n.plugin.IPAM = nil
	p := n.pod("sbx-01")
	conf := []string{`"ipam": {"routes": [{"GW": "10.50.3.254"}]}`, `"additionalRoutes": [{"GW": "fd00:50:3::ff", "Dst": "::/0"}]`,
		`"optionalFlags": {"enableDualStack": true, "gatewayFromAdditionalRoutes": true}`}
	res := p.mustAdd(conf...)
	if len(res.IPs) != 2 || res.IPs[0].Gateway.String() != "10.50.3.254" || res.IPs[1].Gateway.String() != "fd00:50:3::ff" {
		t.Errorf("%v", res)
	}
	if err := p.check(res, conf...); err != nil {
		t.Error("CHECK:", err)
	}
	// A gateway that is not in the pod's subnet has the path of where it stands.
	_, err := n.pod("sbx-02").add(`"ipam": {"routes": [{"GW": "10.9.0.1"}]}`)
	if codeOf(err) != 7 || !strings.Contains(err.Error(), "10.9.0.1 cannot be the gateway") {
		t.Errorf("code %d, %v", codeOf(err), err)
	}
}

// What a mode forbids has the path of the policy that it is.
func TestForbiddenPolicy(t *testing.T) {
	n := newMode(t, modes.Transparent, nil)
	_, err := n.pod("sbx-01").add(`"policies": [{"name": "EndpointPolicy", "value": {"Type": "L2Driver"}},
		{"name": "EndpointPolicy", "value": {"Type": "NAT", "Protocol": "TCP", "InternalPort": 80, "ExternalPort": 8088}}]`)
	var cannot *modes.UnsupportedError
	if !errors.As(err, &cannot) || cannot.Path != "policies[1].value.Type" || codeOf(err) != 7 {
		t.Errorf("code %d, %v", codeOf(err), err)
	}
}
