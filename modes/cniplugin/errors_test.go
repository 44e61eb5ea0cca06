package cniplugin_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func TestCNIError(t *testing.T) {
	fromIPAM := &types.Error{Code: 3, Msg: "unknown container", Details: "of the plugin"}
	tests := []struct {
		name    string
		err     error
		code    uint
		details string
	}{
		{"ours", &cniplugin.Error{Code: 42, Err: errBroken}, 42, ""},
		{"ours, wrapped", fmt.Errorf("a: %w", &cniplugin.Error{Code: 42, Err: errBroken}), 42, ""},
		{"ours round an IPAM plugin's", &cniplugin.Error{Code: 42, Err: fmt.Errorf("b: %w", fromIPAM)}, 42, "of the plugin"},
		{"an IPAM plugin's", fmt.Errorf("c: %w", fromIPAM), 3, "of the plugin"},
		{"an IPAM plugin's without code", &types.Error{Msg: "x"}, types.ErrInternal, ""},
		{"service down", fmt.Errorf("d: %w", hns.ErrUnavailable), types.ErrTryAgainLater, ""},
		{"outcome unknown", hns.ErrOutcomeUnknown, types.ErrTryAgainLater, ""},
		{"not sent", hns.ErrNotSent, types.ErrTryAgainLater, ""},
		{"IPAM killed", ipam.ErrOutcomeUnknown, types.ErrTryAgainLater, ""},
		{"network not ready", modes.ErrNotReady, types.ErrTryAgainLater, ""},
		{"deadline", context.DeadlineExceeded, types.ErrTryAgainLater, ""},
		{"a value", &hns.FieldError{Path: "x", Reason: "y"}, types.ErrInvalidNetworkConfig, ""},
		{"a value of IPAM", &ipam.ConfigError{Path: "ipam.x", Err: errBroken}, types.ErrInvalidNetworkConfig, ""},
		{"policy that HNS refused", hns.ErrInvalidPolicy, types.ErrInvalidNetworkConfig, ""},
		{"IPAM plugin that is nowhere", ipam.ErrPluginNotFound, types.ErrInvalidNetworkConfig, ""},
		// Texts mislead: only what the error is counts.
		{"a text that misleads", errors.New("HNS unavailable, try again later: not found"), types.ErrInternal, ""},
		{"some file is missing", fs.ErrNotExist, types.ErrInternal, ""},
		{"not found", hns.ErrNotFound, types.ErrInternal, ""},
	}
	for _, tt := range tests {
		got := cniplugin.CNIError(tt.err)
		if got.Code != tt.code || got.Msg != tt.err.Error() || got.Details != tt.details {
			t.Errorf("%s: %+v, want code %d and details %q", tt.name, got, tt.code, tt.details)
		}
	}
	if got := cniplugin.CNIError(nil); got != nil {
		t.Errorf("nil becomes %v", got)
	}
}

// The error of an IPAM plugin goes to the runtime with its own code.
func TestCodeOfIPAM(t *testing.T) {
	n := newBridge(t, nil)
	n.ipam.on("ADD", before(types.NewError(107, "no addresses left", "")))
	if _, err := n.pod("sbx-01").add(); codeOf(err) != 107 {
		t.Errorf("code %d, %v; want 107", codeOf(err), err)
	}
	// But of two failures the first counts: IPAM's is that of the undo.
	n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Code: hns.CodeAccessDenied})
	n.ipam.on("DEL", before(types.NewError(108, "store is locked", "")))
	_, err := n.pod("sbx-02").add()
	if codeOf(err) != cniplugin.CodeDenied || !errors.Is(err, hns.ErrDenied) || !strings.Contains(err.Error(), "store is locked") {
		t.Errorf("code %d, %v; want 103, ErrDenied, and the failure of the release", codeOf(err), err)
	}
}

// An error of HNS says what was tried on what, with the code (microsoft/hcsshim#54),
// and stays what it is for errors.Is and errors.As.
func TestErrorsOfHNS(t *testing.T) {
	n := newBridge(t, nil)
	n.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNamespace, Code: hns.CodeNamespaceAttachFailed})
	p := n.pod("sbx-01")
	_, err := p.add()
	var e *hns.Error
	if !errors.As(err, &e) || e.Code != hns.CodeNamespaceAttachFailed || !errors.Is(err, hns.ErrDegraded) {
		t.Fatalf("error %v", err)
	}
	for _, word := range []string{"0x803b002e", p.namespace.String(), "add endpoint"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %s", err, word)
		}
	}
}

// A text that is too long keeps its beginning, which says what was tried, and its
// end, which says why it failed.
func TestLongErrors(t *testing.T) {
	middle := strings.Repeat("é", 1<<20)
	err := fmt.Errorf("create endpoint \"sbx-01_lake\": %w: %s: no addresses left", &types.Error{Code: 107, Msg: "é", Details: middle}, middle)
	got := cniplugin.CNIError(err)
	if len(got.Msg) > 4<<10 || len(got.Details) > 16<<10 || !utf8.ValidString(got.Msg) || !utf8.ValidString(got.Details) {
		t.Errorf("%d and %d bytes, valid: %v and %v", len(got.Msg), len(got.Details), utf8.ValidString(got.Msg), utf8.ValidString(got.Details))
	}
	for _, want := range []string{"create endpoint \"sbx-01_lake\": é", "bytes left out", "é: no addresses left"} {
		if !strings.Contains(got.Msg, want) {
			t.Errorf("%q is not in %.100s … %s", want, got.Msg, got.Msg[len(got.Msg)-100:])
		}
	}
	if got.Code != 107 {
		t.Errorf("code %d", got.Code)
	}
}

// A hook that chooses a code and gives no cause is still an error that can be
// written.
func TestErrorWithoutCause(t *testing.T) {
	err := fmt.Errorf("hook: %w", &cniplugin.Error{Code: 150})
	got := cniplugin.CNIError(err)
	if got.Code != 150 || got.Msg != "hook: error code 150" {
		t.Errorf("got %d %q", got.Code, got.Msg)
	}
}

func TestWrongTypeHasItsArticle(t *testing.T) {
	for value, want := range map[string]string{"{}": "an object cannot", "7": "a number cannot"} {
		_, err := cniplugin.ParseConfig([]byte(`{"cniVersion": "1.0.0", "name": "n", "type": "t", "runtimeConfig": {"portMappings": ` + value + `}}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", value, err)
		}
	}
}
