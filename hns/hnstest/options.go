package hnstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
)

// IgnoreServerFields leaves out of a comparison what HNS alone decides: the
// documents as they came, the ids of objects, subnets and blocks, and the state
// of an endpoint. References to other objects are compared.
func IgnoreServerFields() gocmp.Option {
	return gocmp.Options{
		EquateAddresses(),
		cmpopts.IgnoreFields(hns.Network{}, "ID", "Document"),
		cmpopts.IgnoreFields(hns.Endpoint{}, "ID", "State", "Document"),
		cmpopts.IgnoreFields(hns.Namespace{}, "ID", "NamespaceID", "Document"),
		cmpopts.IgnoreFields(hns.LoadBalancer{}, "ID", "Document"),
		cmpopts.IgnoreFields(hns.SDNRouteObject{}, "ID", "Document"),
		cmpopts.IgnoreFields(hns.Subnet{}, "ID"),
		cmpopts.IgnoreFields(hns.IPSubnet{}, "ID"),
		cmpopts.IgnoreFields(hns.IPConfig{}, "IPSubnet"),
	}
}

// EquateAddresses compares addresses and prefixes of net/netip by ==, which
// go-cmp refuses to look into.
func EquateAddresses() gocmp.Option {
	return cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})
}

// EquateMACs makes texts equal that are the same MAC address, with dashes or
// colons and in either letter case. It is for JSON and for policies with texts;
// [hns.MAC] needs it not. Texts that are no MAC addresses are compared as they
// are.
func EquateMACs() gocmp.Option {
	isMAC := func(x, y string) bool {
		_, errX := hns.ParseMAC(x)
		_, errY := hns.ParseMAC(y)
		return errX == nil && errY == nil
	}
	return gocmp.FilterValues(isMAC, gocmp.Comparer(func(x, y string) bool {
		a, _ := hns.ParseMAC(x)
		b, _ := hns.ParseMAC(y)
		return a == b
	}))
}

// EquateIDs makes texts equal that are the same id, in either letter case, as
// the two APIs of HNS write it. Texts that are no ids are compared as they are.
func EquateIDs() gocmp.Option {
	isID := func(x, y string) bool {
		_, errX := hns.ParseID(x)
		_, errY := hns.ParseID(y)
		return errX == nil && errY == nil
	}
	return gocmp.FilterValues(isID, gocmp.Comparer(func(x, y string) bool {
		a, _ := hns.ParseID(x)
		b, _ := hns.ParseID(y)
		return a == b
	}))
}

// SortPolicies compares lists of policies whatever their order: HNS keeps the
// order of most, but puts some of its own among them.
func SortPolicies() gocmp.Option {
	return gocmp.Options{
		cmpopts.SortSlices(func(x, y hns.NetworkPolicy) bool { return policyKey(x) < policyKey(y) }),
		cmpopts.SortSlices(func(x, y hns.EndpointPolicy) bool { return policyKey(x) < policyKey(y) }),
		cmpopts.SortSlices(func(x, y hns.SubnetPolicy) bool { return policyKey(x) < policyKey(y) }),
	}
}

// policyKey orders policies by type and value.
func policyKey(p interface{ PolicyType() string }) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s %+v", strings.ToLower(p.PolicyType()), p)
}

// EquateJSON compares documents by what they say: blanks, the order of members
// and the escapes in texts do not matter, the letter case of names
// does. What is no JSON is compared byte by byte.
func EquateJSON() gocmp.Option {
	return gocmp.Comparer(func(x, y json.RawMessage) bool {
		a, errA := canonical(x)
		b, errB := canonical(y)
		if errA != nil || errB != nil {
			return bytes.Equal(x, y)
		}
		return a == b
	})
}

func canonical(doc json.RawMessage) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("more than one value")
	}
	out, err := json.Marshal(v) // members sorted by name
	return string(out), err
}
