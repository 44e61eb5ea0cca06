package main

// #include <windows.h>
// #include <stdint.h>
import "C"

import "github.com/hnskit/hnskit/hns"

//export HcnEnumerateSdnRoutes
func HcnEnumerateSdnRoutes(q C.PCWSTR, list, rec *C.PWSTR) C.HRESULT {
	return enumerate(hns.KindRoute, q, list, rec)
}

//export HcnCreateSdnRoute
func HcnCreateSdnRoute(id *C.GUID, settings C.PCWSTR, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return create(hns.KindRoute, 0, id, settings, handle, rec)
}

//export HcnOpenSdnRoute
func HcnOpenSdnRoute(id *C.GUID, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return open(hns.KindRoute, id, handle, rec)
}

//export HcnModifySdnRoute
func HcnModifySdnRoute(handle C.uintptr_t, settings C.PCWSTR, rec *C.PWSTR) C.HRESULT {
	return modify(hns.KindRoute, handle, settings, rec)
}

//export HcnQuerySdnRouteProperties
func HcnQuerySdnRouteProperties(handle C.uintptr_t, q C.PCWSTR, properties, rec *C.PWSTR) C.HRESULT {
	return query(hns.KindRoute, handle, q, properties, rec)
}

//export HcnDeleteSdnRoute
func HcnDeleteSdnRoute(id *C.GUID, rec *C.PWSTR) C.HRESULT {
	return remove(hns.KindRoute, id, rec)
}

//export HcnCloseSdnRoute
func HcnCloseSdnRoute(handle C.uintptr_t) C.HRESULT {
	return closeHandle(hns.KindRoute, handle)
}
