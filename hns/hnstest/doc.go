// Package hnstest holds what tests of HNS backends and of programs over them
// need: a conformance suite, a recorder, and options for go-cmp.
//
// [RunConformance] asks a backend several hundred questions and judges the
// answers. Each case says how sure its expectation is ([Certainty]): what
// Microsoft documents, or tests against the real service, must hold on every
// backend; what is only assumed must hold on a backend that claims to follow
// this library's emulator ([Harness].Strict), and is elsewhere written down as
// what the real service said.
//
//	func TestBackend(t *testing.T) {
//		hnstest.RunConformance(t, func(t *testing.T) hnstest.Harness {
//			return hnstest.Harness{Backend: mine, External: true, Strict: true}
//		})
//	}
//
// Where something stands between the suite and HNS that does not carry
// everything, as hcsshim's package hcn does, [Harness].Loses says once what is
// lost. An answer that cannot be had for it is recorded by the name of the loss;
// all others are judged as ever.
//
// [Recorder] keeps the requests that pass through it, in a text that can be
// compared and kept as a golden file. [IgnoreServerFields], [EquateMACs] and
// [SortPolicies] are for comparing the objects of package hns.
//
// # What it is not
//
// The suite looks at answers, not at packets, and does not speak of time. It
// plays no recording back, and puts no faults in: what a stopped or restarted
// service does is not asked, since no backend but the emulator can be stopped.
package hnstest
