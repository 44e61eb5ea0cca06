package flows_test

import (
	"strings"
	"testing"

	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// found is what the diagnosis of a break must say.
type found struct {
	reason flows.Reason
	// object begins the text of the object that is named.
	object  string
	missing bool
	reply   bool // it is the answer that gets lost
	fix     string
}

// diagnoses are what every break of the cluster must be found to be, written
// by hand from the facts, by mode and name.
var diagnoses = map[modes.Mode]map[string]found{
	modes.L2Bridge: {
		"route":                  {flows.NoRoute, `route 10.244.2.0/24 on win-1`, true, false, "add the route 10.244.2.0/24 via win-2 (192.0.2.12) on win-1"},
		"route-back":             {flows.NoRoute, `route 10.244.1.0/24 on win-2`, true, true, "on win-2"},
		"route-linux":            {flows.NoRoute, `route 10.244.1.0/24 on lin-1`, true, true, "on lin-1"},
		"route-wrong":            {flows.WrongRoute, `route 10.244.2.0/24 on win-1`, false, false, "address of a node"},
		"route-self":             {flows.WrongRoute, `route 10.244.2.0/24 on win-1`, false, false, "the node that has the pod subnet"},
		"route-off-link":         {flows.WrongRoute, `route 10.244.2.0/24 on win-1`, false, false, "one link"},
		"route-loop":             {flows.Loop, `route 10.244.2.0/24 on `, false, false, "the node that has the pod subnet"},
		"default-route":          {flows.NoRoute, `route 0.0.0.0/0 on win-1`, true, false, "via the router"},
		"forwarding-pods":        {flows.NotForwarding, `adapter "vEthernet (cbr0_ep)" IP forwarding on win-1`, true, false, "forwarding=enabled"},
		"forwarding-node":        {flows.NotForwarding, `adapter "vEthernet (Ethernet)" IP forwarding on win-1`, true, false, "forwarding=enabled"},
		"forwarding-linux":       {flows.NotForwarding, `node "lin-1" IP forwarding`, true, false, "ip_forward"},
		"host-endpoint":          {flows.HostEndpointMissing, `endpoint "cbr0_ep" 10.244.1.2 on win-1`, true, false, "attach it to the node"},
		"host-endpoint-detached": {flows.HostEndpointMissing, `endpoint "cbr0_ep" attachment`, true, false, "compartment 1"},
		"gateway":                {flows.DeadGateway, `endpoint "client_cbr0" default route on win-1`, false, false, ".2"},
		"gateway-subnet":         {flows.DeadGateway, `endpoint "client_cbr0" default route on win-1`, false, false, "the node's own endpoint"},
		"no-gateway":             {flows.NoGateway, `endpoint "client_cbr0" default route on win-1`, true, false, "default route"},
		"spoofing":               {flows.ForeignSource, `physical network foreign source`, false, false, "IP forwarding"},
		"stale-subnet":           {flows.NobodyHasAddress, `endpoint 10.244.1.77 on win-1`, true, false, "subnet.env"},
		"pod-gone":               {flows.NobodyHasAddress, `endpoint 10.244.2.3 on win-2`, true, false, "still there"},
		"exception-cluster":      {flows.SourceTranslated, `OutBoundNAT Exceptions of endpoint "client_cbr0"`, true, false, "Exceptions"},
		"exception-service":      {flows.NoException, `OutBoundNAT Exceptions of endpoint "client_cbr0"`, true, false, "service CIDR"},
		"exception-node":         {flows.NoException, `OutBoundNAT Exceptions of endpoint "client_cbr0"`, true, false, "192.0.2.11/32"},
		"exception-all":          {flows.ExceptionTooWide, `OutBoundNAT Exceptions 0.0.0.0/0 of endpoint "client_cbr0"`, false, true, "out of the Exceptions"},
		"no-nat":                 {flows.NoNAT, `OutBoundNAT of endpoint "client_cbr0"`, true, true, "add an OutBoundNAT policy"},
		"sdn-route-service":      {flows.NoSDNRoute, `SDNRoute 10.96.0.20/32 of endpoint "client_cbr0"`, true, false, "NeedEncap"},
		"sdn-route-node":         {flows.NoSDNRoute, `SDNRoute 192.0.2.11/32 of endpoint "client_cbr0"`, true, false, "NeedEncap"},
		"load-balancer":          {flows.NoLoadBalancer, `load balancer "10.96.0.20 TCP 80" on win-1`, true, false, "kube-proxy"},
		"backend":                {flows.NoBackend, `endpoint 10.244.2.3 on win-1`, true, false, "remote"},
		"no-backends":            {flows.NoBackend, `load balancer "10.96.0.20 TCP 80" backends`, true, false, "with a backend"},
		"acl-out":                {flows.Blocked, `ACL deny: Block Out priority 200 of endpoint "client_cbr0"`, false, false, "remove the rule"},
		"acl-in":                 {flows.Blocked, `ACL deny: Block In priority 200 of endpoint "web-2_cbr0"`, false, false, "remove the rule"},
		"acl-set":                {flows.Blocked, `ACL Block Out priority 300 of endpoint "client_cbr0"`, false, false, "remove the rule"},
		"acl-default":            {flows.Blocked, `ACL allow Out of endpoint "client_cbr0"`, true, false, "65500"},
		"network-acl":            {flows.Blocked, `NetworkACL deny: Block Out priority 200 of network "cbr0"`, false, false, "remove the rule"},
		"tier-acl":               {flows.Blocked, `TierAcl second (order 2): Block Out priority 10 of endpoint "client_cbr0"`, false, false, "remove the rule"},
		"detached":               {flows.NotAttached, `endpoint "client_cbr0" attachment`, true, false, "run ADD"},
		"degraded":               {flows.Degraded, `endpoint "client_cbr0" State Degraded`, false, false, "correct the policies"},
		"namespace":              {flows.NotAttached, `namespace `, true, false, "add the pod again"},
		"network-gone":           {flows.NotAttached, `network `, true, false, "make the network"},
		"stale-remote":           {flows.StaleRemote, `endpoint "stale"`, false, false, "delete the remote endpoint"},
		"dns-server":             {flows.NoDNSServer, `endpoint "client_cbr0" Dns ServerList`, true, false, "ServerList"},
		"dns-search":             {flows.NoDNSSuffix, `endpoint "client_cbr0" Dns Search`, true, false, "Search list"},
		"dns-search-order":       {flows.NoSuchName, `resolver "kube-dns" web.svc.cluster.local`, true, false, "namespace"},
		"dns-record":             {flows.NoSuchName, `resolver "kube-dns" web.default.svc.cluster.local`, true, false, "is there"},
		"dns-service":            {flows.NoLoadBalancer, `load balancer "10.96.0.10 UDP 53" on win-1`, true, false, "kube-proxy"},
		"dns-forward":            {flows.NoSuchName, `resolver "kube-dns" www.example.com`, true, false, "is there"},
	},
	modes.Overlay: {
		"remote-route":             {flows.NoRemoteSubnetRoute, `RemoteSubnetRoute 10.244.2.0/24 of network "flannel.4096" on win-1`, true, false, "win-2 (192.0.2.12), with VNI 4096"},
		"remote-route-back":        {flows.NoRemoteSubnetRoute, `RemoteSubnetRoute 10.244.1.0/24 of network "flannel.4096" on win-2`, true, true, "win-1 (192.0.2.11)"},
		"remote-route-vni":         {flows.WrongVNI, `RemoteSubnetRoute 10.244.2.0/24 of network "flannel.4096" on win-1`, false, false, "IsolationId 4096"},
		"remote-route-mac":         {flows.WrongMAC, `RemoteSubnetRoute 10.244.2.0/24 of network "flannel.4096" on win-1`, false, false, "DistributedRouterMacAddress"},
		"remote-route-address":     {flows.WrongProvider, `RemoteSubnetRoute 10.244.2.0/24 of network "flannel.4096" on win-1`, false, false, "address of the node"},
		"remote-route-node":        {flows.WrongProvider, `RemoteSubnetRoute 10.244.2.0/24 of network "flannel.4096" on win-1`, false, false, "192.0.2.12"},
		"host-route":               {flows.NoHostRoute, `HostRoute of network "flannel.4096" on win-1`, true, false, "KB4489899"},
		"host-route-node":          {flows.NoHostRoute, `HostRoute of network "flannel.4096" on win-1`, true, false, "KB4489899"},
		"vni":                      {flows.WrongVNI, `VSID 5000 of network "flannel.4096" on win-2`, false, false, "same VNI"},
		"vxlan-port":               {flows.WrongVXLANPort, `VxlanPort 8472 of network "flannel.4096" on win-2`, false, false, "4789"},
		"gateway":                  {flows.DeadGateway, `endpoint "client_flannel.4096" default route on win-1`, false, false, "10.244.1.1"},
		"gateway-subnet":           {flows.DeadGateway, `endpoint "client_flannel.4096" default route on win-1`, false, false, "gateway of the HNS subnet"},
		"vni-small":                {flows.WrongVNI, `VSID 1 of network "flannel.4096" on win-1`, false, false, "VNI 4096 or more"},
		"vni-small-from":           {flows.WrongVNI, `VSID 1 of network "flannel.4096" on win-1`, false, false, "VNI 4096 or more"},
		"udp-blocked":              {flows.UDPBlocked, `physical network UDP 4789`, false, false, "open the port"},
		"no-provider":              {flows.NoProviderAddress, `ProviderAddress of network "flannel.4096" on win-1`, true, false, "wait"},
		"no-nat":                   {flows.NoNAT, `OutBoundNAT of endpoint "client_flannel.4096"`, true, false, "add an OutBoundNAT policy"},
		"exception-cluster":        {flows.NoException, `OutBoundNAT Exceptions of endpoint "client_flannel.4096"`, true, false, "pod CIDRs"},
		"exception-outside":        {flows.ExceptionTooWide, `OutBoundNAT Exceptions 203.0.113.0/24 of endpoint "client_flannel.4096"`, false, false, "out of the Exceptions"},
		"detached":                 {flows.NotAttached, `endpoint "web-2_flannel.4096" attachment`, true, false, "namespace again"},
		"linux-vni":                {flows.WrongVNI, `VXLAN interface VNI on lin-1`, false, false, `"VNI": 4096`},
		"linux-vni-from":           {flows.WrongVNI, `VXLAN interface VNI on lin-1`, false, false, `"VNI": 4096`},
		"linux-port":               {flows.WrongVXLANPort, `VXLAN interface port on lin-1`, false, false, `"Port": 4789`},
		"linux-port-from":          {flows.WrongVXLANPort, `VXLAN interface port on lin-1`, false, false, `"Port": 4789`},
		"linux-host-gw":            {flows.NoVXLAN, `VXLAN interface on lin-1`, true, false, "backend vxlan"},
		"linux-no-vxlan":           {flows.NoVXLAN, `VXLAN interface on lin-1`, true, false, "backend vxlan"},
		"linux-peer":               {flows.NoRoute, `VXLAN interface peer 10.244.1.0/24 on lin-1`, true, false, "win-1 (192.0.2.11)"},
		"linux-peer-mac":           {flows.WrongMAC, `VXLAN interface peer 10.244.1.0/24 on lin-1`, false, false, "replace the route"},
		"linux-mac":                {flows.WrongMAC, `endpoint "Ethernet" 10.244.3.3 on win-1`, false, false, "replace"},
		"source-vip":               {flows.NoSourceVIP, `load balancer "10.96.0.20 TCP 80" SourceVIP on win-1`, true, true, "SourceVIP"},
		"source-vip-endpoint":      {flows.NoSourceVIP, `endpoint 10.244.1.254 on win-1`, true, true, "endpoint for the source VIP"},
		"exception-service":        {flows.NoException, `OutBoundNAT Exceptions of endpoint "client_flannel.4096"`, true, false, "service CIDR"},
		"load-balancer":            {flows.NoLoadBalancer, `load balancer "10.96.0.20 TCP 80" on win-1`, true, false, "kube-proxy"},
		"remote-endpoint":          {flows.NoBackend, `endpoint 10.244.3.3 on win-1`, true, false, "remote"},
		"remote-endpoint-provider": {flows.NoProviderAddress, `ProviderAddress of endpoint "Ethernet" on win-1`, true, false, "ProviderAddress"},
		"remote-endpoint-mac":      {flows.WrongMAC, `endpoint "Ethernet" 10.244.2.3 on win-1`, false, false, "replace"},
		"stale-remote":             {flows.StaleRemote, `endpoint "stale"`, false, false, "delete the remote endpoint"},
	},
	modes.L2Tunnel: {
		"not-assigned":       {flows.NotInVNet, `physical network assigned 10.244.2.3 on win-2`, true, false, "Azure"},
		"assigned-elsewhere": {flows.NotInVNet, `physical network assigned 10.244.1.3 on win-1`, true, false, "Azure"},
		"gateway":            {flows.DeadGateway, `endpoint "client_azure" default route on win-1`, false, false, "10.244.1.1"},
		"no-vnet":            {flows.NotInVNet, `physical network virtual network`, true, false, "L2Bridge or Overlay"},
		"sdn-route-service":  {flows.NoSDNRoute, `SDNRoute 10.96.0.20/32 of endpoint "client_azure"`, true, false, "NeedEncap"},
	},
	modes.Transparent: {
		"no-fabric":       {flows.NotInFabric, `physical network fabric`, true, false, "SDN controller"},
		"fabric-subnet":   {flows.NotInFabric, `physical network fabric 10.244.2.0/24`, true, false, "win-2"},
		"fabric-services": {flows.NotInFabric, `physical network fabric services`, true, false, "SDN controller"},
	},
	modes.NAT: {
		"dns-proxy":  {flows.NoSuchName, `resolver "HNS on win-1" www.example.com`, true, false, "is there"},
		"gateway":    {flows.DeadGateway, `endpoint "client_nat" default route on win-1`, false, false, "10.244.1.1"},
		"no-gateway": {flows.NoGateway, `endpoint "client_nat" default route`, true, false, "default route"},
	},
}

// TestBreaks: each single fault is found, by the right reason, object and fix,
// with a packet that works in the healthy cluster.
func TestBreaks(t *testing.T) {
	breaks := mixedcluster.Breaks()
	if len(breaks) < 40 {
		t.Errorf("only %d breaks", len(breaks))
	}
	seen := map[string]bool{}
	for _, b := range breaks {
		t.Run(string(b.Mode)+"/"+b.Name, func(t *testing.T) {
			if seen[t.Name()] {
				t.Fatal("two breaks of one name")
			}
			seen[t.Name()] = true
			want, ok := diagnoses[b.Mode][b.Name]
			if !ok {
				t.Fatal("the break has no diagnosis to compare with")
			}
			c := cluster(t, b.Mode)
			packet := b.Packet
			if healthy := world(t, c).Trace(packet); healthy.Outcome != flows.Arrived || healthy.Diagnosis != nil {
				t.Errorf("false alarm in the healthy cluster:\n%s", healthy)
			}
			b.Do(c)
			got := world(t, c).Trace(packet)
			if got.Works() {
				t.Fatalf("%s works all the same:\n%s", b.Text, got)
			}
			d := got.Diagnosis
			if d.Reason != want.reason || !strings.HasPrefix(d.Object.String(), want.object) || d.Missing != want.missing || d.Reply != want.reply {
				t.Errorf("%s: found %s, %s, missing %t, answer %t; want %s, %s, missing %t, answer %t\n%s",
					b.Text, d.Reason, d.Object, d.Missing, d.Reply, want.reason, want.object, want.missing, want.reply, got)
			}
			if !strings.Contains(d.Fix, want.fix) {
				t.Errorf("%s: the fix %q does not say %q", b.Text, d.Fix, want.fix)
			}
		})
	}
	for m, of := range diagnoses {
		for name := range of {
			if !seen["TestBreaks/"+string(m)+"/"+name] {
				t.Errorf("no break %s/%s", m, name)
			}
		}
	}
}
