package flows_test

import (
	"fmt"

	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// diagrams are the traces whose diagrams are golden files, which
// testdata/check-mermaid.mjs gives to Mermaid itself.
func diagrams(t testing.TB) map[string]*flows.Trace {
	t.Helper()
	out := map[string]*flows.Trace{
		"overlay-service": world(t, cluster(t, modes.Overlay)).Trace(flows.Packet{From: flows.Place{Pod: mixedcluster.Client}, To: flows.Target{Name: "web"}, Backend: mixedcluster.PodAddress(mixedcluster.Web2)}),
		"l2bridge-outside": world(t, cluster(t, modes.L2Bridge)).Trace(
			flows.Packet{From: flows.Place{Pod: mixedcluster.Client}, To: flows.Target{Name: mixedcluster.WWW}, DstPort: 443}),
	}
	for _, b := range mixedcluster.Breaks() {
		if b.Mode == modes.L2Bridge && (b.Name == "route-back" || b.Name == "dns-service" || b.Name == "exception-cluster") {
			c := cluster(t, b.Mode)
			b.Do(c)
			out["broken-"+b.Name] = world(t, c).Trace(b.Packet)
		}
	}
	return out
}

func TestMermaidGolden(t *testing.T) {
	for name, tr := range diagrams(t) {
		golden.File(t, filepath.Join("testdata", name+".mmd"), tr.Mermaid())
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.mmd"))
	if err != nil || len(files) != len(diagrams(t)) {
		t.Errorf("diagrams that nothing makes: %v, %v", files, err)
	}
}

// The subset of Mermaid that is used. A text is what plain leaves.
var (
	mermaidText  = `[A-Za-z0-9 .,:/_()\[\]>=?'+-]+`
	mermaidLines = regexp.MustCompile(`^    (participant (p\d+) as ` + mermaidText + `|(p\d+)(->>|-->>|-x|--x)(p\d+): ` + mermaidText + `|Note over (p\d+): ` + mermaidText + `)$`)
)

func checkMermaid(doc string) error {
	lines := strings.Split(strings.TrimSuffix(doc, "\n"), "\n")
	if lines[0] != "sequenceDiagram" {
		return fmt.Errorf("begins with %q", lines[0])
	}
	known := map[string]bool{}
	for _, l := range lines[1:] {
		m := mermaidLines.FindStringSubmatch(l)
		if m == nil {
			return fmt.Errorf("line %q", l)
		}
		if m[2] != "" {
			if known[m[2]] {
				return fmt.Errorf("participant %s twice", m[2])
			}
			known[m[2]] = true
		}
		for _, p := range []string{m[3], m[5], m[6]} {
			if p != "" && !known[p] {
				return fmt.Errorf("line %q: %s is no participant", l, p)
			}
		}
		text := l[strings.Index(l, ": ")+1:]
		if strings.Contains(text, "--") || strings.Contains(text, "->") || strings.Contains(l, ";") || strings.Contains(l, "#") {
			return fmt.Errorf("line %q holds what means something", l)
		}
	}
	return nil
}

// TestMermaidSyntax holds every diagram of every flow and break to the subset
// that Mermaid itself was seen to take.
func TestMermaidSyntax(t *testing.T) {
	check := func(what string, tr *flows.Trace) {
		if err := checkMermaid(tr.Mermaid()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, col := range nine(t) {
		for _, cell := range col.Cells {
			for _, c := range cell.Cases {
				check(fmt.Sprint(col.Mode, cell.Flow, c.Name), c.Trace)
			}
		}
	}
	for _, b := range mixedcluster.Breaks() {
		c := cluster(t, b.Mode)
		b.Do(c)
		check(b.Name, world(t, c).Trace(b.Packet))
	}
}

// TestMermaidNames: names that would mean something to Mermaid do not get there.
func TestMermaidNames(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	for i := range c.Nodes {
		if l := c.Nodes[i].Linux; l != nil {
			l.Pods[0].Name = "end; participant x --> y #35; \"%%{init}%%\"\nNote"
		}
	}
	w := world(t, c)
	tr := w.Trace(flows.Packet{From: flows.Place{Pod: c.Nodes[2].Linux.Pods[0].Name}, To: flows.Target{Place: flows.Place{Pod: mixedcluster.Client}}})
	if err := checkMermaid(tr.Mermaid()); err != nil || !tr.Works() {
		t.Errorf("%v\n%s", err, tr.Mermaid())
	}
	if err := checkMermaid((&flows.Trace{}).Mermaid()); err != nil {
		t.Errorf("a trace of nothing: %v", err)
	}
}

func TestReasonsNameEveryNo(t *testing.T) {
	table := nine(t)
	lines := strings.Count(table.Reasons(), "\n")
	if want := strings.Count(table.Text(), "  no"); lines != want {
		t.Errorf("%d reasons for %d cells with no", lines, want)
	}
}

// TestDiagnosisText: what is said of an answer is that it is lost, and nothing
// that arrives is.
func TestDiagnosisText(t *testing.T) {
	for _, b := range mixedcluster.Breaks() {
		c := cluster(t, b.Mode)
		b.Do(c)
		tr := world(t, c).Trace(b.Packet)
		lost := strings.Contains(tr.Diagnosis.String(), "the answer is lost") || strings.Contains(tr.Text(), "on the way back")
		if last := tr.Steps[len(tr.Steps)-1]; lost != (tr.Outcome == flows.Dropped && last.Reply) {
			t.Errorf("%s/%s, %s: %s", b.Mode, b.Name, tr.Outcome, tr.Diagnosis)
		}
	}
}
