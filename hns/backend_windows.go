package hns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

func openNative() (Backend, error) { return native{}, nil }

// native is the HNS of this machine: computenetwork.dll, and vmcompute.dll for
// the v1 call.
type native struct{}

// Do makes the native calls of one request.
func (n native) Do(req Request) (Response, error) {
	if req.Verb == VerbCall {
		return n.callV1(req)
	}
	k, ok := nativeKinds[req.Kind]
	if !ok {
		return Response{}, &BackendError{Code: CodeNotImplemented, Err: fmt.Errorf("no native calls for %s", req.Kind)}
	}
	if err := present(k.needed(req.Verb)...); err != nil {
		return Response{}, err
	}
	switch req.Verb {
	case VerbList:
		return k.list(req.Filter)
	case VerbGet:
		return k.get(req.ID)
	case VerbCreate:
		return k.doCreate(req)
	case VerbModify:
		return k.doModify(req)
	case VerbDelete:
		id := guid(req.ID)
		var record *uint16
		return Response{}, failure(k.remove(&id, &record), take(&record))
	}
	return Response{}, &BackendError{Code: CodeNotImplemented, Err: fmt.Errorf("no native call for %s", req.Verb)}
}

func present(procs ...*windows.LazyProc) error {
	for _, p := range procs {
		if err := p.Find(); err != nil {
			code := CodeProcNotFound
			var errno windows.Errno
			if errors.As(err, &errno) && errno != windows.ERROR_PROC_NOT_FOUND {
				code = NewCode(uint32(errno))
			}
			return &BackendError{Code: code, Err: err}
		}
	}
	return nil
}

// list enumerates the ids and reads each object. One that vanished meanwhile is
// left out: it would have been missing a moment later anyway.
func (k nativeKind) list(filter string) (Response, error) {
	query, err := queryText(filter)
	if err != nil {
		return Response{}, err
	}
	var list, record *uint16
	hr := k.enumerate(query, &list, &record)
	text := take(&list)
	if err := failure(hr, take(&record)); err != nil {
		return Response{}, err
	}
	var ids []ID
	if text != "" {
		if err := json.Unmarshal([]byte(text), &ids); err != nil {
			return Response{}, &BackendError{Err: fmt.Errorf("list of ids: %w", err)}
		}
	}
	var resp Response
	for _, id := range ids {
		one, err := k.get(id)
		var be *BackendError
		if errors.As(err, &be) && slices.Contains(absences[k.kind], be.Code) {
			continue
		}
		if err != nil {
			return Response{}, err
		}
		resp.Documents = append(resp.Documents, one.Documents...)
	}
	return resp, nil
}

func (k nativeKind) get(id ID) (Response, error) {
	handle, err := k.openID(id)
	if err != nil {
		return Response{}, err
	}
	defer k.close(handle)
	return k.properties(handle)
}

func (k nativeKind) openID(id ID) (uintptr, error) {
	g := guid(id)
	var handle uintptr
	var record *uint16
	hr := k.open(&g, &handle, &record)
	return handle, k.closeOnFailure(handle, failure(hr, take(&record)))
}

// closeOnFailure closes a handle that came with a failure: an error record may
// stand beside a good HRESULT.
func (k nativeKind) closeOnFailure(handle uintptr, err error) error {
	if err != nil && handle != 0 {
		k.close(handle)
	}
	return err
}

func (k nativeKind) properties(handle uintptr) (Response, error) {
	query, err := queryText("")
	if err != nil {
		return Response{}, err
	}
	var properties, record *uint16
	hr := k.query(handle, query, &properties, &record)
	text := take(&properties)
	if err := failure(hr, take(&record)); err != nil {
		return Response{}, err
	}
	return Response{Documents: []json.RawMessage{json.RawMessage(text)}}, nil
}

func (k nativeKind) doCreate(req Request) (Response, error) {
	settings, err := windows.UTF16PtrFromString(string(req.Document))
	if err != nil {
		return Response{}, &BackendError{Err: err}
	}
	var network uintptr
	if req.Kind == KindEndpoint {
		nets := nativeKinds[KindNetwork]
		if network, err = nets.openID(req.Network); err != nil {
			return Response{}, err
		}
		defer nets.close(network)
	}
	id := guid(req.ID)
	var handle uintptr
	var record *uint16
	hr := k.create(network, &id, settings, &handle, &record)
	if err := k.closeOnFailure(handle, failure(hr, take(&record))); err != nil {
		return Response{}, err
	}
	defer k.close(handle)
	return k.properties(handle)
}

func (k nativeKind) doModify(req Request) (Response, error) {
	settings, err := windows.UTF16PtrFromString(string(req.Document))
	if err != nil {
		return Response{}, &BackendError{Err: err}
	}
	handle, err := k.openID(req.ID)
	if err != nil {
		return Response{}, err
	}
	defer k.close(handle)
	var record *uint16
	hr := k.modify(handle, settings, &record)
	return Response{}, failure(hr, take(&record))
}

// callV1 makes the v1 call. Newer builds fail with an HRESULT, older ones with
// Success false and a message alone.
func (native) callV1(req Request) (Response, error) {
	if err := present(procHNSCall); err != nil {
		return Response{}, err
	}
	var in [3]*uint16
	for i, s := range []string{req.Method, req.Path, string(req.Document)} {
		p, err := windows.UTF16PtrFromString(s)
		if err != nil {
			return Response{}, &BackendError{Err: err}
		}
		in[i] = p
	}
	var out *uint16
	hr := hnsCall(in[0], in[1], in[2], &out)
	text := take(&out)
	if err := failure(hr, ""); err != nil {
		var be *BackendError
		if errors.As(err, &be) {
			var answer struct{ Error string }
			if json.Unmarshal([]byte(text), &answer) == nil {
				be.Text = answer.Error
			}
		}
		return Response{}, err
	}
	if text == "" {
		return Response{}, nil
	}
	var answer struct {
		Success bool
		Error   string
		Output  json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return Response{}, &BackendError{Err: fmt.Errorf("answer of HNSCall: %w", err)}
	}
	if !answer.Success {
		return Response{}, &BackendError{Text: answer.Error}
	}
	if out := bytes.TrimSpace(answer.Output); len(out) > 0 && string(out) != "null" && string(out) != `""` {
		return Response{Documents: []json.RawMessage{out}}, nil
	}
	return Response{}, nil
}

// queryText is a schema 2 query. The filter is a text that itself holds JSON.
func queryText(filter string) (*uint16, error) {
	if filter == "" {
		filter = "{}"
	}
	b, err := encode(struct {
		SchemaVersion wireSchema
		Flags         uint32
		Filter        string
	}{schema2, 0, filter})
	if err != nil {
		return nil, &BackendError{Err: err}
	}
	p, err := windows.UTF16PtrFromString(string(b))
	if err != nil {
		return nil, &BackendError{Err: err}
	}
	return p, nil
}

// failure reads a call's outcome. The record counts even if the HRESULT is
// good: HNS leaves it empty when all went well, and one that complains or that
// cannot be read is a failure.
func failure(hr uint32, record string) error {
	var rec struct {
		Success   *bool
		Error     string
		ErrorCode uint32
	}
	if record != "" {
		if err := json.Unmarshal([]byte(record), &rec); err != nil {
			rec.Error = record
		}
	}
	switch {
	case hr&0x80000000 != 0:
		return &BackendError{Code: Code(hr), Text: rec.Error}
	case rec.ErrorCode != 0, rec.Success != nil && !*rec.Success, strings.TrimSpace(rec.Error) != "":
		return &BackendError{Code: NewCode(rec.ErrorCode), Text: rec.Error}
	}
	return nil
}

// take copies a text that HNS allocated and frees it.
func take(p **uint16) string {
	if *p == nil {
		return ""
	}
	s := windows.UTF16PtrToString(*p)
	windows.CoTaskMemFree(unsafe.Pointer(*p))
	*p = nil
	return s
}

func guid(id ID) windows.GUID {
	g := windows.GUID{
		Data1: uint32(id[0])<<24 | uint32(id[1])<<16 | uint32(id[2])<<8 | uint32(id[3]),
		Data2: uint16(id[4])<<8 | uint16(id[5]),
		Data3: uint16(id[6])<<8 | uint16(id[7]),
	}
	copy(g.Data4[:], id[8:])
	return g
}
