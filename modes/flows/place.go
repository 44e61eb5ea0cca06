package flows

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// place finds who is meant.
func (w *World) place(p Place) (owner, error) {
	if p.count() != 1 {
		return owner{}, fmt.Errorf("one of pod, node and outside host is needed, there are %d", p.count())
	}
	if p.Node != "" && w.nodes[p.Node] == nil {
		return owner{}, fmt.Errorf("there is no node %q", p.Node)
	}
	switch {
	case p.Pod != "":
		return w.pod(p)
	case p.Node != "":
		return owner{node: w.nodes[p.Node]}, nil
	}
	for i := range w.cluster.Outside {
		if w.cluster.Outside[i].Name == p.Outside {
			return owner{outside: &w.cluster.Outside[i]}, nil
		}
	}
	return owner{}, fmt.Errorf("there is no outside host %q", p.Outside)
}

func (w *World) pod(p Place) (owner, error) {
	os := w.podsCalled(p.Pod)
	on := ""
	if p.Node != "" {
		on = " on node " + p.Node
		os = slices.DeleteFunc(slices.Clone(os), func(o owner) bool { return o.node.spec.Name != p.Node })
	}
	switch len(os) {
	case 0:
		return owner{}, fmt.Errorf("there is no pod %q%s", p.Pod, on)
	case 1:
		return os[0], nil
	}
	var which []string
	for _, o := range os {
		which = append(which, o.ref().String())
	}
	slices.Sort(which)
	return owner{}, fmt.Errorf("there are %d pods %q%s: %s; say which by its node, address or ID", len(os), p.Pod, on, strings.Join(which, ", "))
}

// podsCalled returns the pods of a name; if there is none, those with the
// address or the ID that the text is.
func (w *World) podsCalled(text string) []owner {
	if os := w.pods[text]; len(os) > 0 {
		return os
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return slices.DeleteFunc(slices.Clone(w.owners[a]), func(o owner) bool { return !o.isPod() })
	}
	id, err := hns.ParseID(text)
	if err != nil {
		return nil
	}
	var out []owner
	for _, n := range w.order {
		if e := n.byID[id]; e != nil && !e.remote && !e.host {
			out = append(out, owner{node: n, ep: e})
		}
	}
	return out
}

// placeOf is what finds an owner again, as short as may be.
func (w *World) placeOf(o owner) Place {
	if o.outside != nil {
		return Place{Outside: o.outside.Name}
	}
	node := o.node.spec.Name
	if !o.isPod() {
		return Place{Node: node}
	}
	ps := []Place{{Pod: o.name()}, {Pod: o.name(), Node: node}}
	if o.ep != nil {
		ps = []Place{{Pod: o.ep.doc.Name}, {Pod: o.ep.doc.Name, Node: node}}
		for _, a := range o.ep.addrs {
			ps = append(ps, Place{Pod: a.String(), Node: node})
		}
		ps = append(ps, Place{Pod: o.ep.doc.ID.String(), Node: node})
	} else {
		ps = append(ps, Place{Pod: o.linux.Address.String(), Node: node})
	}
	for _, p := range ps {
		if got, err := w.place(p); p.Pod != "" && err == nil && got == o {
			return p
		}
	}
	return ps[len(ps)-1]
}
