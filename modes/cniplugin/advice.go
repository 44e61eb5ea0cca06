package cniplugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/modes"
)

// CheckConfig returns what is worth knowing of a network configuration beyond
// what [ParseConfig] refuses: keys that no plugin for Windows reads, capabilities
// that are missing or that no runtime knows, and policies that only this plugin
// reads as they are meant. It is quiet about what ParseConfig refuses, and about
// all of a text that is no JSON object. conf is what one plugin reads: of a list,
// such as that of [ConfList], it says no more than that it is one.
func CheckConfig(conf []byte) []modes.Finding {
	var members map[string]json.RawMessage
	if confjson.Unmarshal(conf, &members) != nil {
		return nil
	}
	if _, plugins := findMember(members, "plugins"); plugins != nil {
		if _, typ := findMember(members, "type"); typ == nil {
			return []modes.Finding{{Path: "plugins", Severity: modes.SeverityError,
				Reason: "this is a configuration list, and not the configuration of a plugin", Fix: "check each of its plugins, or the file with inspect.File"}}
		}
	}
	var out []modes.Finding
	for _, name := range slices.Sorted(maps.Keys(members)) {
		out = append(out, checkKey(name)...)
	}
	out = append(out, checkCapabilities(members)...)
	for _, key := range []string{"policies", "AdditionalArgs"} {
		if at, raw := findMember(members, key); raw != nil {
			out = append(out, checkPolicyForms(at, raw, apiVersionOf(members))...)
		}
	}
	return out
}

// otherKeys are the keys that mean something without being in wireConfig: those
// of CNI itself, and the one that flannel adds.
var otherKeys = []string{"capabilities", "disableCheck", "disableGC", "cniVersions", "mtu"}

func checkKey(name string) []modes.Finding {
	known := append(slices.Collect(maps.Values(wireNames())), otherKeys...)
	near := ""
	for _, k := range known {
		if fold(k) == fold(name) {
			return nil
		}
		if near == "" && isNear(fold(k), fold(name)) {
			near = k
		}
	}
	fix := "take it out"
	if near != "" {
		fix = "did you mean " + near + "?"
	}
	return []modes.Finding{{Path: name, Severity: modes.SeverityWarning, Reason: "no plugin for Windows reads this key; it has no effect", Fix: fix}}
}

// isNear reports whether one letter more, less, or other makes a name of the
// other; names of four letters and fewer are too short to tell.
func isNear(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) <= 4 || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return a[min(i+1, len(a)):] == b[min(i+1, len(b)):] || isSwapped(a[i:], b[i:])
	}
	return a[i:] == b[i+1:]
}

func isSwapped(a, b string) bool {
	return len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}

// capabilityNames are those of the CNI conventions; runtimes compare them
// exactly.
var capabilityNames = []string{"portMappings", "dns", "ipRanges", "ips", "mac", "bandwidth", "aliases", "infinibandGUID", "deviceID",
	"cgroupPath", "io.kubernetes.cri.pod-annotations"}

// expected are the capabilities that pods on Windows miss if they are not there.
var expected = []struct{ name, loss string }{
	{"portMappings", "host ports of pods are dropped without a word"},
	{"dns", "pods do not get the DNS settings that the runtime has for them"},
}

func checkCapabilities(members map[string]json.RawMessage) []modes.Finding {
	at, raw := findMember(members, "capabilities")
	var given map[string]json.RawMessage
	if raw != nil && json.Unmarshal(raw, &given) != nil {
		return []modes.Finding{{Path: at, Value: shorten(raw), Severity: modes.SeverityError, Reason: "not an object of true and false",
			Fix: `write {"portMappings": true, "dns": true}`}}
	}
	var out []modes.Finding
	said := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		said[name] = string(given[name]) == "true"
		if slices.Contains(capabilityNames, name) {
			continue
		}
		fix := "take it out"
		for _, c := range capabilityNames {
			if strings.EqualFold(c, name) || strings.EqualFold(c+"Capabilities", name) || isNear(fold(c), fold(name)) {
				fix = "write " + c
				said[c] = true // said in another way, and told so
			}
		}
		out = append(out, modes.Finding{Path: at + "." + name, Severity: modes.SeverityWarning,
			Reason: "not a capability that a runtime knows (names are compared letter by letter)", Fix: fix})
	}
	if raw == nil {
		at = "capabilities"
	}
	for _, e := range expected {
		if !said[e.name] {
			out = append(out, modes.Finding{Path: at + "." + e.name, Severity: modes.SeverityWarning, Reason: "the capability is not asked for: " + e.loss,
				Fix: fmt.Sprintf("add %q: true to capabilities", e.name)})
		}
	}
	return out
}

// checkPolicyForms finds policies that this plugin reads as they are meant, and
// others do not.
func checkPolicyForms(path string, raw json.RawMessage, apiVersion string) []modes.Finding {
	var entries []struct{ Value map[string]json.RawMessage }
	if json.Unmarshal(raw, &entries) != nil {
		return nil
	}
	var out []modes.Finding
	for i, e := range entries {
		at := fmt.Sprintf("%s[%d].value", path, i)
		typeName, _, flat, err := splitPolicy(e.Value)
		switch {
		case err != nil:
		case len(flat) > 0 && apiVersion == "2":
			out = append(out, modes.Finding{Path: at, Value: typeName, Severity: modes.SeverityWarning,
				Reason: "a policy in the form of v1, with apiVersion 2; upstream's plugins send it to HNS as it is, and HNS refuses it",
				Fix:    "put its members inside Settings"})
		case len(flat) == 0:
			out = append(out, checkOldNames(at, e.Value)...)
		}
	}
	return out
}

// checkOldNames finds names of v1 inside Settings.
func checkOldNames(at string, members map[string]json.RawMessage) []modes.Finding {
	doc, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	pol, err := hns.DecodeEndpointPolicy(doc)
	if err != nil {
		return nil
	}
	var out []modes.Finding
	for _, f := range hns.FieldErrors(hns.CheckEndpointPolicy(pol)) {
		if f.Rule == hns.RuleSchema1Name {
			out = append(out, modes.Finding{Path: at + "." + f.Path, Value: f.Value, Severity: modes.SeverityWarning,
				Reason: f.Reason + "; HNS passes over it, and upstream's plugins do not rename it", Fix: "rename it",
				Certainty: modes.Seen, Source: "projectcalico/cni-plugin#1067"})
		}
	}
	return out
}

func apiVersionOf(members map[string]json.RawMessage) string {
	_, raw := findMember(members, "apiVersion")
	return string(raw)
}

// findMember returns a member whatever the letter case of its name, and the name
// as it stands.
func findMember(members map[string]json.RawMessage, name string) (at string, value json.RawMessage) {
	for _, k := range slices.Sorted(maps.Keys(members)) {
		if strings.EqualFold(k, name) && present(members[k]) != nil {
			return k, members[k]
		}
	}
	return name, nil
}
