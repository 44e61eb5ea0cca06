// Package ipam gives pods their addresses, or rather lets a CNI IPAM plugin do
// so, and keeps that plugin away from the addresses Windows needs itself.
//
// It has four parts:
//
//   - Address maths on net/netip, exact for both families and every prefix
//     length: [Nth], [Offset], [Last], [Canonical] and so on.
//   - Reserved addresses: on Windows the subnet's gateway is held by HNS and, on
//     an L2Bridge network, the next address is the host's own endpoint. [Reserved]
//     lists them with the reason for each.
//   - host-local's configuration: [ParseHostLocal] reads and checks it, [Reserve]
//     narrows its ranges so that a reserved address can never be handed out.
//     [Leases] reads what host-local has handed out.
//   - [IPAM], the interface a network plugin uses, and [Delegated], which
//     implements it by running the IPAM plugin named in the configuration; it can
//     also remove leases of containers that are gone ([GarbageCollector]) and say
//     whether addresses are to be had ([StatusChecker]).
//
// # No addresses
//
// A configuration without an IPAM plugin ([PluginType] is empty) leaves the address
// to HNS: no IPAM plugin is run then, and the network plugin reads it from the
// endpoint; an IPAM of an author's own is asked all the same (cniplugin.Plugin.IPAM). On a
// Transparent network a pod may get its address by DHCP long after ADD: an IPAM
// plugin there may have nothing but routes and DNS settings to say, which
// [Request] allows with NoAddressOK.
//
// It is not an allocator: it keeps no state of its own. It knows nothing of HNS
// or of the modes of networking; callers say which addresses are taken.
package ipam
