package agent

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node"
)

// TestFromNothing is a node's first start in a cluster with one Linux node.
func TestFromNothing(t *testing.T) {
	for name, tc := range map[string]struct{ conf, data, env, way string }{
		"vxlan": {vxlanConf, `{"VNI":4096,"VtepMAC":"%MAC%"}`,
			"FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n", "10.244.7.0/24 192.0.2.7 00-00-07"},
		"host-gw": {hostGWConf, "null",
			"FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n", "10.244.7.0/24 192.0.2.7"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t, tc.conf)
			n.put(linux(7, tc.conf))
			before := n.own()
			n.run()
			n.untilWays(tc.way)

			want := before.DeepCopy()
			network, err := n.client.Networks.ByName(t.Context(), n.opts.NetConf.NetworkName())
			if err != nil {
				t.Fatal(err)
			}
			var mac string
			for _, p := range hns.PoliciesOf[hns.DRMACAddress](network.Policies) {
				mac = strings.ToLower(strings.ReplaceAll(p.Address.String(), "-", ":"))
			}
			for k, v := range map[string]string{"kube-subnet-manager": "true", "public-ip": "192.0.2.10",
				"backend-type": n.opts.NetConf.Backend, "backend-data": strings.ReplaceAll(tc.data, "%MAC%", mac)} {
				want.Annotations["flannel.alpha.coreos.com/"+k] = v
			}
			want.Status.Conditions = slices.Insert(want.Status.Conditions, 0, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable,
				Status: corev1.ConditionFalse, Reason: "FlannelIsUp", Message: `HNS network "` + network.Name + `" leads to the other nodes`})
			got := n.own()
			for i := range got.Status.Conditions {
				got.Status.Conditions[i].LastHeartbeatTime.Reset()
				got.Status.Conditions[i].LastTransitionTime.Reset()
			}
			got.ManagedFields, got.ResourceVersion, want.ResourceVersion = nil, "", ""
			want.ManagedFields = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the Node (-want +got)\n%s", diff)
			}
			if env := n.read(n.opts.SubnetFile); env != tc.env {
				t.Errorf("subnet.env is\n%s", env)
			}
			var list struct{ Name string }
			if err := json.Unmarshal([]byte(n.read(n.opts.ConflistFile)), &list); err != nil || list.Name != network.Name {
				t.Errorf("the conflist is for %q, %v", list.Name, err)
			}
			n.onlyAsked()
		})
	}
}

// onlyAsked checks that the agent asked the API server for nothing but what its
// role allows, and that what it wrote is for this Node alone: a server, other than
// the fake one, refuses it for another of the same name by the uid.
func (n *testNode) onlyAsked() {
	n.Helper()
	for _, a := range n.kube.Actions() {
		switch got := strings.TrimSuffix(a.GetVerb()+" "+a.GetResource().Resource+"/"+a.GetSubresource(), "/"); got {
		case "list nodes", "watch nodes", "patch nodes/status", "list servicecidrs":
		case "get nodes", "update nodes", "create nodes", "delete nodes": // the test's own
		default:
			n.Errorf("it asked: %s", got)
		}
		if p, ok := a.(clienttesting.PatchAction); ok && !strings.Contains(string(p.GetPatch()), `"uid":"uid-1"`) {
			n.Errorf("it wrote, to whatever Node has the name: %s", p.GetPatch())
		}
	}
}

// TestPodsStartLast: the files are written when the others know the node and the
// ways are made, the conflist after subnet.env, and the condition after both.
func TestPodsStartLast(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	n.put(linux(7, vxlanConf))
	permit := n.refuse("patch")
	n.run()
	n.until("refused", func(s Status) bool { return s.Err != nil && strings.Contains(s.Err.Error(), "patch Node") })
	if ways := n.ways(); len(ways) != 1 {
		t.Errorf("the ways do not wait for the API server: %v", ways)
	}
	for _, f := range []string{n.opts.SubnetFile, n.opts.ConflistFile} {
		if _, err := os.Stat(f); err == nil {
			t.Errorf("%s is written before the others know the node", f)
		}
	}
	permit()
	n.until("ready", ready)
	log := n.log.String()
	var at []int
	for _, what := range []string{"lease written", "subnet.env", "10-flannel.conflist", "condition set", "msg=ready"} {
		at = append(at, strings.Index(log, what))
	}
	if at[0] < 0 || !slices.IsSorted(at) {
		t.Errorf("not in this order: %v", at)
	}
}

// TestNoWriteWithoutChange: what is as it should be is not written again, by the
// same agent or by the next.
func TestNoWriteWithoutChange(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	n.put(linux(7, vxlanConf))
	n.run()
	n.untilWays("10.244.7.0/24 192.0.2.7 00-00-07")
	if p := n.agent.Status().Patches; p != 2 {
		t.Errorf("%d patches, not one for the lease and one for the condition", p)
	}
	network, _ := n.client.Networks.ByName(t.Context(), "flannel.4096")
	n.hns.ResetCalls()
	second := newTestNode(t, vxlanConf)
	second.hns, second.client, second.host, second.kube = n.hns, n.client, n.host, n.kube
	second.opts.HNS, second.opts.Host, second.opts.Client = n.client, n.host, n.kube
	second.opts.SubnetFile, second.opts.ConflistFile = n.opts.SubnetFile, n.opts.ConflistFile
	second.run()
	second.until("ready", ready)
	if p := second.agent.Status().Patches; p != 0 {
		t.Errorf("a restart patched %d times", p)
	}
	if strings.Contains(second.log.String(), "file written") {
		t.Error("a restart wrote the files again")
	}
	for _, c := range n.hns.Calls() {
		if c.Verb != hns.VerbGet && c.Verb != hns.VerbList {
			t.Errorf("a restart changed HNS: %s %s", c.Verb, c.Kind)
		}
	}
	if after, _ := n.client.Networks.ByName(t.Context(), "flannel.4096"); after.ID != network.ID {
		t.Error("a restart made the network anew")
	}
}

// TestNodesChange: others join, change and leave.
func TestNodesChange(t *testing.T) {
	for _, conf := range []string{vxlanConf, hostGWConf} {
		n := newTestNode(t, conf)
		t.Run(n.opts.NetConf.Backend, func(t *testing.T) {
			n.T = t
			way := func(subnet, address, mac string) string {
				if conf == hostGWConf {
					return subnet + " " + address
				}
				return subnet + " " + address + " " + mac
			}
			n.put(linux(7, conf))
			n.run()
			n.untilWays(way("10.244.7.0/24", "192.0.2.7", "00-00-07"))
			n.put(linux(8, conf))
			n.untilWays(way("10.244.7.0/24", "192.0.2.7", "00-00-07"), way("10.244.8.0/24", "192.0.2.8", "00-00-08"))

			moved := linux(8, conf)
			moved.Annotations["flannel.alpha.coreos.com/public-ip"] = "192.0.2.88"
			if conf == vxlanConf {
				moved.Annotations["flannel.alpha.coreos.com/backend-data"] = `{"VNI":4096,"VtepMAC":"0a:00:00:00:00:88"}`
			}
			n.put(moved)
			n.untilWays(way("10.244.7.0/24", "192.0.2.7", "00-00-07"), way("10.244.8.0/24", "192.0.2.88", "00-00-88"))

			n.remove("linux-08")
			again := linux(8, conf) // by the same name, with another subnet
			again.Spec.PodCIDR, again.Spec.PodCIDRs = "10.244.9.0/24", []string{"10.244.9.0/24"}
			n.put(again)
			n.untilWays(way("10.244.7.0/24", "192.0.2.7", "00-00-07"), way("10.244.9.0/24", "192.0.2.8", "00-00-08"))
		})
	}
}

// TestFaultyNodes: each is skipped with one event and a counter, all others go on.
func TestFaultyNodes(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	faulty := map[string]struct {
		fault  node.Fault
		change func(*corev1.Node)
	}{
		"linux-20": {node.FaultMalformed, annotate("backend-data", `{"VNI":4096,"VtepMAC":"0a:00"}`)},
		"linux-21": {node.FaultMalformed, annotate("backend-data", `{"VNI":4096,`)},
		"linux-22": {node.FaultMalformed, annotate("backend-data", `{"VNI":-1,"VtepMAC":"0a:00:00:00:00:16"}`)},
		"linux-23": {node.FaultMalformed, annotate("public-ip", "the office")},
		"linux-24": {node.FaultMalformed, annotate("backend-type", "host-gw")},
		"linux-25": {node.FaultNoMAC, annotate("backend-data", `{"VNI":4096,"VtepMAC":null}`)}, // flannel-io/flannel#1061
		"linux-26": {node.FaultNoMAC, annotate("backend-data", "null")},
		"linux-27": {node.FaultVNI, annotate("backend-data", `{"VNI":1,"VtepMAC":"0a:00:00:00:00:1b"}`)}, // Linux's default
		"linux-28": {node.FaultVNI, annotate("backend-data", `{"VNI":70000,"VtepMAC":"0a:00:00:00:00:1c"}`)},
		"linux-29": {node.FaultAddressInUse, annotate("public-ip", "192.0.2.7")},
		"linux-30": {node.FaultAddressInUse, annotate("public-ip", "192.0.2.10")},
		"linux-31": {node.FaultNoAddress, annotate("public-ip", "")},
		"linux-32": {node.FaultOverlap, podCIDR("10.244.7.128/25")},
		"linux-33": {node.FaultOverlap, podCIDR("10.244.1.0/24")},
		"linux-34": {node.FaultOutside, podCIDR("10.245.1.0/24")},
		"linux-35": {node.FaultMalformed, podCIDR("10.244.35.0")},
		"linux-36": {node.FaultNoSubnet, podCIDR("")},
		"linux-37": {node.FaultMalformed, annotate("public-ip", "255.255.255.255")},
		"linux-38": {node.FaultMalformed, func(x *corev1.Node) { // this node, under another name
			annotate("public-ip", "192.0.2.10")(x)
			podCIDR("10.244.1.0/24")(x)
		}},
	}
	n.put(linux(7, vxlanConf))
	unmanaged := linux(40, vxlanConf)
	delete(unmanaged.Annotations, "flannel.alpha.coreos.com/kube-subnet-manager")
	n.put(unmanaged)
	want := map[string]uint64{}
	for i := 20; i <= 38; i++ {
		x := linux(i, vxlanConf)
		faulty[x.Name].change(x)
		n.put(x)
		want["nodes_skipped_"+string(faulty[x.Name].fault)]++
	}
	n.run()
	n.untilWays("10.244.7.0/24 192.0.2.7 00-00-07")
	n.put(linux(8, vxlanConf))
	n.untilWays("10.244.7.0/24 192.0.2.7 00-00-07", "10.244.8.0/24 192.0.2.8 00-00-08")
	skipped := map[string]node.Fault{}
	for _, s := range n.agent.Status().Report.Skipped {
		skipped[s.Node] = s.Fault
	}
	for name, f := range faulty {
		if skipped[name] != f.fault {
			t.Errorf("%s: fault %q, want %q", name, skipped[name], f.fault)
		}
		if c := strings.Count(n.log.String(), `msg="node skipped" network=flannel.4096 node=`+name+" "); c != 1 {
			t.Errorf("%s: %d events", name, c)
		}
	}
	got := n.counters.Snapshot()
	for name := range got {
		if !strings.HasPrefix(name, "nodes_skipped_") {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got)\n%s", diff)
	}
	// A node that comes right is led to.
	n.put(linux(25, vxlanConf))
	n.untilWays("10.244.25.0/24 192.0.2.25 00-00-19", "10.244.7.0/24 192.0.2.7 00-00-07", "10.244.8.0/24 192.0.2.8 00-00-08")
}

func annotate(name, value string) func(*corev1.Node) {
	return func(x *corev1.Node) {
		x.Annotations["flannel.alpha.coreos.com/"+name] = value
		if value == "" {
			delete(x.Annotations, "flannel.alpha.coreos.com/"+name)
		}
	}
}

func podCIDR(text string) func(*corev1.Node) {
	return func(x *corev1.Node) {
		x.Spec.PodCIDR, x.Spec.PodCIDRs = text, []string{text}
		if text == "" {
			x.Spec.PodCIDRs = nil
		}
	}
}

// TestLinuxPort: a net-conf.json without a port has Linux nodes send to 8472,
// which HNS does not hear.
func TestLinuxPort(t *testing.T) {
	n := newTestNode(t, `{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096}}`)
	n.put(linux(7, vxlanConf))
	windows := linux(8, vxlanConf)
	windows.Labels[corev1.LabelOSStable] = "windows"
	n.put(windows)
	old := linux(9, vxlanConf) // from before there was that label
	delete(old.Labels, corev1.LabelOSStable)
	old.Status.NodeInfo.OperatingSystem = "windows"
	n.put(old)
	n.run()
	n.untilWays("10.244.8.0/24 192.0.2.8 00-00-08", "10.244.9.0/24 192.0.2.9 00-00-09")
	if s := n.agent.Status().Report.Skipped; len(s) != 1 || s[0].Node != "linux-07" || s[0].Fault != node.FaultPort {
		t.Errorf("skipped: %v", s)
	}
}

// TestAnotherPodCIDR: the Node is deleted and comes back with another subnet.
// Without pods the network is made anew; with one it stays until the pod is gone,
// and the Node says that it takes no more (flannel-io/flannel#556).
func TestAnotherPodCIDR(t *testing.T) {
	for _, conf := range []string{vxlanConf, hostGWConf} {
		n := newTestNode(t, conf)
		t.Run(n.opts.NetConf.Backend, func(t *testing.T) {
			n.T = t
			n.opts.Resync = 1 // look at everything again and again
			n.put(linux(7, conf))
			n.run()
			n.until("ready", ready)
			pod := n.pod(20)

			again := n.own()
			n.remove("win-1")
			n.until("without a Node", func(s Status) bool { return !s.Ready && s.Err != nil && strings.Contains(s.Err.Error(), "no Node") })
			again.UID, again.ResourceVersion, again.Annotations, again.Status.Conditions = "uid-2", "", nil, nil
			again.Spec.PodCIDR, again.Spec.PodCIDRs = "10.244.2.0/24", []string{"10.244.2.0/24"}
			n.put(again)
			n.until("refused", func(s Status) bool { return !s.Ready && errors.Is(s.Err, hns.ErrDrift) })
			n.until("unavailable", func(Status) bool { c, _ := n.networkUnavailable(); return c == corev1.ConditionTrue })
			if e, err := n.client.Endpoints.ByID(t.Context(), pod.ID); err != nil || e.Name != pod.Name {
				t.Errorf("the pod's endpoint: %v, %v", e, err)
			}
			n.put(linux(8, conf)) // the old pods still reach who joins
			n.until("led to linux-08", func(Status) bool { return len(n.ways()) == 2 })

			if err := n.client.Endpoints.Delete(t.Context(), pod.ID); err != nil {
				t.Fatal(err)
			}
			n.until("ready again", ready)
			if c, reason := n.networkUnavailable(); c != corev1.ConditionFalse || reason != "FlannelIsUp" {
				t.Errorf("condition %s %s", c, reason)
			}
			network, err := n.client.Networks.ByName(t.Context(), n.opts.NetConf.NetworkName())
			if err != nil || network.Subnets()[0].Prefix.String() != "10.244.2.0/24" {
				t.Errorf("the network has %v, %v", network.Subnets(), err)
			}
			if !strings.Contains(n.read(n.opts.SubnetFile), "FLANNEL_SUBNET=10.244.2.1/24\n") || !strings.Contains(n.read(n.opts.ConflistFile), "10.244.2.0/24") {
				t.Error("the files are of the old subnet")
			}
			if len(n.ways()) != 2 {
				t.Errorf("ways: %v", n.ways())
			}
			if got := n.own().Annotations["flannel.alpha.coreos.com/public-ip"]; got != "192.0.2.10" {
				t.Errorf("the new Node's lease has address %q", got)
			}
		})
	}
}

// TestPublicIP: what the others are told, and what the adapter is found by.
func TestPublicIP(t *testing.T) {
	for name, tc := range map[string]struct {
		conf      string
		change    func(*corev1.Node)
		option    string
		adapter   string
		want, err string
	}{
		"the adapter's":             {conf: vxlanConf, want: "192.0.2.10"},
		"overwritten":               {conf: vxlanConf, change: annotate("public-ip-overwrite", "198.51.100.7"), want: "198.51.100.7"},
		"overwritten on host-gw":    {conf: hostGWConf, change: annotate("public-ip-overwrite", "198.51.100.7"), want: "198.51.100.7"},
		"of the Node":               {conf: vxlanConf, change: annotate("node-public-ip", "192.0.2.10"), option: "198.51.100.9", want: "192.0.2.10"},
		"of nobody":                 {conf: vxlanConf, option: "198.51.100.9", err: "no adapter has the public address 198.51.100.9"},
		"behind NAT":                {conf: vxlanConf, option: "198.51.100.9", adapter: "Ethernet", want: "198.51.100.9"},
		"behind NAT on host-gw":     {conf: hostGWConf, option: "198.51.100.9", adapter: "Ethernet", err: errPublicIP.Error()},
		"overwritten by no address": {conf: vxlanConf, change: annotate("public-ip-overwrite", "home"), err: `annotation flannel.alpha.coreos.com/public-ip-overwrite: "home" is not an IPv4 address`},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t, tc.conf)
			if tc.change != nil {
				own := n.own()
				tc.change(own)
				n.put(own)
			}
			if tc.option != "" {
				n.opts.PublicIP = netip.MustParseAddr(tc.option)
			}
			if tc.adapter != "" {
				n.opts.Interfaces = []string{"no such adapter", tc.adapter}
			}
			n.run()
			if tc.err != "" {
				n.until("refused", func(s Status) bool { return s.Err != nil && strings.Contains(s.Err.Error(), tc.err) })
				if list, _ := n.client.Networks.List(t.Context()); slices.ContainsFunc(list, func(x *hns.Network) bool { return x.Name == n.opts.NetConf.NetworkName() }) {
					t.Error("a network was made all the same")
				}
				return
			}
			n.until("ready", ready)
			if got := n.own().Annotations["flannel.alpha.coreos.com/public-ip"]; got != tc.want {
				t.Errorf("public-ip is %q", got)
			}
		})
	}
}
