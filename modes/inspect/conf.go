package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// conf is what Agree needs of the configuration of one plugin.
type conf struct {
	at     string // path of the plugin in its file
	name   string // of the network
	mode   modes.Mode
	raw    []byte            // of the plugin that makes the endpoint, without what flannel adds
	parsed *cniplugin.Config // nil if it is foreign or refused
	// policies are those that could be read, under either of their names.
	policies []placedPolicy
	flannel  *delegate.Config // nil if it is not flannel's
	foreign  bool
}

// placedPolicy is a policy and its path.
type placedPolicy struct {
	hns.EndpointPolicy
	at string
}

// confList inspects a list: each of its plugins as a runtime hands it over, with
// the list's name and version.
func (r *Report) confList(text []byte) {
	r.Kind = CNIConfList
	var list struct {
		CNIVersion json.RawMessage   `json:"cniVersion"`
		Name       json.RawMessage   `json:"name"`
		Plugins    []json.RawMessage `json:"plugins"`
	}
	if err := confjson.Unmarshal(text, &list); err != nil {
		r.fail("", err, modes.SeverityError)
		return
	}
	if len(list.Plugins) == 0 {
		r.add(modes.SeverityError, "plugins", "", "the list has no plugin", "add one, or remove the file")
	}
	for i, raw := range list.Plugins {
		at := fmt.Sprintf("plugins[%d]", i)
		var exact map[string]json.RawMessage
		if json.Unmarshal(raw, &exact) != nil || exact == nil {
			r.add(modes.SeverityError, at, string(raw), "not an object", "")
			continue
		}
		for name, value := range map[string]json.RawMessage{"name": list.Name, "cniVersion": list.CNIVersion} {
			setMember(exact, name, value)
		}
		one, err := json.Marshal(exact)
		if err != nil {
			continue
		}
		own := map[string]bool{"name": true, "cniVersion": true}
		r.onePlugin(at, one, own)
	}
}

// conf inspects a configuration for one plugin.
func (r *Report) conf(text []byte) {
	r.Kind = CNIConf
	r.onePlugin("", text, nil)
}

// onePlugin inspects the configuration of one plugin. of are the members that are
// the list's, and have no path below at.
func (r *Report) onePlugin(at string, raw []byte, of map[string]bool) {
	place := func(path string) string {
		if of[path] {
			return path
		}
		return join(at, path)
	}
	var exact map[string]json.RawMessage
	if err := confjson.Unmarshal(raw, &exact); err != nil {
		r.fail(at, err, modes.SeverityError)
		return
	}
	m, _ := membersOf(raw)
	typ := m.text("type")
	if typ == "" {
		r.add(modes.SeverityError, place("type"), "", "missing", "name the plugin")
	}
	if confjson.Unfilled(typ) {
		r.add(modes.SeverityError, place("type"), typ, "names no plugin", "fill in the template: the mark "+typ+" stands for a value of the node or the cluster")
	}
	if strings.EqualFold(strings.TrimSuffix(strings.ToLower(typ), ".exe"), flannelType) {
		r.flannel(at, raw, place)
	} else {
		c := &conf{at: at, name: m.text("name"), raw: raw}
		r.endpointPlugin(c, typ, m, place)
	}
	r.marks(place, raw)
}

// flannel inspects a configuration of flannel's meta-plugin, and then that of the
// delegate as flannel would make it, but for what subnet.env adds.
func (r *Report) flannel(at string, raw []byte, place func(string) string) {
	cfg, err := delegate.Parse(raw)
	if err == nil {
		err = cfg.Validate(nil)
	}
	if err != nil {
		r.failAt(place, err, modes.SeverityError)
		if cfg == nil || cfg.Delegate == nil {
			return
		}
	}
	for _, name := range cfg.Unread("timeout", "stateDir", "logFile", "logLevel") {
		r.add(modes.SeverityWarning, place(name), string(cfg.Extra[name]), "flannel does not read this key, and does not hand it to the delegate", "put it into delegate, or take it out")
	}
	members := maps.Clone(cfg.Delegate)
	outer := map[string]bool{"name": true, "cniVersion": true}
	setMember(members, "name", quote(cfg.Name))
	version := cfg.CNIVersion
	if version == "" {
		version = delegate.DefaultCNIVersion
	}
	setMember(members, "cniVersion", quote(version))
	for name, value := range map[string]json.RawMessage{"capabilities": cfg.Capabilities, "dns": cfg.DNS} {
		if _, own := findMember(members, name); !own && value != nil {
			members[name], outer[name] = value, true
		}
	}
	if _, own := findMember(members, "capabilities"); !own {
		outer["capabilities"] = true
	}
	d, ok := findMember(members, "type")
	typ := delegate.DefaultType
	if ok {
		typ = textOf(d)
	} else {
		members["type"] = quote(typ)
	}
	one, err := json.Marshal(members)
	if err != nil {
		return
	}
	m, _ := membersOf(one)
	c := &conf{at: join(at, "delegate"), name: cfg.Name, raw: one, flannel: cfg}
	r.endpointPlugin(c, typ, m, func(path string) string {
		first, _, _ := strings.Cut(path, ".")
		if outer[first] {
			return place(path)
		}
		return place(join("delegate", path))
	})
}

// endpointPlugin inspects the configuration of the plugin that makes endpoints.
func (r *Report) endpointPlugin(c *conf, typ string, m members, place func(string) string) {
	p := pluginOf(typ, c.name)
	c.mode, c.foreign = p.mode, p.foreign
	if strings.EqualFold(m.text("mode"), "vxlan") {
		c.mode = modes.Overlay
	}
	r.confAPI(p, m)
	most := modes.SeverityError
	if p.foreign && !confjson.Unfilled(typ) {
		most = modes.SeverityWarning
	}
	parsed, err := r.parse(c, m, place, most)
	r.addMode(string(c.mode))
	if err == nil && !p.foreign {
		c.parsed = parsed
	}
	if !p.foreign {
		r.note(place, cniplugin.CheckConfig(c.raw), modes.SeverityError)
		r.checkRules(c)
	}
	if c.flannel == nil && (!p.foreign || typ == "calico") {
		r.addresses(c, m, place, most)
	}
	r.confs = append(r.confs, c)
}

// parse has the configuration parsed as the plugins of this module do it.
func (r *Report) parse(c *conf, m members, place func(string) string, most modes.Severity) (*cniplugin.Config, error) {
	doc := c.raw
	if c.foreign { // its own keys have meanings of their own
		var exact map[string]json.RawMessage
		if err := json.Unmarshal(c.raw, &exact); err != nil {
			return nil, err
		}
		for name := range exact {
			if !slices.Contains([]string{"cniversion", "name", "type", "policies", "additionalargs", "dns", "runtimeconfig"}, strings.ToLower(name)) {
				delete(exact, name)
			}
		}
		var err error
		if doc, err = json.Marshal(exact); err != nil {
			return nil, err
		}
	}
	parsed, err := cniplugin.ParseConfig(doc)
	if err != nil {
		r.failAt(place, err, most)
		return nil, err
	}
	var own []json.RawMessage
	_ = json.Unmarshal(m["policies"], &own) // the parser took it, so it is a list, or not there
	for i, pol := range parsed.Policies {
		at := fmt.Sprintf("policies[%d].value", i)
		if i >= len(own) {
			at = fmt.Sprintf("AdditionalArgs[%d].value", i-len(own))
		}
		c.policies = append(c.policies, placedPolicy{pol, place(at)})
	}
	if parsed.Mode != "" {
		c.mode = parsed.Mode
	}
	return parsed, nil
}

// confAPI notes the schema of the policies: what apiVersion says, else the form
// that they have, else that of the plugin.
func (r *Report) confAPI(p plugin, m members) {
	switch string(m["apiversion"]) {
	case "1":
		r.addAPI(V1)
		return
	case "2":
		r.addAPI(V2)
		return
	}
	found := false
	for _, key := range []string{"policies", "additionalargs"} {
		var entries []struct{ Value json.RawMessage }
		if json.Unmarshal(m[key], &entries) != nil {
			continue
		}
		for _, e := range entries {
			v, ok := membersOf(e.Value)
			if !ok {
				continue
			}
			found = true
			if v.has("Settings") == 1 {
				r.addAPI(V2)
				continue
			}
			r.addAPI(V1)
			if len(v) > 1 && isSchema2Name(v.text("type")) {
				r.addAPI(V2) // a name of schema 2, in the form of schema 1
			}
		}
	}
	if !found {
		r.addAPI(p.api)
	}
}

func isSchema2Name(t string) bool {
	return slices.Contains([]string{"sdnroute", "portmapping", "provideraddress"}, strings.ToLower(t))
}

// checkRules holds the policies against the rules of the plugin's mode. That
// Overlay needs a ProviderAddress is the plugin's business, which adds it.
func (r *Report) checkRules(c *conf) {
	for _, pol := range c.policies {
		switch rule := c.mode.Rule(modes.OnEndpoint, pol.PolicyType()); rule.Verdict {
		case modes.Forbidden:
			r.add(modes.SeverityError, pol.at, rule.Type, fmt.Sprintf("forbidden on %s: %s", c.mode, rule.Reason), rule.Fix)
		case modes.Harmless:
			r.add(modes.SeverityWarning, pol.at, rule.Type, fmt.Sprintf("does nothing on %s: %s", c.mode, rule.Reason), rule.Fix)
		}
	}
}

// marks finds marks of templates in any text of the configuration that no
// validator has an opinion about.
func (r *Report) marks(place func(string) string, raw []byte) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	said := map[string]bool{}
	for _, f := range r.Findings {
		said[f.Value] = true
	}
	walk("", v, func(path, text string) {
		if confjson.Unfilled(text) && !said[clip(text)] {
			r.add(modes.SeverityError, place(path), text, "a mark of a template that was not filled in", "fill it in: it stands for a value of the node or the cluster")
		}
	})
}

// walk calls f for each text in a value, with its path, members in order of their
// names.
func walk(path string, v any, f func(path, text string)) {
	switch v := v.(type) {
	case string:
		f(path, v)
	case []any:
		for i, e := range v {
			walk(fmt.Sprintf("%s[%d]", path, i), e, f)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(join(path, name), v[name], f)
		}
	}
}

// ipamConf inspects a configuration that has nothing but an IPAM plugin, as
// scripts write it to get the source VIP.
func (r *Report) ipamConf(raw json.RawMessage) {
	r.Kind = IPAMConf
	m, _ := membersOf(raw)
	i, _ := membersOf(m["ipam"])
	if m.text("name") == "" {
		r.add(modes.SeverityError, "name", "", "missing; leases are kept by the name of the network", "add the name of the CNI network")
	}
	r.addMode(string(modeByName(m.text("name"))))
	if ipam.IsHostLocal(i.text("type")) {
		_, err := ipam.ParseHostLocal(m["ipam"])
		r.fail("", err, modes.SeverityError)
	}
}

func quote(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a text always marshals
	return b
}

func textOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // another type is the validator's to refuse
	return s
}

// findMember returns a member whatever the letter case of its name.
func findMember(o map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if strings.EqualFold(k, name) && string(o[k]) != "null" {
			return o[k], true
		}
	}
	return nil, false
}

// setMember gives a member its value in the place of all its spellings, unless
// there is none.
func setMember(o map[string]json.RawMessage, name string, value json.RawMessage) {
	if len(value) == 0 || string(value) == "null" {
		return
	}
	for k := range o {
		if strings.EqualFold(k, name) {
			delete(o, k)
		}
	}
	o[name] = value
}
