package modes_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// TestClusterDNS: the suffix of the pod's namespace was missing, only the first
// entry was taken, or an empty list became one empty text
// (kubernetes/kubernetes#66801, kubernetes/kubernetes#65016,
// Azure/azure-container-networking#146, Azure/azure-container-networking#206,
// containernetworking/plugins#229, microsoft/SDN#150,
// ovn-kubernetes/ovn-kubernetes#336).
func TestClusterDNS(t *testing.T) {
	tests := []struct {
		name      string
		dns       modes.ClusterDNS
		namespace string
		want      hns.DNS
	}{
		{"default domain", modes.ClusterDNS{Servers: addrs("10.96.0.10")}, "default", hns.DNS{
			ServerList: []string{"10.96.0.10"}, Search: []string{"default.svc.cluster.local", "svc.cluster.local", "cluster.local"}}},
		{"everything", modes.ClusterDNS{Servers: addrs("10.96.0.10", "fd00:96::a", "10.96.0.10"), Domain: "test.", Search: []string{"corp.example.", "test", "example"}}, "web-1", hns.DNS{
			ServerList: []string{"10.96.0.10", "fd00:96::a"}, Search: []string{"web-1.svc.test", "svc.test", "test", "corp.example", "example"}}},
	}
	for _, tt := range tests {
		got, err := tt.dns.ForPod(tt.namespace)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		// The client takes it for an endpoint.
		if _, err := hns.New(&recorder{}, nil).Endpoints.Create(t.Context(), &hns.Endpoint{Network: hns.NewID(), DNS: got}); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestClusterDNSErrors(t *testing.T) {
	good := func(f func(*modes.ClusterDNS)) modes.ClusterDNS {
		d := modes.ClusterDNS{Servers: addrs("10.96.0.10")}
		f(&d)
		return d
	}
	long := strings.Repeat("a", 64)
	tests := []struct {
		name      string
		dns       modes.ClusterDNS
		namespace string
		want      []string
	}{
		{"nothing", modes.ClusterDNS{}, "", []string{"Servers |", "namespace |"}},
		{"servers", good(func(d *modes.ClusterDNS) {
			d.Servers = []netip.Addr{{}, addr("0.0.0.0"), addr("::ffff:10.96.0.10"), addr("fe80::1%eth0")}
		}), "a", []string{"Servers[0] |", "Servers[1] | 0.0.0.0", "Servers[2] | ::ffff:10.96.0.10", "Servers[3] | fe80::1%eth0"}},
		{"namespace with a dot", good(func(*modes.ClusterDNS) {}), "a.b", []string{"namespace | a.b"}},
		{"namespace in capitals", good(func(*modes.ClusterDNS) {}), "Web", []string{"namespace | Web"}},
		{"namespace with a dash", good(func(*modes.ClusterDNS) {}), "web-", []string{"namespace | web-"}},
		{"long namespace", good(func(*modes.ClusterDNS) {}), long, []string{"namespace | " + long}},
		{"domain", good(func(d *modes.ClusterDNS) { d.Domain = "a..b" }), "web", []string{"Domain | a..b"}},
		{"only a dot", good(func(d *modes.ClusterDNS) { d.Domain = "." }), "web", []string{"Domain | ."}},
		{"placeholder", good(func(d *modes.ClusterDNS) { d.Domain = "<domain>" }), "web", []string{"Domain | <domain>"}},
		{"domain with a dash", good(func(d *modes.ClusterDNS) { d.Domain = "-a.b" }), "web", []string{"Domain | -a.b"}},
		{"long together", good(func(d *modes.ClusterDNS) { d.Domain = strings.Repeat("abcdefg.", 31) + "ab" }), "web", []string{"Domain | " + strings.Repeat("abcdefg.", 31) + "ab"}},
		{"search", good(func(d *modes.ClusterDNS) { d.Search = []string{"example", "", strings.Repeat("a.", 200)} }), "web",
			[]string{"Search[1] |", "Search[2] | " + strings.Repeat("a.", 200)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.dns.ForPod(tt.namespace)
			wantComplaints(t, err, tt.want)
			if !got.IsZero() {
				t.Errorf("a configuration beside the error: %+v", got)
			}
		})
	}
}

func TestDNSQueries(t *testing.T) {
	dns := hns.DNS{Search: []string{"web.svc.cluster.local", "svc.cluster.local", "cluster.local."}}
	tests := map[string][]string{
		"api":                       {"api.web.svc.cluster.local", "api.svc.cluster.local", "api.cluster.local"},
		"api.db":                    {"api.db"}, // which is no full name of the cluster
		"api.db.svc.cluster.local":  {"api.db.svc.cluster.local"},
		"api.db.svc.cluster.local.": {"api.db.svc.cluster.local"},
		"api.":                      {"api"},
		"":                          nil,
		".":                         nil,
	}
	for name, want := range tests {
		if diff := cmp.Diff(want, modes.DNSQueries(dns, name)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
	if got := modes.DNSQueries(hns.DNS{}, "api"); len(got) != 1 || got[0] != "api" {
		t.Errorf("without suffixes: %v", got)
	}
}

// FuzzClusterDNS: what ForPod gives, the client takes.
func FuzzClusterDNS(f *testing.F) {
	f.Add("10.96.0.10", "cluster.local", "default", "example.com,corp")
	f.Add("", "", "", ",")
	f.Fuzz(func(t *testing.T, servers, domain, namespace, search string) {
		d := modes.ClusterDNS{Servers: split(servers, netip.ParseAddr), Domain: domain}
		if search != "" {
			d.Search = strings.Split(search, ",")
		}
		got, err := d.ForPod(namespace)
		if err != nil {
			if len(complaints(err)) == 0 {
				t.Fatalf("an error without a type: %v", err)
			}
			return
		}
		if got.Search[0] != namespace+".svc."+strings.TrimPrefix(got.Search[1], "svc.") {
			t.Fatalf("suffixes %q", got.Search)
		}
		if _, err := hns.New(&recorder{}, nil).Endpoints.Create(t.Context(), &hns.Endpoint{Network: hns.NewID(), DNS: got}); err != nil {
			t.Fatal(err)
		}
	})
}
