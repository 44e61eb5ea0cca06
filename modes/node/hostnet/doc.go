// Package hostnet reads and changes what a node has outside HNS: its adapters,
// their forwarding, and its routes.
//
// [Host] is the interface. [Open] gives the one of this machine, on Windows
// through the IP helper API (iphlpapi.dll); no program is run. [Memory] keeps
// routes and forwarding in memory, for tests, and for programs that run against
// an emulated HNS.
//
// The implementation for Windows is compiled and vetted for amd64 and arm64. What
// it reads is compared with the net package under Wine, but for forwarding; its
// changes run on real Windows alone, as Wine lacks CreateIpForwardEntry2,
// SetIpInterfaceEntry and other calls, and [Open] says so there. A program under
// Wine takes Memory, and should say so in its output.
//
// Routes made here last until the next reboot, as those of `route add` without
// -p, or until their adapter is gone. Whoever makes them must look after them. A
// persistent route of another program, as New-NetRoute makes it by default, is
// deleted here until the reboot brings it back.
package hostnet
