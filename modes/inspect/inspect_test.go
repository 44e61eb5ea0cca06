package inspect_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/inspect"
)

// want is what a file is, and some of its findings: "severity path word", the word
// of value, reason or fix; all that are errors or warnings must be there.
type want struct {
	kind     inspect.Kind
	mode     string
	api      string
	verdict  inspect.Verdict
	findings []string
}

const caps = `"capabilities":{"portMappings":true,"dns":true}`

func check(t *testing.T, r *inspect.Report, w want) {
	t.Helper()
	if r.Kind != w.kind || r.Mode != w.mode || r.API != w.api || r.Verdict != w.verdict {
		t.Errorf("got %s, %q, %q, %s; want %s, %q, %q, %s", r.Kind, r.Mode, r.API, r.Verdict, w.kind, w.mode, w.api, w.verdict)
	}
	found := 0
	for _, f := range r.Findings {
		if f.Reason == "" || f.Severity == "" {
			t.Errorf("incomplete: %+v", f)
		}
		if f.Severity != modes.SeverityNote {
			found++
		}
	}
	if found != len(w.findings) {
		t.Errorf("want the findings %q", w.findings)
	}
	for _, line := range w.findings {
		severity, rest, _ := strings.Cut(line, " ")
		path, word, _ := strings.Cut(rest, " ")
		if path == "-" {
			path = ""
		}
		ok := false
		for _, f := range r.Findings {
			ok = ok || string(f.Severity) == severity && f.Path == path && strings.Contains(f.Value+" "+f.Reason+" "+f.Fix, word)
		}
		if !ok {
			t.Errorf("no finding %q", line)
		}
	}
	if t.Failed() {
		t.Log("\n" + r.Text())
	}
}

func TestConfigurations(t *testing.T) {
	nat := func(value string) string { return `{"Name":"EndpointPolicy","Value":` + value + `}` }
	for name, tc := range map[string]struct {
		text string
		want want
	}{
		"win-bridge": {`{"cniVersion":"1.0.0","name":"lake","type":"win-bridge","ipam":{"type":"host-local","subnet":"10.50.3.0/24","rangeStart":"10.50.3.3"},` + caps + `}`,
			want{inspect.CNIConf, "L2Bridge", "v1", inspect.Accept, nil}},
		// kubernetes/kubernetes#74766: the first pod got the address of the node's endpoint.
		"the node's address in the range": {`{"cniVersion":"1.0.0","name":"lake","type":"win-bridge","ipam":{"type":"host-local","subnet":"10.50.3.0/24"},` + caps + `}`,
			want{inspect.CNIConf, "L2Bridge", "v1", inspect.Accept, []string{"warning ipam 10.50.3.2"}}},
		"host-local without a range": {`{"cniVersion":"1.0.0","name":"lake","type":"win-overlay","ipam":{"type":"host-local"},` + caps + `}`,
			want{inspect.CNIConf, "Overlay", "v1", inspect.Refuse, []string{"error ipam neither subnet nor ranges"}}},
		"apiVersion 1": {`{"cniVersion":"1.0.0","name":"lake","type":"win-overlay","apiVersion":1,` + caps + `}`,
			want{inspect.CNIConf, "Overlay", "v1", inspect.Refuse, []string{"error apiVersion HNS namespace"}}},
		"a list": {`{"cniVersion":"1.0.0","name":"lake","plugins":[{"type":"win-overlay","policies":[` + nat(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["<ClusterCIDR>"]}}`) + `],` + caps + `}]}`,
			want{inspect.CNIConfList, "Overlay", "v2", inspect.Refuse, []string{"error plugins[0].policies[0].value.Settings.Exceptions[0] fill in the template"}}},
		"a list of nothing": {`{"cniVersion":"1.0.0","name":"lake","plugins":[]}`, want{inspect.CNIConfList, "", "", inspect.Refuse, []string{"error plugins no plugin"}}},
		"a list without a name": {`{"cniVersion":"1.0.0","plugins":[{"type":"win-overlay",` + caps + `}]}`,
			want{inspect.CNIConfList, "Overlay", "v1", inspect.Refuse, []string{"error name missing"}}},
		"no object in the list": {`{"cniVersion":"1.0.0","name":"lake","plugins":[7]}`, want{inspect.CNIConfList, "", "", inspect.Refuse, []string{"error plugins[0] not an object"}}},
		"flannel":               {`{"name":"lake","type":"flannel",` + caps + `,"delegate":{"type":"win-overlay"}}`, want{inspect.CNIConf, "Overlay", "v1", inspect.Accept, nil}},
		"flannel's own keys, and the delegate's": {`{"name":"lake","type":"flannel","ipMasq":true,` + caps + `,"delegate":{"type":"win-bridge","hairpinMode":true,"name":"pond"}}`,
			want{inspect.CNIConf, "L2Bridge", "v1", inspect.Refuse, []string{"error delegate.name set by flannel", "warning ipMasq does not read this key", "warning delegate.hairpinMode no plugin"}}},
		"flannel without a delegate": {`{"name":"lake","type":"flannel"}`, want{inspect.CNIConf, "", "", inspect.Refuse, []string{"error delegate missing"}}},
		"Microsoft's sdnbridge": {`{"cniVersion":"0.2.0","name":"lake","type":"sdnbridge","AdditionalArgs":[` + nat(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["nowhere"]}}`) + `],` + caps + `}`,
			want{inspect.CNIConf, "L2Bridge", "v2", inspect.Refuse, []string{"error AdditionalArgs[0].value.Settings.Exceptions[0] nowhere"}}},
		"the mode in the name": {`{"cniVersion":"0.3.0","name":"Transparent","type":"sdnbridge",` + caps + `}`, want{inspect.CNIConf, "Transparent", "v2", inspect.Accept, nil}},
		"the mode in its key":  {`{"cniVersion":"1.0.0","name":"lake","type":"win-bridge","mode":"L2Tunnel",` + caps + `}`, want{inspect.CNIConf, "L2Tunnel", "v1", inspect.Accept, nil}},
		"policies under both names": {`{"cniVersion":"1.0.0","name":"transparent","type":"sdnbridge","policies":[` + nat(`{"Type":"ACL","Settings":{"Action":"Allow","Direction":"In"}}`) + `],"AdditionalArgs":[` + nat(`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8080}}`) + `],` + caps + `}`,
			want{inspect.CNIConf, "Transparent", "v2", inspect.Refuse, []string{"error AdditionalArgs[0].value forbidden on Transparent"}}},
		"a policy that the mode has not": {`{"cniVersion":"0.3.0","name":"transparent","type":"sdnbridge","policies":[` + nat(`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8080}}`) + `],` + caps + `}`,
			want{inspect.CNIConf, "Transparent", "v2", inspect.Refuse, []string{"error policies[0].value forbidden on Transparent"}}},
		// containerd's script wrote 32 less the length, microsoft/windows-container-networking#69.
		"nat with the wrong length": {`{"cniVersion":"0.2.0","name":"nat","type":"nat","ipam":{"subnet":"172.21.0.0/12","routes":[{"GW":"172.21.0.1"}]},` + caps + `}`,
			want{inspect.CNIConf, "NAT", "v2", inspect.Refuse, []string{"error ipam.subnet host bits"}}},
		"nat with its gateway elsewhere": {`{"cniVersion":"0.2.0","name":"nat","type":"nat","ipam":{"subnet":"172.21.0.0/20","routes":[{"GW":"172.22.0.1"}]},` + caps + `}`,
			want{inspect.CNIConf, "NAT", "v2", inspect.Refuse, []string{"error ipam.routes[0] 172.22.0.1"}}},
		"nat with a member of the sample": {`{"cniVersion":"0.2.0","name":"nat","type":"nat","ipam":{"subnet":"172.21.0.0/20","routes":[{"gateway":"172.21.0.1"}]},` + caps + `}`,
			want{inspect.CNIConf, "NAT", "v2", inspect.Accept, []string{"warning ipam.routes[0].gateway gw"}}},
		"of another's plugin": {`{"cniVersion":"0.3.0","name":"azure","type":"azure-vnet","mode":"bridge","AdditionalArgs":[` + nat(`{"Type":"OutBoundNAT","ExceptionList":["10.50.0.0/16","oops"]}`) + `],"ipam":{"type":"azure-vnet-ipam"}}`,
			want{inspect.CNIConf, "L2Bridge", "v1", inspect.Accept, []string{"warning AdditionalArgs[0].value.Settings.Exceptions[1] oops"}}},
		"of nobody known": {`{"cniVersion":"0.3.0","name":"lake","type":"my-plugin","own":{"key":1}}`, want{inspect.CNIConf, "", "", inspect.Accept, nil}},
		"calico, both forms": {`{"cniVersion":"0.3.1","name":"Calico","type":"calico","mode":"vxlan","policies":[` + nat(`{"Type":"SDNROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true}`) + `]}`,
			want{inspect.CNIConf, "Overlay", "v1, v2", inspect.Accept, nil}},
		"a template": {`{"cniVersion":"1.0.0","name":"{{NAME}}","type":"{{TYPE}}","dns":{"nameservers":["{{DNS}}"]}}`,
			want{inspect.CNIConf, "", "", inspect.Refuse, []string{"error type template", "error name template", "error dns.nameservers[0] template"}}},
		"a template that is no JSON": {"{\n \"cniVersion\": \"1.0.0\", \"type\": \"calico\", \"mode\": \"__MODE__\", \"vxlan_vni\": __VNI__,\n \"policies\": [{\"Value\": {\"Type\": \"OutBoundNAT\", \"ExceptionList\": []}}]\n}",
			want{inspect.CNIConf, "", "v1", inspect.Refuse, []string{"error - template"}}},
		"a comma is missing": {"{\"cniVersion\": \"1.0.0\"\n \"type\": \"win-overlay\", \"policies\": [{\"value\": {\"Settings\": {}}}]}",
			want{inspect.CNIConf, "Overlay", "v2", inspect.Refuse, []string{"error - comma"}}},
		"a request for an address": {`{"cniVersion":"1.0.0","name":"flannel.4096","ipam":{"type":"host-local","ranges":[[{"subnet":"10.50.3.9/24"}]]}}`,
			want{inspect.IPAMConf, "Overlay", "", inspect.Refuse, []string{"error ipam.ranges[0][0].subnet host bits"}}},
		"its answer":            {`{"cniVersion":"0.2.0","ip4":{"ip":"10.50.3.2/24","gateway":"10.50.3.1"},"dns":{}}`, want{inspect.CNIResult, "", "", inspect.Accept, nil}},
		"an answer of no sense": {`{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.0/24"}]}`, want{inspect.CNIResult, "", "", inspect.Refuse, []string{"error - 10.50.3.0"}}},
		"an error of a plugin":  {`{"code":7,"msg":"no IP ranges specified"}`, want{inspect.HNSError, "", "", inspect.Accept, []string{"warning - ipam object"}}},
	} {
		t.Run(name, func(t *testing.T) { check(t, inspect.File("10-lake.conf", []byte(tc.text)), tc.want) })
	}
}

// Blanks of the wrong sort hide nothing of what else is wrong.
// microsoft/windows-container-networking#83
func TestNoBreakBlanks(t *testing.T) {
	text := "{\n\u00a0\u00a0\"cniVersion\": \"1.0.0\", \"name\": \"lake\", \"type\": \"win-overlay\", " + caps + ", \"ipMasqNetwork\": \"here\"\n}"
	r := inspect.File("a.conf", []byte(text))
	check(t, r, want{inspect.CNIConf, "Overlay", "v1", inspect.Refuse, []string{"error - U+00A0", "error ipMasqNetwork not a prefix"}})
	if f := r.Findings[0]; f.Line != 2 || f.Column != 1 {
		t.Errorf("at line %d column %d", f.Line, f.Column)
	}
}

func TestFlannelFiles(t *testing.T) {
	const env = "FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"
	for name, tc := range map[string]struct {
		text string
		want want
	}{
		"subnet.env":         {env, want{inspect.SubnetEnv, "", "", inspect.Accept, nil}},
		"BOM and CRLF":       {"\ufeff" + strings.ReplaceAll(env, "\n", "\r\n"), want{inspect.SubnetEnv, "", "", inspect.Accept, nil}},
		"UTF-16":             {wide(env), want{inspect.SubnetEnv, "", "", inspect.Refuse, []string{"error - UTF-8"}}},
		"comments alone":     {"# FLANNEL_NETWORK=10.50.0.0/16\n", want{inspect.SubnetEnv, "", "", inspect.Refuse, []string{"error FLANNEL_NETWORK missing", "error FLANNEL_SUBNET missing", "error FLANNEL_MTU missing", "error FLANNEL_IPMASQ missing"}}},
		"a subnet elsewhere": {strings.Replace(env, "10.50.3.1", "10.60.3.1", 1), want{inspect.SubnetEnv, "", "", inspect.Refuse, []string{"error FLANNEL_SUBNET 10.60.3.1"}}},
		"net-conf":           {`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`, want{inspect.NetConf, "Overlay", "", inspect.Accept, nil}},
		"host-gw":            {`{"Network":"10.50.0.0/16","Backend":{"Type":"host-gw"}}`, want{inspect.NetConf, "L2Bridge", "", inspect.Accept, nil}},
		"Linux's defaults":   {`{"Network":"10.50.0.0/16","Backend":{"name":"lake","type":"vxlan"}}`, want{inspect.NetConf, "Overlay", "", inspect.Accept, []string{"warning Backend.VNI 4096", "warning Backend.Port 4789"}}},
		"Linux's VNI":        {`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","VNI":1,"Port":4789}}`, want{inspect.NetConf, "", "", inspect.Refuse, []string{"error Backend.VNI 4096"}}},
		"annotations": {"metadata:\n  annotations:\n    flannel.alpha.coreos.com/backend-data: '{\"VNI\":4096,\"VtepMAC\":\"00:15:5d:10:20:30\"}'\n    flannel.alpha.coreos.com/backend-type: vxlan\n    flannel.alpha.coreos.com/public-ip: 192.168.10.21\n",
			want{inspect.FlannelNode, "Overlay", "", inspect.Accept, nil}},
		"annotations, wrong": {"flannel.alpha.coreos.com/backend-data: '{\"VNI\":1,\"VtepMAC\":\"00155d\"}'\nflannel.alpha.coreos.com/backend-type: vxlan\nflannel.alpha.coreos.com/public-ip: lake\n",
			want{inspect.FlannelNode, "Overlay", "", inspect.Refuse, []string{"warning flannel.alpha.coreos.com/backend-data.VNI 4096", "error flannel.alpha.coreos.com/backend-data.VtepMAC MAC", "error flannel.alpha.coreos.com/public-ip IP"}}},
		"no MAC yet":     {"flannel.alpha.coreos.com/backend-data: '{\"VNI\":4096,\"VtepMAC\":null}'\n", want{inspect.FlannelNode, "", "", inspect.Accept, nil}},
		"no data":        {"flannel.alpha.coreos.com/backend-data: \"null\"\nflannel.alpha.coreos.com/backend-type: host-gw\n", want{inspect.FlannelNode, "L2Bridge", "", inspect.Accept, nil}},
		"kube-proxy":     {"kube-proxy.exe --proxy-mode=kernelspace --cluster-cidr=10.50.0.0/16 --source-vip=10.60.3.2 --feature-gates=WinOverlay=true\n", want{inspect.CommandLine, "Overlay", "", inspect.Refuse, []string{"error --source-vip outside"}}},
		"by its network": {"kube-proxy.exe --cluster-cidr=10.50.0.0/16\nKUBE_NETWORK=cbr0\n", want{inspect.CommandLine, "L2Bridge", "", inspect.Accept, nil}},
	} {
		t.Run(name, func(t *testing.T) { check(t, inspect.File("f", []byte(tc.text)), tc.want) })
	}
	check(t, inspect.File("subnet.env", nil), want{inspect.SubnetEnv, "", "", inspect.Refuse,
		[]string{"error FLANNEL_NETWORK missing", "error FLANNEL_SUBNET missing", "error FLANNEL_MTU missing", "error FLANNEL_IPMASQ missing"}})
}

// wide is the text as PowerShell's redirection writes it.
func wide(text string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func TestUnknown(t *testing.T) {
	for _, text := range []string{"", " \n", "Dear reader", "[]x", `{"a":1}`, `[1,2]`, `"text"`, "{", "%PDF-1.4"} {
		if r := inspect.File("f", []byte(text)); r.Verdict != inspect.Refuse || r.Kind != inspect.Unknown || len(r.Findings) == 0 {
			t.Errorf("%q: %s", text, r.Text())
		}
	}
}
