package hcnbridge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every policy type that hcn names, and every struct that it has for settings, is in
// the tables of the policy tests. One that is new with a newer hcsshim fails here,
// until it has a row there. It reads sources, since hcn is for Windows alone.
func TestPolicyTablesAreComplete(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/Microsoft/hcsshim").Output()
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "hcn", "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources of hcn in %s: %v", out, err)
	}
	var types, structs []string
	for _, name := range sources {
		if !strings.HasSuffix(name, "_test.go") {
			types, structs = declared(parsed(t, name), types, structs)
		}
	}
	if len(types) < 30 || len(structs) < 20 {
		t.Fatalf("found types %q and structs %q: hcn has changed its ways", types, structs)
	}
	used := map[string]bool{}
	ast.Inspect(parsed(t, "policy_windows_test.go"), func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "hcn" {
				used[s.Sel.Name] = true
			}
		}
		return true
	})
	missing := slices.DeleteFunc(append(types, structs...), func(name string) bool { return used[name] })
	if diff := cmp.Diff([]string{}, missing); diff != "" {
		t.Errorf("not in the tables of policy_windows_test.go (-want +got):\n%s", diff)
	}
}

func parsed(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// declared appends the names of constants whose type is that of policy types, and
// of the structs of settings.
func declared(file *ast.File, types, structs []string) (_, _ []string) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				if typ, ok := s.Type.(*ast.Ident); ok && g.Tok == token.CONST && strings.HasSuffix(typ.Name, "PolicyType") && typ.Name != "SetPolicyType" {
					for _, n := range s.Names {
						types = append(types, n.Name)
					}
				}
			case *ast.TypeSpec:
				if _, ok := s.Type.(*ast.StructType); ok && strings.HasSuffix(s.Name.Name, "PolicySetting") {
					structs = append(structs, s.Name.Name)
				}
			}
		}
	}
	return types, structs
}
