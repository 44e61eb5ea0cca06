package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// envPrefix begins the variables that flags can be given by, as for flanneld.
const envPrefix = "FLANNELD_"

// flags are the flags of the program. A fault in a value does not end the
// reading: all are told at once.
type flags struct {
	set    *flag.FlagSet
	from   string // the variable that is read; empty: the command line
	faults []error
	config config
}

// value is a flag, for package flag.
type value struct {
	flags   *flags
	name    string
	text    string // as given, for the usage the default
	bare    bool   // nothing is its default
	given   bool
	boolean bool
	secret  bool
	take    func(string) error
}

// String returns the value's text; package flag calls it on zero values, too.
func (v *value) String() string { return v.text }

// IsBoolFlag tells package flag that the name alone is "true".
func (v *value) IsBoolFlag() bool { return v.boolean }

// Set takes a value, or notes what is wrong with it. An empty one, as templates
// write it, is as good as none where nothing is the default.
func (v *value) Set(text string) error {
	f := v.flags
	if text == "" && v.bare {
		return nil
	}
	shown := text
	if v.secret {
		shown = "…"
	}
	where := cmp.Or(f.from, "--"+v.name)
	if err := v.take(text); err != nil {
		f.faults = append(f.faults, fmt.Errorf("%s: %q: %w", where, shown, err))
	}
	v.text, v.given = text, true
	f.config.given = append(f.config.given, where+"="+shown)
	return nil
}

// parseFlags reads the command line, and the variables for what it leaves out.
func parseFlags(args, environ []string) (*config, error) {
	f := newFlags()
	err := f.set.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, err
	}
	if err != nil {
		f.faults = append(f.faults, err)
	}
	if rest := f.set.Args(); err == nil && len(rest) > 0 {
		f.faults = append(f.faults, fmt.Errorf("%q is no flag, and nothing behind it was read; a flag that is on or off has its value behind \"=\"", rest[0]))
	}
	f.readEnvironment(environ)
	f.checkTogether()
	if len(f.faults) > 0 {
		return nil, errors.Join(f.faults...)
	}
	return &f.config, nil
}

// readEnvironment takes flags from the variables FLANNELD_*, where the command
// line has not given them. An empty variable is as good as none.
func (f *flags) readEnvironment(environ []string) {
	known := map[string]bool{}
	env := environment(environ)
	f.set.VisitAll(func(x *flag.Flag) {
		name := variable(x.Name)
		known[name] = true
		if text := env.get(name); text != "" && !x.Value.(*value).given {
			f.from = name
			_ = x.Value.Set(text) // it notes faults itself
			f.from = ""
		}
	})
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, envPrefix) && !known[name] {
			f.config.notes = append(f.config.notes, name+": there is no such flag, so the variable does nothing")
		}
	}
	slices.Sort(f.config.notes)
}

// variable is the name of a flag's variable.
func variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func usage(w io.Writer) {
	f := newFlags()
	fmt.Fprintf(w, "nodeagent keeps a Windows node in a flannel cluster.\n\nEach flag is a variable, too: --healthz-port is %s.\n\n", variable("healthz-port"))
	f.set.SetOutput(w)
	f.set.PrintDefaults()
}

func newFlags() *flags {
	f := &flags{set: flag.NewFlagSet("nodeagent", flag.ContinueOnError)}
	f.set.SetOutput(io.Discard)
	f.set.Usage = func() {}
	f.defineFlannel()
	f.defineIdle()
	f.defineOwn()
	return f
}

// add defines a flag with its default.
func (f *flags) add(name, standard, usage string, take func(string) error) *value {
	v := &value{flags: f, name: name, text: standard, bare: standard == "", take: take}
	if !v.bare {
		if err := take(standard); err != nil {
			f.faults = append(f.faults, fmt.Errorf("--%s: its default %q: %w", name, standard, err))
		}
	}
	f.set.Var(v, name, usage)
	return v
}

func (f *flags) addBool(name string, standard bool, usage string, to *bool) {
	f.add(name, fmt.Sprint(standard), usage, into(to, parseBool)).boolean = true
}

// defineFlannel defines the flags of flanneld that do here what they do there,
// with its defaults.
func (f *flags) defineFlannel() {
	c := &f.config
	f.add("iface", "", "`name` or address of the adapter to the other nodes. May be given several times: the first that there is counts. Without it: the address that the annotation node-public-ip names, the default route's adapter, the Node's InternalIP", appendTo(&c.interfaces, parseText))
	f.add("iface-regex", "", "`expression` for address or name of that adapter; looked at after --iface. May be given several times", appendTo(&c.interfaceRegexps, parseRegexp))
	f.add("iface-can-reach", "", "take the adapter by which this `address` is reached; looked at after --iface-regex", into(&c.canReach, parseIPv4))
	f.add("public-ip", "", "`address` by which the other nodes reach this one", into(&c.publicIP, parseIPv4))
	f.add("subnet-file", "/run/flannel/subnet.env", "`file` for the node's subnet, MTU and so on; empty: none", into(&c.subnetFile, anyText))
	f.add("net-config-path", "/etc/kube-flannel/net-conf.json", "`file` with the network configuration of the cluster", into(&c.netConfPath, parseText))
	f.addBool("ip-masq", false, "give what pods send out of the cluster the node's address", &c.ipMasq)
	f.add("kube-api-url", "", "`URL` of the API server; not needed in a pod", into(&c.kubeAPIURL, parseURL))
	f.add("kubeconfig-file", "", "kubeconfig `file`; not needed in a pod", into(&c.kubeConfigFile, anyText))
	f.add("kube-annotation-prefix", "flannel.alpha.coreos.com", "`prefix` of the annotations of Nodes, with one slash at most", into(&c.annotationPrefix, parseAnnotationPrefix))
	f.addBool("set-node-network-unavailable", true, "set the Node's condition NetworkUnavailable to false when the node is ready", &c.setAvailable)
	f.add("healthz-ip", "0.0.0.0", "`address` that /healthz, /readyz and /metrics are served on", into(&c.healthzIP, anyText))
	f.add("healthz-port", "0", "`port` for them; 0: they are not served", into(&c.healthzPort, parsePort))
	f.addBool("version", false, "print the version and exit", &c.version)
	f.add("v", "0", "`level` of detail of the log: that of the Kubernetes client, and from 4 on every call to HNS", into(&c.verbosity, parseVerbosity))
}

// defineOwn defines the flags that flanneld does not have.
func (f *flags) defineOwn() {
	c := &f.config
	host := hostMemory
	if runtime.GOOS == "windows" {
		host = hostOS
	}
	f.add("cni-conf-file", "/etc/cni/net.d/10-flannel.conflist", "`file` for the CNI configuration list, written when the node is ready; empty: none", into(&c.conflistFile, anyText))
	f.add("service-cidr", "", "`prefixes` of the cluster's services, with commas between; without it the API server is asked", into(&c.serviceCIDRs, listOf(parsePrefix)))
	f.add("cluster-dns", "", "`addresses` of the cluster's DNS service, with commas between; without it pods have what the runtime gives", into(&c.dns.Servers, listOf(parseAddr)))
	f.add("cluster-domain", "", "`domain` of the cluster, with --cluster-dns; without it cluster.local", into(&c.dns.Domain, parseText))
	f.addBool("dsr", false, "direct server return, for services and for pods that call themselves", &c.dsr)
	f.add("remote-batch", "64", "`number` of remote subnets that one request to HNS has at most; 1: one by one, as flanneld does it; negative: no bound", into(&c.batch, parseBatch))
	f.addBool("recreate-network", true, "make a network anew that is not as it should be, cannot be changed and has no pods, as flanneld does; else that is an error", &c.recreateNetwork)
	f.add("resync", "5m", "`time` after which everything is looked at again", into(&c.resync, parseResync))
	f.add("hostnet", host, "`where` routes and forwarding are changed: os, or memory, which is for emulated nodes and changes nothing", into(&c.hostnet, oneOf(hostOS, hostMemory)))
	f.add("log-level", "info", "least `level` that is logged: debug, info, warn or error", into(&c.logLevel, parseLevel))
	f.add("log-format", "text", "`form` of the log: text or json", into(&c.logFormat, oneOf("text", "json")))
}

// checkTogether judges what no flag shows alone.
func (f *flags) checkTogether() {
	if c := &f.config; c.dns.Domain != "" && len(c.dns.Servers) == 0 {
		f.faults = append(f.faults, errors.New("--cluster-domain: needs --cluster-dns"))
	}
	f.checkEtcd()
}
