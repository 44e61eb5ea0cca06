package hns

import (
	"golang.org/x/sys/windows"
)

//go:generate go run -modfile ../.tools/go.mod golang.org/x/sys/windows/mkwinsyscall -output zsyscall_windows.go native_windows.go

//sys	hcnEnumerateNetworks(query *uint16, list **uint16, record **uint16) (hr uint32) = computenetwork.HcnEnumerateNetworks
//sys	hcnCreateNetwork(id *windows.GUID, settings *uint16, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnCreateNetwork
//sys	hcnOpenNetwork(id *windows.GUID, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnOpenNetwork
//sys	hcnModifyNetwork(handle uintptr, settings *uint16, record **uint16) (hr uint32) = computenetwork.HcnModifyNetwork
//sys	hcnQueryNetwork(handle uintptr, query *uint16, properties **uint16, record **uint16) (hr uint32) = computenetwork.HcnQueryNetworkProperties
//sys	hcnDeleteNetwork(id *windows.GUID, record **uint16) (hr uint32) = computenetwork.HcnDeleteNetwork
//sys	hcnCloseNetwork(handle uintptr) (hr uint32) = computenetwork.HcnCloseNetwork
//sys	hcnEnumerateEndpoints(query *uint16, list **uint16, record **uint16) (hr uint32) = computenetwork.HcnEnumerateEndpoints
//sys	hcnCreateEndpoint(network uintptr, id *windows.GUID, settings *uint16, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnCreateEndpoint
//sys	hcnOpenEndpoint(id *windows.GUID, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnOpenEndpoint
//sys	hcnModifyEndpoint(handle uintptr, settings *uint16, record **uint16) (hr uint32) = computenetwork.HcnModifyEndpoint
//sys	hcnQueryEndpoint(handle uintptr, query *uint16, properties **uint16, record **uint16) (hr uint32) = computenetwork.HcnQueryEndpointProperties
//sys	hcnDeleteEndpoint(id *windows.GUID, record **uint16) (hr uint32) = computenetwork.HcnDeleteEndpoint
//sys	hcnCloseEndpoint(handle uintptr) (hr uint32) = computenetwork.HcnCloseEndpoint
//sys	hcnEnumerateNamespaces(query *uint16, list **uint16, record **uint16) (hr uint32) = computenetwork.HcnEnumerateNamespaces
//sys	hcnCreateNamespace(id *windows.GUID, settings *uint16, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnCreateNamespace
//sys	hcnOpenNamespace(id *windows.GUID, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnOpenNamespace
//sys	hcnModifyNamespace(handle uintptr, settings *uint16, record **uint16) (hr uint32) = computenetwork.HcnModifyNamespace
//sys	hcnQueryNamespace(handle uintptr, query *uint16, properties **uint16, record **uint16) (hr uint32) = computenetwork.HcnQueryNamespaceProperties
//sys	hcnDeleteNamespace(id *windows.GUID, record **uint16) (hr uint32) = computenetwork.HcnDeleteNamespace
//sys	hcnCloseNamespace(handle uintptr) (hr uint32) = computenetwork.HcnCloseNamespace
//sys	hcnEnumerateLoadBalancers(query *uint16, list **uint16, record **uint16) (hr uint32) = computenetwork.HcnEnumerateLoadBalancers
//sys	hcnCreateLoadBalancer(id *windows.GUID, settings *uint16, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnCreateLoadBalancer
//sys	hcnOpenLoadBalancer(id *windows.GUID, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnOpenLoadBalancer
//sys	hcnModifyLoadBalancer(handle uintptr, settings *uint16, record **uint16) (hr uint32) = computenetwork.HcnModifyLoadBalancer
//sys	hcnQueryLoadBalancer(handle uintptr, query *uint16, properties **uint16, record **uint16) (hr uint32) = computenetwork.HcnQueryLoadBalancerProperties
//sys	hcnDeleteLoadBalancer(id *windows.GUID, record **uint16) (hr uint32) = computenetwork.HcnDeleteLoadBalancer
//sys	hcnCloseLoadBalancer(handle uintptr) (hr uint32) = computenetwork.HcnCloseLoadBalancer
//sys	hcnEnumerateRoutes(query *uint16, list **uint16, record **uint16) (hr uint32) = computenetwork.HcnEnumerateSdnRoutes
//sys	hcnCreateRoute(id *windows.GUID, settings *uint16, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnCreateSdnRoute
//sys	hcnOpenRoute(id *windows.GUID, handle *uintptr, record **uint16) (hr uint32) = computenetwork.HcnOpenSdnRoute
//sys	hcnModifyRoute(handle uintptr, settings *uint16, record **uint16) (hr uint32) = computenetwork.HcnModifySdnRoute
//sys	hcnQueryRoute(handle uintptr, query *uint16, properties **uint16, record **uint16) (hr uint32) = computenetwork.HcnQuerySdnRouteProperties
//sys	hcnDeleteRoute(id *windows.GUID, record **uint16) (hr uint32) = computenetwork.HcnDeleteSdnRoute
//sys	hcnCloseRoute(handle uintptr) (hr uint32) = computenetwork.HcnCloseSdnRoute
//sys	hnsCall(method *uint16, path *uint16, request *uint16, response **uint16) (hr uint32) = vmcompute.HNSCall

// nativeKind is the native functions of one kind of object.
type nativeKind struct {
	kind      Kind
	enumerate func(query *uint16, list, record **uint16) uint32
	create    func(network uintptr, id *windows.GUID, settings *uint16, handle *uintptr, record **uint16) uint32
	open      func(id *windows.GUID, handle *uintptr, record **uint16) uint32
	modify    func(handle uintptr, settings *uint16, record **uint16) uint32
	query     func(handle uintptr, query *uint16, properties, record **uint16) uint32
	remove    func(id *windows.GUID, record **uint16) uint32
	close     func(handle uintptr) uint32
	// procs are the same functions, in this order, to ask whether this Windows
	// has them: the generated calls panic on one that is missing.
	procs [procCount]*windows.LazyProc
}

// The places in nativeKind.procs.
const (
	procEnumerate = iota
	procCreate
	procOpen
	procModify
	procQuery
	procRemove
	procClose
	procCount
)

// procsOf are the functions that each verb calls.
var procsOf = map[Verb][]int{
	VerbList:   {procEnumerate, procOpen, procQuery, procClose},
	VerbGet:    {procOpen, procQuery, procClose},
	VerbCreate: {procCreate, procQuery, procClose},
	VerbModify: {procOpen, procModify, procClose},
	VerbDelete: {procRemove},
}

// needed returns the functions that a verb calls. One that is missing, as those
// of SDN routes are on some builds, stops what needs it and nothing else.
func (k nativeKind) needed(v Verb) []*windows.LazyProc {
	var out []*windows.LazyProc
	for _, i := range procsOf[v] {
		out = append(out, k.procs[i])
	}
	if v == VerbCreate && k.kind == KindEndpoint {
		nets := nativeKinds[KindNetwork].procs
		out = append(out, nets[procOpen], nets[procClose])
	}
	return out
}

type createFunc = func(id *windows.GUID, settings *uint16, handle *uintptr, record **uint16) uint32

func withoutNetwork(f createFunc) func(uintptr, *windows.GUID, *uint16, *uintptr, **uint16) uint32 {
	return func(_ uintptr, id *windows.GUID, settings *uint16, handle *uintptr, record **uint16) uint32 {
		return f(id, settings, handle, record)
	}
}

var nativeKinds = map[Kind]nativeKind{
	KindNetwork: {KindNetwork, hcnEnumerateNetworks, withoutNetwork(hcnCreateNetwork), hcnOpenNetwork, hcnModifyNetwork, hcnQueryNetwork, hcnDeleteNetwork, hcnCloseNetwork,
		[procCount]*windows.LazyProc{procHcnEnumerateNetworks, procHcnCreateNetwork, procHcnOpenNetwork, procHcnModifyNetwork, procHcnQueryNetworkProperties, procHcnDeleteNetwork, procHcnCloseNetwork}},
	KindEndpoint: {KindEndpoint, hcnEnumerateEndpoints, hcnCreateEndpoint, hcnOpenEndpoint, hcnModifyEndpoint, hcnQueryEndpoint, hcnDeleteEndpoint, hcnCloseEndpoint,
		[procCount]*windows.LazyProc{procHcnEnumerateEndpoints, procHcnCreateEndpoint, procHcnOpenEndpoint, procHcnModifyEndpoint, procHcnQueryEndpointProperties, procHcnDeleteEndpoint, procHcnCloseEndpoint}},
	KindNamespace: {KindNamespace, hcnEnumerateNamespaces, withoutNetwork(hcnCreateNamespace), hcnOpenNamespace, hcnModifyNamespace, hcnQueryNamespace, hcnDeleteNamespace, hcnCloseNamespace,
		[procCount]*windows.LazyProc{procHcnEnumerateNamespaces, procHcnCreateNamespace, procHcnOpenNamespace, procHcnModifyNamespace, procHcnQueryNamespaceProperties, procHcnDeleteNamespace, procHcnCloseNamespace}},
	KindLoadBalancer: {KindLoadBalancer, hcnEnumerateLoadBalancers, withoutNetwork(hcnCreateLoadBalancer), hcnOpenLoadBalancer, hcnModifyLoadBalancer, hcnQueryLoadBalancer, hcnDeleteLoadBalancer, hcnCloseLoadBalancer,
		[procCount]*windows.LazyProc{procHcnEnumerateLoadBalancers, procHcnCreateLoadBalancer, procHcnOpenLoadBalancer, procHcnModifyLoadBalancer, procHcnQueryLoadBalancerProperties, procHcnDeleteLoadBalancer, procHcnCloseLoadBalancer}},
	KindRoute: {KindRoute, hcnEnumerateRoutes, withoutNetwork(hcnCreateRoute), hcnOpenRoute, hcnModifyRoute, hcnQueryRoute, hcnDeleteRoute, hcnCloseRoute,
		[procCount]*windows.LazyProc{procHcnEnumerateSdnRoutes, procHcnCreateSdnRoute, procHcnOpenSdnRoute, procHcnModifySdnRoute, procHcnQuerySdnRouteProperties, procHcnDeleteSdnRoute, procHcnCloseSdnRoute}},
}
