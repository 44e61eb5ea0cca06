// Package wine holds what runs real Windows programs on Linux against the
// emulated HNS: hcsshim, CNI plugins and kube-proxy as they are, under Wine.
//
//   - The script wine sets Wine up and runs a program in it ("wine help").
//   - Package dll is built as computenetwork.dll, the v2 API. vmcompute.dll,
//     the v1 call, forwards to it, so both see one store.
//   - Package native is what the DLL does, without the C: it is tested on any
//     system.
//   - bcryptprimitives.dll is what Go programs miss in Wine 8.
//   - Program anymode is a CNI plugin for the tests, which drive it and the example
//     plugins here and under Wine and compare the two.
//   - Package suites runs the integration tests of hcsshim and hnslib. What it
//     pins is in a module of its own, suites/upstream, which asks for a newer Go.
//
// The module is apart from the rest of the library because only its own tests
// need it. It has no API of its own, and it is no way to run containers: what
// is behind the DLLs is package hns/emulator.
//
// # Tests
//
// Tests that need Wine skip, with the reason, where it is not installed. With
// HNSKIT_WINE=1 they fail instead. They use the prefix of "wine setup".
package wine
