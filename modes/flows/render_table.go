package flows

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text returns the table: a numbered line for each flow, a column for each mode, with
// "yes", "no" or "n/a" ("maybe" where something could not be judged) and "?"
// behind what is inferred.
func (t Table) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "FLOW")
	for _, c := range t {
		fmt.Fprintf(w, "\t%s", c.Mode)
	}
	fmt.Fprintln(w)
	for _, f := range Flows() {
		fmt.Fprintf(w, "%d %s", uint8(f), f)
		for _, c := range t {
			fmt.Fprintf(w, "\t%s", c.Cell(f))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to memory
	return b.String()
}

// Reasons returns a line for each "no" of the table: the mode, the flow, the
// case that does not work, and why. It is empty if there is none.
func (t Table) Reasons() string {
	var b strings.Builder
	for _, c := range t {
		for _, cell := range c.Cells {
			if why := cell.Why(); why != nil {
				fmt.Fprintf(&b, "%s, %s (%s): %s\n", c.Mode, cell.Flow, why.Name, why.Trace.Diagnosis)
			}
		}
	}
	return b.String()
}
