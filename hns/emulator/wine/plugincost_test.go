package wine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/internal/golden"
)

// cost is what a pod takes: processes for an ADD, and native calls.
type cost struct {
	plugins             string
	processes, add, del int
}

// costTable collects what lives cost.
type costTable struct {
	rows  []string
	which map[string][]string // lives by verb and native calls, in costVerbs' order
	order []string
	lives int
}

// costVerbs are the columns of the table, and the steps of a life they come from.
var costVerbs = []string{"first ADD", "ADD", "ADD again", "CHECK", "DEL", "DEL again", "GC of pod-2", "STATUS"}

// add takes the costs of a life. They have to be below those of the plugins that
// people have now.
func (c *costTable) add(t *testing.T, l life, by map[string]execution) {
	t.Helper()
	c.lives++
	for what, e := range by {
		// Of the pod that is gone flannel knows no configuration to ask HNS about.
		if e.total() == 0 && !(what == "CHECK after GC" && e.programs[0] == "flannel") {
			t.Errorf("%s: the DLLs were not called", what)
		}
	}
	if l.refused {
		return
	}
	add, del := by["ADD"], by["DEL"]
	if add.total() >= l.upstream.add || del.total() >= l.upstream.del {
		t.Errorf("%d native calls for an ADD, %d for a DEL: not below upstream's %d and %d", add.total(), del.total(), l.upstream.add, l.upstream.del)
	}
	if most := min(l.upstream.processes, 2); len(add.programs) > most { // the plugin, and its IPAM if it has one
		t.Errorf("processes of an ADD %v, want at most %d", add.programs, most)
	}
	if !slices.Equal(add.programs, del.programs) {
		t.Errorf("processes of an ADD %v, of a DEL %v", add.programs, del.programs)
	}
	row := fmt.Sprintf("| %s | %s | %s", l.name, l.mode, strings.Join(add.programs, ", "))
	for _, verb := range costVerbs {
		row += fmt.Sprintf(" | %d", by[verb].total())
		c.addCalls(verb, l.name, by[verb].calls)
	}
	u := l.upstream
	c.rows = append(c.rows, row+fmt.Sprintf(" | %s: %d, %d, %d |\n", u.plugins, u.processes, u.add, u.del))
}

// addCalls groups the lives whose verb makes the same calls.
func (c *costTable) addCalls(verb, name string, calls map[string]int) {
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(calls)) {
		part := f
		if calls[f] > 1 {
			part = fmt.Sprintf("%d %s", calls[f], f)
		}
		parts = append(parts, part)
	}
	key := verb + "|" + strings.Join(parts, ", ")
	if c.which == nil {
		c.which = map[string][]string{}
	}
	if c.which[key] == nil {
		c.order = append(c.order, key)
	}
	c.which[key] = append(c.which[key], name)
}

const costHead = `# What the plugins cost

Native calls of computenetwork.dll, from the DLL's own log, and processes that Windows starts: the example plugins as Windows programs
under Wine. On a busy node each call takes tens of milliseconds, and so does the start of a process. TestPluginsUnderWine counts anew and
compares; it fails, too, if an ADD or a DEL takes as much as with the plugins that people have now. The program anymode is for the two
modes for which there is no example.

"First ADD" is that of the node's first pod; with nat it makes the network. The last column has the plugins that do the same today:
processes, calls for an ADD, and calls for a DEL, counted in the same way with containernetworking's, flannel's and Microsoft's own programs.

| configuration | mode | processes | first ADD | ADD | ADD again | CHECK | DEL | DEL again | GC of one pod of two | STATUS | today |
|---|---|---|---|---|---|---|---|---|---|---|---|
`

// compare compares the table with a file, if every life is in it.
func (c *costTable) compare(t *testing.T, file string) {
	t.Helper()
	if c.lives < len(lives) {
		return // -run picked some
	}
	var b strings.Builder
	b.WriteString(costHead)
	for _, row := range c.rows {
		b.WriteString(row)
	}
	b.WriteString("\n## Which calls\n")
	for _, verb := range costVerbs {
		fmt.Fprintf(&b, "\n%s\n", verb)
		for _, key := range c.order {
			if calls, ok := strings.CutPrefix(key, verb+"|"); ok {
				fmt.Fprintf(&b, "- %s: %s\n", strings.Join(c.which[key], ", "), calls)
			}
		}
	}
	golden.File(t, file, b.String())
}
