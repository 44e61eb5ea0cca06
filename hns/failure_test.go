package hns_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

func TestFailuresIn(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		code hns.Code
		verb hns.Verb
		kind hns.Kind
		is   error
	}{
		"hcsshim, text and record": {
			`hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. (0x803b002f) {"Success":false,"Error":"…","ErrorCode":2151350319}`,
			hns.CodeAddressInvalidOrReserved, hns.VerbCreate, hns.KindEndpoint, hns.ErrAddressInUse},
		"a bare Win32 code":           {"failed during hnsCallRawResponse: hnsCall failed in Win32: Element not found. (0x490)", hns.CodeElementNotFound, 0, 0, hns.ErrNotFound},
		"another language":            {"hnsCall failed in Win32: O arquivo já está sendo usado por outro processo. (0x20).", hns.CodeSharingViolation, 0, 0, hns.ErrInUse},
		"a line broken in the middle": {"hnsCall failed in\n Win32: A network with this name already exists. (0x803b0010)", hns.CodeNetworkExists, 0, 0, hns.ErrExists},
		"the code before the text":    {"HcnCreateNetwork failed with 0x803b0006: An adapter was not found.", hns.CodeAdapterNotFound, hns.VerbCreate, hns.KindNetwork, hns.ErrNotFound},
		"in capitals":                 {"HcnCreateNetwork hr:0x800706BA The RPC server is unavailable.", hns.CodeRPCUnavailable, hns.VerbCreate, hns.KindNetwork, hns.ErrUnavailable},
		"a record alone":              {`{"Success":false,"Error":"A Reference is required","ErrorCode":2151350300}`, hns.CodeInvalidJSONReference, 0, 0, hns.ErrInvalid},
		"a record of PowerShell":      {"@{Error=An adapter was not found. ; ErrorCode=2151350278; Success=False}", hns.CodeAdapterNotFound, 0, 0, hns.ErrNotFound},
		"an HRESULT in decimal":       {" -- HRESULT: 2147942452. Result:", hns.CodeDuplicateName, 0, 0, hns.ErrExists},
		"a trace":                     {`{2151350295; onecore\vm\endpoint.h; 327; hostnetsvc.dll; 0; Endpoint is in invalid state}`, hns.CodeDegraded, 0, 0, hns.ErrDegraded},
		"at the end of a path":        {"Error code: Svc/CreateVm/ConfigureNetworking/0x803b0017", hns.CodeDegraded, 0, 0, hns.ErrDegraded},
		"of WMI, not of HNS":          {"ConfigureNetworking/HNS/0x80041002", 0x80041002, 0, 0, nil},
		"escaped in a log":            {`err="hcnCreateLoadBalancer failed in Win32: … (0x803b0013) {\"Success\":false,\"ErrorCode\":2151350291}"`, hns.CodePortExists, hns.VerbCreate, hns.KindLoadBalancer, hns.ErrInUse},
	} {
		t.Run(name, func(t *testing.T) {
			got := hns.FailuresIn(tc.text)
			if len(got) != 1 {
				t.Fatalf("got %v, want one failure", got)
			}
			if e := got[0]; e.Code != tc.code || e.Verb != tc.verb || e.Kind != tc.kind {
				t.Errorf("got code %s, verb %v, kind %v", e.Code, e.Verb, e.Kind)
			}
			if tc.is != nil && !errors.Is(got[0], tc.is) {
				t.Errorf("%v is not %v", got[0], tc.is)
			}
			if tc.is == nil && errors.Is(got[0], hns.ErrNotFound) {
				t.Errorf("%v is taken for an absent object", got[0])
			}
		})
	}
}

// A message without a code says nothing that can be relied on: it is in the
// system's language (docker/for-win#3821).
func TestFailuresInNone(t *testing.T) {
	for _, text := range []string{"", "HNS failed with error : The parameter is incorrect.", "pointer 0xc0003d14a0", "0x8", "took 2147483649 ns",
		"hnsCall failed in Win32: Element not found.", "Win32: x (0xfffffffff)", "Win32: x (0x0)"} {
		if got := hns.FailuresIn(text); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzFailuresIn(f *testing.F) {
	f.Add(`hcnCreateNetwork failed in Win32: x (0x57) {"ErrorCode":2147942487}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range hns.FailuresIn(text) {
			if e.Code == 0 || e.Error() == "" {
				t.Errorf("%q: an empty failure", text)
			}
		}
	})
}

func ExampleFailuresIn() {
	line := `E0101 hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. (0x803b002f)`
	for _, e := range hns.FailuresIn(line) {
		fmt.Println(e.Op, e.Code, errors.Is(e, hns.ErrAddressInUse))
	}
	// Output: create endpoint HCN_E_ADDR_INVALID_OR_RESERVED (0x803b002f) true
}
