// Package cniplugin is a CNI plugin for Windows as a library: ADD, CHECK, DEL
// and VERSION for one network mode, composed from packages hns, modes and ipam.
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
// namespace, network or subnet are gone; the lease goes last, and only after
// the endpoint: an address is never free while HNS still has it.
//
// # Locks and time
//
// One lock per sandbox, taken with the verb's deadline and dropped by the
// operating system if the plugin dies. A call to HNS that hangs holds up its
// own sandbox alone. The deadline is the configuration's "timeout", a duration
// such as "45s"; [DefaultTimeout] if it is absent.
//
// # Keys of the configuration
//
// Besides CNI's own (cniVersion, name, type, ipam, dns, capabilities,
// runtimeConfig, prevResult): apiVersion (2, or absent), policies,
// endpointMacPrefix, ipMasq, ipMasqNetwork, loopbackDSR as upstream;
// ipMasqNetworks (a list, for more than one cluster network), timeout,
// stateDir, logFile and logLevel of our own. Member names are matched ignoring
// case. Other keys are left alone.
//
// It is not for the v1 attach of dockershim: CNI_NETNS must be the GUID of an
// HNS namespace, as containerd gives it.
package cniplugin
