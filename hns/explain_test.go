package hns_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// What is explained, by a part of the text.
func TestExplain(t *testing.T) {
	failed := func(v hns.Verb, k hns.Kind, c hns.Code) error { return &hns.Error{Op: "x", Verb: v, Kind: k, Code: c} }
	plain := func(err error) error { return &hns.Error{Op: "x", Err: err} }
	lacks := &hns.FeatureError{Feature: hns.FeatureTierACL, Found: hns.Version{Major: 13, Minor: 3}}
	tests := []struct {
		name string
		err  error
		want string // "": nothing is known
	}{
		{"nil", nil, ""},
		{"of another package", fs.ErrNotExist, ""},
		{"code that says nothing", failed(hns.VerbCreate, hns.KindNetwork, 0x80004005), ""},
		{"no code", failed(hns.VerbCreate, hns.KindNetwork, 0), ""},

		// One code, several operations.
		{"address taken", failed(hns.VerbCreate, hns.KindEndpoint, hns.CodeObjectAlreadyExists), "DEL failed"},
		{"NAT overlap", failed(hns.VerbCreate, hns.KindNetwork, hns.CodeObjectAlreadyExists), "Get-NetNat"},
		{"port of a pod", failed(hns.VerbCreate, hns.KindEndpoint, hns.CodePortExists), "PortMapping"},
		{"port of a service", failed(hns.VerbCreate, hns.KindLoadBalancer, hns.CodePortExists), "0.0.0.0"},
		{"network gone", failed(hns.VerbGet, hns.KindNetwork, hns.CodeNetworkNotFound), "deleted by another program"},
		{"network of an endpoint gone", failed(hns.VerbCreate, hns.KindEndpoint, hns.CodeNetworkNotFound), "look it up by its name"},
		{"namespace gone", failed(hns.VerbModify, hns.KindNamespace, hns.CodeElementNotFound), "DEL of its pod"},
		{"load balancer gone", failed(hns.VerbGet, hns.KindLoadBalancer, hns.CodeElementNotFound), "deleted by another program"},
		{"containers in it", failed(hns.VerbDelete, hns.KindNamespace, hns.CodeRequestUnsupported), "Containers run"},
		{"not this one", failed(hns.VerbModify, hns.KindNamespace, hns.CodeRequestUnsupported), ""},
		{"backend missing", failed(hns.VerbModify, hns.KindLoadBalancer, hns.CodeInvalidJSONReference), "not on this node"},
		{"no routes here", failed(hns.VerbList, hns.KindRoute, hns.CodeProcNotFound), "policy SDNRoute"},
		{"nothing here", failed(hns.VerbList, hns.KindNetwork, hns.CodeProcNotFound), "Windows Server 2019"},
		{"policy", failed(hns.VerbModify, hns.KindEndpoint, hns.CodeInvalidPolicy), "host bits"},
		{"stopped", failed(hns.VerbCall, hns.KindService, hns.CodeRPCUnavailable), "Get-Service hns"},

		// However it is wrapped.
		{"wrapped", fmt.Errorf("ADD: %w", failed(hns.VerbList, hns.KindEndpoint, hns.CodeAccessDenied)), "elevated"},
		{"joined, the second known", errors.Join(fs.ErrClosed, failed(0, 0, 0x80004005), failed(0, 0, hns.CodeICSDisabled)), "SharedAccess"},
		{"joined, both known", errors.Join(failed(0, 0, hns.CodeSharingViolation), failed(0, 0, hns.CodeICSDisabled)), "netstat"},
		{"inside another of ours", &hns.Error{Op: "x", Code: 0x80004005, Err: failed(0, 0, hns.CodeICSDisabled)}, "SharedAccess"},

		{"of the backend itself", &hns.BackendError{Code: hns.CodeRPCUnavailable}, "Get-Service hns"},
		{"a ghost", fmt.Errorf("node: %w", &hns.GhostError{Name: "lake", Err: failed(hns.VerbCreate, hns.KindNetwork, hns.CodeNetworkExists)}), "Restart-Service hns"},
		{"another network", &hns.ConflictError{Reason: "it is on the adapter \"Ethernet\"", Name: "lake", ID: lake,
			Err: failed(hns.VerbCreate, hns.KindNetwork, hns.CodeInvalidParameter)}, `The network "lake" (` + lake.String() + `) stands in the way: it is on the adapter "Ethernet".`},

		// Without a code.
		{"drift", plain(&hns.DriftError{Kind: hns.KindNetwork}), "DriftRecreate"},
		{"drift of what is in use", &hns.DriftError{Kind: hns.KindNetwork, Err: fmt.Errorf("%w by endpoints", hns.ErrInUse)}, "was not made anew"},
		{"complaint without a rule", plain(&hns.FieldError{Path: "Name", Reason: "missing"}), "value of Name"},
		{"complaint about a value that stands alone", &hns.FieldError{Value: "x", Reason: "odd"}, "no option"},
		{"complaint before what it comes to", fmt.Errorf("%w (%w)", &hns.FieldError{Path: "Id", Reason: "no such endpoint"}, hns.ErrNotFound), "letter case"},
		{"feature", plain(lacks), "too old for TierAcl, which came with Windows 11, Windows Server 2025"},
		{"operating system", plain(hns.ErrUnsupportedOS), "emulator"},
		{"unknown", plain(hns.ErrOutcomeUnknown), "Read the object"},
		{"not sent", plain(hns.ErrNotSent), "MaxInFlight"},
		{"left behind", errors.Join(fs.ErrClosed, fmt.Errorf("%w: x", hns.ErrLeftBehind)), "clean-up"},
		{"ambiguous", plain(hns.ErrAmbiguous), "not unique"},
		{"no such name", plain(hns.ErrNotFound), "letter case"},
		{"what the backend goes through", &hns.Error{Op: "x", Err: fmt.Errorf("state.json: %w", hns.ErrUnavailable)}, "what the backend goes through"},
		{"the same, by its own word", &hns.Error{Op: "x", Err: away{}}, "what the backend goes through"},
		{"a read", &hns.Error{Op: "x", Err: hung(t)}, "Nothing was changed"},
		{"nil pointers", errors.Join((*hns.Error)(nil), (*hns.BackendError)(nil), (*hns.DriftError)(nil), (*hns.FieldError)(nil), plain(hns.ErrDenied)), "elevated"},
		{"rule", plain(&hns.FieldError{Path: "Type", Value: "Bogus", Rule: "policy-type"}), `Options.Allow with "policy-type"`},
	}
	for _, tt := range tests {
		got := hns.Explain(tt.err)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Each code that this package gives a meaning to can be met, and most have an
// explanation, in whole sentences.
func TestExplainCodes(t *testing.T) {
	silent := map[hns.Code]bool{}
	for code, rows := range meaningTable {
		explained := false
		for op := range operations {
			if _, ok := rows[op]; !ok && len(rows["*"]) == 0 {
				continue
			}
			err := operations[op](t.Context(), hns.New(failing(code, "Element not found."), &hns.Options{Allow: []string{"feature-ModifyLoadbalancer"}}))
			if s := hns.Explain(err); s != "" {
				explained = true
				if !strings.HasSuffix(s, ".") || strings.Contains(s, "\n") || strings.Contains(s, "  ") || strings.ToUpper(s[:1]) != s[:1] {
					t.Errorf("%s of %s: %q", code, op, s)
				}
			}
		}
		if !explained {
			silent[code] = true
		}
	}
	same(t, "codes without an explanation", map[hns.Code]bool{
		0x80004005: true, 0x80041002: true, hns.CodeRegistryFailure: true, hns.CodeLayerExists: true, hns.CodeEndpointNotAttached: true,
		hns.CodeInvalidNetwork: true, hns.CodeInvalidEndpoint: true, hns.CodeInvalidSubnet: true, hns.CodeInvalidIPSubnet: true, hns.CodeGUIDConversion: true,
		hns.CodeObjectUsedAfterUnload: true, hns.CodeEndpointNotLocal: true, hns.CodeSharingDisabled: true, hns.CodeLayerNotFound: true, hns.CodeVFPPortSettingNotFound: true,
	}, silent)
}

// Every sentinel and every exported error type of the package has an
// explanation; one that is new and has none fails here.
func TestExplainIsComplete(t *testing.T) {
	types := map[string]error{
		"Error":         &hns.Error{Op: "list networks", Code: hns.CodeAccessDenied},
		"BackendError":  &hns.BackendError{Code: hns.CodeAccessDenied},
		"FieldError":    &hns.FieldError{Path: "Name", Reason: "missing"},
		"FeatureError":  &hns.FeatureError{Feature: hns.FeatureTierACL},
		"GhostError":    &hns.GhostError{Name: "lake", Err: hns.ErrExists},
		"ConflictError": &hns.ConflictError{Name: "lake", Reason: "both are NAT", Err: hns.ErrOverlap},
		"DriftError":    &hns.DriftError{},
	}
	wantSentinels, wantTypes := declaredErrors(t)
	same(t, "sentinels in the table of these tests", wantSentinels, keys(sentinels))
	same(t, "error types in the table of this test", wantTypes, keys(types))
	said := map[string]string{}
	explained := func(name string, err error) {
		s := hns.Explain(err)
		switch other := said[s]; {
		case s == "":
			t.Errorf("%s has no explanation", name)
		case other != "":
			t.Errorf("%s and %s are explained by the same words", name, other)
		case !strings.HasSuffix(s, ".") || strings.Contains(s, "\n") || strings.Contains(s, "  ") || strings.ToUpper(s[:1]) != s[:1]:
			t.Errorf("%s: %q", name, s)
		}
		said[s] = name
	}
	for name, err := range sentinels {
		if name != "ErrDrift" && name != "ErrDenied" { // the examples of the types below say the same
			explained(name, fmt.Errorf("x: %w", err))
		}
	}
	for name, err := range types {
		if name != "BackendError" { // as Error
			explained(name, err)
		}
	}
	for same, as := range map[error]error{hns.ErrDrift: types["DriftError"], hns.ErrDenied: types["Error"], types["BackendError"]: types["Error"]} {
		if hns.Explain(same) != hns.Explain(as) {
			t.Errorf("%v is explained by %q", same, hns.Explain(same))
		}
	}
}

// Every code that has a name is in the table of meanings.
func TestMeaningsAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]bool{}
	for code := range meaningTable {
		table[fmt.Sprintf("%#08x", uint32(code))] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Code") {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && !table[value.Value] {
				t.Errorf("%s (%s) is not in the table", spec.Names[0].Name, value.Value)
			}
		}
		return true
	})
}

// declaredErrors reads the exported sentinels and error types from the sources.
func declaredErrors(t *testing.T) (values, types map[string]bool) {
	t.Helper()
	values, types = map[string]bool{}, map[string]bool{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for _, name := range n.Names {
					if strings.HasPrefix(name.Name, "Err") {
						values[name.Name] = true
					}
				}
			case *ast.TypeSpec:
				if n.Name.IsExported() && strings.HasSuffix(n.Name.Name, "Error") {
					types[n.Name.Name] = true
				}
			}
			return true
		})
	}
	return values, types
}

func keys[V any](m map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

// away is an error of a backend that says by its Is that nothing is known.
type away struct{}

func (away) Error() string { return "locked" }

func (away) Is(target error) bool { return target == hns.ErrUnavailable }

// hung is what a read gives that HNS does not answer.
func hung(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	c := hns.New(backend(func(hns.Request) (hns.Response, error) {
		cancel()
		<-release
		return hns.Response{}, nil
	}), nil)
	_, err := c.Networks.List(ctx)
	wantIs(t, err, hns.ErrOutcomeUnknown)
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "unknown") {
		t.Errorf("error %v", err)
	}
	return err
}
