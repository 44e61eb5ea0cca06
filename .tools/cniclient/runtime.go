package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sort"
	"strings"

	gocni "github.com/containerd/go-cni"
	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// session is one attachment: what go-cni loaded, and how to run it.
type session struct {
	reader resultReader
	lib    *libcni.CNIConfig
	list   *libcni.NetworkConfigList
	conf   *libcni.RuntimeConf
	ifName string
}

// resultReader is the part of go-cni's client that turns plugin results into
// what containerd works with. It is not in go-cni's interface, but its client
// has it.
type resultReader interface {
	GetCNIResultFromResults(results []*types100.Result) (*gocni.Result, error)
}

// load lets go-cni read the configuration (so that what containerd refuses is
// refused here) and prepares libcni to run exactly that.
func load(o *options, stderr io.Writer) (*session, error) {
	opt, err := configOption(o.conf)
	if err != nil {
		return nil, err
	}
	client, err := gocni.New(
		gocni.WithMinNetworkCount(1),
		gocni.WithPluginDir(o.plugins),
		gocni.WithInterfacePrefix(strings.TrimSuffix(o.ifName, "0")),
	)
	if err != nil {
		return nil, err
	}
	if err := client.Load(opt); err != nil {
		return nil, err
	}
	networks := client.GetConfig().Networks
	if len(networks) != 1 {
		return nil, fmt.Errorf("go-cni loaded %d networks, want 1", len(networks))
	}
	if networks[0].IFName != o.ifName {
		return nil, fmt.Errorf("go-cni names the interface %q, not %q", networks[0].IFName, o.ifName)
	}
	reader, ok := client.(resultReader)
	if !ok {
		return nil, errors.New("this version of go-cni does not export how it reads results")
	}
	list, err := libcni.NetworkConfFromBytes([]byte(networks[0].Config.Source))
	if err != nil {
		return nil, err
	}
	exec := &invoke.DefaultExec{
		RawExec:       &invoke.RawExec{Stderr: stderr},
		PluginDecoder: version.PluginDecoder{},
	}
	return &session{
		reader: reader,
		lib:    libcni.NewCNIConfigWithCacheDir(o.plugins, o.cache, exec),
		list:   list,
		conf: &libcni.RuntimeConf{
			ContainerID:    o.id,
			NetNS:          o.netns,
			IfName:         o.ifName,
			Args:           cniArgs(o),
			CapabilityArgs: o.caps,
		},
		ifName: o.ifName,
	}, nil
}

// configOption picks go-cni's loader. containerd goes by the file's name; a
// list in a file of another name is recognised too.
func configOption(file string) (gocni.Opt, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var probe struct {
		Plugins json.RawMessage `json:"plugins"`
	}
	if strings.HasSuffix(file, ".conflist") || (json.Unmarshal(data, &probe) == nil && probe.Plugins != nil) {
		return gocni.WithConfListFile(file), nil
	}
	return gocni.WithConfFile(file), nil
}

// cniArgs are the CNI_ARGS that containerd's CRI plugin sets for a pod, with
// the container's id standing in for the names of the pod, then the user's.
func cniArgs(o *options) [][2]string {
	all := map[string]string{
		"IgnoreUnknown":              "1",
		"K8S_POD_NAMESPACE":          "default",
		"K8S_POD_NAME":               o.id,
		"K8S_POD_INFRA_CONTAINER_ID": o.id,
		"K8S_POD_UID":                o.id,
	}
	for k, v := range o.args {
		all[k] = v
	}
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := make([][2]string, 0, len(keys))
	for _, k := range keys {
		out = append(out, [2]string{k, all[k]})
	}
	return out
}

// report is what add prints.
type report struct {
	// Interfaces by name, as go-cni builds the map: addresses without an
	// interface index count for the pod's interface.
	Interfaces map[string]iface `json:"interfaces"`
	// PodInterface is the name containerd looks the pod's address up by.
	PodInterface string `json:"podInterface"`
	// PodIP is the address containerd reports for the pod: the first IPv4 one
	// on PodInterface, else the first. Empty: the pod is refused.
	PodIP string `json:"podIP"`
	// AdditionalIPs are the other addresses on PodInterface.
	AdditionalIPs []string         `json:"additionalIPs"`
	DNS           []types.DNS      `json:"dns"`
	Routes        []*types.Route   `json:"routes"`
	Result        *types100.Result `json:"result"`
}

type iface struct {
	IPs     []address `json:"ips"`
	MAC     string    `json:"mac"`
	Sandbox string    `json:"sandbox"`
}

type address struct {
	IP      string `json:"ip"`
	Gateway string `json:"gateway"`
}

func (s *session) add(ctx context.Context) (*report, error) {
	raw, err := s.lib.AddNetworkList(ctx, s.list, s.conf)
	if err != nil {
		return nil, err
	}
	converted, err := types100.NewResultFromResult(raw)
	if err != nil {
		return nil, err
	}
	res, err := s.reader.GetCNIResultFromResults([]*types100.Result{converted})
	if err != nil {
		return nil, err
	}
	return newReport(res, converted, s.ifName), nil
}

func newReport(res *gocni.Result, raw *types100.Result, ifName string) *report {
	rep := &report{
		Interfaces:    map[string]iface{},
		PodInterface:  ifName,
		AdditionalIPs: []string{},
		DNS:           res.DNS,
		Routes:        res.Routes,
		Result:        raw,
	}
	for name, c := range res.Interfaces {
		i := iface{IPs: []address{}, MAC: c.Mac, Sandbox: c.Sandbox}
		for _, a := range c.IPConfigs {
			i.IPs = append(i.IPs, address{IP: ipText(a.IP), Gateway: ipText(a.Gateway)})
		}
		rep.Interfaces[name] = i
	}
	if c := res.Interfaces[ifName]; c != nil {
		rep.PodIP, rep.AdditionalIPs = selectPodIPs(c.IPConfigs)
	}
	return rep
}

// selectPodIPs follows containerd's default preference, IPv4 before IPv6, and
// leaves the order of the rest alone.
func selectPodIPs(configs []*gocni.IPConfig) (first string, rest []string) {
	rest = []string{}
	chosen := -1
	for i, c := range configs {
		if c.IP.To4() != nil {
			chosen = i
			break
		}
	}
	if chosen < 0 && len(configs) > 0 {
		chosen = 0
	}
	for i, c := range configs {
		if i == chosen {
			first = ipText(c.IP)
			continue
		}
		rest = append(rest, ipText(c.IP))
	}
	return first, rest
}

// ipText is the address, or nothing where net.IP would say "<nil>".
func ipText(ip net.IP) string {
	if len(ip) == 0 {
		return ""
	}
	return ip.String()
}

// withCode adds the CNI error code, which is not part of the error's text.
func withCode(err error) error {
	var e *types.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%w (CNI error code %d)", err, e.Code)
	}
	return err
}
