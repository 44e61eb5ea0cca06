package main

// #include <windows.h>
// #include <stdint.h>
import "C"

import "github.com/hnskit/hnskit/hns"

//export HcnEnumerateLoadBalancers
func HcnEnumerateLoadBalancers(q C.PCWSTR, list, rec *C.PWSTR) C.HRESULT {
	return enumerate(hns.KindLoadBalancer, q, list, rec)
}

//export HcnCreateLoadBalancer
func HcnCreateLoadBalancer(id *C.GUID, settings C.PCWSTR, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return create(hns.KindLoadBalancer, 0, id, settings, handle, rec)
}

//export HcnOpenLoadBalancer
func HcnOpenLoadBalancer(id *C.GUID, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return open(hns.KindLoadBalancer, id, handle, rec)
}

//export HcnModifyLoadBalancer
func HcnModifyLoadBalancer(handle C.uintptr_t, settings C.PCWSTR, rec *C.PWSTR) C.HRESULT {
	return modify(hns.KindLoadBalancer, handle, settings, rec)
}

//export HcnQueryLoadBalancerProperties
func HcnQueryLoadBalancerProperties(handle C.uintptr_t, q C.PCWSTR, properties, rec *C.PWSTR) C.HRESULT {
	return query(hns.KindLoadBalancer, handle, q, properties, rec)
}

//export HcnDeleteLoadBalancer
func HcnDeleteLoadBalancer(id *C.GUID, rec *C.PWSTR) C.HRESULT {
	return remove(hns.KindLoadBalancer, id, rec)
}

//export HcnCloseLoadBalancer
func HcnCloseLoadBalancer(handle C.uintptr_t) C.HRESULT {
	return closeHandle(hns.KindLoadBalancer, handle)
}
