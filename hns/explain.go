package hns

import (
	"fmt"
	"reflect"
)

// Explain returns the usual cause of an error of this package and what helps,
// in one line of English for people who read logs; "" where nothing is known.
// It goes by codes, operations and types, never by message texts. Of several
// errors that are joined, the first that is known is explained: failures of HNS
// before what has no code, and that before values that were refused. An error
// that matches ErrUnavailable and has no code, such as a backend's own, is
// explained as one.
func Explain(err error) string {
	for _, explain := range []func(error) string{explainFailure, explainSentinel, explainField, explainOwn} {
		if s := firstKnown(err, explain); s != "" {
			return s
		}
	}
	return ""
}

// firstKnown asks explain about each error in err, the outermost first, however
// they are wrapped or joined.
func firstKnown(err error, explain func(error) string) string {
	if isNil(err) {
		return ""
	}
	if s := explain(err); s != "" {
		return s
	}
	switch e := err.(type) { //nolint:errorlint // takes the tree apart itself
	case interface{ Unwrap() error }:
		return firstKnown(e.Unwrap(), explain)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if s := firstKnown(inner, explain); s != "" {
				return s
			}
		}
	}
	return ""
}

// isNil reports whether err is nil, or a nil pointer that was made an error:
// asking it anything would panic.
func isNil(err error) bool {
	v := reflect.ValueOf(err)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// explainFailure explains what is known by its type or its code.
func explainFailure(err error) string {
	switch e := err.(type) { //nolint:errorlint // firstKnown takes the tree apart
	case *noAnswer:
		return "HNS did not answer a question in time. Nothing was changed, so ask again; a call that never comes back means that the service hangs."
	case *Error:
		return explainCode(e.Verb, e.Kind, e.Code)
	case *BackendError:
		return explainCode(0, 0, e.Code)
	case *FeatureError:
		return fmt.Sprintf("This Windows is too old for %s, which came with %s. Update Windows, or do without.", e.Feature.Name, e.Feature.Windows)
	case *GhostError:
		return helpGhost
	case *ConflictError:
		return fmt.Sprintf("The network %q (%s) stands in the way: %s. Use that one, delete it when nothing needs it, or ask for another subnet or adapter.", e.Name, e.ID, e.Reason)
	}
	return ""
}

func explainCode(v Verb, k Kind, c Code) string {
	if c == 0 {
		return ""
	}
	for _, key := range []errorKey{{v, k, c}, {0, k, c}, {0, 0, c}} {
		if s, ok := codeHelp[key]; ok {
			return s
		}
	}
	return ""
}

// explainSentinel explains a sentinel that stands in the tree itself. What a
// code means is not looked at: where the code has no explanation, the sentinel's
// would be about something else.
func explainSentinel(err error) string {
	if d, ok := err.(*DriftError); ok { //nolint:errorlint // firstKnown takes the tree apart
		if d.Err != nil {
			return "It is there, not as wanted, and was not made anew, since what the error names stands in the way. Free it, or use it as it is with EnsureOptions.Drift set to DriftKeep."
		}
		return helpDrift
	}
	for _, s := range sentinelHelp {
		if err == s.err { //nolint:errorlint // firstKnown takes the tree apart
			return s.help
		}
	}
	return ""
}

// explainOwn explains errors of others that say by their Is what they mean.
func explainOwn(err error) string {
	if m, ok := err.(interface{ Is(error) bool }); ok && m.Is(ErrUnavailable) {
		return helpAway
	}
	return ""
}

func explainField(err error) string {
	f, ok := err.(*FieldError) //nolint:errorlint // firstKnown takes the tree apart
	switch {
	case !ok:
		return ""
	case f.Rule != "":
		return fmt.Sprintf("It was refused before HNS saw it, since HNS is known not to take it. If this Windows does, Options.Allow with %q lifts the check.", f.Rule)
	case f.Path == "":
		return "The value cannot be used as it stands. The error says what is wrong with it; no option lifts the check."
	}
	return fmt.Sprintf("The value of %s cannot be used as it stands. The error says what is wrong with it; no option lifts the check.", f.Path)
}

// sentinelHelp is for errors without a code.
var sentinelHelp = []struct {
	err  error
	help string
}{
	{ErrUnsupportedOS, "HNS is a service of Windows. Elsewhere use the emulator: hns.New(emulator.New(nil), nil)."},
	{ErrOutcomeUnknown, "HNS did not answer in time and may still do what was asked. Read the object before trying again; HNS can take a minute when it makes a virtual switch, and a call that never comes back means that the service hangs."},
	{ErrNotSent, "Nothing was sent: the context was done before, or as many calls as Options.MaxInFlight allows wait for HNS. If they never come back, the service hangs and must be restarted."},
	{ErrLeftBehind, "A clean-up failed as well. Look for what the error names: delete by hand or with the next DEL what is left over, and make again what is gone; the next Ensure does."},
	{ErrAmbiguous, "Names of endpoints are not unique, and load balancers have none. Delete the leftovers among what the error lists by their ids."},
	{ErrDrift, helpDrift},
	{ErrNotFound, "Nothing of that name or id is on this node. Names are compared exactly, letter case included."},
	{ErrExists, "Something of that name, id, address or port is there already. Look at it: use it, or delete it and try again."},
	{ErrAddressInUse, "Another endpoint of the network has the address, or HNS keeps it for itself. List the endpoints of the network, and keep such addresses out of the IPAM's range."},
	{ErrOverlap, "The subnet overlaps one of another network of the node. List the networks, and choose another subnet or delete the other network."},
	{ErrAttached, "The endpoint is in use elsewhere: in another namespace, most often that of a former sandbox of the pod, by a container, or by the node. Detach it there first, or use another name."},
	{ErrInUse, "Something on the node still uses it. Delete what uses it first: load balancers before endpoints, endpoints before networks."},
	{ErrInvalid, "A value was refused. Where the error gives a path, it leads to the value."},
	{ErrInvalidPolicy, "A policy was refused. Where the error gives a path, it leads to the policy."},
	{ErrUnsupported, "This HNS cannot do it: the Windows is too old, or its edition or the type of the network does not have it. What cannot be changed in place can be deleted and made anew."},
	{ErrUnavailable, helpAway},
	{ErrDenied, helpRights},
	{ErrDegraded, helpBad},
}

const (
	helpDown   = "The Host Networking Service is stopped, or starts anew. See Get-Service hns, start it, and try again; the first call after a restart may fail once more. Objects are there again when it runs, so do not take them for deleted."
	helpAway   = "What stands behind the client does not answer for now, which says nothing about the objects: the service, or what the backend goes through, as the error says. Try again; EnsureOptions.Patient does."
	helpGone   = "It was deleted by another program, or with its network, or was lost in a reboot. For a delete that is as good as success; others must not rely on the id any more."
	helpBusy   = "Another endpoint of the node maps the same protocol and port, often one that a failed DEL left. List the endpoints and look at their PortMapping policies."
	helpBad    = "The endpoint is in a bad state, most often since a policy holds a text that is no address or prefix, such as a mark in a configuration that nobody filled in. HNS takes such a policy and fails at the attach. Correct it, delete the endpoint and create it again."
	helpGhost  = "HNS holds data of a network of that name that it no longer shows. Restart the service (Restart-Service hns) and try again; if that does not help, its data file HNS.data is stale, and removing it takes all networks of the node away. Creating the network under another name works at once."
	helpDrift  = "An object stands in the place of the one that was asked for and differs from it in what HNS cannot change in place; the error lists where. Ask for what is there, use it as it is with EnsureOptions.Drift set to DriftKeep, or have it made anew with DriftRecreate."
	helpRights = "HNS wants an elevated caller: an administrator, or SYSTEM as services and HostProcess containers are."
	helpOld    = "This Windows does not have the call. HNS as this package knows it comes with Windows Server 2019 and Windows 10 1809, and the feature Containers must be installed; some calls came later."
)

// codeHelp is keyed as operationMeanings is; a zero verb or kind stands for
// all.
var codeHelp = map[errorKey]string{
	{0, 0, CodeManagerStopped}:   helpDown,
	{0, 0, CodeServiceNotActive}: helpDown,
	{0, 0, CodeRPCUnavailable}:   helpDown,
	{0, 0, CodeRPCCallFailed}:    helpDown,
	{0, 0, CodeRPCCallFailedDNE}: helpDown,
	{0, 0, CodeRPCNotRegistered}: helpDown,
	{0, 0, CodeAccessDenied}:     helpRights,
	{0, 0, CodeProcNotFound}:     helpOld,
	{0, 0, CodeModuleNotFound}:   helpOld,
	{0, 0, CodeNotImplemented}:   helpOld,

	{0, 0, CodeNetworkNotFound}:             helpGone,
	{0, 0, CodeEndpointNotFound}:            helpGone,
	{0, 0, CodeElementNotFound}:             helpGone,
	{0, 0, CodeObjectNotFound}:              helpGone,
	{0, KindNamespace, CodeElementNotFound}: "The namespace is gone, or the endpoint is not in it. Container runtimes may delete the namespace before the DEL of its pod: treat that as done.",
	{0, 0, CodeSwitchNotFound}:              "The network's virtual switch was removed by hand. Delete the network and create it again.",
	{0, 0, CodePolicyNotFound}:              "The object has no policy with exactly these settings. Read it and pass the policy as it stands there.",
	{0, 0, CodeSwitchExtensionNotFound}:     "The virtual switch has no extension of that id. Get-VMSwitchExtension lists them.",

	{VerbCreate, KindNetwork, CodeNetworkExists}:             "A network of that name is there, whatever its type: names are unique on a node. Look it up by its name and use it, or delete it.",
	{VerbCreate, KindNetwork, CodeDuplicateName}:             "A network of that name is there already; for ICS networks HNS says it so.",
	{VerbCreate, KindNetwork, CodeAdapterNotFound}:           "No adapter fits. It may have another name (once a switch is made, the address moves to an adapter vEthernet (...)), be disconnected, or belong to a Transparent network.",
	{VerbCreate, KindNetwork, CodeInvalidNetworkType}:        "This Windows has no such network type. In configurations the plugin's or the network's name is sometimes taken for the type.",
	{VerbCreate, KindNetwork, CodeInvalidJSON}:               "A value has the wrong form; most often a subnet prefix has host bits, as 10.1.2.3/8 has.",
	{VerbCreate, KindNetwork, CodeInvalidParameter}:          "HNS does not say which value. Usual are an adapter that cannot carry the network (virtual, wireless, or taken by a Transparent network), a second NAT network, a VNI below 4096, or an edition of Windows without that network type.",
	{VerbCreate, KindNetwork, CodeObjectAlreadyExists}:       "The subnet overlaps that of another NAT network, perhaps one of Docker's. Get-NetNat lists them.",
	{0, 0, CodeICSDisabled}:                                  "The service SharedAccess is disabled, and networks of type ICS need it.",
	{0, 0, CodeVFPNotAllowed}:                                "This edition of Windows has no virtual filtering platform, so it has no L2Bridge and Overlay networks.",
	{VerbModify, KindNetwork, CodeInvalidNetworkType}:        "The network's type does not take it: RemoteSubnetRoute and HostRoute are for Overlay.",
	{VerbModify, KindNetwork, CodeRequestUnsupported}:        "This HNS does not change that on a live network; subnets are the usual case. Make the network anew with what it should have: Ensure with DriftRecreate does, when no endpoint is on it.",
	{VerbModify, KindNetwork, CodePolicyExists}:              "The network has such a policy already. A RemoteSubnetRoute for the prefix must be removed before one with another address or MAC is added.",
	{0, 0, CodeSharedSwitchModification}:                     "Several networks share the switch, so HNS does not change it for one of them.",
	{0, 0, CodeHasReferences}:                                "Something still refers to it: delete load balancers before endpoints, nested sets before the sets they name, endpoints before their subnet.",
	{VerbCreate, KindEndpoint, CodeNetworkNotFound}:          "The network of the endpoint is gone. Networks may get other ids when they are made anew: look it up by its name.",
	{VerbCreate, KindEndpoint, CodeSubnetNotFound}:           "The network has no subnet of that family, or none with a free address.",
	{VerbCreate, KindEndpoint, CodeInvalidIP}:                "The address lies in no subnet of the network. Endpoints of other nodes need the flag EndpointRemote for that.",
	{VerbCreate, KindEndpoint, CodeObjectAlreadyExists}:      "Another endpoint of the network has the address: one of a pod whose DEL failed, the host's own at .2, or one that stands for another node. Keep such addresses out of the IPAM's range, and delete what is left over.",
	{VerbCreate, KindEndpoint, CodeAddressInvalidOrReserved}: "The address is one that HNS keeps: the subnet's own, its gateway or its broadcast address. Keep them out of the IPAM's range.",
	{VerbCreate, KindEndpoint, CodePortExists}:               helpBusy,
	{VerbModify, KindEndpoint, CodePortExists}:               helpBusy,
	{0, 0, CodeSharingViolation}:                             "A program of the node listens on the external port. netstat -abno says which.",
	{0, 0, CodeMappingNotSupported}:                          "The network's type takes no port mappings; NAT and L2Bridge do.",
	{0, 0, CodeInvalidInternalPort}:                          "An internal port is zero or missing.",
	{0, 0, CodeInvalidPolicy}:                                "A policy has a value that HNS does not take, and HNS does not say which. Usual are exceptions with host bits (refused since Windows Server 2022), a word such as Any for an address, marks that nobody filled in, and members of the v1 schema, which stand beside Settings.",
	{0, 0, CodeInvalidPolicyType}:                            "HNS has no such policy type here: a name of the v1 schema (ROUTE for SDNRoute, PA for ProviderAddress, NAT for PortMapping), a type that this Windows is too old for, or one that the network's type does not take.",
	{0, 0, CodeInterfaceParametersExists}:                    "An endpoint takes InterfaceParameters once. Update the policy instead of adding it.",
	{0, 0, CodeInvalidPrefix}:                                "A prefix does not parse. Look for marks in the configuration that nobody filled in.",
	{0, 0, CodeInvalidRemoteOperation}:                       "The endpoint stands for one on another node, so it cannot be attached here.",
	{0, 0, CodeEndpointAttached}:                             "The endpoint is attached already: to the node, to another pod, or to this one by a call whose answer got lost.",
	{0, 0, CodeEndpointInNamespace}:                          "The endpoint is in another namespace, most often that of a former sandbox of the pod. Remove it from there first.",
	{0, 0, CodeDegraded}:                                     helpBad,
	{0, 0, CodeNamespaceAttachFailed}:                        helpBad,
	{VerbDelete, KindNamespace, CodeRequestUnsupported}:      "Containers run in the namespace. Stop them first.",

	{VerbCreate, KindLoadBalancer, CodePortNotFound}:       "A backend has no port on the switch: it is not attached, or lost its port. Attach it or make it anew.",
	{VerbCreate, KindLoadBalancer, CodePortExists}:         helpPort,
	{VerbModify, KindLoadBalancer, CodePortExists}:         helpPort,
	{VerbCreate, KindLoadBalancer, CodeAlreadyExists}:      "The load balancer is there already, perhaps since HNS brought it back after a restart. List the load balancers and use it.",
	{VerbCreate, KindLoadBalancer, CodeInvalidParameter}:   "HNS does not say which value. Usual are more than 64 backends without direct server return on Windows Server 2019, and addresses of two families.",
	{VerbCreate, KindLoadBalancer, CodeInvalidNetworkType}: "The backends' network takes no load balancers: L2Bridge, L2Tunnel and Overlay do.",
	{VerbModify, KindLoadBalancer, CodeNotImplemented}:     "This HNS cannot change a load balancer. Delete it and create it again.",
	{0, KindLoadBalancer, CodeInvalidJSONReference}:        helpReference,
	{0, KindLoadBalancer, CodeEndpointNotFound}:            helpReference,
	{0, KindRoute, CodeInvalidJSONReference}:               helpReference,
	{0, KindRoute, CodeEndpointNotFound}:                   helpReference,
	{0, KindRoute, CodeProcNotFound}:                       helpNoRoutes,
	{0, KindRoute, CodeNotImplemented}:                     helpNoRoutes,
	{0, KindRoute, CodeRequestUnsupported}:                 helpNoRoutes,
}

const (
	helpPort      = "Another load balancer has the address, protocol and port, perhaps one left without backends; or a program of the node listens there, if only on 0.0.0.0; or the node's ports are used up, of which each node port takes 64 before KB4551853."
	helpReference = "It names an endpoint that is not on this node. Create endpoints for pods of other nodes first, and delete what has lost all its endpoints."
	helpNoRoutes  = "This Windows has no SDN route objects. Give each endpoint the policy SDNRoute instead."
)
