package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
)

var (
	errNoRanges = errors.New("host-local has neither subnet nor ranges to hand out addresses from")
	errEmptySet = errors.New("the range set is empty")
	errMissing  = errors.New("missing")
	errFamily   = errors.New("of the other address family")
)

// checkType wants the plugin to be host-local.
func (p *parser) checkType(path, typ string, value json.RawMessage) {
	if !IsHostLocal(typ) {
		p.fail(path, value, fmt.Errorf("want %q", HostLocalType))
	}
}

// checkExtra wants keys of Extra to be unknown ones with JSON values.
func (p *parser) checkExtra(path string, extra map[string]json.RawMessage, keys []string) {
	for key, value := range extra {
		switch {
		case known(keys, key):
			p.fail(path+"."+key, value, errors.New("an extra key that stands for a field"))
		case !json.Valid(value):
			p.fail(path+"."+key, value, errors.New("not JSON"))
		}
	}
}

func (p *parser) checkRoute(path string, r Route) {
	switch {
	case !r.Destination.IsValid():
		// The plugin would put it into its result as "<nil>", which no caller can read.
		p.failMissing(path, "dst")
	case r.Gateway.IsValid() && r.Gateway.Is4() != r.Destination.Addr().Is4():
		p.fail(path+".gw", quote(r.Gateway.String()), fmt.Errorf("%w than %s", errFamily, r.Destination))
	}
}

// failMissing reports a missing key of the object at path, unless the object or
// the value has been found faulty already.
func (p *parser) failMissing(path, key string) {
	for _, old := range p.errs {
		var ce *ConfigError
		if errors.As(old, &ce) && (ce.Path == path || ce.Path == path+"."+key) {
			return
		}
	}
	p.fail(path+"."+key, nil, errMissing)
}

// checkSets checks every range by itself, then the ranges against each other.
func (p *parser) checkSets() {
	var sound []placedSet
	for _, set := range p.sets {
		if len(set.ranges) == 0 {
			p.fail(set.path, nil, errEmptySet)
		}
		good := placedSet{path: set.path}
		for i, r := range set.ranges {
			if p.checkRange(set.paths[i], r) {
				good.ranges, good.paths = append(good.ranges, r), append(good.paths, set.paths[i])
			}
		}
		sound = append(sound, good)
	}
	for i, set := range sound {
		p.checkWithin(set)
		for _, other := range sound[:i] {
			p.checkBetween(other, set)
		}
	}
}

// checkWithin wants one family and no overlap in a set.
func (p *parser) checkWithin(set placedSet) {
	for j, r := range set.ranges {
		for i, earlier := range set.ranges[:j] {
			if earlier.Subnet.Addr().Is4() != r.Subnet.Addr().Is4() {
				p.fail(set.paths[j], quote(r.String()), fmt.Errorf("%w than %s in the same range set", errFamily, set.paths[i]))
				return
			}
			if earlier.overlaps(r) {
				p.fail(set.paths[j], quote(r.String()), fmt.Errorf("overlaps with %s at %s", earlier, set.paths[i]))
			}
		}
	}
}

// checkBetween wants no overlap between two sets.
func (p *parser) checkBetween(a, b placedSet) {
	for j, r := range b.ranges {
		for i, earlier := range a.ranges {
			if earlier.overlaps(r) {
				p.fail(b.paths[j], quote(r.String()), fmt.Errorf("overlaps with %s at %s", earlier, a.paths[i]))
			}
		}
	}
}

// checkRange reports whether the range is sound.
func (p *parser) checkRange(path string, r Range) bool {
	subnet := r.Subnet
	bits := subnet.Addr().BitLen()
	switch {
	case !subnet.IsValid():
		p.failMissing(path, "subnet")
		return false
	case subnet.Addr().Is4In6():
		p.fail(path+".subnet", quote(subnet.String()), errors.New("an IPv4 subnet in IPv6 form"))
		return false
	case HasHostBits(subnet):
		p.fail(path+".subnet", quote(subnet.String()), fmt.Errorf("has host bits set; the subnet is %s", subnet.Masked()))
		return false
	case subnet.Bits() > bits-2:
		p.fail(path+".subnet", quote(subnet.String()), fmt.Errorf("too small for host-local, which needs a /%d or larger", bits-2))
		return false
	}
	ok := p.checkInside(path+".rangeStart", r.Start, subnet)
	ok = p.checkInside(path+".rangeEnd", r.End, subnet) && ok
	if ok && r.First().Compare(r.Last()) > 0 {
		p.fail(path, quote(r.String()), errors.New("the range ends before it starts"))
		ok = false
	}
	if gw := r.Gateway; gw.IsValid() && gw.Is4() != subnet.Addr().Is4() {
		p.fail(path+".gateway", quote(gw.String()), fmt.Errorf("%w than %s", errFamily, subnet))
		ok = false
	}
	return ok
}

// checkInside wants an address, if there is one, to be in the subnet.
func (p *parser) checkInside(path string, a netip.Addr, subnet netip.Prefix) bool {
	if a.IsValid() && !subnet.Contains(a) {
		p.fail(path, quote(a.String()), fmt.Errorf("not in %s", subnet))
		return false
	}
	return true
}
