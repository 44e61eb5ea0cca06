package main

// #include <windows.h>
// #include <stdint.h>
import "C"

import "github.com/hnskit/hnskit/hns"

//export HcnEnumerateNetworks
func HcnEnumerateNetworks(q C.PCWSTR, list, rec *C.PWSTR) C.HRESULT {
	return enumerate(hns.KindNetwork, q, list, rec)
}

//export HcnCreateNetwork
func HcnCreateNetwork(id *C.GUID, settings C.PCWSTR, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return create(hns.KindNetwork, 0, id, settings, handle, rec)
}

//export HcnOpenNetwork
func HcnOpenNetwork(id *C.GUID, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return open(hns.KindNetwork, id, handle, rec)
}

//export HcnModifyNetwork
func HcnModifyNetwork(handle C.uintptr_t, settings C.PCWSTR, rec *C.PWSTR) C.HRESULT {
	return modify(hns.KindNetwork, handle, settings, rec)
}

//export HcnQueryNetworkProperties
func HcnQueryNetworkProperties(handle C.uintptr_t, q C.PCWSTR, properties, rec *C.PWSTR) C.HRESULT {
	return query(hns.KindNetwork, handle, q, properties, rec)
}

//export HcnDeleteNetwork
func HcnDeleteNetwork(id *C.GUID, rec *C.PWSTR) C.HRESULT {
	return remove(hns.KindNetwork, id, rec)
}

//export HcnCloseNetwork
func HcnCloseNetwork(handle C.uintptr_t) C.HRESULT {
	return closeHandle(hns.KindNetwork, handle)
}
