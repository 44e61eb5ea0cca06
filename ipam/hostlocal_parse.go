package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Keys that host-local knows. The keys of a range may also stand beside "type".
var (
	rangeKeys = []string{"subnet", "rangeStart", "rangeEnd", "gateway"}
	ipamKeys  = append([]string{"type", "ranges", "routes", "dataDir", "resolvConf"}, rangeKeys...)
	routeKeys = []string{"dst", "gw", "mtu", "advmss", "priority", "table", "scope"}
)

// parser reads a configuration, collects every fault in it, and the range sets
// with the paths where they stand.
type parser struct {
	errs []error
	sets []placedSet
}

// placedSet is a range set with its path, for messages.
type placedSet struct {
	path   string
	ranges RangeSet
	// paths has one entry a range.
	paths []string
}

func (p *parser) fail(path string, value json.RawMessage, err error) {
	p.errs = append(p.errs, &ConfigError{Path: path, Value: shorten(value), Err: err})
}

// hostLocal reads an ipam object. It returns nil if that is no object at all.
func (p *parser) hostLocal(path string, data json.RawMessage) *HostLocal {
	obj, err := readObject(data, ipamKeys...)
	if err != nil {
		p.fail(path, nil, err)
		return nil
	}
	h := &HostLocal{
		Type:       p.text(path+".type", obj.get("type")),
		DataDir:    p.text(path+".dataDir", obj.get("dataDir")),
		ResolvConf: p.text(path+".resolvConf", obj.get("resolvConf")),
		Extra:      extraOf(obj, ipamKeys),
	}
	p.checkType(path+".type", h.Type, obj.get("type"))
	if set := p.oldStyle(path, obj); set != nil {
		h.Sets = append(h.Sets, set)
	}
	h.Sets = append(h.Sets, p.rangeSets(path+".ranges", obj.get("ranges"))...)
	h.Routes = p.routes(path+".routes", obj.get("routes"))
	return h
}

// oldStyle reads the range that may stand directly in the ipam object.
func (p *parser) oldStyle(path string, obj object) RangeSet {
	if obj.find("subnet") >= 0 {
		set := RangeSet{p.rangeOf(path, obj)}
		set[0].Extra = nil // the keys of the ipam object, not the range's
		p.sets = append(p.sets, placedSet{path, set, []string{path}})
		return set
	}
	for _, key := range rangeKeys {
		if value := obj.get(key); value != nil && string(value) != `""` {
			p.fail(path+"."+key, value, errors.New("host-local ignores it without a subnet beside it"))
		}
	}
	return nil
}

// rangeSets reads a list of lists of ranges.
func (p *parser) rangeSets(path string, data json.RawMessage) []RangeSet {
	if data == nil {
		return nil
	}
	list, err := readList(data)
	if err != nil {
		p.fail(path, nil, err)
		return nil
	}
	var out []RangeSet
	for i, item := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		ranges, err := readList(item)
		if err != nil {
			p.fail(path, nil, fmt.Errorf("%w; ranges is a list of lists", err))
			continue
		}
		var set RangeSet
		for j, item := range ranges {
			set = append(set, p.rangeObject(fmt.Sprintf("%s[%d]", path, j), item))
		}
		p.addSet(path, set)
		out = append(out, set)
	}
	return out
}

// addSet notes a set for checking.
func (p *parser) addSet(path string, set RangeSet) {
	placed := placedSet{path: path, ranges: set}
	for j, r := range set {
		at := fmt.Sprintf("%s[%d]", path, j)
		p.checkExtra(at, r.Extra, rangeKeys)
		placed.paths = append(placed.paths, at)
	}
	p.sets = append(p.sets, placed)
}

func (p *parser) rangeObject(path string, data json.RawMessage) Range {
	obj, err := readObject(data, rangeKeys...)
	if err != nil {
		p.fail(path, nil, err)
		return Range{}
	}
	return p.rangeOf(path, obj)
}

func (p *parser) rangeOf(path string, obj object) Range {
	return Range{
		Subnet:  p.prefix(path+".subnet", obj.get("subnet")),
		Start:   p.addr(path+".rangeStart", obj.get("rangeStart")),
		End:     p.addr(path+".rangeEnd", obj.get("rangeEnd")),
		Gateway: p.addr(path+".gateway", obj.get("gateway")),
		Extra:   extraOf(obj, rangeKeys),
	}
}

func (p *parser) routes(path string, data json.RawMessage) []Route {
	if data == nil {
		return nil
	}
	list, err := readList(data)
	if err != nil {
		p.fail(path, nil, err)
		return nil
	}
	var out []Route
	for i, item := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		obj, err := readObject(item, routeKeys...)
		if err != nil {
			p.fail(path, nil, err)
			continue
		}
		out = append(out, p.route(path, obj))
	}
	return out
}

func (p *parser) route(path string, obj object) Route {
	for _, m := range obj {
		if !known(routeKeys, m.key) {
			p.fail(path+"."+m.key, m.value, fmt.Errorf("not a key of a route, which has %s (gw is the next hop)", strings.Join(routeKeys, ", ")))
		}
	}
	r := Route{
		Destination: p.prefix(path+".dst", obj.get("dst")).Masked(),
		Gateway:     p.addr(path+".gw", obj.get("gw")),
	}
	p.number(path+".mtu", obj.get("mtu"), &r.MTU)
	p.number(path+".advmss", obj.get("advmss"), &r.AdvMSS)
	p.number(path+".priority", obj.get("priority"), &r.Priority)
	p.number(path+".table", obj.get("table"), &r.Table)
	p.number(path+".scope", obj.get("scope"), &r.Scope)
	p.checkRoute(path, r)
	return r
}

// extraOf returns the members of obj that are not known, nil if none.
func extraOf(obj object, keys []string) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for _, m := range obj {
		if known(keys, m.key) {
			continue
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[m.key] = m.value
	}
	return out
}

func known(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) })
}

// text reads a string; absent gives "".
func (p *parser) text(path string, data json.RawMessage) string {
	var s string
	if data != nil && json.Unmarshal(data, &s) != nil {
		p.fail(path, data, errors.New("want text"))
	}
	return s
}

// number reads an integer into an int or *int; absent leaves it alone.
func (p *parser) number(path string, data json.RawMessage, into any) {
	if data != nil && json.Unmarshal(data, into) != nil {
		p.fail(path, data, errors.New("want a whole number"))
	}
}

// addr reads an address; absent and "" give the zero address.
func (p *parser) addr(path string, data json.RawMessage) netip.Addr {
	s := p.text(path, data)
	if s == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		p.fail(path, data, errors.New("want an address such as 10.244.3.1"))
		return netip.Addr{}
	}
	return a.Unmap()
}

// prefix reads a prefix. An absent one is the zero prefix, for the checks to
// complain about.
func (p *parser) prefix(path string, data json.RawMessage) netip.Prefix {
	s := p.text(path, data)
	if data == nil || s == "" && string(data) != `""` {
		return netip.Prefix{}
	}
	pre, err := netip.ParsePrefix(s)
	if err != nil || pre.Addr().Is4In6() {
		p.fail(path, data, errors.New("want a subnet such as 10.244.3.0/24"))
		return netip.Prefix{}
	}
	return pre
}
