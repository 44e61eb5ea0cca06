// Package subnetenv reads and writes subnet.env, the file by which flanneld
// tells a node's CNI plugins which addresses the node's pods get:
//
//	FLANNEL_NETWORK=10.244.0.0/16
//	FLANNEL_SUBNET=10.244.1.1/24
//	FLANNEL_MTU=1450
//	FLANNEL_IPMASQ=true
//
// IPv6 and dual-stack clusters use FLANNEL_IPV6_NETWORK and FLANNEL_IPV6_SUBNET
// in the same way. The package does not look at the node: whether the file is
// stale, whether Windows can use an IPv6 subnet, and what to do with IPMASQ is
// for the caller to know.
//
// # What is accepted
//
// The form may be anything that people and tools produce: a UTF-8 byte order
// mark, CRLF, blanks around keys, values and list items, empty lines, comments
// (# at the start of a line, or after a blank), single or double quotes (no
// escapes within), a leading "export", any order of keys. UTF-16, which
// PowerShell 5 writes by default, is refused with a hint: no other reader of
// this file would understand it.
//
// Values are checked strictly, and all problems are reported at once:
//
//   - FLANNEL_NETWORK and FLANNEL_IPV6_NETWORK: prefixes of their own family,
//     separated by commas. They are masked; repeated ones are dropped.
//   - FLANNEL_SUBNET and FLANNEL_IPV6_SUBNET: one prefix within one of the
//     networks. Host bits are normal here and are kept.
//   - FLANNEL_MTU: 68 to 65535, the least and the most IPv4 can use; at least
//     1280 if the file has an IPv6 subnet, which IPv6 asks for (RFC 8200).
//   - FLANNEL_IPMASQ: true or 1, false or 0, in any letter case. Anything else is
//     an error; flannel's own plugin takes all but "true" as false.
//   - A key may be repeated with the same value; with another value it is an
//     error. Other keys are kept in [Env.Extra], repeated or not.
//
// # Files that are not complete
//
// On Windows flanneld truncates the file and writes it in place, so it can be
// read half-written. What may be right a moment later matches [ErrNotReady]: an
// empty file, missing keys, and a wrong last line that lacks its line end. A
// wrong value on a line that has its end is final, since a file that grows never
// changes that line. flanneld writes FLANNEL_IPMASQ last and no part of "true" or
// "false" is a value, so no part of its file passes for the whole.
//
// [Wait] is for a plugin that is called before flanneld is ready, [Watch] for an
// agent that follows what flanneld writes.
package subnetenv
