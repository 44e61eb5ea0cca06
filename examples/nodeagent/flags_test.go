package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/examples/nodeagent/agent"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

var equal = cmp.Options{
	cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}),
	cmp.Comparer(func(a, b *regexp.Regexp) bool { return a.String() == b.String() }),
	cmp.AllowUnexported(config{}),
}

// standard is what flanneld does without flags, where that can be had, and this
// program's own defaults.
func standard() agent.Options {
	return agent.Options{
		AnnotationPrefix: "flannel.alpha.coreos.com",
		SubnetFile:       "/run/flannel/subnet.env", ConflistFile: "/etc/cni/net.d/10-flannel.conflist",
		Drift: hns.DriftRecreate, Batch: 64, Resync: 5 * time.Minute,
	}
}

func TestOptions(t *testing.T) {
	tests := []struct {
		name    string
		args    []string
		environ []string
		want    func(*agent.Options) // beside the standard
	}{
		{name: "none", want: func(*agent.Options) {}},
		{name: "as kube-flannel runs flanneld", args: []string{"--ip-masq", "--kube-subnet-mgr", "--healthz-port=8081"},
			want: func(o *agent.Options) { o.IPMasq = true }},
		{name: "as rke2 runs flanneld", args: []string{"-kube-subnet-mgr=1", "-ip-masq=true", "-iface", "192.0.2.7", "--subnet-file", `C:\run\x.env`},
			want: func(o *agent.Options) {
				o.IPMasq, o.Interfaces, o.SubnetFile = true, []string{"192.0.2.7"}, `C:\run\x.env`
			}},
		{name: "adapters", args: []string{"--iface=Ethernet", "--iface=Ethernet 2", "--iface-regex=^192\\.", "--iface-regex=eth.*", "--iface-can-reach=198.51.100.1", "--public-ip=203.0.113.7"},
			want: func(o *agent.Options) {
				o.Interfaces = []string{"Ethernet", "Ethernet 2"}
				o.InterfaceRegexps = []*regexp.Regexp{regexp.MustCompile(`^192\.`), regexp.MustCompile("eth.*")}
				o.CanReach, o.PublicIP = netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("203.0.113.7")
			}},
		{name: "nothing is written", args: []string{"--subnet-file=", "--cni-conf-file=", "--set-node-network-unavailable=false"},
			want: func(o *agent.Options) { o.SubnetFile, o.ConflistFile, o.KeepCondition = "", "", true }},
		{name: "annotations", args: []string{"--kube-annotation-prefix=my.example/x"}, want: func(o *agent.Options) { o.AnnotationPrefix = "my.example/x" }},
		{name: "own flags", args: []string{"--service-cidr=10.96.0.0/12, 10.112.0.0/12", "--cluster-dns=10.96.0.10", "--cluster-domain=k8s.example", "--dsr",
			"--remote-batch=-1", "--recreate-network=false", "--resync=30s"},
			want: func(o *agent.Options) {
				o.ServiceCIDRs = []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("10.112.0.0/12")}
				o.DNS = modes.ClusterDNS{Servers: []netip.Addr{netip.MustParseAddr("10.96.0.10")}, Domain: "k8s.example"}
				o.DSR, o.Batch, o.Drift, o.Resync = true, -1, hns.DriftRefuse, 30*time.Second
			}},
		{name: "empty, as a template leaves it", args: []string{"--iface=", "--public-ip=", "--service-cidr=", "--cluster-dns=", "--etcd-prefix="}, want: func(*agent.Options) {}},
		{name: "variables", environ: []string{"FLANNELD_IP_MASQ=true", "FLANNELD_IFACE=eth0", "FLANNELD_REMOTE_BATCH=1", "FLANNELD_PUBLIC_IP="},
			want: func(o *agent.Options) { o.IPMasq, o.Interfaces, o.Batch = true, []string{"eth0"}, 1 }},
		{name: "flags go before variables", args: []string{"--iface=eth1", "--ip-masq=false"}, environ: []string{"FLANNELD_IFACE=eth0", "FLANNELD_IP_MASQ=true"},
			want: func(o *agent.Options) { o.Interfaces = []string{"eth1"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseFlags(tt.args, tt.environ)
			if err != nil {
				t.Fatal(err)
			}
			want := standard()
			tt.want(&want)
			if diff := cmp.Diff(want, c.agentOptions(), equal); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What else flags say.
func TestConfig(t *testing.T) {
	c, err := parseFlags([]string{"--healthz-ip=::1", "--healthz-port=8081", "--v=4", "--log-level=warn", "--log-format=json", "--kubeconfig-file=k", "--kube-api-url=https://a:1",
		"--net-config-path=n", "--version", "--hostnet=memory"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"[::1]:8081", 4, slog.LevelWarn, "json", "k", "https://a:1", "n", true, "memory"}
	got := []any{c.healthzAddress(), c.verbosity, c.logLevel, c.logFormat, c.kubeConfigFile, c.kubeAPIURL, c.netConfPath, c.version, c.hostnet}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if c, err = parseFlags(nil, nil); err != nil || c.healthzPort != 0 || c.healthzIP != "0.0.0.0" || c.netConfPath != "/etc/kube-flannel/net-conf.json" {
		t.Errorf("defaults: %+v, %v", c, err)
	}
}

// Flags of flanneld that have nothing to do here.
func TestIdleFlags(t *testing.T) {
	const etcd = "subnets come from Kubernetes, never from etcd"
	tests := []struct {
		args  string
		notes string // what the log says
		fails string
	}{
		{args: "--kube-subnet-mgr"},
		{args: "--kube-subnet-mgr=true"},
		{args: "--kube-subnet-mgr=false", fails: `--kube-subnet-mgr: "false": ` + etcd},
		{args: "--etcd-endpoints=http://a:2379", fails: "--etcd-endpoints: " + etcd + "; --kube-subnet-mgr says that this is meant"},
		{args: "--kube-subnet-mgr --etcd-endpoints=http://a:2379", notes: "--etcd-endpoints has no effect: " + etcd},
		{args: "--etcd-prefix=/x", fails: "--etcd-prefix: "},
		{args: "--etcd-keyfile=x", fails: "--etcd-keyfile: "},
		{args: "--etcd-certfile=x", fails: "--etcd-certfile: "},
		{args: "--etcd-cafile=x", fails: "--etcd-cafile: "},
		{args: "--etcd-username=x", fails: "--etcd-username: "},
		{args: "--etcd-password=hush", fails: "--etcd-password: "},
		{args: "--public-ipv6=2001:db8::1", fails: `--public-ipv6: "2001:db8::1": a Windows node is reached by IPv4 here`},
		{args: "--subnet-lease-renew-margin=60", notes: "--subnet-lease-renew-margin has no effect: "},
		{args: "--subnet-lease-renew-margin=1440", fails: `--subnet-lease-renew-margin: "1440": not from 1 to 1439`},
		{args: "--ip-masq-fully-random-disable", notes: "--ip-masq-fully-random-disable has no effect: "},
		{args: "--iptables-resync=5", notes: "--iptables-resync has no effect: "},
		{args: "--iptables-resync=often", fails: `--iptables-resync: "often": not a number`},
		{args: "--iptables-forward-rules=false", notes: "--iptables-forward-rules has no effect: "},
		{args: "--ip-blackhole-route", notes: "--ip-blackhole-route has no effect: "},
		{args: "--vmodule=x=2", notes: "--vmodule has no effect: "},
		{args: "--log_backtrace_at=x.go:2", notes: "--log_backtrace_at has no effect: "},
	}
	tested := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			for _, a := range strings.Fields(tt.args) {
				name, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
				tested[name] = true
			}
			c, err := parseFlags(strings.Fields(tt.args), nil)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "hush") {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(c.notes, "\n"); !strings.HasPrefix(got, tt.notes) || (got == "") != (tt.notes == "") {
				t.Errorf("notes %q, want %q", got, tt.notes)
			}
		})
	}
	for _, i := range idleFlags {
		if !tested[i.name] {
			t.Errorf("--%s is not tested", i.name)
		}
	}
	for _, name := range etcdFlags {
		if !tested[name] {
			t.Errorf("--%s is not tested", name)
		}
	}
}

// All that is wrong is told at once, each with where it stands.
func TestFaults(t *testing.T) {
	args := []string{"--ip-masq=maybe", "--healthz-port=65536", "--iface-regex=(", "--public-ip=2001:db8::1", "--iface-can-reach=router",
		"--service-cidr=10.96.0.0/12,10.96.0.1/12", "--cluster-dns=10.96.0.10,,", "--resync=5", "--remote-batch=0", "--hostnet=none", "--log-level=loud",
		"--log-format=xml", "--kube-api-url=apiserver:6443", "--v=-1", "--kube-annotation-prefix=a/b/c", "--net-config-path=", "--cluster-domain=x", "--subnet-lease-renew-margin=0"}
	environ := []string{"FLANNELD_DSR=2", "FLANNELD_RESYNC=1h"}
	_, err := parseFlags(args, environ)
	want := strings.TrimSpace(`
--ip-masq: "maybe": neither true nor false
--healthz-port: "65536": not from 0 to 65535
--iface-regex: "(": error parsing regexp: missing closing ): ` + "`(`" + `
--public-ip: "2001:db8::1": not an IPv4 address, and flannel on Windows has no other between nodes
--iface-can-reach: "router": not an address
--service-cidr: "10.96.0.0/12,10.96.0.1/12": "10.96.0.1/12": it has bits behind its length; 10.96.0.0/12 is meant, perhaps
--cluster-dns: "10.96.0.10,,": "": not an address
--resync: "5": not a time such as 5m or 30s
--remote-batch: "0": 0 would send nothing
--hostnet: "none": not one of os, memory
--log-level: "loud": not one of debug, info, warn, error
--log-format: "xml": not one of text, json
--kube-api-url: "apiserver:6443": not a URL such as https://192.0.2.1:6443
--v: "-1": not from 0 to 100
--kube-annotation-prefix: "a/b/c": names of annotations cannot begin so; flannel.alpha.coreos.com and example.com/flannel are such beginnings
--net-config-path: "": empty
--subnet-lease-renew-margin: "0": not from 1 to 1439
FLANNELD_DSR: "2": neither true nor false
--cluster-domain: needs --cluster-dns`)
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNoFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"--ip-masq", "true", "--iface=eth0"}, `"true" is no flag, and nothing behind it was read`},
		{[]string{"--kube-proxy"}, "flag provided but not defined: -kube-proxy"},
		{[]string{"--v=x", "--kube-proxy"}, `--v: "x": not a number`},
		{[]string{"--iface"}, "flag needs an argument: -iface"},
	} {
		if _, err := parseFlags(tt.args, nil); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v, want %q", tt.args, err, tt.says)
		}
	}
}

// A variable of flanneld's kind that names no flag is not passed over in silence.
func TestUnknownVariable(t *testing.T) {
	c, err := parseFlags(nil, []string{"FLANNELD_IP_MASK=true", "OTHER=1"})
	if err != nil || len(c.notes) != 1 || c.notes[0] != "FLANNELD_IP_MASK: there is no such flag, so the variable does nothing" {
		t.Errorf("%v, %v", c, err)
	}
}

// Every flag of flanneld is known, with its default where it does the same.
// The golden file is what flanneld v0.28.10 --help says of names and defaults.
func TestFlagsOfFlanneld(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "flanneld-flags.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	idle := map[string]bool{"kube-subnet-mgr": true}
	for _, i := range idleFlags {
		idle[i.name] = true
	}
	for _, name := range etcdFlags {
		idle[name] = true
	}
	f := newFlags()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		n++
		name, standard, _ := strings.Cut(lines.Text(), " ")
		switch x := f.set.Lookup(name); {
		case x == nil:
			t.Errorf("--%s is not known", name)
		case !idle[name] && x.DefValue != standard:
			t.Errorf("--%s: default %q, flanneld's is %q", name, x.DefValue, standard)
		}
	}
	if n < 30 {
		t.Errorf("the file has %d flags", n)
	}
}

// Names, defaults and variables stand in the README.
func TestFlagsInReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	newFlags().set.VisitAll(func(x *flag.Flag) {
		if !bytes.Contains(readme, []byte("`--"+x.Name+"`")) {
			t.Errorf("--%s is not in README.md", x.Name)
		}
	})
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z_-]+)` \\| `([^`]*)`").FindAllStringSubmatch(string(readme), -1) {
		x := newFlags().set.Lookup(m[1])
		if x == nil {
			t.Errorf("README.md has --%s, which is not there", m[1])
		} else if m[1] != "hostnet" && x.DefValue != m[2] { // whose default is the system's
			t.Errorf("--%s: default %q, in README.md %q", m[1], x.DefValue, m[2])
		}
	}
}

// What the program writes where, and its exit statuses.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	netConf := filepath.Join(dir, "net-conf.json")
	if err := os.WriteFile(netConf, []byte(`{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	withConf := "--net-config-path=" + netConf
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr)
	tests := []struct {
		name           string
		args, environ  []string
		status         int
		stdout, stderr string // parts of them; empty: nothing
	}{
		{name: "help", args: []string{"--help"}, status: stopped, stdout: "-kube-annotation-prefix prefix"},
		{name: "version", args: []string{"--version"}, status: stopped, stdout: "\n"},
		{name: "version by variable", environ: []string{"FLANNELD_VERSION=true"}, status: stopped, stdout: "\n"},
		{name: "bad flag", args: []string{"--v=x"}, status: misused, stderr: "nodeagent: --v: \"x\": not a number\nnodeagent --help lists the flags\n"},
		{name: "no net-conf.json", args: []string{"--net-config-path=" + filepath.Join(dir, "none")}, status: failed, stderr: "--net-config-path: open"},
		{name: "bad net-conf.json", args: []string{"--net-config-path=" + mustWrite(t, dir, `{"Network": "10.244.0.0"}`)}, status: failed, stderr: "Network: "},
		{name: "not in a pod", args: []string{withConf}, status: failed, stderr: "--kubeconfig-file or --kube-api-url must say where it is"},
		{name: "no service account", args: []string{withConf}, environ: []string{"KUBERNETES_SERVICE_HOST=192.0.2.1", "KUBERNETES_SERVICE_PORT=443"}, status: failed,
			stderr: "the pod's service account: "},
		{name: "no kubeconfig", args: []string{withConf, "--kubeconfig-file=" + filepath.Join(dir, "none")}, status: failed, stderr: "--kubeconfig-file, --kube-api-url: "},
		{name: "address in use", args: []string{withConf, "--healthz-ip=" + taken.IP.String(), "--healthz-port=" + fmt.Sprint(taken.Port)}, status: failed, stderr: "--healthz-ip, --healthz-port: "},
		{name: "what has no effect is told", args: []string{"--net-config-path=" + filepath.Join(dir, "none"), "--iptables-resync=5"}, status: failed,
			stderr: "--iptables-resync has no effect"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if got := run(t.Context(), tt.args, tt.environ, &stdout, &stderr); got != tt.status {
				t.Errorf("exit status %d, want %d", got, tt.status)
			}
			for _, x := range []struct {
				name, got, want string
			}{{"standard output", stdout.String(), tt.stdout}, {"standard error", stderr.String(), tt.stderr}} {
				if !strings.Contains(x.got, x.want) || (x.got == "") != (x.want == "") {
					t.Errorf("%s:\n%s\nwant %q", x.name, x.got, x.want)
				}
			}
		})
	}
}

func mustWrite(t *testing.T, dir, text string) string {
	t.Helper()
	f, err := os.CreateTemp(dir, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprint(f, text); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}
