// Package cniplugin is a CNI plugin for Windows as a library: ADD, CHECK, DEL,
// GC, STATUS and VERSION for one network mode, composed from packages hns, modes
// and ipam.
//
//	func main() {
//		(&cniplugin.Plugin{Name: "win-bridge", Mode: modes.L2Bridge}).Main()
//	}
//
// It takes the configurations of the upstream plugins win-bridge and
// win-overlay, and names endpoints as they do ("<container>_<network>"), so it
// can delete what they made. An author's own steps are [Hooks].
//
// # What never leaks
//
// ADD takes the lease first and then makes the endpoint; a failure gives back
// what this call took, and only that. Where it cannot be told whether the
// endpoint is gone, the lease stays too, for the DEL that the runtime owes
// after a failed ADD. DEL goes by the endpoint's name alone, so it works when
// namespace, network or subnet are gone, and when keys of the configuration
// other than name and ipam cannot be read any more; the lease goes last, and
// only after the endpoint: an address is not free while HNS has it.
//
// What takes effect after the DEL is out of its reach: a create that HNS finishes
// late leaves an endpoint, and an IPAM plugin that outlives a plugin that was
// killed leaves a lease. GC takes these; since hardly any runtime calls it, a
// node's agent has [Plugin.Reconcile].
//
// A sandbox has one interface on a network, since the endpoint is named after
// these two. The ADD of a second one is refused, and the DEL that follows leaves
// the first alone: a note, which is a file in the state directory, tells whose the
// endpoint is, and host-local's lease does. If both are lost the endpoint is taken
// for the interface's that asks.
//
// The note has the ipam object of the ADD, too. So a lease goes back to the plugin
// that gave it, whatever the configuration says by the time of the DEL. It does not
// follow a change of the configuration's name: that is another network, and what
// was made under the old name goes with a DEL, or a GC, by that name.
//
// # The network
//
// The HNS network has the configuration's name. By itself it must be there: a
// node's agent such as flanneld makes it, and until then ADD is to be tried
// again. A configuration can also say what it is like, in the key hnsNetwork or
// as Microsoft's nat plugin reads it, from ipam.subnet and ipam.routes of an ipam
// object without a type; for mode NAT without an IPAM plugin the name is enough.
// ADD then makes a network that is missing, and any verb that needs it refuses one
// that is there and differs, with every difference ([hns.DriftError]). DEL never
// deletes a network.
//
// The key mode confirms the plugin's mode, or chooses it for a plugin without one;
// l2tunnel makes win-bridge treat pods as Azure's network wants it.
//
// hnsNetwork has subnets and gateways (lists), adapter or providerAddress, vni and
// vxlanPort (Overlay), vlan, persistent, and drift: "refuse", or "keep" for a
// network that may differ. What it leaves out may be anything. A network of
// mode Overlay is made only if hnsNetwork is there. The key master names the
// adapter of a network that is made, except for NAT, which is on none.
//
// # Locks and time
//
// One lock per sandbox, and one per network that is only taken to make it. That
// of a sandbox is taken with the verb's deadline and dropped by the
// operating system if the plugin dies; its file goes when the verb is over. A
// call to HNS that hangs holds up its own sandbox alone. The deadline is the
// configuration's "timeout", a duration such as "45s", of a second at least;
// [DefaultTimeout] if it is absent. Giving back after a failed ADD may take up to
// twice 15 seconds more: leave room for them below the runtime's own deadline.
// Waiting ends with the deadline for all but an IPAM of the author's, which must
// heed it by itself; a hook gets 5 seconds more.
// GC waits for no sandbox: one that is busy it leaves for the next time.
//
// # Chains
//
// As a later plugin of a chain, ADD makes its interface all the same, and its
// result has what the earlier plugins made and then its own. They must not have
// made an interface of the same name.
//
// # Error codes
//
// Each error has one of these codes; [CNIError] gives it.
//
//	  1  cniVersion is none that the plugin speaks (in a process; else 7)
//	  3  the sandbox's HNS namespace is gone
//	  4  a CNI_ variable is wrong
//	  5  a file or directory of the plugin's cannot be read or written
//	  6  the configuration is no JSON
//	  7  the configuration is wrong, by itself or for this network and this Windows
//	 11  try again: HNS or its network is not there (yet), the sandbox is busy, the
//	     time was up
//	 50  STATUS: no ADD can be served now, even by a configuration that is right
//	 51  STATUS: and pods that are there may suffer, says the IPAM plugin
//	101  CHECK found differences ([CodeCheckFailed])
//	102  what is there stands in the way ([CodeConflict])
//	103  more rights are needed ([CodeDenied])
//	104  this node cannot do it ([CodeUnsupported])
//	105  there was no address ([CodeNoAddress])
//	999  a program is at fault: a panic, a hook's or an IPAM's own error, a code
//	     that HNS is not known to give
//
// The code of an IPAM plugin's error is passed on, and a hook or an IPAM of the
// author's can choose one with [*Error]. Where clean-up fails too, the code is that of the first failure.
//
// # Keys of the configuration
//
// Besides CNI's own (cniVersion, name, type, ipam, dns, capabilities,
// runtimeConfig, prevResult): apiVersion (2, or absent), policies,
// endpointMacPrefix, ipMasq, ipMasqNetwork, loopbackDSR as upstream;
// ipMasqNetworks (a list, for more than one cluster network), hnsNetwork, mode,
// timeout, stateDir, logFile (both absolute paths) and logLevel of our own; HcnPolicyArgs of older
// upstream plugins; AdditionalArgs (policies by another name), optionalFlags,
// additionalRoutes and master of Microsoft's plugins. Member names are matched
// ignoring case; one that is there in two spellings is an error, and for DEL, and
// of what the runtime puts in, the exact one counts. Other keys are left alone.
//
// Capabilities: portMappings, for TCP and UDP, in all modes but Transparent, where
// a hostIP of 0.0.0.0 or :: is as good as none and opens the port in every family
// that the pod has; dns; mac; ips, which IPAM must give or, without IPAM, HNS; ipRanges if there is an
// IPAM plugin to serve them; and of bandwidth the egress rate, for HNS limits
// what leaves a pod and nothing else. What the runtime passes of any other is an
// error, since the pod would run without it. The older ways to ask for addresses,
// args.cni.ips and IP in CNI_ARGS, an IPAM plugin gets as they come, and without
// one they count as ips does.
//
// Policies are those of HNS schema 2, or of v1, which are flat: OutBoundNAT,
// ROUTE or SDNROUTE, PA and NAT are converted, others refused. Host bits of
// prefixes are cleared. What package hns has no struct for goes to HNS as it
// stands, if the schema has the type.
//
// ipMasq false means no source NAT, true means NAT; without it ipMasqNetwork
// asks for it on L2Bridge. Exceptions are ipMasqNetwork and ipMasqNetworks, on
// Overlay with the subnets of the HNS network, on L2Bridge those alone if no
// other is given. An OutBoundNAT among the policies takes them in.
//
// DNS settings are, each by itself, those of the runtime, else of the
// configuration, else of the IPAM plugin. A route of the IPAM plugin that has a
// gateway of its own is put on the endpoint; the default route is the mode's.
//
// It is not for the v1 attach of dockershim: CNI_NETNS must be the GUID of an
// HNS namespace, as containerd gives it.
package cniplugin
