package main

import (
	"log/slog"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"github.com/hnskit/hnskit/examples/nodeagent/agent"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// config is what flags and variables ask for.
type config struct {
	// Flags of flanneld.
	interfaces       []string
	interfaceRegexps []*regexp.Regexp
	canReach         netip.Addr
	publicIP         netip.Addr
	subnetFile       string
	netConfPath      string
	ipMasq           bool
	kubeAPIURL       string
	kubeConfigFile   string
	annotationPrefix string
	setAvailable     bool
	healthzIP        string
	healthzPort      uint16
	version          bool
	verbosity        int

	// Flags of this program alone.
	conflistFile    string
	serviceCIDRs    []netip.Prefix
	dns             modes.ClusterDNS
	dsr             bool
	batch           int
	recreateNetwork bool
	resync          time.Duration
	hostnet         string
	logLevel        slog.Level
	logFormat       string

	given []string // the flags that were given, with their values
	notes []string // what was given and comes to nothing
}

// Values of --hostnet.
const (
	hostOS     = "os"
	hostMemory = "memory"
)

func (c *config) healthzAddress() string {
	return net.JoinHostPort(c.healthzIP, strconv.Itoa(int(c.healthzPort)))
}

// agentOptions are the options of the agent that come from flags.
func (c *config) agentOptions() agent.Options {
	drift := hns.DriftRefuse
	if c.recreateNetwork {
		drift = hns.DriftRecreate
	}
	return agent.Options{
		AnnotationPrefix: c.annotationPrefix,
		Interfaces:       c.interfaces,
		InterfaceRegexps: c.interfaceRegexps,
		CanReach:         c.canReach,
		PublicIP:         c.publicIP,
		IPMasq:           c.ipMasq,
		ServiceCIDRs:     c.serviceCIDRs,
		DNS:              c.dns,
		DSR:              c.dsr,
		SubnetFile:       c.subnetFile,
		ConflistFile:     c.conflistFile,
		KeepCondition:    !c.setAvailable,
		Drift:            drift,
		Batch:            c.batch,
		Resync:           c.resync,
	}
}
