package cniplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
)

// configParser gathers every complaint, not only the first.
type configParser struct{ bad []error }

func (p *configParser) complain(path, value string, reason error) {
	p.bad = append(p.bad, &hns.FieldError{Path: path, Value: value, Reason: reason.Error()})
}

// value decodes a member if it is there, and reports whether it was.
func (p *configParser) value(path string, raw json.RawMessage, into any) bool {
	if present(raw) == nil {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			if wrong.Field != "" {
				path += "." + wrong.Field
			}
			article := "a"
			if wrong.Value == "array" || wrong.Value == "object" {
				article = "an"
			}
			err = fmt.Errorf("%s %s cannot stand here", article, wrong.Value)
		}
		p.complain(path, shorten(raw), err)
		return false
	}
	return true
}

// list decodes a list and calls f for each of its elements.
func (p *configParser) list(path string, raw json.RawMessage, f func(path string, raw json.RawMessage)) {
	var elements []json.RawMessage
	p.value(path, raw, &elements)
	for i, e := range elements {
		f(fmt.Sprintf("%s[%d]", path, i), e)
	}
}

// texts decodes a list of texts. Empty ones are left out: that is how some
// generators write an empty list.
func (p *configParser) texts(path string, raw json.RawMessage, f func(path, text string)) {
	p.list(path, raw, func(path string, raw json.RawMessage) {
		var s string
		if p.value(path, raw, &s) && s != "" {
			f(path, s)
		}
	})
}

func present(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// shorten returns a value for a message: a text without its quotes, on one
// line, cut if long.
func shorten(raw []byte) string {
	const most = 80
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = strings.Join(strings.Fields(string(raw)), " ")
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func (p *configParser) apiVersion(raw json.RawMessage) {
	var v int
	if !p.value("apiVersion", raw, &v) || v == 2 {
		return
	}
	reason := errors.New("not an API version; 2 is the one of HNS namespaces")
	if v == 1 {
		reason = errors.New("the v1 API cannot attach to an HNS namespace, which the runtime gave in CNI_NETNS; use 2 or leave the key out")
	}
	p.complain("apiVersion", fmt.Sprint(v), reason)
}

func (p *configParser) timeout(raw json.RawMessage) time.Duration {
	var text string
	if !p.value("timeout", raw, &text) {
		return DefaultTimeout
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minTimeout {
		p.complain("timeout", text, fmt.Errorf("not a duration such as 45s, of %s at least", minTimeout))
		if err == nil && d > 0 {
			return minTimeout // for DEL, which puts up with it
		}
		return DefaultTimeout
	}
	return d
}

// minTimeout is the shortest deadline: in less HNS makes no endpoint.
const minTimeout = time.Second

// absolute reads the path of a file or directory, which must be absolute: a
// runtime calls plugins from any directory. A configuration for Windows can be
// read elsewhere, and one for the emulator on Windows, so the forms of both count.
func (p *configParser) absolute(key string, raw json.RawMessage) string {
	var path string
	if !p.value(key, raw, &path) || path == "" {
		return ""
	}
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	if !drive && path[0] != '/' && !strings.HasPrefix(path, `\\`) {
		p.complain(key, path, errors.New("not an absolute path"))
		return ""
	}
	return path
}

func (p *configParser) masqueradeNetworks(w *wireConfig) []netip.Prefix {
	var out []netip.Prefix
	add := func(path, text string) {
		if pr, ok := p.prefix(path, text); ok && !slices.Contains(out, pr) {
			out = append(out, pr)
		}
	}
	var one string
	if p.value("ipMasqNetwork", w.IPMasqNetwork, &one) && one != "" {
		add("ipMasqNetwork", one)
	}
	p.texts("ipMasqNetworks", w.IPMasqNetworks, add)
	return out
}

// prefix reads a prefix and clears its host bits: Windows Server 2022 refuses
// them in exceptions (microsoft/hcsshim#1951), and what is meant is clear.
func (p *configParser) prefix(path, text string) (netip.Prefix, bool) {
	pr, err := netip.ParsePrefix(text)
	if err != nil || pr.Addr().Is4In6() {
		p.complain(path, text, errors.New("not a prefix such as 10.244.0.0/16"))
		return netip.Prefix{}, false
	}
	return pr.Masked(), true
}

// subnet reads the prefix of a subnet, which has no host bits. Scripts that
// subtract the length from 32 write 172.27.0.0/12 for 172.27.0.0/20.
func (p *configParser) subnet(path, text string) (netip.Prefix, bool) {
	pr, ok := p.prefix(path, text)
	if a, err := netip.ParsePrefix(text); ok && err == nil && a != pr {
		p.complain(path, text, fmt.Errorf("has host bits; the subnet of that length is %s", pr))
		return netip.Prefix{}, false
	}
	return pr, ok
}

// runtime reads runtimeConfig: the arguments of the capabilities that the
// configuration declares. One that this plugin cannot serve is an error, since
// the pod would run without what it asked for.
func (p *configParser) runtime(raw json.RawMessage, c *Config) {
	members := p.object("runtimeConfig", raw)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v, path := members[name], "runtimeConfig."+name
		if present(v) == nil {
			continue
		}
		switch strings.ToLower(name) {
		case "portmappings":
			c.PortMappings = p.portMappings(path, v)
		case "dns":
			names := dnsNames{"servers", "searches"}
			p.only(path, v, names.servers, names.searches, "options", "domain")
			c.DNS = preferDNS(p.dns(path, names, v), c.DNS)
		case "ipranges":
			p.ipRanges(path, v)
			c.ipRanges = v
			c.forIPAM = append(c.forIPAM, name)
		case "ips":
			p.ips(c, path, v)
		case "mac":
			c.MAC = p.mac(path, v)
		case "bandwidth":
			p.bandwidth(c, path, v)
		default:
			p.complain(path, shorten(v), errors.New("this plugin does not serve the capability"))
		}
	}
}

// only complains of members of an object that are none of these.
func (p *configParser) only(path string, raw json.RawMessage, names ...string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return // complained of by who reads it
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.ContainsFunc(names, func(n string) bool { return fold(n) == fold(name) }) {
			p.complain(path+"."+name, shorten(members[name]), fmt.Errorf("not one of %s", strings.Join(names, ", ")))
		}
	}
}

// dnsNames are the names of two members of a DNS object: the configuration and
// the runtime call them differently.
type dnsNames struct{ servers, searches string }

// dns reads and checks a DNS object.
func (p *configParser) dns(path string, names dnsNames, raw json.RawMessage) types.DNS {
	members := p.object(path, raw)
	member := func(name string) (at string, value json.RawMessage) {
		for k, v := range members {
			if strings.EqualFold(k, name) {
				return path + "." + k, v
			}
		}
		return path + "." + name, nil
	}
	texts := func(name string, check func(string) error) []string {
		var out []string
		at, value := member(name)
		p.texts(at, value, func(path, s string) {
			if err := check(s); err != nil {
				p.complain(path, s, err)
			}
			out = append(out, s)
		})
		return out
	}
	d := types.DNS{
		Nameservers: texts(names.servers, checkServer),
		Search:      texts(names.searches, checkDomain),
		Options:     texts("options", func(string) error { return nil }),
	}
	if at, value := member("domain"); p.value(at, value, &d.Domain) && d.Domain != "" {
		if err := checkDomain(d.Domain); err != nil {
			p.complain(at, d.Domain, err)
		}
	}
	return d
}

func checkServer(s string) error {
	if _, err := netip.ParseAddr(s); err != nil {
		return errors.New("not an IP address")
	}
	return nil
}

// checkDomain finds marks of templates that were not filled in, and lists that
// were put into one text. What else may be in a name is for the resolver.
func checkDomain(s string) error {
	if i := strings.IndexAny(s, " \t\r\n,;<>{}%$\"'/\\"); i >= 0 {
		return fmt.Errorf("not a DNS suffix: %q cannot be in one", s[i])
	}
	return nil
}

// preferDNS takes each field from the first that has it.
func preferDNS(first, second types.DNS) types.DNS {
	pick := func(a, b []string) []string {
		if len(a) > 0 {
			return a
		}
		return b
	}
	out := types.DNS{
		Nameservers: pick(first.Nameservers, second.Nameservers),
		Domain:      first.Domain,
		Search:      pick(first.Search, second.Search),
		Options:     pick(first.Options, second.Options),
	}
	if out.Domain == "" {
		out.Domain = second.Domain
	}
	return out
}
