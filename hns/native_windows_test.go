package hns

import (
	"encoding/json"
	"errors"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// oddHNS is an HNS in a DLL as it should not be: it answers NULL where a document
// belongs, and gives handles along with failures. It counts the handles.
type oddHNS struct {
	hr         uint32
	record     string // beside the HRESULT of create, open, modify and query
	list, doc  string // empty: NULL
	recordOf   string // which function has hr and record; empty: all
	handles    int    // opened and not closed
	everOpened int
}

// allocText returns a text as HNS does, for take to free; NULL for an empty one.
func allocText(s string) *uint16 {
	if s == "" {
		return nil
	}
	text, err := windows.UTF16FromString(s)
	if err != nil {
		panic(err)
	}
	p, _, _ := windows.NewLazySystemDLL("ole32.dll").NewProc("CoTaskMemAlloc").Call(uintptr(2 * len(text)))
	copy(unsafe.Slice(*(**uint16)(unsafe.Pointer(&p)), len(text)), text)
	return *(**uint16)(unsafe.Pointer(&p))
}

func (o *oddHNS) outcome(fn string, record **uint16) uint32 {
	if o.recordOf != "" && o.recordOf != fn {
		return 0
	}
	*record = allocText(o.record)
	return o.hr
}

func (o *oddHNS) opened(handle *uintptr) {
	o.handles++
	o.everOpened++
	*handle = 7
}

func (o *oddHNS) kind() nativeKind {
	return nativeKind{
		kind: KindNamespace,
		enumerate: func(_ *uint16, list, record **uint16) uint32 {
			*list = allocText(o.list)
			return o.outcome("enumerate", record)
		},
		create: func(_ uintptr, _ *windows.GUID, _ *uint16, handle *uintptr, record **uint16) uint32 {
			o.opened(handle)
			return o.outcome("create", record)
		},
		open: func(_ *windows.GUID, handle *uintptr, record **uint16) uint32 {
			o.opened(handle)
			return o.outcome("open", record)
		},
		modify: func(_ uintptr, _ *uint16, record **uint16) uint32 { return o.outcome("modify", record) },
		query: func(_ uintptr, _ *uint16, properties, record **uint16) uint32 {
			*properties = allocText(o.doc)
			return o.outcome("query", record)
		},
		remove: func(_ *windows.GUID, record **uint16) uint32 { return o.outcome("remove", record) },
		close: func(uintptr) uint32 {
			o.handles--
			return 0
		},
	}
}

// An error record beside a good HRESULT is a failure, NULL is no panic, and each
// handle is closed, whatever fails: hcsshim leaks the one of a create that failed.
func TestNativeOddAnswers(t *testing.T) {
	const id, refused = `["3c000000-0000-4000-8000-000000000001"]`, `{"Success":false,"Error":"x","ErrorCode":2151350291}`
	verbs := map[string]func(nativeKind) (Response, error){
		"list": func(k nativeKind) (Response, error) { return k.list("") },
		"get":  func(k nativeKind) (Response, error) { return k.get(ID{1}) },
		"create": func(k nativeKind) (Response, error) {
			return k.doCreate(Request{Kind: KindNamespace, Document: json.RawMessage("{}")})
		},
		"modify": func(k nativeKind) (Response, error) {
			return k.doModify(Request{ID: ID{1}, Document: json.RawMessage("{}")})
		},
	}
	calls := map[string][]string{ // the functions of each verb that open nothing for naught
		"list": {"enumerate", "open", "query"}, "get": {"open", "query"}, "create": {"create", "query"}, "modify": {"open", "modify"},
	}
	for name, do := range verbs {
		for _, fn := range calls[name] {
			for _, hr := range []uint32{0, 0x803b0013} {
				o := &oddHNS{hr: hr, record: refused, recordOf: fn, list: id, doc: "{}"}
				_, err := do(o.kind())
				var be *BackendError
				if !errors.As(err, &be) || be.Code != CodePortExists || be.Text != "x" || o.handles != 0 {
					t.Errorf("%s, record of %s beside %#x: %v, %d handles open", name, fn, hr, err, o.handles)
				}
			}
		}
		o := &oddHNS{list: id, doc: "{}"}
		if _, err := do(o.kind()); err != nil || o.handles != 0 || o.everOpened == 0 {
			t.Errorf("%s: %v, %d handles open of %d", name, err, o.handles, o.everOpened)
		}

		null := &oddHNS{list: id}
		resp, err := do(null.kind())
		if null.handles != 0 {
			t.Errorf("%s of NULL: %d handles open", name, null.handles)
		}
		if err == nil {
			for _, doc := range resp.Documents {
				if _, err = DecodeNamespace(doc); !errors.Is(err, ErrInvalid) {
					t.Errorf("%s of NULL: %v", name, err)
				}
			}
		}
	}
	empty := &oddHNS{}
	if resp, err := empty.kind().list(""); err != nil || len(resp.Documents) != 0 {
		t.Errorf("list of NULL: %v, %v", resp, err)
	}
	for _, list := range []string{"x", `{}`, `["a"]`, `[1]`} {
		broken := &oddHNS{list: list}
		if _, err := broken.kind().list(""); err == nil {
			t.Errorf("list %s is no error", list)
		}
	}
}
