package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/containernetworking/cni/pkg/types/create"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/subnetenv"
)

// subnetEnv inspects flannel's subnet.env.
func (r *Report) subnetEnv(data []byte) {
	r.Kind = SubnetEnv
	env, err := subnetenv.Parse(data)
	if err != nil {
		r.fail("", err, modes.SeverityError)
		if errors.Is(err, subnetenv.ErrNotReady) {
			r.add(modes.SeverityNote, "", "", "the file may be right a moment later: flanneld writes it in place", "see whether flanneld runs, and look again")
		}
		return
	}
	r.env = env
	if env.HasIPv6() && !env.HasIPv4() {
		r.add(modes.SeverityWarning, subnetenv.KeyIPv6Subnet, env.IPv6Subnet.String(), "IPv6 without IPv4 does not work on Windows", "give the cluster an IPv4 network too")
	} else if env.HasIPv6() {
		r.add(modes.SeverityNote, subnetenv.KeyIPv6Subnet, env.IPv6Subnet.String(), "an Overlay network on Windows carries IPv4 only", `with win-overlay set "ipv4Only": true in the configuration`)
	}
}

// netConfig inspects flanneld's net-conf.json.
func (r *Report) netConfig(text []byte) {
	r.Kind = NetConf
	c, err := subnetenv.ParseNetConf(text)
	if err != nil {
		r.fail("", err, modes.SeverityError)
		return
	}
	r.netConf = c
	switch c.Backend {
	case subnetenv.BackendVXLAN:
		r.addMode(string(modes.Overlay))
		if c.VNI == 0 {
			r.add(modes.SeverityWarning, "Backend.VNI", "", fmt.Sprintf("not said: flanneld takes %d on Windows and 1 on Linux, so the two do not reach each other", subnetenv.DefaultVNI),
				fmt.Sprintf(`write "VNI": %d, for all nodes`, subnetenv.DefaultVNI))
		}
		if c.Port == 0 {
			r.add(modes.SeverityWarning, "Backend.Port", "", fmt.Sprintf("not said: flanneld takes %d on Windows and 8472 on Linux, so the two do not reach each other", subnetenv.DefaultVXLANPort),
				fmt.Sprintf(`write "Port": %d, for all nodes`, subnetenv.DefaultVXLANPort))
		}
	case subnetenv.BackendHostGW:
		r.addMode(string(modes.L2Bridge))
	}
}

// result inspects what a plugin printed.
func (r *Report) result(raw json.RawMessage) {
	r.Kind = CNIResult
	m, _ := membersOf(raw)
	v := m.text("cniVersion")
	if v == "" {
		v = "0.2.0"
		if m.has("ips") == 1 {
			v = "1.0.0"
		}
	}
	res, err := create.Create(v, raw)
	if err != nil {
		r.add(modes.SeverityError, "", "", err.Error(), "")
		return
	}
	_, err = ipam.NewLease(res)
	r.fail("", err, modes.SeverityError)
}

var annotation = regexp.MustCompile(`(?m)^\s*flannel\.alpha\.coreos\.com/([a-z-]+)\s*:\s*(.*?)\s*$`)

// flannelNode inspects the annotations that flanneld puts on a node, in YAML.
func (r *Report) flannelNode(text string) {
	r.Kind = FlannelNode
	for _, m := range annotation.FindAllStringSubmatch(text, -1) {
		at, value := "flannel.alpha.coreos.com/"+m[1], strings.TrimSpace(m[2])
		if n := len(value); n > 1 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		switch m[1] {
		case "backend-type":
			switch value {
			case subnetenv.BackendVXLAN:
				r.addMode(string(modes.Overlay))
			case subnetenv.BackendHostGW:
				r.addMode(string(modes.L2Bridge))
			}
		case "public-ip", "public-ip-overwrite":
			if _, err := netip.ParseAddr(value); err != nil {
				r.add(modes.SeverityError, at, value, "not an IP address", "")
			}
		case "backend-data":
			r.backendData(at, value)
		}
	}
}

func (r *Report) backendData(at, value string) {
	var d struct {
		VNI     uint32
		VtepMAC *string
	}
	if value == "null" {
		return // of host-gw
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(value))).Decode(&d); err != nil {
		r.add(modes.SeverityError, at, value, "not the JSON that flanneld writes: "+err.Error(), "")
		return
	}
	if d.VNI != 0 && d.VNI < hns.MinVNI {
		r.add(modes.SeverityWarning, at+".VNI", fmt.Sprint(d.VNI), fmt.Sprintf("nodes that run Windows cannot have a VNI below %d, and reach this one only with the same", hns.MinVNI), fmt.Sprintf(`write "VNI": %d in net-conf.json`, hns.MinVNI))
	}
	if d.VtepMAC == nil {
		r.add(modes.SeverityNote, at+".VtepMAC", "", "not known yet: flanneld writes it when the network is there", "")
		return
	}
	if _, err := hns.ParseMAC(*d.VtepMAC); err != nil {
		r.add(modes.SeverityError, at+".VtepMAC", *d.VtepMAC, "not a MAC address", "")
	}
}
