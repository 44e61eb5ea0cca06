package main

// #include <windows.h>
// #include <stdint.h>
import "C"

import "github.com/hnskit/hnskit/hns"

//export HcnEnumerateEndpoints
func HcnEnumerateEndpoints(q C.PCWSTR, list, rec *C.PWSTR) C.HRESULT {
	return enumerate(hns.KindEndpoint, q, list, rec)
}

//export HcnCreateEndpoint
func HcnCreateEndpoint(network C.uintptr_t, id *C.GUID, settings C.PCWSTR, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return create(hns.KindEndpoint, network, id, settings, handle, rec)
}

//export HcnOpenEndpoint
func HcnOpenEndpoint(id *C.GUID, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return open(hns.KindEndpoint, id, handle, rec)
}

//export HcnModifyEndpoint
func HcnModifyEndpoint(handle C.uintptr_t, settings C.PCWSTR, rec *C.PWSTR) C.HRESULT {
	return modify(hns.KindEndpoint, handle, settings, rec)
}

//export HcnQueryEndpointProperties
func HcnQueryEndpointProperties(handle C.uintptr_t, q C.PCWSTR, properties, rec *C.PWSTR) C.HRESULT {
	return query(hns.KindEndpoint, handle, q, properties, rec)
}

//export HcnDeleteEndpoint
func HcnDeleteEndpoint(id *C.GUID, rec *C.PWSTR) C.HRESULT {
	return remove(hns.KindEndpoint, id, rec)
}

//export HcnCloseEndpoint
func HcnCloseEndpoint(handle C.uintptr_t) C.HRESULT {
	return closeHandle(hns.KindEndpoint, handle)
}
