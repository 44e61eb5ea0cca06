package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/subnetenv"
)

// What the options are if they do not say.
const (
	DefaultResync   = 5 * time.Minute
	DefaultDebounce = 100 * time.Millisecond
)

// Options are what an agent needs to know. NodeName, Client, HNS, Host and
// NetConf are required.
type Options struct {
	// NodeName is the name of this node's Node object.
	NodeName string
	Client   kubernetes.Interface
	HNS      *hns.Client
	// Host is the machine beside HNS.
	Host hostnet.Host
	// NetConf is the cluster's net-conf.json: its backend is VXLAN or host-gw.
	NetConf *subnetenv.NetConf
	// AnnotationPrefix is that of flannel's annotations; empty is
	// [DefaultAnnotationPrefix].
	AnnotationPrefix string

	// Interfaces are names or addresses of adapters, of which the first that
	// there is counts; then InterfaceRegexps for their names or addresses, then
	// the adapter by which CanReach is reached. Without all three it is the
	// adapter with the public address if one is given (PublicIP, or the
	// annotation node-public-ip), else that of the default route, else that with
	// the Node's InternalIP, else the only one.
	Interfaces       []string
	InterfaceRegexps []*regexp.Regexp
	CanReach         netip.Addr
	// PublicIP is what the other nodes send to; zero is the adapter's address.
	// The annotation node-public-ip of the Node goes before it, and what is
	// published is that of public-ip-overwrite, if there is one.
	PublicIP netip.Addr

	// IPMasq gives what leaves the cluster the node's address.
	IPMasq bool
	// ServiceCIDRs are the cluster's; empty asks the API server for its
	// ServiceCIDR objects (Kubernetes 1.33).
	ServiceCIDRs []netip.Prefix
	// DNS is the cluster's; without servers net-conf.json's DNSServerList counts,
	// and without that kubelet's.
	DNS modes.ClusterDNS
	// DSR is direct server return, as [node.Description] has it.
	DSR bool

	// SubnetFile and ConflistFile are written when pods can be started, in this
	// order; empty: none.
	SubnetFile   string
	ConflistFile string
	// KeepCondition leaves the condition NodeNetworkUnavailable of the Node alone.
	KeepCondition bool

	// Drift says what to do with a network that is there and cannot be changed
	// into what is wanted, as after a new podCIDR. flanneld makes it anew and with
	// it ends the pods on it; [hns.DriftRecreate] waits until the last pod is gone.
	Drift hns.Drift
	// Batch is as in [node.RemotesOptions].
	Batch int
	// Resync is how often everything is looked at although no Node changed; zero
	// is [DefaultResync].
	Resync time.Duration
	// Debounce is how long changes of Nodes are collected; zero is
	// [DefaultDebounce].
	Debounce time.Duration
	// Logger, if set, is told of everything that changes.
	Logger *slog.Logger
	// Counters, if set, count what package node does.
	Counters *node.Counters
}

// check returns all that is wrong.
func (o *Options) check() error {
	var bad []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			bad = append(bad, fmt.Errorf(format, args...))
		}
	}
	for _, why := range validation.IsDNS1123Subdomain(o.NodeName) {
		bad = append(bad, fmt.Errorf("NodeName: %q: %s", o.NodeName, why))
	}
	need(o.Client != nil, "Client: missing")
	need(o.HNS != nil, "HNS: missing")
	need(o.Host != nil, "Host: missing")
	need(o.NetConf != nil, "NetConf: missing")
	if o.NetConf != nil {
		_, known := modeOf[o.NetConf.Backend]
		need(known, "NetConf.Backend: %q: only %s and %s lead to other nodes on Windows", o.NetConf.Backend, subnetenv.BackendVXLAN, subnetenv.BackendHostGW)
		need(o.NetConf.Network.IsValid() && o.NetConf.Network.Addr().Is4(), "NetConf.Network: not an IPv4 prefix")
	}
	need(!o.PublicIP.IsValid() || o.PublicIP.Is4(), "PublicIP: %s: not an IPv4 address", o.PublicIP)
	need(!o.CanReach.IsValid() || o.CanReach.Is4() && !o.CanReach.IsUnspecified(), "CanReach: %s: not an IPv4 address", o.CanReach)
	need(o.Resync >= 0, "Resync: %s: negative", o.Resync)
	need(o.Debounce >= 0, "Debounce: %s: negative", o.Debounce)
	if err := CheckAnnotationPrefix(o.AnnotationPrefix); err != nil {
		bad = append(bad, err)
	}
	if err := errors.Join(bad...); err != nil {
		return fmt.Errorf("agent: options: %w", err)
	}
	return nil
}

// modeOf are flannel's backends that run on Windows.
var modeOf = map[string]modes.Mode{
	subnetenv.BackendVXLAN:  modes.Overlay,
	subnetenv.BackendHostGW: modes.L2Bridge,
}
