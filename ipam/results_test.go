package ipam_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/ipam"
)

// TestResultsOfAllVersions: what a plugin says in any version of the
// specification is in the lease; see testdata/results.
func TestResultsOfAllVersions(t *testing.T) {
	tests := []struct {
		name  string
		asked string // version of the configuration
	}{
		{"0.1.0", "0.1.0"}, {"0.2.0", "0.2.0"}, {"0.2.0-ipv6", "0.2.0"}, {"0.3.0", "0.3.0"}, {"0.3.1", "0.3.1"},
		{"0.4.0", "0.4.0"}, {"1.0.0", "1.0.0"}, {"1.1.0", "1.1.0"},
		{"newer-than-asked", "0.2.0"}, {"older-than-asked", "1.1.0"},
		{"version-left-out", "1.0.0"}, // containernetworking/cni#895
		{"dhcp", "1.0.0"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			printed, err := os.ReadFile(filepath.Join("testdata", "results", tc.name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			d := ipam.Delegated{Exec: &spyExec{result: string(printed)}}
			lease, err := d.Allocate(t.Context(), ipam.Request{
				Config:      fmt.Appendf(nil, `{"cniVersion":%q,"ipam":{"type":"x"}}`, tc.asked),
				NoAddressOK: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, filepath.Join("testdata", "results", tc.name+".golden"), leaseText(lease)+resultText(lease, tc.asked))
		})
	}
	documents, err := filepath.Glob(filepath.Join("testdata", "results", "*.json"))
	if err != nil || len(documents) != len(tests) {
		t.Errorf("%d documents for %d cases, %v", len(documents), len(tests), err)
	}
}

func leaseText(l *ipam.Lease) string {
	var b strings.Builder
	for _, a := range l.Addresses {
		fmt.Fprintf(&b, "address %s", a.Prefix)
		if a.Gateway.IsValid() {
			fmt.Fprintf(&b, " gateway %s", a.Gateway)
		}
		b.WriteByte('\n')
	}
	for _, r := range l.Routes {
		fmt.Fprintf(&b, "route %s", r.Destination)
		if r.Gateway.IsValid() {
			fmt.Fprintf(&b, " via %s", r.Gateway)
		}
		for _, n := range []struct {
			name  string
			value int
		}{{"mtu", r.MTU}, {"advmss", r.AdvMSS}, {"priority", r.Priority}} {
			if n.value != 0 {
				fmt.Fprintf(&b, " %s %d", n.name, n.value)
			}
		}
		for _, n := range []struct {
			name  string
			value *int
		}{{"table", r.Table}, {"scope", r.Scope}} {
			if n.value != nil {
				fmt.Fprintf(&b, " %s %d", n.name, *n.value)
			}
		}
		b.WriteByte('\n')
	}
	if !l.DNS.IsEmpty() {
		dns, _ := json.Marshal(l.DNS)
		fmt.Fprintf(&b, "dns %s\n", dns)
	}
	return b.String()
}

func resultText(l *ipam.Lease, version string) string {
	res, err := l.Result().GetAsVersion(version)
	if err != nil {
		return fmt.Sprintf("as %s: %v\n", version, err)
	}
	text, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return fmt.Sprintf("as %s: %v\n", version, err)
	}
	return fmt.Sprintf("as %s: %s\n", version, text)
}

// TestNoAddress: whether it is an error depends on the interface, and only there
// a lease is given back (microsoft/windows-container-networking#59).
func TestNoAddress(t *testing.T) {
	for _, version := range []string{"0.2.0", "1.0.0"} {
		s := newStage(t)
		req := s.request(version, map[string]behaviour{"ADD": {Stdout: fmt.Sprintf(`{"cniVersion":%q,"dns":{"domain":"lake.test"}}`, version)}})
		if _, err := new(ipam.Delegated).Allocate(t.Context(), req); !errors.Is(err, ipam.ErrNoAddress) {
			t.Errorf("%s, needed: error %v", version, err)
		}
		req.NoAddressOK = true
		lease, err := new(ipam.Delegated).Allocate(t.Context(), req)
		if err != nil || len(lease.Addresses) != 0 || lease.DNS.Domain != "lake.test" {
			t.Errorf("%s, not needed: %v, %v", version, lease, err)
		}
		if got := s.verbs(); got != "ADD DEL ADD" {
			t.Errorf("%s: plugin heard %q", version, got)
		}
	}
}

// TestLeaseChecks has what a lease may and may not hold: only what is wrong on
// every network is an error.
func TestLeaseChecks(t *testing.T) {
	tests := []struct {
		name   string
		result string // without cniVersion
		err    string // empty: accepted
	}{
		{"two families", `{"ips":[{"address":"10.50.3.7/24","gateway":"10.50.3.1"},{"address":"fd00:50:3::7/64","gateway":"fd00:50:3::1"}]}`, ""},
		{"IPv6 first", `{"ips":[{"address":"fd00:50:3::7/64"},{"address":"10.50.3.7/24"}]}`, ""},
		{"two of one family", `{"ips":[{"address":"10.50.3.7/24"},{"address":"10.50.3.8/24"}]}`, ""},
		{"IPv6 alone", `{"ips":[{"address":"fd00:50:3::7/64"}]}`, ""},
		{"no gateway", `{"ips":[{"address":"10.50.3.7/24"}]}`, ""},
		{"gateway outside the subnet", `{"ips":[{"address":"10.50.3.7/24","gateway":"10.99.0.1"}]}`, ""},
		{"gateway of a single address", `{"ips":[{"address":"10.50.3.7/32","gateway":"10.50.3.1"}]}`, ""},
		{"link-local gateway", `{"ips":[{"address":"fd00:50:3::7/64","gateway":"fe80::1"}]}`, ""},
		{"point to point", `{"ips":[{"address":"10.50.3.8/31"},{"address":"10.50.3.9/31"}]}`, ""},
		{"first of an IPv6 subnet", `{"ips":[{"address":"fd00:50:3::/64"}]}`, ""},
		{"two interfaces", `{"interfaces":[{"name":"a"},{"name":"b"}],"ips":[{"address":"10.50.3.7/24","interface":0},{"address":"10.50.3.7/24","interface":1}]}`, ""},
		{"index of an interface that is not told", `{"ips":[{"address":"10.50.3.7/24","interface":2}]}`, ""},
		{"twice", `{"ips":[{"address":"10.50.3.7/24"},{"address":"fd00::7/64"},{"address":"10.50.3.7/16"}]}`, "ips[2].address 10.50.3.7/16: the same address as ips[0]"},
		{"twice on an interface", `{"interfaces":[{"name":"a"}],"ips":[{"address":"10.50.3.7/24","interface":0},{"address":"10.50.3.7/24","interface":0}]}`, "ips[1].address"},
		{"family of the gateway", `{"ips":[{"address":"fd00::7/64","gateway":"10.50.3.1"}]}`, "ips[0].gateway 10.50.3.1: of the other address family than fd00::7/64"},
		{"its own gateway", `{"ips":[{"address":"10.50.3.1/24","gateway":"10.50.3.1"}]}`, "ips[0].gateway 10.50.3.1: the interface's own address"},
		{"multicast gateway", `{"ips":[{"address":"10.50.3.7/24","gateway":"224.0.0.1"}]}`, "ips[0].gateway 224.0.0.1: cannot be"},
		{"loopback gateway", `{"ips":[{"address":"fd00::7/64","gateway":"::1"}]}`, "ips[0].gateway ::1: cannot be"},
		{"network address", `{"ips":[{"address":"10.50.3.64/26"}]}`, "ips[0].address 10.50.3.64/26: the network address"},
		{"broadcast address", `{"ips":[{"address":"10.50.3.127/26"}]}`, "ips[0].address 10.50.3.127/26: the broadcast address"},
		{"everybody", `{"ips":[{"address":"255.255.255.255/32"}]}`, "ips[0].address 255.255.255.255/32: the broadcast address"},
		{"unspecified", `{"ips":[{"address":"10.50.3.7/24"},{"address":"::/64"}]}`, "ips[1].address ::/64: is no address"},
		{"loopback", `{"ips":[{"address":"127.0.0.1/8"}]}`, "ips[0].address 127.0.0.1/8: a loopback address"},
		{"multicast", `{"ips":[{"address":"ff02::7/64"}]}`, "ips[0].address ff02::7/64: a multicast address"},
		{"all at once", `{"ips":[{"address":"10.50.3.0/24"},{"address":"fd00::7/64","gateway":"fd00::7"}],"routes":[{"dst":"10.96.0.0/12","gw":"fd00::1"}]}`,
			"ips[0].address 10.50.3.0/24: the network address of its subnet; ips[1].gateway fd00::7: the interface's own address; routes[0].gw fd00::1: of the other address family than 10.96.0.0/12"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var doc map[string]any
			if err := json.Unmarshal([]byte(tc.result), &doc); err != nil {
				t.Fatal(err)
			}
			doc["cniVersion"] = "1.1.0"
			checkLease(t, doc, tc.err)
		})
	}
	// The family that versions 0.3.0 to 0.4.0 say.
	for _, version := range []string{"0.3.0", "0.3.1", "0.4.0"} {
		ip := map[string]any{"version": "6", "address": "10.50.3.7/24"}
		doc := map[string]any{"cniVersion": version, "ips": []any{ip}}
		checkLease(t, doc, `ips[0].version "6": the address is 10.50.3.7/24`)
		delete(ip, "version")
		checkLease(t, doc, "")
	}
	// ip4 and ip6 of the first versions count as ips.
	checkLease(t, map[string]any{"cniVersion": "0.2.0", "ip4": map[string]any{"ip": "10.50.3.255/24"}}, "ips[0].address 10.50.3.255/24: the broadcast")
	checkLease(t, map[string]any{"cniVersion": "0.2.0", "ip6": map[string]any{"ip": "fd00::7/64", "gateway": "fd00::7"}}, "ips[0].gateway")
}

// checkLease reads a document as a plugin's answer.
func checkLease(t *testing.T, doc map[string]any, want string) {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var result types.Result
	d := ipam.Delegated{Exec: &spyExec{result: string(text)}}
	lease, err := d.Allocate(t.Context(), ipam.Request{Config: []byte(`{"cniVersion":"1.0.0","ipam":{"type":"x"}}`)})
	if err == nil {
		result, err = lease.Result().GetAsVersion("1.0.0")
	}
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", text, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, %v; want %q", text, result, err, want)
	}
}
