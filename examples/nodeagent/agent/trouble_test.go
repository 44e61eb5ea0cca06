package agent

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// TestHNSComesAndGoes: it is down at the start, restarts, and loses the network.
func TestHNSComesAndGoes(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	n.put(linux(7, vxlanConf))
	n.hns.Stop()
	n.run()
	n.until("without HNS", func(s Status) bool { return unreachable(s.Err) })
	n.hns.Start()
	n.untilWays("10.244.7.0/24 192.0.2.7 00-00-07")
	pod := n.pod(20)

	n.hns.Stop()
	n.put(linux(8, vxlanConf))
	n.until("without HNS again, said once", func(s Status) bool {
		return unreachable(s.Err) && !strings.Contains(s.Err.Error(), "remotes of network")
	})
	n.hns.Start()
	n.untilWays("10.244.7.0/24 192.0.2.7 00-00-07", "10.244.8.0/24 192.0.2.8 00-00-08")
	n.remove("linux-08")
	if err := n.hns.Restart(); err != nil {
		t.Fatal(err)
	}
	n.put(linux(8, vxlanConf))
	n.untilWays("10.244.7.0/24 192.0.2.7 00-00-07", "10.244.8.0/24 192.0.2.8 00-00-08")
	if _, err := n.client.Endpoints.ByID(t.Context(), pod.ID); err != nil {
		t.Errorf("the pod's endpoint: %v", err)
	}
	if err := n.client.Endpoints.Delete(t.Context(), pod.ID); err != nil {
		t.Fatal(err)
	}
	network, err := n.client.Networks.ByName(t.Context(), "flannel.4096")
	if err == nil {
		err = n.client.Networks.Delete(t.Context(), network.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.remove("linux-07")
	n.untilWays("10.244.8.0/24 192.0.2.8 00-00-08")
	after, err := n.client.Networks.ByName(t.Context(), "flannel.4096")
	if err != nil || after.ID == network.ID {
		t.Errorf("the network: %v, %v", after, err)
	}
	if err := n.hns.Reboot(); err != nil { // the network is gone with it
		t.Fatal(err)
	}
	n.put(linux(9, vxlanConf))
	n.untilWays("10.244.8.0/24 192.0.2.8 00-00-08", "10.244.9.0/24 192.0.2.9 00-00-09")
}

// TestResync: what others did is put right although no Node changes.
func TestResync(t *testing.T) {
	for name, conf := range map[string]string{"vxlan": vxlanConf, "host-gw": hostGWConf} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t, conf)
			n.opts.Resync = 20 * time.Millisecond
			n.put(linux(7, conf))
			n.run()
			n.until("ready", ready)
			want := n.ways()
			if conf == hostGWConf {
				routes, err := n.host.Routes(t.Context())
				if err != nil || len(routes) != 1 {
					t.Fatal(routes, err)
				}
				if err := n.host.DeleteRoute(t.Context(), routes[0]); err != nil {
					t.Fatal(err)
				}
			} else {
				network, err := n.client.Networks.ByName(t.Context(), "flannel.4096")
				if err != nil {
					t.Fatal(err)
				}
				if err := n.client.Networks.RemovePolicies(t.Context(), network.ID, hns.PoliciesOf[hns.RemoteSubnetRoute](network.Policies)[0]); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(n.opts.ConflistFile); err != nil {
				t.Fatal(err)
			}
			n.untilWays(want...)
			n.until("the conflist is back", func(Status) bool { _, err := os.Stat(n.opts.ConflistFile); return err == nil })
		})
	}
}

// TestRefusedWay: one way that HNS refuses holds up neither pods nor the others.
func TestRefusedWay(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	n.put(linux(7, vxlanConf))
	n.put(linux(8, vxlanConf))
	permit := n.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNetwork, Match: func(r hns.Request) bool {
		return strings.Contains(string(r.Document), "10.244.7.0")
	}, Code: 0x803b000d, Times: -1})
	n.run()
	n.until("ready with an error", func(s Status) bool { return s.Ready && s.Err != nil })
	if ways := n.ways(); !slices.Equal(ways, []string{"10.244.8.0/24 192.0.2.8 00-00-08"}) {
		t.Errorf("ways: %v", ways)
	}
	permit()
	n.untilWays("10.244.7.0/24 192.0.2.7 00-00-07", "10.244.8.0/24 192.0.2.8 00-00-08")
}

// TestStoppedAfterRefusedWay: HNS refuses a way and is gone at the next. Ways are
// missing that nobody refused, so no pod starts.
func TestStoppedAfterRefusedWay(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	n.opts.Batch = 1
	n.put(linux(7, vxlanConf))
	n.put(linux(8, vxlanConf))
	fault := func(subnet string, code hns.Code) func() {
		return n.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNetwork, Match: func(r hns.Request) bool {
			return strings.Contains(string(r.Document), subnet)
		}, Code: code, Times: -1})
	}
	fault("10.244.7.0", 0x803b000d)
	back := fault("10.244.8.0", 0x800706ba) // the RPC server is unavailable
	n.run()
	n.until("two failures", func(s Status) bool { return s.Failures >= 2 })
	if s := n.agent.Status(); s.Ready || !errors.Is(s.Err, hns.ErrUnavailable) {
		t.Errorf("ready %t, error %v", s.Ready, s.Err)
	}
	if _, err := os.Stat(n.opts.ConflistFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("pods can start: %v", err)
	}
	back()
	n.until("ready with an error", func(s Status) bool { return s.Ready && s.Err != nil })
}

// TestConditionOfOthers: it is set once; what somebody says later is left alone.
func TestConditionOfOthers(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	n.run()
	n.until("ready", ready)
	own := n.own()
	i := slices.IndexFunc(own.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeNetworkUnavailable })
	own.Status.Conditions[i].Status, own.Status.Conditions[i].Reason = corev1.ConditionTrue, "NoRouteCreated"
	n.put(own)
	n.put(linux(7, vxlanConf))
	n.untilWays("10.244.7.0/24 192.0.2.7 00-00-07")
	if c, reason := n.networkUnavailable(); c != corev1.ConditionTrue || reason != "NoRouteCreated" {
		t.Errorf("condition %s %s", c, reason)
	}

	kept := newTestNode(t, vxlanConf)
	kept.opts.KeepCondition = true
	kept.run()
	kept.until("ready", ready)
	if c, _ := kept.networkUnavailable(); c != "" {
		t.Errorf("condition %s", c)
	}
}

// TestLeaseIsPutBack: somebody takes the annotations away.
func TestLeaseIsPutBack(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	n.run()
	n.until("ready", ready)
	own := n.own()
	data := own.Annotations["flannel.alpha.coreos.com/backend-data"]
	delete(own.Annotations, "flannel.alpha.coreos.com/backend-data")
	own.ResourceVersion = "99"
	n.put(own)
	n.until("put back", func(Status) bool { return n.own().Annotations["flannel.alpha.coreos.com/backend-data"] == data })
}
