package node

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/atomicfile"
	"github.com/hnskit/hnskit/subnetenv"
)

// subnetEnv makes flannel's file. Its subnet has flanneld's form: the first
// address after the network's, and the length.
func (p *Plan) subnetEnv() error {
	d := &p.Description
	if len(d.Subnets) == 0 || len(d.ClusterCIDRs) == 0 {
		return nil
	}
	env := &subnetenv.Env{MTU: p.MTU, IPMasq: d.IPMasq}
	for _, s := range d.Subnets {
		if first := netip.PrefixFrom(s.Addr().Next(), s.Bits()); s.Addr().Is4() {
			env.Subnet = first
		} else {
			env.IPv6Subnet = first
		}
	}
	for _, c := range d.ClusterCIDRs {
		switch v4 := c.Addr().Is4(); {
		case v4:
			env.Networks = append(env.Networks, c)
		case p.hasFamily(false): // else the pods here have no part of it
			env.IPv6Networks = append(env.IPv6Networks, c)
		}
	}
	if err := env.Validate(); err != nil {
		return err
	}
	p.SubnetEnv = env
	return nil
}

// WriteSubnetEnv replaces the file at path with SubnetEnv, in one step; see
// [subnetenv.Write]. Write it when [Ensure] is done, as pods start then.
func (p *Plan) WriteSubnetEnv(path string) error {
	if p.SubnetEnv == nil {
		return fmt.Errorf("node: write %s: the plan has no subnet.env, for lack of pod subnets or cluster CIDRs", path)
	}
	return subnetenv.Write(path, p.SubnetEnv)
}

// WriteConflist replaces the file at path with Conflist, in one step, and makes
// missing directories. Container runtimes read it as soon as it is there and
// call the node ready, so write it last.
func (p *Plan) WriteConflist(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("node: write %s: %w", path, err)
	}
	if err := atomicfile.Write(path, p.Conflist, 0o644); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return nil
}

// CheckSubnetEnv compares a subnet.env with the HNS network that pods are put
// on. If the node has got another pod subnet, one of the two is stale, and pods
// would have addresses that are led to another node (flannel-io/flannel#556).
// The error, an *[hns.FieldError] for each family, has both values.
func CheckSubnetEnv(env *subnetenv.Env, network *hns.Network) error {
	if env == nil || network == nil {
		return errors.New("node: compare subnet.env and network: there are not both")
	}
	var bad faults
	check := func(key string, s netip.Prefix) {
		if !s.IsValid() {
			return
		}
		var have []string
		for _, n := range network.Subnets() {
			have = append(have, n.Prefix.String())
		}
		if !slices.Contains(have, s.Masked().String()) {
			bad.add(key, s.String(), "is not a subnet of HNS network %q, which has %s", network.Name, strings.Join(have, ", "))
		}
	}
	check(subnetenv.KeySubnet, env.Subnet)
	check(subnetenv.KeyIPv6Subnet, env.IPv6Subnet)
	return bad.as("subnet.env of network", network.Name)
}
