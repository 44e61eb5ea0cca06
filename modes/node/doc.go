// Package node sets a Windows node up for pods and keeps it in step with the
// other nodes of its cluster, from one [Description].
//
// What runs on a node must agree on it: the HNS network, the node's own
// endpoint, the CNI configuration, IPAM, subnet.env and kube-proxy. Where each
// has a configuration of its own they come to differ, and pods get the gateway's
// address, or leave the node under the wrong one. [Description.Plan] derives
// them all:
//
//	plan, err := node.Description{Mode: modes.Overlay, Name: "flannel.4096", Subnets: podCIDRs, …}.Plan()
//	state, err := node.Ensure(ctx, client, host, plan, nil)     // network, endpoint, forwarding
//	err = plan.WriteSubnetEnv(subnetenv.DefaultPath)             // last, as pods start then
//	err = plan.WriteConflist(`C:\etc\cni\net.d\10-flannel.conflist`)
//	remotes, err := node.NewRemotes(client, host, plan, nil)
//	report, err := remotes.Reconcile(ctx, otherNodes)            // whenever a node changes
//
// [Ensure] can be called again and again, and after a crash at any point. What
// it finds different is data (State.Steps). [Remotes] leads the other nodes'
// pod subnets to them: by RemoteSubnetRoute policies on Overlay, by routes of
// the node on L2Bridge; the other modes are led by the physical network.
//
// What is not in HNS (adapters, routes, forwarding) goes through the interface
// of package hostnet.
//
// Errors about a description are *[hns.FieldError]s and
// *[modes.UnsupportedError]s with paths in the names of Description, all at
// once, before anything is touched.
package node
