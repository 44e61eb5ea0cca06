package cniplugin

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
)

// Report is what [Plugin.Reconcile] found on the network and did about it.
type Report struct {
	// Removed is gone now.
	Removed []Finding
	// Left is still there, and each says why.
	Left []Finding
}

// Finding is an endpoint, or what is left of an attachment without one.
type Finding struct {
	// Endpoint is the id in HNS; zero if there is no endpoint, only a lease or
	// the note of an interface.
	Endpoint hns.ID
	// Name of the endpoint, which need not exist.
	Name string
	// Attachment it belongs to. IfName is empty if nothing tells, ContainerID
	// too if the endpoint is not ours.
	Attachment ipam.Attachment
	// Addresses of the endpoint, or of host-local's leases.
	Addresses []netip.Addr
	// Reason it was left; empty if it was removed.
	Reason Reason
	// Err is the failure if Reason is ReasonFailed.
	Err error
}

// Reason says why Reconcile leaves something.
type Reason string

// The reasons.
const (
	// ReasonLive: the attachment is valid.
	ReasonLive Reason = "live"
	// ReasonRemote: it stands for an endpoint on another node.
	ReasonRemote Reason = "remote"
	// ReasonForeign: its name is none that this plugin gives on the network.
	ReasonForeign Reason = "foreign name"
	// ReasonInUse: it is attached to the node itself, or to a container by the
	// v1 API.
	ReasonInUse Reason = "in use outside a pod"
	// ReasonBusy: a verb is at work for the sandbox, or was until now. The next
	// time will tell.
	ReasonBusy Reason = "sandbox is busy"
	// ReasonFailed: removing it failed, in part at least; see Finding.Err.
	ReasonFailed Reason = "failed"
)

// String returns "endpoint NAME ID [addresses] of CONTAINER/IFNAME: reason".
func (f Finding) String() string {
	parts := []string{"endpoint", f.Name, f.Endpoint.String()}
	if f.Endpoint.IsZero() {
		parts = []string{"leftover of", f.Name}
	}
	if len(f.Addresses) > 0 {
		parts = append(parts, fmt.Sprint(f.Addresses))
	}
	if f.Attachment.ContainerID != "" {
		parts = append(parts, "of", f.Attachment.ContainerID+"/"+f.Attachment.IfName)
	}
	s := strings.Join(parts, " ")
	if f.Reason != "" {
		s += ": " + string(f.Reason)
	}
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	return s
}
