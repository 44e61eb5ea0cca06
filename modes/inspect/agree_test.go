package inspect_test

import (
	"testing"

	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/inspect"
)

const (
	netConf = `{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`
	env     = "FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"
	overlay = `{"ID":"5E000000-0000-4000-8000-0000000000A0","Name":"flannel.4096","Type":"Overlay","ManagementIP":"192.168.10.21","State":1,"Policies":[{"Type":"HostRoute"}],` +
		`"Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1","Policies":[{"Type":"VSID","VSID":4096}]}]}`
	bridge = `{"ID":"5E000000-0000-4000-8000-0000000000A1","Name":"lake","Type":"L2Bridge","State":1,"Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}]}`
	nat    = `{"ID":"5E000000-0000-4000-8000-0000000000A2","Name":"nat","Type":"nat","State":1,"Subnets":[{"AddressPrefix":"172.21.0.0/20","GatewayAddress":"172.21.0.1"}]}`
	conf   = `{"cniVersion":"1.0.0","name":"flannel.4096","type":"flannel",` + caps + `,"delegate":{"type":"win-overlay"}}`
)

func hostLocal(plugin, name, ipam string) string {
	return `{"cniVersion":"1.0.0","name":"` + name + `","type":"` + plugin + `","ipam":` + ipam + `,` + caps + `}`
}

func TestAgree(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string // the findings are in the first
		want  []string
	}{
		"all is well":                    {[]string{conf, netConf, env, overlay}, nil},
		"another name":                   {[]string{`{"name":"lake","type":"flannel",` + caps + `,"delegate":{"type":"win-overlay"}}`, netConf}, []string{"error name flannel.4096"}},
		"no such network":                {[]string{hostLocal("win-overlay", "pond", "{}"), overlay, nat}, []string{"error name \"flannel.4096\", \"nat\""}},
		"its letters":                    {[]string{hostLocal("win-bridge", "Lake", "{}"), bridge}, []string{"error name letter by letter"}},
		"another mode":                   {[]string{hostLocal("win-overlay", "lake", "{}"), bridge}, []string{"error type L2Bridge"}},
		"another backend":                {[]string{conf, `{"Network":"10.50.0.0/16","Backend":{"Type":"host-gw","Name":"flannel.4096"}}`}, []string{"error delegate.type host-gw"}},
		"IPv6 for Overlay":               {[]string{conf, env + "FLANNEL_IPV6_NETWORK=fd50::/48\nFLANNEL_IPV6_SUBNET=fd50:0:0:3::1/64\n"}, []string{"error - ipv4Only"}},
		"another cluster in the conf":    {[]string{`{"name":"flannel.4096","type":"flannel",` + caps + `,"delegate":{"type":"win-overlay","policies":[{"name":"EndpointPolicy","value":{"Type":"OutBoundNAT","ExceptionList":["10.42.0.0/16"]}}]}}`, env}, []string{"warning delegate.policies[0].value 10.50.0.0/16"}},
		"exceptions by Microsoft's name": {[]string{`{"name":"flannel.4096","type":"flannel",` + caps + `,"delegate":{"type":"sdnoverlay","AdditionalArgs":[{"name":"EndpointPolicy","value":{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.42.0.0/16"]}}}]}}`, env}, []string{"warning delegate.AdditionalArgs[0].value 10.50.0.0/16"}},
		"the provider address": {[]string{`{"cniVersion":"1.0.0","name":"flannel.4096","type":"win-overlay",` + caps + `,"policies":[{"name":"EndpointPolicy","value":{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.168.10.22"}}}]}`, overlay},
			[]string{"error policies[0].value 192.168.10.21"}},
		"a stale range":          {[]string{hostLocal("win-bridge", "lake", `{"type":"host-local","subnet":"10.60.3.0/24","rangeStart":"10.60.3.3"}`), bridge}, []string{"error ipam 10.50.3.0/24"}},
		"a range that fits":      {[]string{hostLocal("win-bridge", "lake", `{"type":"host-local","subnet":"10.50.3.0/24","rangeStart":"10.50.3.3"}`), bridge}, nil},
		"a smaller range":        {[]string{hostLocal("win-bridge", "lake", `{"type":"host-local","subnet":"10.50.3.128/25","rangeStart":"10.50.3.131"}`), bridge}, nil},
		"nat as it is":           {[]string{hostLocal("nat", "nat", `{"subnet":"172.21.0.0/20","routes":[{"gw":"172.21.0.1"}]}`), nat}, nil},
		"nat of another subnet":  {[]string{hostLocal("nat", "nat", `{"subnet":"10.4.0.0/24","routes":[{"gw":"10.4.0.1"}]}`), nat}, []string{"error ipam.subnet 172.21.0.0/20"}},
		"nat by another gateway": {[]string{hostLocal("nat", "nat", `{"subnet":"172.21.0.0/20","routes":[{"gw":"172.21.0.9"}]}`), nat}, []string{"error ipam.routes 172.21.0.1"}},
		"an old subnet.env":      {[]string{env, `{"Network":"10.60.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`}, []string{"error FLANNEL_NETWORK 10.60.0.0/16"}},
		"subnet.env and HNS":     {[]string{"FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.9.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n", netConf, overlay}, []string{"error FLANNEL_SUBNET stale"}},
		"net-conf and HNS, VNI":  {[]string{`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","VNI":5000,"Port":4789,"Name":"flannel.4096"}}`, overlay}, []string{"error Backend.VNI 4096"}},
		"net-conf and HNS":       {[]string{`{"Network":"10.60.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`, overlay}, []string{"error Network 10.50.3.0/24"}},
		"an endpoint out of place": {[]string{`{` + v2 + `,"HostComputeNetwork":"5E000000-0000-4000-8000-0000000000A1","IpConfigurations":[{"IpAddress":"10.60.3.7","PrefixLength":24}]}`, bridge},
			[]string{"error IpConfigurations[0].IpAddress outside"}},
		"an endpoint in the same dump": {[]string{`[` + bridge + `,{"ID":"5E000000-0000-4000-8000-0000000000A3","VirtualNetwork":"5E000000-0000-4000-8000-0000000000A1","IPAddress":"10.60.3.7","PrefixLength":24,"State":1}]`},
			[]string{"warning [1].IpConfigurations[0].IpAddress outside"}},
		"not of ours": {[]string{`{"cniVersion":"1.0.0","name":"pond","type":"my-plugin"}`, bridge}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var reports []*inspect.Report
			for i, text := range tc.files {
				reports = append(reports, inspect.File(string(rune('a'+i))+".txt", []byte(text)))
			}
			inspect.Agree(reports)
			r := reports[0]
			w := want{r.Kind, r.Mode, r.API, inspect.Accept, tc.want}
			for _, f := range tc.want {
				if f[0] == 'e' {
					w.verdict = inspect.Refuse
				}
			}
			check(t, r, w)
		})
	}
}

// Nothing panics, every report is whole, and a second look at the same files says
// the same.
func FuzzFile(f *testing.F) {
	for _, s := range []string{netConf, env, overlay, bridge, nat, conf, hostLocal("nat", "nat", `{"subnet":"172.21.0.0/20"}`),
		"ID : x\nName : {@{a={b; @{c=1", "&{Id: Name:x Type:nat}", `VERBOSE: [{"a":`, "Networks:\nnat 5E000000-0000-4000-8000-0000000000A4 x_nat",
		"flannel.alpha.coreos.com/backend-data: '{'", "kube-proxy --source-vip=x", `{"Success":false,"ErrorCode":2151350300}`, "hcnOpenNetwork (0x803b0001)",
		`{"ips":[{"address":"x"}],"cniVersion":"9"}`, `{"plugins":[null,{}],"name":1}`, `{"Policies":[{"Type":"VSID","VSID":-1}]}`, "\xff\xfe{\x00", `[{"Type":"ACL"},{"Type":"NAT"}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		again := inspect.File("f", data)
		reports := []*inspect.Report{inspect.File("f", data), inspect.File("c", []byte(conf)), inspect.File("n", []byte(`[`+overlay+`,`+bridge+`,`+nat+`]`)), inspect.File("e", []byte(env)), inspect.File("b", []byte(netConf))}
		if a, b := reports[0].Text(), again.Text(); a != b {
			t.Errorf("%q: twice is not the same:\n%s%s", data, a, b)
		}
		inspect.Agree(reports)
		for _, r := range reports {
			if r.Kind == "" || r.Findings == nil || (r.Verdict != inspect.Accept && r.Verdict != inspect.Refuse) {
				t.Errorf("%q: %+v", data, r)
			}
			for _, x := range r.Findings {
				if x.Severity == "" || x.Reason == "" {
					t.Errorf("%q: %+v", data, x)
				}
			}
		}
	})
}

// What is accepted here, the plugin accepts; what the plugin refuses is refused.
func FuzzConfLikeThePlugin(f *testing.F) {
	for _, s := range []string{`"dns":{"search":["{{X}}"]}`, `"policies":[{"name":"EndpointPolicy","value":{"Type":"ACL"}}]`, `"ipam":{"type":"host-local","subnet":"10.50.3.0/24"}`,
		`"policies":7`, `"apiVersion":1`, `"ipMasqNetwork":"x"`, `"Name":"pond"`, `"runtimeConfig":{"portMappings":[{}]}`, `"endpointMacPrefix":"0E"`, `"logFile":3`, `"loopbackDSR":"yes"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, members string) {
		text := []byte(`{"cniVersion":"1.0.0","name":"lake","type":"win-bridge",` + members + `}`)
		r := inspect.File("f", text)
		if r.Kind != inspect.CNIConf {
			return
		}
		if _, err := cniplugin.ParseConfig(text); err != nil && r.Verdict != inspect.Refuse {
			t.Errorf("%s\n%sthe plugin: %v", text, r.Text(), err)
		}
	})
}
