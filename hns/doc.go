// Package hns holds the objects of the Windows Host Networking Service (HNS)
// and a client for them.
//
// HNS is the Windows service that holds container networks. A network sits on
// a virtual switch; an endpoint is a port of a network with addresses, routes
// and policies; a namespace is the network compartment of a pod, to which
// endpoints are added. A load balancer spreads what is sent to a virtual
// address over endpoints; SDN route objects lead their traffic. Every type here
// compiles on every operating system; only the backend that [Open] uses needs
// Windows.
//
//	c, err := hns.Open(nil)
//	n, err := c.Networks.ByName(ctx, "flannel.4096")
//	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: n.ID, Name: "pod_flannel.4096"})
//	err = c.Namespaces.AddEndpoint(ctx, ns, ep.ID)
//
// # What is where
//
//   - One object at a time: [Client] has a service for each kind, such as
//     [NetworkService] and [EndpointService], with verbs that are one call of HNS
//     each: Create, ByID, ByName, List, AddPolicies, Delete.
//   - An object as it should be: Ensure of [NetworkService], [EndpointService],
//     [NamespaceService] and [LoadBalancerService], and EnsurePolicies of
//     networks, create, keep, repair or refuse. The [Decision] says which and
//     why, also as a dry run ([EnsureOptions]).
//   - A pod's endpoint: [Client.Attach] makes it and puts it into the namespace as
//     one step, [Client.Detach] takes it away by its name alone, and
//     [Client.Verify] says what differs from what it should be.
//   - The whole node: [Client.Snapshot] reads everything; [ParseSnapshot] reads it
//     back, and the emulator loads it.
//   - Failures: [Error], its sentinels, and [Explain] for the usual cause and cure.
//   - Policies: one struct for each policy type of HNS, [RawPolicy] for the rest,
//     [PoliciesOf] to read them.
//
// # Client and backends
//
// A [Client] checks what is written, bounds what hangs, and gives errors that
// [errors.Is] understands. Below it stands a [Backend] of one method: the
// Windows service, the emulator of package hns/emulator, or a wrapper of the
// user's own around one of these; [Native] is the first of them.
//
// # Reading and writing
//
// Reading never fails on a value. A host may hold objects of other programs
// and other Windows versions; what cannot be read is listed in the object's
// [Document] and the rest of it, and of the list it stands in, is there.
// Writing is strict: each complaint is a [FieldError] with the path of the
// offending value, and nothing is sent.
//
// # Errors
//
// Failures of HNS are an [*Error] with the operation, the object and the code.
// Test them with errors.Is and the sentinels of this package, such as
// [ErrNotFound]; never by text, since HNS answers in the language of the
// system. A stopped service is [ErrUnavailable] and never ErrNotFound.
//
// [Explain] adds the usual cause and what helps.
//
// # Versions
//
// HNS learnt things in versions that have gaps; [Features] has them as data. The
// client refuses what the HNS it talks to is known to lack, with a
// [FeatureError], and asks for the version only where that matters.
//
// # What it is not
//
// The package does not know what a network mode needs (package modes does),
// does not hand out addresses (package ipam) and does not speak CNI (package
// modes/cniplugin).
package hns
