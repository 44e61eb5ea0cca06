package hns_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

// A form is a document as some program writes it, or some HNS shows it.
type form struct {
	file string // without ".json"
	kind string
	what string
	left []string // what a create does not send, by path
}

// Members that HNS alone writes, or that no create has.
var readOnly = []string{"AdditionalParams", "Health", "ObjectType", "Owner", "SchemaVersion", "SharedContainers", "State", "Telemetry", "Version"}

var schema2Forms = []form{
	{"endpoint_compact_mac", "endpoint", "a MAC without separators, which HNS refuses and so is not read; a network's id in capitals", []string{"MacAddress", "Owner"}},
	{"endpoint_dhcp", "endpoint", "flags as a number and no address: DHCP", []string{"Owner"}},
	{"endpoint_static", "endpoint", "nothing but network and address", nil},
	{"endpoint_portmapping", "endpoint", "hcsshim's empty Dns and Health; no network, which the call has", nil},
	{"endpoint_v1_members", "endpoint", "members of schema 1, which HNS passes over in schema 2", []string{"IPAddress", "Owner", "PrefixLength"}},
	{"endpoint_shown", "endpoint", "as HNS shows one of a pod: read-only members, a policy type in capitals, an escaped slash, a member that its policy does not have",
		[]string{"AdditionalParams", "SchemaVersion", "State", "Version"}},
	{"loadbalancer_two_vips", "load balancer", "two virtual addresses", nil},
	{"loadbalancer_unspecified_source", "load balancer", "an unspecified source address", nil},
	{"loadbalancer_without_ports", "load balancer", "half made: no port mappings", nil},
	{"network_bridge", "network", "L2Bridge as hcsshim writes it", nil},
	{"network_tunnel", "network", "L2Tunnel on a named adapter, with an empty MAC pool", nil},
	{"network_nat", "network", "NAT with its type, which HNS leaves out", nil},
	{"network_overlay_base", "network", "Overlay that only keeps the switch; a policy whose settings are empty", nil},
	{"network_transparent", "network", "schema 2.2 and an empty list of IPAMs", []string{"SchemaVersion"}},
	{"network_shown", "network", "Overlay as HNS shows it: ids of subnets, policies of its own, a MAC with colons",
		[]string{"Health", "Ipams[0].Subnets[0].ID", "Ipams[0].Subnets[0].IpSubnets[0].ID", "SchemaVersion", "State", "Version"}},
	{"network_policies", "network", "the settings of a modify request: policies alone, a MAC in mixed case", nil},
	{"namespace_default", "namespace", "the host's default namespace with a number of its own", nil},
}

var schema1Forms = []form{
	{"endpoint_policies_read_back", "policies", "policies read back: escaped slash, blanks before colons, one that HNS added", nil},
	{"endpoint_policy_acl_any", "policies", "an ACL with a word for an address", nil},
	{"endpoint_policies_overlay", "policies", "policies as ConvertTo-Json indents them; protocols as text, an unknown member", nil},
	{"endpoint_policy_nat", "policies", "a port mapping with its protocol's name", nil},
	{"endpoint_remote", "endpoint", "a remote one of kube-proxy on HNS 5.1: ids in small letters, colons, no gateway", nil},
	{"endpoint_in_namespace", "endpoint", "in a namespace and not attached", nil},
	{"endpoint_response", "endpoint", "the answer to a create, with a null namespace", nil},
	{"network_private_old", "network", "a type that no mode has, on HNS 1.1: a list, blanks, a subnet without gateway", nil},
	{"network_switch_by_hand", "network", "a switch made by hand: Transparent without subnets", nil},
	{"network_request_without_schema", "network", "a v1 body for the v2 call", nil},
	{"network_request_ics", "network", "ICS with the address blocks of its subnet", nil},
	{"network_request_bridge", "network", "the least of an L2Bridge", nil},
	{"network_request_gateway_first", "network", "the gateway before the prefix", nil},
	{"network_request_tunnel", "network", "a type in small letters, no gateway", nil},
	{"network_request_nat_choose", "network", "0.0.0.0/0: HNS shall choose", nil},
	{"network_request_overlay", "network", "a VSID policy in the subnet", nil},
	{"network_other_names", "network", "another API's request, which has neither name nor type for HNS", nil},
	{"network_nat_shown", "network", "NAT as HNS 16 shows it, with all its members", nil},
	{"network_overlay_shown", "network", "Overlay as HNS 9.2 shows it, in a system that is not English", nil},
	{"policylist_not_applied", "policy list", "a load balancer that is not programmed", nil},
	{"namespaces_old_schema", "namespace", "a namespace without compartment and schema 0.0, and the host's own", nil},
	{"namespace_containers_twice", "namespace", "a container listed twice", nil},
}

// Every form reads, writes and reads again: in schema 2 what is written is the
// same value to HNS but for what the table names; in schema 1 it is the same text.
func TestDocumentsRoundTrip(t *testing.T) {
	all := map[string][]form{filepath.Join("testdata", "roundtrip"): schema2Forms, filepath.Join("v1doc", "testdata", "roundtrip"): schema1Forms}
	for dir, forms := range all {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != len(forms) {
			t.Errorf("%s: %d files, %d forms, %v", dir, len(entries), len(forms), err)
		}
		for _, f := range forms {
			t.Run(f.file, func(t *testing.T) {
				for _, doc := range documentsOf(t, filepath.Join(dir, f.file+".json")) {
					if doc.kind = doc.kindOf(); doc.kind != f.kind {
						t.Errorf("taken for a %s", doc.kind)
					}
					same(t, "not written back", f.left, doc.roundTrip(t))
				}
			})
		}
	}
}

// HNSKIT_DOCUMENTS names a directory of further documents and dumps, of either
// schema; each file is a test of its own, which logs what a create would not send.
func TestFurtherDocumentsRoundTrip(t *testing.T) {
	dir := os.Getenv("HNSKIT_DOCUMENTS")
	if dir == "" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			for _, doc := range documentsOf(t, filepath.Join(dir, e.Name())) {
				doc.kind = doc.kindOf()
				left := doc.roundTrip(t)
				t.Logf("schema %d %s; not written back: %v", doc.schema, doc.kind, left)
				for _, path := range left {
					if !doc.mayLeave(path) {
						t.Errorf("%s is lost", path)
					}
				}
			}
		})
	}
}

// A document is one object of a file; v is its value.
type document struct {
	raw    json.RawMessage
	v      map[string]any
	schema int
	kind   string
	unread []hns.Unread
}

// documentsOf takes a file apart. What is no JSON, such as the tables that tools
// print, has no document.
func documentsOf(t *testing.T, file string) []*document {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raws, err := v1doc.Split(text)
	if err != nil {
		t.Logf("no document: %v", err)
		return nil
	}
	var out []*document
	var policies []json.RawMessage
	for _, raw := range raws {
		d := &document{raw: raw, v: valueOf(t, raw).(map[string]any), schema: 1}
		if d.isSchema2() {
			d.schema = 2
		}
		if d.schema == 1 && d.has("Type") && !d.has("ID", "Name", "Subnets", "VirtualNetwork", "References") {
			policies = append(policies, raw)
			continue
		}
		out = append(out, d)
	}
	if len(policies) > 0 {
		raw := json.RawMessage(`{"Policies":[` + string(bytes.Join(asBytes(policies), []byte(","))) + `]}`)
		out = append(out, &document{raw: raw, v: valueOf(t, raw).(map[string]any), schema: 1})
	}
	return out
}

func asBytes(raws []json.RawMessage) (out [][]byte) {
	for _, r := range raws {
		out = append(out, r)
	}
	return out
}

func valueOf(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func (d *document) has(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { _, ok := d.v[n]; return ok })
}

// isSchema2 goes by the schema's version and, where there is none, by policies
// that have Settings.
func (d *document) isSchema2() bool {
	if s, ok := d.v["SchemaVersion"].(map[string]any); ok {
		return fmt.Sprint(s["Major"]) == "2"
	}
	ps, _ := d.v["Policies"].([]any)
	return slices.ContainsFunc(ps, func(p any) bool { m, _ := p.(map[string]any); return m["Settings"] != nil })
}

func (d *document) kindOf() string {
	switch {
	case d.schema == 1 && len(d.v) == 1 && d.has("Policies"):
		return "policies"
	case d.has("References"):
		return "policy list"
	case d.has("HostComputeEndpoints"):
		if d.has("Routes", "Setting") {
			return "SDN route"
		}
		return "load balancer"
	case d.has("NamespaceId", "CompartmentId", "ResourceList", "IsDefault"):
		return "namespace"
	case d.schema == 2 && (d.has("Ipams", "MacPool", "Type") || d.hasNetworkPolicies()), d.schema == 1 && !d.has("VirtualNetwork", "VirtualNetworkName", "IPAddress", "IsRemoteEndpoint"):
		return "network"
	}
	return "endpoint"
}

// hasNetworkPolicies reports whether the policies are such as only networks have.
func (d *document) hasNetworkPolicies() bool {
	n, errN := hns.DecodeNetwork(d.raw)
	e, errE := hns.DecodeEndpoint(d.raw)
	return errN == nil && errE == nil && len(hns.PoliciesOf[hns.RawPolicy](n.Policies)) < len(hns.PoliciesOf[hns.RawPolicy](e.Policies))
}

// mayLeave reports whether a create need not send what stands at the path: HNS
// alone writes it, it cannot be read, or the schema does not have it.
func (d *document) mayLeave(path string) bool {
	top, _, _ := strings.Cut(path, ".")
	known := []string{"ID", "Name", "Type", "Flags", "Policies", "MacPool", "Dns", "Ipams", "HostComputeNetwork", "HostComputeNamespace", "IpConfigurations",
		"Routes", "MacAddress", "NamespaceId", "HostComputeEndpoints", "SourceVIP", "FrontendVIPs", "PortMappings", "Setting"}
	top, _, _ = strings.Cut(top, "[")
	return !slices.Contains(known, top) || d.kind == "network" && strings.Contains(path, "ubnets[") && strings.HasSuffix(path, ".ID") ||
		slices.ContainsFunc(strings.Split(path, "."), func(s string) bool { return slices.Contains(readOnly, s) }) ||
		slices.ContainsFunc(d.unread, func(u hns.Unread) bool { return strings.HasPrefix(path, u.Path) })
}

// roundTrip decodes, encodes and decodes the document again, and returns the
// paths of what the encoded one lacks or has otherwise.
func (d *document) roundTrip(t *testing.T) []string {
	t.Helper()
	codec := codecs[d.schema][d.kind]
	if d.kind == "policy list" && v1doc.IsRoute(d.raw) {
		codec = codecs[1]["SDN route"]
	}
	out, unread, err := codec(d.raw)
	if err != nil {
		t.Errorf("%s: %v", d.raw, err)
		return nil
	}
	d.unread = unread
	if d.schema == 1 {
		same(t, "written", string(d.raw), string(out))
		return nil
	}
	paths := differing("", d.v, valueOf(t, out))
	slices.Sort(paths)
	return paths
}
