package emulator_test

import (
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// operation is the last call of a little story that ends with a code.
type operation func(n *node) hns.Code

func creates(kind hns.Kind, doc string) operation {
	return func(n *node) hns.Code { _, code := n.create(kind, doc); return code }
}

// onLake creates an endpoint on an L2Bridge network.
func onLake(more ...string) operation {
	return func(n *node) hns.Code {
		_, code := n.create(hns.KindEndpoint, endpoint(n.lake(), "x", more...))
		return code
	}
}

// balances creates load balancers over one endpoint and tells of the last.
func balances(kind func(*node) hns.ID, docs ...string) operation {
	return func(n *node) (code hns.Code) {
		eps := n.backends(kind(n), 1)
		for _, doc := range docs {
			_, code = n.create(hns.KindLoadBalancer, balancer(eps, doc))
		}
		return code
	}
}

// attaches attaches an endpoint to the host as often as that.
func attaches(times int, prepare func(n *node, lake, ep hns.ID), more ...string) operation {
	return func(n *node) (code hns.Code) {
		lake := n.lake()
		ep := n.id(hns.KindEndpoint, endpoint(lake, "x", more...))
		if prepare != nil {
			prepare(n, lake, ep)
		}
		for range times {
			_, code = n.call("POST", "/endpoints/"+ep.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
		}
		return code
	}
}

// subnetRequest changes the subnets of a network.
func subnetRequest(request, resource, settings string) operation {
	return func(n *node) hns.Code {
		return n.modify(hns.KindNetwork, n.lake(), fmt.Sprintf(`{"ResourceType":%q,"RequestType":%q,"Settings":%s}`, resource, request, settings))
	}
}

// given are options of a host.
func given(change func(*emulator.Options)) []func(*emulator.Options) {
	return []func(*emulator.Options){change}
}

// reached says how an operation ends with each code, on which host; or why none
// of the emulator's can.
var reached = map[hns.Code]struct {
	by   operation
	on   []func(*emulator.Options)
	none string
}{
	hns.CodeNetworkNotFound:  {by: func(n *node) hns.Code { return n.delete(hns.KindNetwork, hns.NewID()) }},
	hns.CodeEndpointNotFound: {by: func(n *node) hns.Code { return n.delete(hns.KindEndpoint, hns.NewID()) }},
	hns.CodeLayerNotFound:    {by: creates(hns.KindNetwork, network("a", "L2Bridge", "10.0.0.0/24", policies(`{"Type":"LayerConstraint","Settings":{"LayerId":"x"}}`)))},
	hns.CodeSwitchNotFound: {by: attaches(1, func(n *node, lake, _ hns.ID) {
		if err := n.LoseSwitch(lake); err != nil {
			n.Error(err)
		}
	})},
	hns.CodeSubnetNotFound: {by: func(n *node) hns.Code {
		full := n.id(hns.KindNetwork, network("a", "L2Bridge", "10.0.0.0/30"))
		n.backends(full, 1)
		return creates(hns.KindEndpoint, endpoint(full, "x"))(n)
	}},
	hns.CodeAdapterNotFound: {by: creates(hns.KindNetwork, network("a", "L2Bridge", "10.0.0.0/24", policies(`{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"x"}}`)))},
	hns.CodePortNotFound:    {by: balances((*node).lake, port(6, 80, 80)), on: given(func(o *emulator.Options) { o.BackendNeedsPort = true })},
	hns.CodePolicyNotFound: {by: func(n *node) hns.Code {
		return n.policy(hns.KindEndpoint, n.id(hns.KindEndpoint, endpoint(n.lake(), "x")), "Remove", `{"Type":"QOS","Settings":{}}`)
	}},
	hns.CodeVFPPortSettingNotFound: {none: "no operation is known to give it"},
	hns.CodeInvalidNetwork:         {by: creates(hns.KindNetwork, `{"Type":"L2Bridge",`+schema2+`}`)},
	hns.CodeInvalidNetworkType:     {by: creates(hns.KindNetwork, `{"Type":"Moor",`+schema2+`}`)},
	hns.CodeInvalidEndpoint:        {by: onLake(`,"Flags":1`)},
	hns.CodeInvalidPolicy:          {by: onLake(policies(`{"Type":"ACL"}`))},
	hns.CodeInvalidPolicyType:      {by: onLake(policies(`{"Type":"NAT","Settings":{}}`))},
	hns.CodeInvalidRemoteOperation: {by: attaches(1, nil, `,"Flags":1`, ip("10.9.9.9"))},
	hns.CodeNetworkExists: {by: func(n *node) hns.Code {
		n.lake()
		return creates(hns.KindNetwork, network("lake", "NAT", "10.0.0.0/24"))(n)
	}},
	hns.CodeLayerExists:      {none: "no operation is known to give it"},
	hns.CodePolicyExists:     {by: onLake(policies(`{"Type":"ProviderAddress","Settings":{"ProviderAddress":"10.0.0.1"}},{"Type":"ProviderAddress","Settings":{"ProviderAddress":"10.0.0.1"}}`))},
	hns.CodePortExists:       {by: onLake(policies(mapping(80, "") + "," + mapping(80, "")))},
	hns.CodeEndpointAttached: {by: attaches(2, nil)},
	hns.CodeRequestUnsupported: {by: func(n *node) hns.Code {
		ns := n.id(hns.KindNamespace, namespaceDoc)
		n.container("Add", ns, "c1")
		return n.delete(hns.KindNamespace, ns)
	}},
	hns.CodeMappingNotSupported: {by: func(n *node) hns.Code {
		private := n.id(hns.KindNetwork, network("a", "Private", "10.0.0.0/24"))
		return creates(hns.KindEndpoint, endpoint(private, "x", policies(mapping(80, ""))))(n)
	}},
	hns.CodeDegraded: {by: attaches(1, nil, policies(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["<cidr>"]}}`))},
	hns.CodeSharedSwitchModification: {by: func(n *node) hns.Code {
		n.fjord()
		return n.modify(hns.KindNetwork, n.lake(), `{"ResourceType":"Extension","Settings":{"Id":"E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A"}}`)
	}},
	hns.CodeGUIDConversion:       {by: creates(hns.KindNamespace, `{"ID":"x",`+schema2+`}`)},
	hns.CodeRegistryFailure:      {none: "takes a broken host; a Fault gives it"},
	hns.CodeInvalidJSON:          {by: creates(hns.KindNetwork, `{`)},
	hns.CodeInvalidJSONReference: {by: creates(hns.KindLoadBalancer, balancer(nil, port(6, 80, 80)))},
	hns.CodeSharingDisabled:      {by: shares, on: given(func(o *emulator.Options) { o.NoEndpointSharing = true })},
	hns.CodeInvalidIP:            {by: onLake(ip("10.9.9.9"))},
	hns.CodeSwitchExtensionNotFound: {by: func(n *node) hns.Code {
		return n.modify(hns.KindNetwork, n.lake(), `{"ResourceType":"Extension","Settings":{"Id":"x"}}`)
	}},
	hns.CodeManagerStopped: {by: stopped, on: given(func(o *emulator.Options) { o.StoppedCode = hns.CodeManagerStopped })},
	hns.CodeICSDisabled:    {by: creates(hns.KindNetwork, `{"Type":"ICS",`+schema2+`}`), on: given(func(o *emulator.Options) { o.SharedAccessOff = true })},
	hns.CodeEndpointInNamespace: {by: func(n *node) hns.Code {
		ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
		n.join("Add", n.id(hns.KindNamespace, namespaceDoc), ep)
		return n.join("Add", n.id(hns.KindNamespace, namespaceDoc), ep)
	}},
	hns.CodeHasReferences: {by: func(n *node) hns.Code {
		eps := n.backends(n.lake(), 1)
		n.id(hns.KindLoadBalancer, balancer(eps, port(6, 80, 80)))
		return n.delete(hns.KindEndpoint, eps[0])
	}, on: given(func(o *emulator.Options) { o.RefuseBackendDelete = true })},
	hns.CodeInvalidInternalPort: {by: balances((*node).lake, port(6, 0, 80))},
	hns.CodeNamespaceAttachFailed: {by: func(n *node) hns.Code {
		ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x", policies(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["<cidr>"]}}`)))
		return n.join("Add", n.id(hns.KindNamespace, namespaceDoc), ep)
	}},
	hns.CodeAddressInvalidOrReserved: {by: onLake(ip("10.50.3.1"))},
	hns.CodeInvalidPrefix:            {by: creates(hns.KindNetwork, `{"Type":"NAT","Ipams":[{"Subnets":[{"IpAddressPrefix":"x"}]}],`+schema2+`}`)},
	hns.CodeObjectUsedAfterUnload:    {none: "takes a handle that outlives its object, and a Backend has no handles"},
	hns.CodeInvalidSubnet:            {by: subnetRequest("Add", "Subnet", `{"Subnets":[{}]}`), on: given(func(o *emulator.Options) { o.SubnetsChange = true })},
	hns.CodeInvalidIPSubnet: {by: func(n *node) hns.Code {
		lake := n.lake()
		id := text(n, n.get(hns.KindNetwork, lake), "Ipams", 0, "Subnets", 0, "ID")
		return n.modify(hns.KindNetwork, lake, `{"ResourceType":"IPSubnet","Settings":{"SubnetId":"`+id+`","IpSubnets":[{"IpAddressPrefix":"10.9.0.0/24"}]}}`)
	}, on: given(func(o *emulator.Options) { o.SubnetsChange = true })},
	hns.CodeEndpointNotAttached:       {none: "no operation is known to give it"},
	hns.CodeEndpointNotLocal:          {none: "no operation is known to give it"},
	hns.CodeInterfaceParametersExists: {by: onLake(policies(`{"Type":"InterfaceParameters","Settings":{}},{"Type":"InterfaceParameters","Settings":{}}`))},
	hns.CodeVFPNotAllowed:             {by: creates(hns.KindNetwork, network("a", "L2Bridge", "10.0.0.0/24")), on: given(func(o *emulator.Options) { o.NoVFP = true })},

	// Those of the guest's network service, GCN_E_..., which package hns has no
	// names for.
	0x803b0021: {none: inGuest}, 0x803b0022: {none: inGuest}, 0x803b0023: {none: inGuest}, 0x803b0024: {none: inGuest}, 0x803b0025: {none: inGuest},
	0x803b0026: {none: inGuest}, 0x803b0027: {none: inGuest}, 0x803b0028: {none: inGuest}, 0x803b0029: {none: inGuest},

	hns.CodeNotImplemented: {by: func(n *node) hns.Code {
		eps := n.backends(n.lake(), 1)
		web := balancer(eps, port(6, 80, 80))
		return n.modify(hns.KindLoadBalancer, n.id(hns.KindLoadBalancer, web), web)
	}, on: given(version(emulator.WindowsServer2022))},
	hns.CodeAccessDenied:     {none: "takes a caller without rights; a Fault gives it"},
	hns.CodeSharingViolation: {by: onLake(policies(mapping(8080, ""))), on: given(func(o *emulator.Options) { o.Listeners = []emulator.Listener{{Protocol: 6, Port: 8080}} })},
	hns.NewCode(0x22):        {none: "takes the data of another build of HNS"},
	hns.CodeDuplicateName: {by: func(n *node) hns.Code {
		const ics = `{"Name":"Default Switch","Type":"ICS",` + schema2 + `}`
		n.id(hns.KindNetwork, ics)
		return creates(hns.KindNetwork, ics)(n)
	}},
	hns.NewCode(0x52):        {none: "another number for ERROR_DUP_NAME"},
	hns.CodeInvalidParameter: {by: creates(hns.KindNetwork, `{"Type":"Overlay","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.0.0.0/24"}]}],`+schema2+`}`)},
	hns.CodeProcNotFound:     {by: creates(hns.KindRoute, `{}`), on: given(func(o *emulator.Options) { o.RoutesCode = hns.CodeProcNotFound })},
	hns.CodeAlreadyExists:    {by: balances((*node).lake, port(6, 80, 80), port(6, 80, 80))},
	hns.CodeServiceNotActive: {by: stopped, on: given(func(o *emulator.Options) { o.StoppedCode = hns.CodeServiceNotActive })},
	hns.CodeElementNotFound:  {by: func(n *node) hns.Code { return n.delete(hns.KindNamespace, hns.NewID()) }},
	hns.CodeRPCUnavailable:   {by: stopped},
	hns.CodeRPCCallFailed:    {by: stopped, on: given(func(o *emulator.Options) { o.StoppedCode = hns.CodeRPCCallFailed })},
	hns.CodeRPCCallFailedDNE: {by: stopped, on: given(func(o *emulator.Options) { o.StoppedCode = hns.CodeRPCCallFailedDNE })},
	hns.CodeRPCNotRegistered: {by: stopped, on: given(func(o *emulator.Options) { o.StoppedCode = hns.CodeRPCNotRegistered })},
	hns.CodeObjectNotFound:   {none: "of builds before those that are emulated"},
	hns.CodeObjectAlreadyExists: {by: func(n *node) hns.Code {
		n.pond()
		return creates(hns.KindNetwork, network("a", "NAT", "172.30.0.0/24"))(n)
	}},
	hns.CodeModuleNotFound: {none: "takes a Windows without the DLL"},
}

const inGuest = "comes from inside a guest"

func stopped(n *node) hns.Code {
	n.Stop()
	_, code := n.call("GET", "/networks/", "")
	return code
}

// shares attaches two containers to one endpoint.
func shares(n *node) (code hns.Code) {
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
	for _, c := range []string{"c1", "c2"} {
		_, code = n.call("POST", "/endpoints/"+ep.String()+"/attach", `{"ContainerId":"`+c+`"}`)
	}
	return code
}

// Every code of the Host Compute Network reference, and every other one that
// HNS is known to give, is the end of some operation, or there is a reason.
func TestCodes(t *testing.T) {
	for c := hns.CodeNetworkNotFound; c <= hns.CodeVFPNotAllowed; c++ {
		if _, ok := reached[c]; !ok {
			t.Errorf("nothing is said about %s", c)
		}
	}
	for want, r := range reached {
		if (r.by == nil) == (r.none == "") {
			t.Errorf("%s: want either an operation or a reason", want)
		}
		if r.by == nil {
			continue
		}
		t.Run(want.String(), func(t *testing.T) {
			n := newNode(t, r.on...)
			if code := r.by(n); code != want {
				t.Errorf("got %s", code)
			}
			if text := message(n.fault(want)); text == "" {
				t.Error("it has no message")
			}
		})
	}
}

// fault has a call fail with a code.
func (n *node) fault(code hns.Code) error {
	n.Start()
	n.Inject(emulator.Fault{Code: code})
	_, err := n.Do(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork})
	return err
}
