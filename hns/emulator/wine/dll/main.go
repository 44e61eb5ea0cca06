// Command dll is computenetwork.dll, the Host Compute Network API, over the
// emulator. Build it for Windows with -buildmode=c-shared and cgo, as the
// script wine does. It also exports HNSCall, which vmcompute.dll forwards
// here.
//
// This package only moves arguments and results: package native says what the
// calls do, and which environment variables matter.
package main

func main() {} // a c-shared library needs one; it is not run
