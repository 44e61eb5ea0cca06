package main

// #include <windows.h>
import "C"

import (
	"os"
	"sync"

	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

// api is the one store of this process. The environment is read at the first
// call, so a program may set it before.
var api = sync.OnceValue(func() *native.API {
	return native.Open(os.Getenv, openEmulator)
})

// HNSCall is the v1 call. It lives here and not in vmcompute.dll so that both
// APIs see one store.
//
//export HNSCall
func HNSCall(method, path, body C.PCWSTR, response *C.PWSTR) C.HRESULT {
	if response == nil {
		return finish(native.NullPointer("response"), nil, nil, nil)
	}
	return finish(api().Call(text(method), text(path), text(body)), nil, response, nil)
}
