// Package emulator is a Host Networking Service in memory: the networks,
// endpoints, namespaces, load balancers and SDN routes of a Windows node, on
// every operating system.
//
//	h := emulator.New(nil)
//	c := hns.New(h, nil)
//
// An [HNS] is a [hns.Backend]. It answers as the real service does as far as
// anybody could find out: ids, defaults, error codes, version gates, restarts,
// both schemas over one store. An operation happens wholly or not at all. What
// is not known of the real service is a field of [Options] with a default;
// BEHAVIOUR.md lists every rule with its source and how sure it is.
//
// [Open] keeps the state in a file that several processes share, so that a CNI
// plugin can be run again and again on one node.
//
// Faults are put in with [HNS.Inject], and [HNS.Stop], [HNS.Restart],
// [HNS.Reboot], [HNS.Vanish] and [HNS.Ghost] do to the service what happens to
// it. [HNS.Calls] is what it was asked.
//
// # What it is not
//
// No packet flows, nothing outside the process (or the state file) changes,
// and passing a test here proves nothing about Windows. Guest network services
// and notifications are left out.
package emulator
