package node_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/modes/node"
)

// Every constant of a counter or a fault is in the list of them.
func TestCounterNames(t *testing.T) {
	names := node.CounterNames()
	var want []string
	for file, prefix := range map[string]string{"counters.go": "Count", "fault.go": "Fault"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(v.Names[0].Name, prefix) {
				return true
			}
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case prefix == "Fault":
				want = append(want, node.CountNodesSkipped+text)
			case text != node.CountNodesSkipped:
				want = append(want, text)
			}
			return true
		})
	}
	slices.Sort(want)
	slices.Sort(names)
	if !slices.Equal(names, want) || len(want) < 20 {
		t.Errorf("the list is\n%v, the constants are\n%v", names, want)
	}
}
