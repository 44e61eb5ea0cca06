// Package hcnbridge joins package hns to Microsoft's hcsshim, for programs that
// hold values of its package hcn: they can move to hns one call at a time.
//
//   - NetworkFromHCN, NetworkToHCN and so on convert every object and policy,
//     both ways.
//   - New is an [hns.Backend] that makes its calls through hcn, in place of
//     those of [hns.Open]: to share what a program does to hcn, or to compare.
//
// It is Windows only, as hcn is; elsewhere the package is empty but for [Loss]
// and [LossError]. No other package of this module imports hcsshim, so a program
// that does not import this one links none of it.
//
// # What hcn loses
//
// The types of hcn (hcsshim v0.14.1) lack members of the schema, and hcn drops
// them without a word when it reads and when it writes:
//
//   - of every object: Version, State, Owner, AdditionalParams and Telemetry;
//     Name and Health of namespaces, load balancers and SDN route objects
//   - of a network's subnets: ID, Flags and IpSubnets
//   - of an endpoint's address: IpSubnetId
//   - of a load balancer: HostComputeNetwork
//   - of an SDN route object: HostComputeNetwork, and AutomaticEndpointMonitor
//     of its routes; its Routes, which hcn knows as Setting alone
//   - of a modify request: ResourceUri
//   - every member that the schema lacks
//
// Policies keep everything: hcn holds their settings as JSON. So do the
// resources of a namespace.
//
// What is lost is never lost in silence here. The converters return a [Loss]
// for each value. The backend refuses to write a document that hcn would
// shorten, with a [LossError], before anything is called. Only what hcn has
// dropped from an answer nobody can tell: an object read through this backend
// lacks those members, which hns shows as zero. So [hns.Endpoint.State] and
// [hns.IPConfig.IPSubnet] are zero, and so are the ids of subnets; ask
// EndpointService.State, which goes another way, for the first.
//
// The conformance suite of package hnstest runs on this backend, too. Its tests
// list by name what it notices of all this, and fail when the list is not true.
//
// # What else is different through hcn
//
//   - A Get lists with a filter, so it takes a call more, and an object that is
//     not there is an error with the code of HNS and without its text.
//   - A network of type NAT says so; HNS leaves the type out.
//   - In texts the signs <, > and & reach HNS as \u003c, \u003e and \u0026, in
//     the settings of policies, too.
//   - A list fails as a whole when an object goes away while it is read. The
//     backend then asks again, a few times.
//   - A network whose subnet has a prefix needs a default route, and each route
//     a next hop; hcn refuses others itself, which here is [hns.ErrInvalid].
//   - SDN route objects cannot be modified, and deleting one lists three
//     times: hcn takes any failure to find it for success.
//   - Of v1 calls there are those of hcsshim: networks, endpoints, policy lists,
//     endpoint statistics and the version; others are [hns.ErrUnsupported].
//     Answers hold what hcsshim's own v1 types hold. A refusal has a code or a
//     text, never both.
//   - hcn panics where a DLL lacks a function or answers with nothing; these
//     become errors, the first with [hns.CodeProcNotFound]. Handles that were
//     open then stay open, as after every call of hcn that fails half-way.
//   - hcn logs documents, at debug level, to the global logger of logrus.
package hcnbridge
