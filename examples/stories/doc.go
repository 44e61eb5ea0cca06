// Package stories tells how the example plugins behave on a node, as scripts
// that are also their tests: testdata/script holds one story in each file.
//
// The plugins run as containerd runs them, each verb a process of its own,
// through libcni and go-cni, with the real host-local, against an emulated HNS
// in a file that all these processes share. The commands of the scripts are in
// testdata/script/README.
//
// On Windows the plugins speak to the real HNS, so the stories are not told
// there.
package stories
