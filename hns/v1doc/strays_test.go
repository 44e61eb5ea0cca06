package v1doc_test

import (
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

func TestStrays(t *testing.T) {
	for name, tc := range map[string]struct {
		kind hns.Kind
		doc  string
		want []string
	}{
		// A sample of Microsoft's documentation is such a document: HNS chose the address.
		"an address in the old place": {hns.KindEndpoint, `{"SchemaVersion":{"Major":2},"Name":"e","IPAddress":"10.50.3.7","prefixLength":24}`,
			[]string{"IPAddress", "prefixLength"}},
		"a subnet of the old kind": {hns.KindNetwork, `{"SchemaVersion":{"Major":2},"Ipams":[{"Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}]}],"DNSSuffix":""}`,
			[]string{"Ipams[0].Subnets[0].AddressPrefix", "Ipams[0].Subnets[0].GatewayAddress"}},
		"subnets beside the network":  {hns.KindNetwork, `{"SchemaVersion":{"Major":2},"Subnets":[{}],"ManagementIP":"192.168.10.21"}`, []string{"ManagementIP", "Subnets"}},
		"load balancer":               {hns.KindLoadBalancer, `{"SchemaVersion":{"Major":2,"Minor":5},"References":["/endpoints/x"],"SourceVIP":"10.50.3.2"}`, []string{"References"}},
		"all in its place":            {hns.KindEndpoint, `{"SchemaVersion":{"Major":2},"IpConfigurations":[{"IpAddress":"10.50.3.7","PrefixLength":24}]}`, nil},
		"of schema 1, by its version": {hns.KindEndpoint, `{"SchemaVersion":{"Major":1},"IPAddress":"10.50.3.7"}`, nil},
		"of schema 1":                 {hns.KindEndpoint, `{"IPAddress":"10.50.3.7"}`, nil},
		"no object":                   {hns.KindEndpoint, `[1`, nil},
		"wrong types":                 {hns.KindNetwork, `{"SchemaVersion":{"Major":2},"Ipams":[1,{"Subnets":7}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range v1doc.Strays(tc.kind, []byte(tc.doc)) {
				got = append(got, f.Path)
				if f.Value == "" || f.Rule != v1doc.RuleStray || !strings.Contains(f.Reason, "schema 2 has ") {
					t.Errorf("incomplete: %+v", f)
				}
			}
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
