// Package clustertest has the tests of the node agent in a cluster: a real
// kube-apiserver, three agents that each have an emulated Windows node, and
// Linux nodes as flannel writes their Node objects, one of them by flannel's own
// code. See package kubetest for the programs that they need.
//
// After each event the ways to other nodes are compared with a model of its own,
// which is made of nothing but the Node objects, and the nine flows are traced
// over what HNS and the host then hold.
package clustertest
