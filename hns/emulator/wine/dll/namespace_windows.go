package main

// #include <windows.h>
// #include <stdint.h>
import "C"

import "github.com/hnskit/hnskit/hns"

//export HcnEnumerateNamespaces
func HcnEnumerateNamespaces(q C.PCWSTR, list, rec *C.PWSTR) C.HRESULT {
	return enumerate(hns.KindNamespace, q, list, rec)
}

//export HcnCreateNamespace
func HcnCreateNamespace(id *C.GUID, settings C.PCWSTR, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return create(hns.KindNamespace, 0, id, settings, handle, rec)
}

//export HcnOpenNamespace
func HcnOpenNamespace(id *C.GUID, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	return open(hns.KindNamespace, id, handle, rec)
}

//export HcnModifyNamespace
func HcnModifyNamespace(handle C.uintptr_t, settings C.PCWSTR, rec *C.PWSTR) C.HRESULT {
	return modify(hns.KindNamespace, handle, settings, rec)
}

//export HcnQueryNamespaceProperties
func HcnQueryNamespaceProperties(handle C.uintptr_t, q C.PCWSTR, properties, rec *C.PWSTR) C.HRESULT {
	return query(hns.KindNamespace, handle, q, properties, rec)
}

//export HcnDeleteNamespace
func HcnDeleteNamespace(id *C.GUID, rec *C.PWSTR) C.HRESULT {
	return remove(hns.KindNamespace, id, rec)
}

//export HcnCloseNamespace
func HcnCloseNamespace(handle C.uintptr_t) C.HRESULT {
	return closeHandle(hns.KindNamespace, handle)
}
