package emulator

import (
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// This file changes the subnets of a network that is there, as the schema has it
// (ModifyNetworkSettingRequest, Subnet and IPSubnet, since 2.6).

// changeSubnets adds subnets to a network or removes them. A subnet is known by
// its id, else by its prefix.
func (tx *tx) changeSubnets(n *network, m modify) error {
	if err := tx.canChangeSubnets(n, m); err != nil {
		return err
	}
	n.subnets = append([]subnet(nil), n.subnets...)
	var docs []json.RawMessage
	given := m.settings.objects("Subnets")
	if len(given) == 0 {
		return failure(hns.CodeInvalidSubnet)
	}
	for _, r := range given {
		if m.request == requestRemove {
			if err := tx.removeSubnet(n, &r); err != nil {
				return err
			}
			continue
		}
		if r.get("IpAddressPrefix") == nil {
			return failure(hns.CodeInvalidSubnet)
		}
		s, doc, err := tx.readSubnet(n, &r)
		if err != nil {
			return err
		}
		n.subnets = append(n.subnets, s)
		docs = append(docs, doc)
	}
	if err := tx.checkSubnets(n); err != nil {
		return err
	}
	n.addSubnets(docs)
	return nil
}

func (tx *tx) canChangeSubnets(n *network, m modify) error {
	switch {
	case !tx.opts.SubnetsChange || !hasManySubnets.has(tx.version), m.request != requestAdd && m.request != requestRemove:
		return failure(hns.CodeRequestUnsupported)
	case !n.usesVFP():
		return failure(hns.CodeInvalidNetworkType)
	}
	return nil
}

// removeSubnet takes a subnet that no endpoint has an address of.
func (tx *tx) removeSubnet(n *network, r *reader) error {
	at := n.findSubnet(r)
	if at < 0 {
		return failure(hns.CodeSubnetNotFound)
	}
	s := n.subnets[at]
	for _, e := range tx.endpointsOf(n.id) {
		for _, a := range e.addresses {
			if s.prefix.Contains(a) {
				return failure(hns.CodeHasReferences)
			}
		}
	}
	n.subnets = append(n.subnets[:at], n.subnets[at+1:]...)
	n.editSubnet(s.id, func(reader) object { return nil })
	return nil
}

func (n *network) findSubnet(r *reader) int {
	id, prefix := r.str("ID"), r.str("IpAddressPrefix")
	for i, s := range n.subnets {
		if given, err := hns.ParseID(id); err == nil && given == s.id || id == "" && prefix == s.prefix.String() {
			return i
		}
	}
	return -1
}

// addSubnets puts subnets into the first of Ipams, and makes one if there is none.
func (n *network) addSubnets(docs []json.RawMessage) {
	doc := reader{object: n.doc}
	ipams := doc.array("Ipams")
	if len(ipams) == 0 {
		ipams = []json.RawMessage{json.RawMessage("{}")}
	}
	first := reader{object: parsed(ipams[0])}
	ipams[0] = first.with("Subnets", list(append(first.array("Subnets"), docs...))).bytes()
	n.doc = n.doc.with("Ipams", list(ipams))
}

// editSubnet changes the document of a subnet; nil drops it.
func (n *network) editSubnet(id hns.ID, edit func(reader) object) {
	doc := reader{object: n.doc}
	var ipams []json.RawMessage
	for _, ipam := range doc.objects("Ipams") {
		var subs []json.RawMessage
		for _, s := range ipam.objects("Subnets") {
			o := s.object
			if got, err := s.id("ID"); err == nil && got == id {
				o = edit(s)
			}
			if o != nil {
				subs = append(subs, o.bytes())
			}
		}
		ipams = append(ipams, ipam.with("Subnets", list(subs)).bytes())
	}
	n.doc = n.doc.with("Ipams", list(ipams))
}

// changeIPSubnets adds address blocks to a subnet or removes them. Endpoints get
// their addresses from the blocks in their order; the first stays as long as the
// subnet.
func (tx *tx) changeIPSubnets(n *network, m modify) error {
	if err := tx.canChangeSubnets(n, m); err != nil {
		return err
	}
	at := n.findSubnet(&reader{object: object{{"ID", m.settings.get("SubnetId")}}})
	given := m.settings.objects("IpSubnets")
	switch {
	case at < 0:
		return failure(hns.CodeSubnetNotFound)
	case len(given) == 0:
		return failure(hns.CodeInvalidIPSubnet)
	}
	var err error
	n.subnets = append([]subnet(nil), n.subnets...)
	n.editSubnet(n.subnets[at].id, func(s reader) object {
		blocks := s.objects("IpSubnets")
		for i := 0; i < len(given) && err == nil; i++ {
			if m.request == requestAdd {
				blocks, err = tx.addBlock(n.subnets[at], blocks, &given[i])
			} else {
				blocks, err = tx.removeBlock(n, at, blocks, &given[i])
			}
		}
		n.subnets[at].blocks = loadBlocks(blocks)
		return s.with("IpSubnets", renderAll(blocks))
	})
	return err
}

func renderAll(rs []reader) json.RawMessage {
	elems := make([]json.RawMessage, len(rs))
	for i, r := range rs {
		elems[i] = r.bytes()
	}
	return list(elems)
}

// addBlock adds a block, which has to lie in the subnet and to be new.
func (tx *tx) addBlock(s subnet, blocks []reader, r *reader) ([]reader, error) {
	p, err := netip.ParsePrefix(r.str("IpAddressPrefix"))
	flags := r.flags("Flags", blockFlags)
	id, errID := r.id("ID")
	switch {
	case err != nil || p != p.Masked() || !s.prefix.Contains(p.Addr()) || p.Bits() < s.prefix.Bits() || r.bad:
		return nil, failure(hns.CodeInvalidIPSubnet)
	case slices.ContainsFunc(loadBlocks(blocks), func(b block) bool { return b.prefix == p }):
		return nil, failure(hns.CodeInvalidIPSubnet)
	case errID != nil:
		return nil, errID
	case id.IsZero():
		id = tx.newID()
	}
	b := object{{"ID", quote(id.String())}, {"IpAddressPrefix", quote(p.String())}}
	b.addUint("Flags", uint64(flags))
	return append(blocks, reader{object: b}), nil
}

// removeBlock takes a block that no endpoint has an address of.
func (tx *tx) removeBlock(n *network, at int, blocks []reader, r *reader) ([]reader, error) {
	wanted, err := r.id("ID")
	if err != nil {
		return nil, err
	}
	for i, b := range blocks {
		id, err := b.id("ID")
		switch {
		case err != nil || id != wanted && (!wanted.IsZero() || b.str("IpAddressPrefix") != r.str("IpAddressPrefix")):
			continue
		case i == 0 || tx.blockInUse(n, at, id):
			return nil, failure(hns.CodeHasReferences)
		}
		return append(blocks[:i:i], blocks[i+1:]...), nil
	}
	return nil, failure(hns.CodeSubnetNotFound)
}

// blockInUse reports whether an endpoint has an address of the block.
func (tx *tx) blockInUse(n *network, at int, id hns.ID) bool {
	for _, e := range tx.endpointsOf(n.id) {
		for _, a := range e.addresses {
			if b, ok := n.subnets[at].blockOf(a); ok && b.id == id {
				return true
			}
		}
	}
	return false
}
