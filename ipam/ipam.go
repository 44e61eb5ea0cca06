package ipam

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// IPAM hands out addresses to a network plugin. Implementations must be safe for
// concurrent use: a plugin may serve several pods in one process. They must return
// soon after the context is done. Nobody cuts them short: one that goes on alone
// could take an address after the DEL that follows.
//
// Further duties are interfaces of their own, which a caller finds by type
// assertion, so that they can be added without breaking anybody: see
// [GarbageCollector] and [StatusChecker].
type IPAM interface {
	// Allocate gives the interface its addresses, at least one unless the request
	// says NoAddressOK. On failure it has kept nothing that it took itself: it
	// releases before it returns. The exceptions are an error that matches
	// ErrOutcomeUnknown, and one that a plugin printed (*types.Error): a caller who
	// knows that the interface had no lease before calls Release then.
	Allocate(ctx context.Context, req Request) (*Lease, error)
	// Release gives back whatever the interface has. Having nothing is no error.
	Release(ctx context.Context, req Request) error
	// Check returns an error unless the interface still has its lease. lease is
	// what Allocate returned, nil if the caller does not have it.
	Check(ctx context.Context, req Request, lease *Lease) error
}

// Attachment is an interface of a container on a network: the key of a lease.
type Attachment struct {
	// ContainerID and IfName are CNI_CONTAINERID and CNI_IFNAME of the ADD.
	ContainerID, IfName string
}

// GarbageCollector is an [IPAM] that can remove the leases of containers that are
// gone (CNI specification 1.1.0, GC).
type GarbageCollector interface {
	// GC removes the leases of all attachments of the request's network that are
	// not among valid, as many as it can, and returns what went wrong joined.
	// ContainerID, IfName, Netns and Args of the request are empty. An empty
	// valid means that no attachment is left.
	//
	// No ADD of an attachment that is not among valid may run meanwhile: its lease
	// would be taken for a stale one. The specification lays that upon the runtime.
	//
	// An error that matches errors.ErrUnsupported says that nothing was done,
	// since the configuration or the plugin knows no GC.
	GC(ctx context.Context, req Request, valid []Attachment) error
}

// StatusChecker is an [IPAM] that can tell whether it could serve a request now
// (CNI specification 1.1.0, STATUS).
type StatusChecker interface {
	// Status returns an error if Allocate would fail now. ContainerID, IfName,
	// Netns and Args of the request are empty.
	//
	// An error that matches errors.ErrUnsupported says that nobody can tell, since
	// the configuration or the plugin knows no STATUS. It is no reason to call the
	// network unready.
	Status(ctx context.Context, req Request) error
}

// Request names an interface of a container, and carries what the network plugin
// was called with. All fields are the plugin's own, never read from the
// environment, because one process may work for several pods.
type Request struct {
	// ContainerID and IfName together are the key of a lease (CNI_CONTAINERID,
	// CNI_IFNAME).
	ContainerID, IfName string
	// Netns is the network namespace, an id on Windows (CNI_NETNS). May be empty
	// for Release.
	Netns string
	// Args is CNI_ARGS as given: "K=V;K=V". A pod's wish for an address is in it.
	Args string
	// PluginPath lists the directories of plugins (CNI_PATH, split).
	PluginPath []string
	// Config is the whole network configuration as the plugin read it. It is not
	// changed.
	Config []byte
	// NoAddressOK says that the interface can do without an address of IPAM, as on
	// a Transparent network whose pods ask a DHCP server themselves. A lease
	// without addresses, perhaps with routes and DNS settings, is a success then
	// and not ErrNoAddress.
	NoAddressOK bool
}

var (
	// ErrNoAddress is matched if IPAM succeeded without giving an address, though
	// the interface needs one, and if reserving addresses leaves none.
	ErrNoAddress = errors.New("no address")

	// ErrPluginNotFound is matched if no directory has the plugin that ipam.type
	// names.
	ErrPluginNotFound = errors.New("IPAM plugin not found")

	// ErrOutcomeUnknown is matched if a plugin was stopped, at the deadline or since
	// it wrote without end, or broke off without the error a plugin has to print. It may have reserved an address,
	// or it may have been about to find that the interface has one already. So nothing is released: releasing could take the
	// address of a running pod. Whoever knows that there was no lease before, or
	// the runtime's DEL after the failed ADD, gives it back.
	ErrOutcomeUnknown = errors.New("outcome unknown")
)

// PluginType returns ipam.type of a network configuration: the name of the IPAM
// plugin. It is empty if there is no ipam object or no type in it, which on
// Windows means that HNS itself assigns the address. A name that could lead out
// of the plugin directories is refused.
func PluginType(config []byte) (string, error) {
	obj, err := readObject(config, "ipam")
	if err != nil {
		return "", &ConfigError{Path: "network configuration", Err: err}
	}
	ipam := obj.get("ipam")
	if ipam == nil {
		return "", nil
	}
	p := &parser{}
	var typ string
	if obj, err := readObject(ipam, "type"); err != nil {
		p.fail("ipam", nil, err)
	} else {
		typ = p.text("ipam.type", obj.get("type"))
		if err := checkPluginName(typ); err != nil {
			p.fail("ipam.type", obj.get("type"), err)
		}
	}
	if err := errors.Join(p.errs...); err != nil {
		return "", err
	}
	return typ, nil
}

// checkPluginName wants a plain file name on every system, whichever this one is.
func checkPluginName(name string) error {
	if i := strings.IndexAny(name, `/\:`); i >= 0 {
		return fmt.Errorf("a plugin's name cannot have %q in it", name[i])
	}
	if name == "." || name == ".." {
		return errors.New("not a plugin's name")
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f {
			return fmt.Errorf("a plugin's name cannot have %q in it", r)
		}
	}
	return nil
}
