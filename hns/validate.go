package hns

// Validate returns what [NetworkService.Create] refuses to send of the network,
// as *[FieldError]s joined, with paths in the names of schema 2; nil if nothing
// is wrong. What depends on the version of HNS is not looked at.
func (n *Network) Validate() error { return joinFields(n.check()) }

// Validate is [Network.Validate] for an endpoint.
func (e *Endpoint) Validate() error { return joinFields(e.check()) }

// Validate is [Network.Validate] for a namespace.
func (n *Namespace) Validate() error { return joinFields(n.check()) }

// Validate is [Network.Validate] for a load balancer.
func (l *LoadBalancer) Validate() error { return joinFields(l.check()) }

// Validate is [Network.Validate] for an SDN route object.
func (o *SDNRouteObject) Validate() error { return joinFields(o.check()) }
