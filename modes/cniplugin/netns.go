package cniplugin

import (
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// NetnsKind says which of the things a runtime on Windows puts into CNI_NETNS
// it is.
type NetnsKind int

// The kinds of CNI_NETNS.
const (
	// NetnsUnset: empty, as DEL may have it.
	NetnsUnset NetnsKind = iota
	// NetnsPause: "none", the pause container of dockershim.
	NetnsPause
	// NetnsContainer: "container:<id>", a further container of a dockershim pod.
	NetnsContainer
	// NetnsNamespace: the GUID of an HNS namespace.
	NetnsNamespace
)

// Netns is a CNI_NETNS that was understood.
type Netns struct {
	Kind NetnsKind
	// Container is the id of the pause container (NetnsContainer).
	Container string
	// Namespace is the HNS namespace (NetnsNamespace).
	Namespace hns.ID
}

// ParseNetns reads CNI_NETNS. A GUID may have braces and either letter case.
// Whatever is none of the four kinds, blanks round a GUID included, is an
// error that matches [hns.ErrInvalid].
func ParseNetns(s string) (Netns, error) {
	switch {
	case s == "":
		return Netns{Kind: NetnsUnset}, nil
	case s == "none":
		return Netns{Kind: NetnsPause}, nil
	case strings.HasPrefix(s, "container:") && len(s) > len("container:"):
		return Netns{Kind: NetnsContainer, Container: strings.TrimPrefix(s, "container:")}, nil
	}
	id, err := hns.ParseID(s)
	if err != nil || id.IsZero() {
		return Netns{}, &hns.FieldError{Path: "CNI_NETNS", Value: s, Reason: "not the GUID of an HNS namespace"}
	}
	return Netns{Kind: NetnsNamespace, Namespace: id}, nil
}

// namespace returns the HNS namespace that ADD and CHECK need.
func namespace(netns string) (hns.ID, error) {
	n, err := ParseNetns(netns)
	if err == nil && n.Kind != NetnsNamespace {
		err = &hns.FieldError{Path: "CNI_NETNS", Value: netns, Reason: "the GUID of an HNS namespace is needed; this form belongs to the v1 API of dockershim"}
	}
	if err != nil {
		return hns.ID{}, &Error{Code: codeInvalidEnvironment, Err: fmt.Errorf("runtime: %w", err)}
	}
	return n.Namespace, nil
}
