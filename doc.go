// Package hnskit is documentation: the module is a library for Windows
// container networking, made of the packages below it.
//
// # What HNS is
//
// Windows nodes of a Kubernetes cluster get their container networks from the
// Host Networking Service, HNS: a Windows service that holds networks (each on
// a virtual switch), endpoints (a port of a network, with addresses, routes and
// policies) and namespaces (the network compartment of a pod). A CNI plugin
// makes an endpoint and adds it to the pod's namespace; a node agent makes the
// networks and the routes between nodes.
//
// # The packages
//
//   - hns: the objects and a client for them. Types compile everywhere.
//   - hns/v1doc: documents of the older schema 1. hns/hcnbridge: hcsshim's types.
//   - hns/emulator: an HNS in memory or in a file, for tests and for work
//     without Windows.
//   - hns/emulator/wine, a module of its own: the emulator as DLLs, to run
//     Windows programs on Linux.
//   - hns/hnstest: the conformance suite that any backend must pass.
//   - modes: the five network modes (L2Bridge, L2Tunnel, Overlay, Transparent,
//     NAT) as data and rules, and planners from an intent to documents.
//   - modes/cniplugin: ADD, CHECK, DEL, GC, STATUS and VERSION for a mode,
//     with hooks.
//   - modes/cniplugin/flannel: flannel's meta-plugin as a library.
//   - modes/flows: where a packet goes, and why it does not arrive; the nine flows
//     of Kubernetes by mode.
//   - modes/node: everything a node runs on from one description, made and kept.
//   - modes/inspect: what is wrong with a file.
//   - ipam: address maths, reserved addresses, host-local's configuration, and
//     delegation to an IPAM plugin.
//   - subnetenv: flannel's subnet.env; subnetenv/delegate makes the delegate's
//     configuration from it.
//   - examples: the plugins win-bridge, win-overlay, flannel and nat, a plugin of
//     one's own, inspect, flows, a tour that runs anywhere, and stories of whole
//     pod lives as scripts.
package hnskit
