package hcnbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Microsoft/hcsshim/hcn"

	"github.com/hnskit/hnskit/hns"
)

func errNil(what string) error { return fmt.Errorf("hcnbridge: nil %s", what) }

func fromHCN[H, T any](what string, h *H, decode func([]byte) (*T, error)) (*T, error) {
	if h == nil {
		return nil, errNil(what)
	}
	doc, err := encode(h)
	if err != nil {
		return nil, fmt.Errorf("hcnbridge: %s of hcn: %w", what, err)
	}
	return decode(doc)
}

func unread(d hns.Document) []Loss {
	var out []Loss
	for _, u := range d.Unread {
		out = append(out, Loss{u.Path, u.Text})
	}
	return out
}

// converted is an object on its way to hcn.
type converted[H any] struct {
	now    H // the object
	read   H // what HNS sent for it, as hcn reads that
	losses []Loss
}

func (c *converted[H]) lose(l Loss) {
	if !slices.ContainsFunc(c.losses, func(m Loss) bool { return strings.EqualFold(m.Path, l.Path) }) {
		c.losses = append(c.losses, l)
	}
}

// encoder is an object of hns.
type encoder interface {
	Encode() (json.RawMessage, error)
}

// toHCN converts what obj encodes to. Of its document, as it was read, only those
// losses count that obj does not write: what it writes may have changed since.
func toHCN[H any, T encoder](obj encoder, read hns.Document, decode func([]byte) (T, error)) (*converted[H], error) {
	doc, err := obj.Encode()
	if err != nil {
		return nil, err
	}
	c := new(converted[H])
	if c.losses, err = shorten(doc, &c.now); err != nil || len(read.Raw) == 0 {
		return c, err
	}
	dropped, err := shorten(read.Raw, &c.read)
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	held, err := decode(read.Raw)
	if err != nil {
		return nil, err
	}
	heldDoc, err := held.Encode()
	if err != nil {
		return nil, err
	}
	raw, err := onlySetting(read.Raw, &c.read)
	if err != nil {
		return nil, err
	}
	beyond, err := missing(raw, heldDoc)
	if err != nil {
		return nil, err
	}
	for _, l := range dropped {
		if slices.ContainsFunc(beyond, l.within) {
			c.lose(l)
		}
	}
	return c, nil
}

// within reports whether l is m or a part of it.
func (l Loss) within(m Loss) bool {
	rest, ok := strings.CutPrefix(l.Path, m.Path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// shorten reads doc into h and returns what h did not take.
func shorten[H any](doc json.RawMessage, h *H) ([]Loss, error) {
	doc, err := onlySetting(doc, h)
	if err != nil {
		return nil, err
	}
	var wrongType *json.UnmarshalTypeError // its field stays zero, which is seen below
	if err := json.Unmarshal(doc, h); err != nil && !errors.As(err, &wrongType) {
		return nil, err
	}
	kept, err := encode(h)
	if err != nil {
		return nil, err
	}
	return missing(doc, kept)
}

// onlySetting moves the routes of an SDN route object to the name that hcn has
// for them. Two lists that differ stay as they are.
func onlySetting(doc json.RawMessage, h any) (json.RawMessage, error) {
	if _, ok := h.(*hcn.HostComputeRoute); !ok {
		return doc, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, err
	}
	routesName, settingName := "", "Setting"
	for name := range members {
		switch {
		case strings.EqualFold(name, "Routes"):
			routesName = name
		case strings.EqualFold(name, "Setting"):
			settingName = name
		}
	}
	if routesName == "" {
		return doc, nil
	}
	if len(members[settingName]) == 0 {
		members[settingName] = members[routesName]
	}
	differ, err := missing(members[routesName], members[settingName])
	if err != nil {
		return nil, err
	}
	if len(differ) == 0 {
		delete(members, routesName)
	}
	return encode(members)
}

// resourceData returns the data of a resource as HNS sent it, if it did.
func resourceData(read []hcn.NamespaceResource, r hns.NamespaceResource) (json.RawMessage, error) {
	for _, was := range read {
		var data struct{ ID string }
		if strings.EqualFold(string(was.Type), r.Type) && json.Unmarshal(was.Data, &data) == nil && data.ID == r.ID {
			return was.Data, nil
		}
	}
	return encode(struct{ Id string }{r.ID})
}
