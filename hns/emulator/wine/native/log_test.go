package native_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	log, err := native.NewLog(path)
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{docs: []string{`{"ID":"` + netID.String() + `"}`}}
	api := native.New(b, log)

	network := api.Create(hns.KindNetwork, 0, hns.ID{}, "{\n  \"Name\": \"a<b\"\n}").Handle
	api.Create(hns.KindEndpoint, network, epID, `{"Name":`)
	api.Enumerate(hns.KindNetwork, `{"Filter":"{}"}`)
	api.Query(hns.KindNetwork, network, "")
	api.Close(hns.KindNetwork, network)
	api.Close(hns.KindNetwork, network)
	b.err = &hns.BackendError{Code: hns.CodeNetworkNotFound, Text: "Not there."}
	api.Open(hns.KindNetwork, netID)
	api.Delete(hns.KindNetwork, netID)
	b.err = &hns.BackendError{Text: "Old style."}
	api.Call("DELETE", "/networks/x", "")
	b.answer()
	api.Modify(hns.KindNetwork, 8, `{}`)
	api.Call("POST", "/endpoints/x/attach", `{"SystemType":"Host"}`)

	want := []native.Call{
		{Func: "HcnCreateNetwork", ID: netID.String(), Doc: json.RawMessage(`{"Name":"a<b"}`)},
		{Func: "HcnCreateEndpoint", ID: epID.String(), Network: netID.String(), Doc: json.RawMessage(`"{\"Name\":"`),
			HR: 0x803b001b, Error: `HCN_E_INVALID_JSON (0x803b001b): not JSON: "{\"Name\":"`},
		{Func: "HcnEnumerateNetworks", Doc: json.RawMessage(`{"Filter":"{}"}`)},
		{Func: "HcnQueryNetworkProperties", ID: netID.String()},
		{Func: "HcnCloseNetwork", ID: netID.String()},
		{Func: "HcnCloseNetwork", HR: 0x80070006, Error: "0x6: network handle 0x4 is not open"},
		{Func: "HcnOpenNetwork", ID: netID.String(), HR: 0x803b0001, Error: "HCN_E_NETWORK_NOT_FOUND (0x803b0001): Not there."},
		{Func: "HcnDeleteNetwork", ID: netID.String(), HR: 0x803b0001, Error: "HCN_E_NETWORK_NOT_FOUND (0x803b0001): Not there."},
		{Func: "HNSCall", Method: "DELETE", Path: "/networks/x", Error: "Old style. "},
		{Func: "HcnModifyNetwork", Doc: json.RawMessage(`{}`), HR: 0x80070006, Error: "0x6: network handle 0x8 is not open"},
		{Func: "HNSCall", Method: "POST", Path: "/endpoints/x/attach", Doc: json.RawMessage(`{"SystemType":"Host"}`)},
	}
	got, err := native.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(native.Call{}, "PID")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range got {
		if c.PID != os.Getpid() {
			t.Errorf("%s: pid %d, want %d", c.Func, c.PID, os.Getpid())
		}
	}
}

// The log has the names that the functions have in the DLLs.
func TestLogNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	log, err := native.NewLog(path)
	if err != nil {
		t.Fatal(err)
	}
	api := native.New(&backend{docs: []string{`{"ID":"` + netID.String() + `"}`}}, log)
	network := api.Open(hns.KindNetwork, netID).Handle
	for _, k := range kinds {
		api.Enumerate(k, "")
		handle := api.Create(k, network, hns.ID{}, `{}`).Handle
		api.Open(k, netID)
		api.Modify(k, handle, `{}`)
		api.Query(k, handle, "")
		api.Delete(k, netID)
		api.Close(k, handle)
	}
	want := []string{"HcnOpenNetwork"}
	for _, one := range []string{"Network", "Endpoint", "Namespace", "LoadBalancer", "SdnRoute"} {
		want = append(want, "HcnEnumerate"+one+"s", "HcnCreate"+one, "HcnOpen"+one, "HcnModify"+one,
			"HcnQuery"+one+"Properties", "HcnDelete"+one, "HcnClose"+one)
	}
	calls, err := native.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		got = append(got, c.Func)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Many writers, each with a log of its own as processes have, lose nothing
// and tear no line.
func TestLogShared(t *testing.T) {
	const writers, each = 8, 50
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			log, err := native.NewLog(path)
			for n := range each {
				err = errors.Join(err, log.Add(native.Call{Func: fmt.Sprint(w), PID: n, Error: strings.Repeat("x", 5000)}))
			}
			errs <- err
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	calls, err := native.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	next := make(map[string]int)
	for _, c := range calls {
		if c.PID != next[c.Func] {
			t.Fatalf("writer %s: line %d where %d was due", c.Func, c.PID, next[c.Func])
		}
		next[c.Func]++
	}
	if len(calls) != writers*each {
		t.Errorf("%d lines, want %d", len(calls), writers*each)
	}
}

// A log that cannot be written is told, and so is what happened nevertheless.
func TestLogLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := native.NewLog(filepath.Join(dir, "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	b := &backend{docs: []string{`{"ID":"` + netID.String() + `"}`}}
	api := native.New(b, log)
	a := api.Open(hns.KindNetwork, netID)
	if a.Code != 0x80004005 || !strings.Contains(a.Record, "carried out but not logged") || a.Handle != 0 {
		t.Errorf("success that was not logged: %+v", a)
	}
	b.err = &hns.BackendError{Code: hns.CodeNetworkNotFound, Text: "Not there."}
	a = api.Open(hns.KindNetwork, netID)
	if a.Code != hns.CodeNetworkNotFound || !strings.Contains(a.Record, "Not there.") || !strings.Contains(a.Record, "nor was the call logged") {
		t.Errorf("failure that was not logged: %+v", a)
	}
}

func TestReadLogErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	if _, err := native.ReadLog(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("{\"fn\":\"HNSCall\",\"hr\":0}\n{\"fn\":\"HNS"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := native.ReadLog(path); err == nil || !strings.Contains(err.Error(), path+":2:") {
		t.Errorf("broken second line: %v", err)
	}
}
