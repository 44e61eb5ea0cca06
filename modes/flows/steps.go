package flows

// step adds a step; After is the present header.
func (f *flight) step(s Step) {
	s.After, s.Reply = f.h, f.reply
	s.Certainty = max(s.Certainty, f.floor)
	f.t.Steps = append(f.t.Steps, s)
}

// pass notes that an object let the packet through, or led it on.
func (f *flight) pass(o Ref, c Certainty, needed bool, text string) {
	f.step(Step{Object: o, Effect: Passed, Before: f.h, Certainty: c, Needed: needed, Text: text})
}

// through notes that an object led the packet on, and what it took to do so.
func (f *flight) through(o Ref, c Certainty, needed bool, text string, needs ...Ref) {
	f.step(Step{Object: o, Effect: Passed, Before: f.h, Certainty: c, Needed: needed, Needs: needs, Text: text})
}

// rewrite changes the header.
func (f *flight) rewrite(o Ref, c Certainty, needed bool, text string, change func(*Header)) {
	before := f.h
	change(&f.h)
	f.step(Step{Object: o, Effect: Rewritten, Before: before, Certainty: c, Needed: needed, Text: text})
}

// unjudged notes something that could not be judged, once for each object and
// text, and goes on as if it let the packet through.
func (f *flight) unjudged(o Ref, text string) {
	key := [2]any{o, text}
	if f.noted[key] {
		return
	}
	if f.noted == nil {
		f.noted = map[any]bool{}
	}
	f.noted[key] = true
	f.step(Step{Object: o, Effect: Unknown, Before: f.h, Certainty: Inferred, Text: "could not be judged: " + text})
	f.t.Outcome = Unjudged
}

// outOfSight ends the trace where nobody who is described can say how it goes
// on.
func (f *flight) outOfSight(o Ref, text string) spot {
	f.step(Step{Object: o, Effect: Unknown, Before: f.h, Certainty: Inferred, Text: "goes out of sight: " + text})
	f.t.Outcome = Unjudged
	return spot{}
}

// drop ends the trace.
func (f *flight) drop(d Diagnosis) spot {
	f.step(Step{Object: d.Object, Effect: Lost, Before: f.h, Certainty: d.Certainty, Text: d.Text})
	f.t.Outcome, f.t.Diagnosis = Dropped, f.seal(d)
	return spot{}
}

func (f *flight) seal(d Diagnosis) *Diagnosis {
	d.Reply = f.reply
	d.Certainty = max(d.Certainty, f.floor)
	return &d
}
