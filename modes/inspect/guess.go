package inspect

import (
	"regexp"
	"strings"

	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/modes"
)

// Of a text that cannot be parsed the names of members still tell something. What
// is guessed here is never the ground of a finding.

var looseMember = regexp.MustCompile(`"?([A-Za-z0-9]+)"?\s*:\s*"([^"\n]*)"`)

// looseMembers returns the first value of each member that is a text, by its name
// in small letters.
func looseMembers(text string) map[string]string {
	out := map[string]string{}
	for _, m := range looseMember.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(m[1])
		if _, ok := out[name]; !ok {
			out[name] = m[2]
		}
	}
	return out
}

var looseType = regexp.MustCompile(`"Type"\s*:\s*"([A-Za-z0-9]+)"`)

var looseName = regexp.MustCompile(`"([A-Za-z0-9]+)"\s*:`)

// guess fills in kind, mode and API of JSON that is broken or cut off.
func (r *Report) guess(text string) {
	m := members{}
	for _, n := range looseName.FindAllStringSubmatch(text, -1) {
		m[strings.ToLower(n[1])] = nil
	}
	loose := looseMembers(text)
	switch {
	case m.has("plugins") == 1 && m.has("cniVersion") == 1:
		r.Kind = CNIConfList
	case m.has("cniVersion", "ipam", "delegate", "capabilities") > 0:
		r.Kind = CNIConf
	case m.has("Backend") == 1:
		r.Kind = NetConf
	default:
		kind, _, ok := kindOf(m)
		if !ok {
			return
		}
		r.Kind = kindNames[kind]
		r.API = V1
		if m.has("SchemaVersion", "IpConfigurations", "Ipams") > 0 {
			r.API = V2
		}
		typ := ""
		for _, t := range looseType.FindAllStringSubmatch(text, -1) {
			if isMode(t[1]) {
				typ = t[1]
			}
		}
		if typ == "" && m.has("EncapOverhead", "DrMacAddress") > 0 {
			typ = string(modes.Overlay)
		}
		r.guessMode(typ, loose["virtualnetworkname"])
		return
	}
	typ := loose["type"]
	if i := strings.Index(text, `"delegate"`); i >= 0 && strings.EqualFold(typ, flannelType) {
		typ = looseMembers(text[i:])["type"]
	}
	p := pluginOf(typ, loose["name"])
	switch mode := loose["mode"]; {
	case confjson.Unfilled(mode):
	case strings.EqualFold(mode, "vxlan"):
		r.addMode(string(modes.Overlay))
	default:
		r.addMode(string(p.mode))
	}
	if m.has("Settings") > 0 {
		r.addAPI(V2)
	}
	if m.has("ExceptionList") > 0 || strings.Contains(text, `"ROUTE"`) {
		r.addAPI(V1)
	}
}

// guessMode takes the mode from a type of network, else from a network's name.
func (r *Report) guessMode(typ, network string) {
	if typ != "" {
		if m, err := modes.ParseMode(typ); err == nil {
			typ = string(m)
		} else if !isNamespaceType(typ) {
			typ = ""
		}
	}
	if typ == "" {
		typ = string(modeByName(network))
	}
	r.addMode(typ)
}
