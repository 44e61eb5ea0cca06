package main

// #cgo LDFLAGS: -lole32
// #include <windows.h>
// #include <objbase.h>
// #include <stdint.h>
import "C"

import (
	"unsafe"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

// A missing pointer is refused before the call has an effect. Only the error
// record may be left out.

func enumerate(k hns.Kind, query C.PCWSTR, list, rec *C.PWSTR) C.HRESULT {
	if list == nil {
		return finish(native.NullPointer("list"), nil, nil, rec)
	}
	return finish(api().Enumerate(k, text(query)), nil, list, rec)
}

func create(k hns.Kind, network C.uintptr_t, id *C.GUID, settings C.PCWSTR, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	if id == nil {
		return finish(native.NullPointer("Id"), handle, nil, rec)
	}
	if handle == nil {
		return finish(native.NullPointer("handle"), nil, nil, rec)
	}
	return finish(api().Create(k, uint64(network), guid(id), text(settings)), handle, nil, rec)
}

func open(k hns.Kind, id *C.GUID, handle *C.uintptr_t, rec *C.PWSTR) C.HRESULT {
	if id == nil {
		return finish(native.NullPointer("Id"), handle, nil, rec)
	}
	if handle == nil {
		return finish(native.NullPointer("handle"), nil, nil, rec)
	}
	return finish(api().Open(k, guid(id)), handle, nil, rec)
}

func modify(k hns.Kind, handle C.uintptr_t, settings C.PCWSTR, rec *C.PWSTR) C.HRESULT {
	return finish(api().Modify(k, uint64(handle), text(settings)), nil, nil, rec)
}

func query(k hns.Kind, handle C.uintptr_t, query C.PCWSTR, properties, rec *C.PWSTR) C.HRESULT {
	if properties == nil {
		return finish(native.NullPointer("Properties"), nil, nil, rec)
	}
	return finish(api().Query(k, uint64(handle), text(query)), nil, properties, rec)
}

func remove(k hns.Kind, id *C.GUID, rec *C.PWSTR) C.HRESULT {
	if id == nil {
		return finish(native.NullPointer("Id"), nil, nil, rec)
	}
	return finish(api().Delete(k, guid(id)), nil, nil, rec)
}

func closeHandle(k hns.Kind, handle C.uintptr_t) C.HRESULT {
	return finish(api().Close(k, uint64(handle)), nil, nil, nil)
}

// finish writes an answer to where the caller wants it, and returns its
// HRESULT. Every pointer that is not nil is written, with zero if the answer
// has nothing for it.
func finish(a native.Answer, handle *C.uintptr_t, out, rec *C.PWSTR) C.HRESULT {
	if handle != nil {
		*handle = C.uintptr_t(a.Handle)
	}
	if out != nil {
		*out = memory(a.Text)
	}
	if rec != nil {
		*rec = memory(a.Record)
	}
	return C.HRESULT(a.Code)
}

// memory returns s in memory that the caller frees with CoTaskMemFree; NULL
// for the empty text, or if there is no memory left.
func memory(s string) C.PWSTR {
	if s == "" {
		return nil
	}
	u := native.EncodeText(s)
	p := C.CoTaskMemAlloc(C.SIZE_T(2 * len(u)))
	if p == nil {
		return nil
	}
	copy(unsafe.Slice((*uint16)(p), len(u)), u)
	return C.PWSTR(p)
}

// text reads a string argument, whose NULL is the empty text.
func text(p C.PCWSTR) string {
	if p == nil {
		return ""
	}
	return native.DecodeText(unsafe.Slice((*uint16)(unsafe.Pointer(p)), C.lstrlenW(p)))
}

func guid(p *C.GUID) hns.ID {
	return native.DecodeGUID(*(*[16]byte)(unsafe.Pointer(p)))
}
