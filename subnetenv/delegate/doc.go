// Package delegate makes the configuration that the flannel meta-plugin hands to
// the plugin that does the work (win-bridge, win-overlay, sdnbridge, ...), from
// flannel's own CNI configuration and the node's subnet.env. It also keeps what
// was handed over until DEL needs it. It runs nothing and never talks to HNS.
//
// # What Build sets
//
// The members of "delegate" go through unchanged, with their case and order, and
// Build adds:
//
//   - name, and cniVersion ([DefaultCNIVersion] if the configuration has none).
//   - type, if missing: [DefaultType], as upstream does (see [Options]).
//   - ipMasq: FLANNEL_IPMASQ, unless the user set it. win-bridge looks only at
//     ipMasqNetwork and would NAT in either case, so that is set only when ipMasq
//     is true. A user's ipMasqNetwork together with ipMasq false is an error.
//   - ipMasqNetwork: the first flannel network, one string, which is all that the
//     plugins of containernetworking can read; and ipMasqNetworks, a list of all
//     of them, of both families: with the first alone, traffic to the pods of the
//     other networks would leave under the node's address. A delegate that knows
//     the list takes both as NAT exceptions, one policy per family.
//   - mtu: FLANNEL_MTU, unless the user set it.
//   - ipam: the top-level "ipam" with the node's subnet, see below.
//   - runtimeConfig, capabilities, prevResult, args, dns and
//     cni.dev/valid-attachments of the top level. The delegate's own dns and
//     capabilities win; of runtimeConfig the members are merged, and the runtime's
//     win.
//
// delegate.name and delegate.ipam are errors, as upstream; so is a
// delegate.cniVersion that differs from cniVersion, and what only a runtime may
// set (prevResult, args, cni.dev/valid-attachments).
// Top-level members that mean nothing here are in [Config.Extra] for the caller.
//
// # IPAM
//
// Upstream ignores "ipam" on Windows; here it is kept, with dataDir and whatever
// else it holds, as on Linux. type is host-local if missing. For host-local:
//
//   - subnet is the node's subnet. A different one, or ranges, is an error.
//   - For plugins whose pods use network+2 as gateway (win-bridge, sdnbridge),
//     rangeStart is network+3 unless the user set it: host-local would give the
//     gateway's address to the first pod.
//   - routes are kept. If there are any, each flannel network that is not among
//     them is added once, so that a plugin which honours only what is listed still
//     reaches the other pods. Without routes none are added: pods on Windows have a
//     default route, and a list would replace it.
//   - the IPv6 subnet, if used, is the second range set (in ranges).
//
// Any other IPAM plugin gets subnet if it has none, and is else left alone.
//
// # IPv6
//
// Windows pods need IPv4: a file with IPv6 alone is [ErrIPv6Only]. With both
// families win-bridge and plugins this package does not know get both (L2Bridge
// can do it from Windows Server 2022 on; HNS refuses it before). Overlay networks
// cannot: [ErrOverlayIPv6], unless Options.IPv4Only or "ipv4Only": true in the
// configuration says to leave IPv6 out.
package delegate
