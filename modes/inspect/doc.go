// Package inspect says of a file what it is and what is wrong with it: a CNI
// configuration or list, flannel's net-conf.json and subnet.env, a document, dump
// or request of HNS in either schema, an error text of HNS, and what else lies on
// a node that belongs to these.
//
//	r := inspect.File("10-flannel.conf", data)
//	fmt.Println(r.Kind, r.Mode, r.API, r.Verdict)
//	for _, f := range r.Findings { … }
//
// The package recognises; what it finds comes from the validators of the packages
// that will use such a file: ParseConfig and CheckConfig of modes/cniplugin,
// package delegate, ParseHostLocal, subnet.env's Parse, the decoders of hns and
// hns/v1doc, CheckNetwork and CheckEndpoint. So a file that is accepted here is
// accepted by the plugins of this module, and one that is refused is refused with
// the same words.
//
// [Agree] holds several files of one node against each other.
//
// # What a verdict is about
//
// A document that HNS has given back, told by its id or state, is accepted
// however odd it is, since it is there: what is odd are warnings. So is a
// configuration of a plugin that is not one of those that this module stands for
// (azure-vnet, calico, antrea, …): its policies are looked at, and its own keys
// are not. Text that PowerShell or Go printed for people (Format-List,
// hnsdiag list, %+v) is read as far as it goes, and a finding says what it lost.
//
// The package reads no file, calls no HNS and never panics.
package inspect
