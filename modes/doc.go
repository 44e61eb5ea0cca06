// Package modes knows what the five Windows network modes need and turns an
// intent into the HNS documents of a mode.
//
// A mode ([L2Bridge], [L2Tunnel], [Overlay], [Transparent], [NAT]) is a network
// type of HNS together with the rules that make pods reachable on it: which
// gateway they use, whether they have a MAC address of a fixed form, which
// policies must be there, which addresses are taken. [Mode.Facts] has this as
// data, the planners apply it:
//
//	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: "cbr0", Subnets: podCIDRs, Adapter: "Ethernet"})
//	for _, r := range plan.Requirements() {     // before the first change
//		err = client.Require(ctx, r.Feature)
//	}
//	n, err := client.Networks.Create(ctx, plan.Network)
//	err = client.Networks.AddPolicies(ctx, n.ID, plan.AddPolicies...)
//	host, err := modes.PlanHostEndpoint(n)      // the pods' gateway, to be attached to the node
//	pod, err := modes.PlanPodEndpoint(modes.PodIntent{Name: "3f2a_cbr0", Network: n, Addresses: fromIPAM})
//
// What a mode makes of each type of policy is data too ([Mode.Rule]), and
// [CheckNetwork] and [CheckEndpoint] hold a document against it.
//
// [Recommend] ranks the modes for a cluster with Linux nodes in it, each verdict
// with its reasons and with what has to be done.
//
// # What it is not
//
// The package is pure: it never talks to HNS, never looks at the machine it
// runs on and never hands out an address. It does not ask which version of HNS
// there is either: [NetworkPlan.Requirements] and [EndpointRequirements] name
// what a version must have, and the client asks for it. What a planner returns is a
// document to send, and the same intent always gives the same document.
//
// # Errors
//
// A planner reports everything that is wrong with an intent at once. Each
// complaint is an *[hns.FieldError] whose path is in the names of the intent,
// such as "Addresses[0]", or an *[UnsupportedError], for errors.As; [ErrNotReady]
// says that HNS has yet to fill a value in.
package modes
