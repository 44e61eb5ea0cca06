package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Change is one address that [Reserve] took out of a range.
type Change struct {
	// Path leads to the range in the configuration as it was given: "ipam" for
	// one that stands beside the type, else such as ipam.ranges[0][1].
	Path string
	// Range is that range as first and last address, defaults filled in.
	Range string
	Reservation
}

// String tells the change in one line.
func (c Change) String() string {
	return fmt.Sprintf("%s: %s taken out of %s", c.Path, c.Reservation, c.Range)
}

// Reserve returns a host-local configuration (an ipam object) in which no range
// holds a reserved address, so that the plugin can never hand one out: not by
// itself and not when a pod asks for it. What is not concerned stays as written,
// with unknown keys, order and spelling; if nothing is, the result is the text
// given. Addresses that a range keeps back anyhow, because they are its gateway,
// need no change, and reserved addresses of other subnets are passed over.
//
// A reserved address in the middle splits a range in two, which stay in one set:
// a pod still gets one address from it, the gateway reported is the same, and so is
// the directory of the leases. A range that stands beside the type moves into
// "ranges" when it must be split.
//
// The configuration is checked first as [ParseHostLocal] does. If a range set
// would have no address left the error matches [ErrNoAddress].
//
// Only ADD needs this. DEL and CHECK go by container and interface, and must work
// for addresses handed out before they were reserved.
func Reserve(ipam json.RawMessage, reserved ...Reservation) (json.RawMessage, []Change, error) {
	ipam = withoutMark(ipam)
	if _, err := ParseHostLocal(ipam); err != nil {
		return nil, nil, err
	}
	r := newReserver(reserved)
	out := r.ipam("ipam", ipam)
	if err := errors.Join(r.errs...); err != nil {
		return nil, nil, err
	}
	return out, r.changes, nil
}

// ReserveNetwork is [Reserve] for a whole network configuration, as a CNI plugin
// reads it from standard input. Besides ipam it narrows the ranges that a runtime
// can pass in runtimeConfig.ipRanges. Everything else is returned byte for byte,
// but for a byte order mark.
func ReserveNetwork(config []byte, reserved ...Reservation) ([]byte, []Change, error) {
	config = withoutMark(config)
	obj, err := readObject(config, "ipam", "runtimeConfig")
	if err != nil {
		return nil, nil, &ConfigError{Path: "network configuration", Err: err}
	}
	ipam, runtime := obj.get("ipam"), obj.get("runtimeConfig")
	p := &parser{}
	rt := p.runtimeRanges(runtime)
	if ipam == nil {
		p.fail("ipam", nil, errMissing)
	} else if h := p.hostLocal("ipam", ipam); h != nil && len(h.Sets) == 0 && len(rt) == 0 && len(p.errs) == 0 {
		p.fail("ipam", nil, errNoRanges)
	}
	p.checkSets()
	if err := errors.Join(p.errs...); err != nil {
		return nil, nil, err
	}
	r := newReserver(reserved)
	newRuntime := r.runtime(runtime)
	newIPAM := r.ipam("ipam", ipam)
	if err := errors.Join(r.errs...); err != nil {
		return nil, nil, err
	}
	if len(r.changes) == 0 {
		return config, nil, nil
	}
	return obj.replaceIn(config, map[string]json.RawMessage{"ipam": newIPAM, "runtimeConfig": newRuntime}), r.changes, nil
}

// runtimeRanges reads the range sets of runtimeConfig, which may be absent.
func (p *parser) runtimeRanges(runtime json.RawMessage) []RangeSet {
	if runtime == nil {
		return nil
	}
	obj, err := readObject(runtime, "ipRanges")
	if err != nil {
		p.fail("runtimeConfig", nil, err)
		return nil
	}
	return p.rangeSets("runtimeConfig.ipRanges", obj.get("ipRanges"))
}

// reserver edits a configuration that has been found sound.
type reserver struct {
	reserved []Reservation // sorted by address, each once
	changes  []Change
	errs     []error
}

func newReserver(reserved []Reservation) *reserver {
	r := &reserver{}
	for _, x := range reserved {
		if !x.Address.IsValid() {
			r.errs = append(r.errs, fmt.Errorf("reservation (%s) without an address", x.Reason))
			continue
		}
		x.Address = x.Address.Unmap().WithZone("")
		r.reserved = append(r.reserved, x)
	}
	slices.SortStableFunc(r.reserved, func(a, b Reservation) int { return a.Address.Compare(b.Address) })
	r.reserved = slices.CompactFunc(r.reserved, func(a, b Reservation) bool { return a.Address == b.Address })
	return r
}

// ipam edits an ipam object: first the range beside the type, then "ranges".
func (r *reserver) ipam(path string, data json.RawMessage) json.RawMessage {
	before := len(r.changes)
	obj, _ := readObject(data)
	var moved json.RawMessage // the set that the range beside the type became
	if obj.get("subnet") != nil {
		pieces, changed := r.cut(path, path, obj)
		switch {
		case changed && len(pieces) == 1:
			obj = pieces[0]
		case changed:
			var set []json.RawMessage
			for _, piece := range pieces {
				set = append(set, piece.only(rangeKeys...).text())
			}
			moved = writeList(set)
			obj = obj.without(rangeKeys...)
		}
	}
	sets := r.sets(path+".ranges", obj.get("ranges"))
	if moved != nil {
		list, _ := readList(sets)
		sets = writeList(append([]json.RawMessage{moved}, list...))
	}
	if len(r.changes) == before {
		return data
	}
	if sets != nil {
		obj = obj.with("ranges", sets)
	}
	return obj.text()
}

// runtime edits the object runtimeConfig.
func (r *reserver) runtime(data json.RawMessage) json.RawMessage {
	if data == nil {
		return nil
	}
	before := len(r.changes)
	obj, _ := readObject(data)
	sets := r.sets("runtimeConfig.ipRanges", obj.get("ipRanges"))
	if len(r.changes) == before {
		return data
	}
	return obj.with("ipRanges", sets).text()
}

// sets edits a list of range sets; nil stays nil.
func (r *reserver) sets(path string, data json.RawMessage) json.RawMessage {
	before := len(r.changes)
	list, _ := readList(orNull(data))
	for i := range list {
		list[i] = r.set(fmt.Sprintf("%s[%d]", path, i), list[i])
	}
	if len(r.changes) == before {
		return data
	}
	return writeList(list)
}

func (r *reserver) set(path string, data json.RawMessage) json.RawMessage {
	before := len(r.changes)
	list, _ := readList(data)
	var out []json.RawMessage
	for i, item := range list {
		obj, _ := readObject(item)
		pieces, changed := r.cut(fmt.Sprintf("%s[%d]", path, i), "", obj)
		if !changed {
			out = append(out, item)
		}
		for _, piece := range pieces {
			out = append(out, piece.text())
		}
	}
	if len(r.changes) == before {
		return data
	}
	if len(out) == 0 {
		r.exhausted(path)
	}
	return writeList(out)
}

// cut takes the reserved addresses out of the range that obj describes. changed
// is false if it holds none. Otherwise the pieces are copies of obj with other
// bounds, possibly none; alone names the set if the range is all of it.
func (r *reserver) cut(path, alone string, obj object) (pieces []object, changed bool) {
	rg := (&parser{}).rangeOf(path, obj)
	next := rg.First()
	emit := func(last netip.Addr) {
		// A piece that is the gateway alone has nothing to hand out.
		if !next.IsValid() || last.Less(next) || next == last && next == rg.GatewayAddress() {
			return
		}
		piece := obj
		if next != rg.First() {
			piece = piece.withBound("rangeStart", next)
		}
		if last != rg.Last() {
			piece = piece.withBound("rangeEnd", last)
		}
		pieces = append(pieces, piece)
	}
	for _, x := range r.reserved {
		if !rg.contains(x.Address) || x.Address == rg.GatewayAddress() {
			continue
		}
		changed = true
		r.changes = append(r.changes, Change{Path: path, Range: rg.String(), Reservation: x})
		emit(x.Address.Prev())
		next = x.Address.Next()
	}
	if !changed {
		return nil, false
	}
	emit(rg.Last())
	if len(pieces) == 0 && alone != "" {
		r.exhausted(alone)
	}
	return pieces, true
}

// exhausted reports a range set that would have nothing to hand out.
func (r *reserver) exhausted(path string) {
	r.errs = append(r.errs, &ConfigError{Path: path, Err: fmt.Errorf("%w is left once the reserved ones are taken out", ErrNoAddress)})
}

// withBound sets rangeStart or rangeEnd. New ones stand after the subnet.
func (o object) withBound(key string, a netip.Addr) object {
	value := quote(a.String())
	if o.find(key) >= 0 {
		return o.with(key, value)
	}
	at := o.find("subnet") + 1
	if i := o.find("rangeStart"); key == "rangeEnd" && i >= 0 {
		at = i + 1
	}
	return slices.Insert(slices.Clone(o), at, member{key: key, value: value})
}

// only returns a copy of o with no other keys than these.
func (o object) only(keys ...string) object {
	var out object
	for _, m := range o {
		if known(keys, m.key) {
			out = append(out, m)
		}
	}
	return out
}

// replaceIn writes new values into the text that o was read from.
func (o object) replaceIn(text []byte, values map[string]json.RawMessage) []byte {
	var out []byte
	done := 0
	for _, m := range o {
		for key, value := range values {
			if strings.EqualFold(m.key, key) && value != nil {
				out = append(append(out, text[done:m.start]...), value...)
				done = m.start + len(m.value)
			}
		}
	}
	return append(out, text[done:]...)
}

func orNull(data json.RawMessage) json.RawMessage {
	if data == nil {
		return json.RawMessage("null")
	}
	return data
}
