// Package agent keeps a Windows node in step with the flannel cluster that it is
// in. It stands where flanneld with the kube subnet manager stands: it reads the
// node's podCIDR, makes the node's HNS network through modes/node, tells the other
// nodes by annotations on its own Node object, and leads their pod subnets to
// them as it learns of them from theirs.
//
// An [Agent] needs a Kubernetes client, an HNS client and the host's side, so it
// runs anywhere: in tests on a fake client or a real kube-apiserver, over an
// emulated HNS.
//
// What it writes to Kubernetes is on its own Node alone, through the status
// subresource: flannel's annotations and the condition NodeNetworkUnavailable.
// What it makes on the node stays when it ends, so that pods live on.
package agent
