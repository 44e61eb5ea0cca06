package cniplugin_test

import (
	"strings"
	"testing"

	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func TestCheckConfig(t *testing.T) {
	const caps = `"capabilities":{"portMappings":true,"dns":true}`
	for name, tc := range map[string]struct {
		conf string
		want []string // path and a word of reason or fix
	}{
		"clean":                {`{"cniVersion":"1.0.0","name":"lake","type":"win-bridge","ipam":{},` + caps + `}`, nil},
		"a key misspelt":       {`{"name":"lake","capabbilities":{"dns":true},` + caps + `}`, []string{"capabbilities: did you mean capabilities?"}},
		"letters swapped":      {`{"name":"lake","polciies":[],` + caps + `}`, []string{"polciies: did you mean policies?"}},
		"a key of Linux":       {`{"name":"lake","hairpinMode":true,` + caps + `}`, []string{"hairpinMode: no plugin for Windows"}},
		"keys of Microsoft":    {`{"name":"lake","master":"Ethernet","optionalFlags":{},` + caps + `}`, nil},
		"capitals":             {`{"Name":"lake","Ipam":{},"Policies":[],` + caps + `}`, nil},
		"no capabilities":      {`{"name":"lake"}`, []string{"capabilities.portMappings: host ports", "capabilities.dns: DNS settings"}},
		"one is off":           {`{"name":"lake","capabilities":{"portMappings":false,"dns":true}}`, []string{"capabilities.portMappings: host ports"}},
		"a name nobody knows":  {`{"name":"lake","capabilities":{"portMappings":true,"dnsCapabilities":true}}`, []string{"capabilities.dnsCapabilities: write dns"}},
		"a name in capitals":   {`{"name":"lake","Capabilities":{"portMappings":true,"Dns":true}}`, []string{"Capabilities.Dns: write dns"}},
		"capabilities no list": {`{"name":"lake","capabilities":["dns"]}`, []string{"capabilities: not an object"}},
		// projectcalico/cni-plugin#1067: pods were translated for want of exceptions.
		"a name of v1 in Settings": {`{"name":"lake","policies":[{"name":"EndpointPolicy","value":{"Type":"OutBoundNAT","Settings":{"ExceptionList":["10.50.0.0/16"]}}}],` + caps + `}`,
			[]string{"policies[0].value.Settings.ExceptionList: Exceptions"}},
		"v1 form with apiVersion 2": {`{"name":"lake","apiVersion":2,"policies":[{"name":"EndpointPolicy","value":{"Type":"ROUTE","DestinationPrefix":"10.50.0.0/16"}}],` + caps + `}`,
			[]string{"policies[0].value: inside Settings"}},
		"v1 form without": {`{"name":"lake","policies":[{"name":"EndpointPolicy","value":{"Type":"ROUTE","DestinationPrefix":"10.50.0.0/16"}}],` + caps + `}`, nil},
		"no object":       {`[1]`, nil},
		"no JSON":         {`{`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := cniplugin.CheckConfig([]byte(tc.conf))
			if len(got) != len(tc.want) {
				t.Fatalf("got %v", got)
			}
			for i, f := range got {
				path, word, _ := strings.Cut(tc.want[i], ": ")
				if f.Path != path || !strings.Contains(f.Reason+" "+f.Fix, word) || f.Severity == modes.SeverityNote {
					t.Errorf("got %v, want %s", f, tc.want[i])
				}
			}
		})
	}
}

func FuzzCheckConfig(f *testing.F) {
	f.Add([]byte(`{"capabilities":{"Dns":1},"policies":[{"value":{"Type":"ACL","Settings":{"Protocol":"6"}}}],"AdditionalArgs":[1]}`))
	f.Fuzz(func(t *testing.T, conf []byte) {
		for _, x := range cniplugin.CheckConfig(conf) {
			if x.Path == "" || x.Reason == "" {
				t.Errorf("%q: %+v", conf, x)
			}
		}
	})
}

// A list has its capabilities and keys one level down: nothing is said of those.
func TestCheckConfigOfAList(t *testing.T) {
	list, err := cniplugin.ConfList(cniplugin.ConfIntent{Name: "lake", Plugin: "win-bridge", Mode: modes.L2Bridge})
	if err != nil {
		t.Fatal(err)
	}
	got := cniplugin.CheckConfig(list)
	if len(got) != 1 || got[0].Path != "plugins" || !strings.Contains(got[0].Reason, "list") {
		t.Errorf("got %v", got)
	}
}
