package hns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Action is what Ensure does, or would do, with an object.
type Action string

// The actions.
const (
	// ActionKeep leaves everything as it is.
	ActionKeep Action = "keep"
	// ActionCreate makes the object.
	ActionCreate Action = "create"
	// ActionRepair changes the object in place.
	ActionRepair Action = "repair"
	// ActionRecreate deletes the object and makes it anew.
	ActionRecreate Action = "recreate"
	// ActionDelete deletes the object: a load balancer without backends.
	ActionDelete Action = "delete"
	// ActionRefuse leaves an object alone that is not as wanted; the error
	// says why.
	ActionRefuse Action = "refuse"
)

// Decision is what Ensure found and what it did about it; with
// EnsureOptions.DryRun, what it would do. It is filled as far as Ensure came
// when there is an error.
type Decision struct {
	// Action is empty if Ensure failed before it could decide.
	Action Action
	// Kind and Ref say of what: Ref is the name in quotes, or the id.
	Kind Kind
	Ref  string
	// ID of the object that was there; zero: there was none.
	ID ID
	// Differences between what was wanted and what was there, also those that
	// were put right or that EnsureOptions.Drift let pass.
	Differences []Difference
}

// Changes reports whether the action changes anything.
func (d Decision) Changes() bool {
	return d.Action != "" && d.Action != ActionKeep && d.Action != ActionRefuse
}

// String returns "repair network "lake": " and the differences.
func (d Decision) String() string {
	s := strings.TrimSpace(fmt.Sprintf("%s %s %s", d.Action, d.Kind, d.Ref))
	if len(d.Differences) > 0 {
		s += ": " + differenceTexts(d.Differences)
	}
	return s
}

func differenceTexts(ds []Difference) string {
	var out []string
	for _, d := range ds {
		out = append(out, d.String())
	}
	return strings.Join(out, "; ")
}

// Drift says what Ensure does with a difference that HNS cannot change in
// place, such as the subnet of a network.
type Drift uint8

const (
	// DriftRefuse makes it a *[DriftError]. It is the default.
	DriftRefuse Drift = iota
	// DriftKeep uses the object as it is. What can be changed is put right.
	DriftKeep
	// DriftRecreate deletes the object and makes it anew, if nothing uses it:
	// a network without endpoints, an endpoint that is not attached, a
	// namespace that holds nothing. Else it is a *[DriftError]. What can be read
	// to stand in the way of the new one is a *[DriftError] too, and the old one
	// stays. If HNS refuses the new one all the same, the old one is put back; if
	// that fails the error is ErrLeftBehind.
	DriftRecreate
)

var driftNames = [...]string{"refuse", "keep", "recreate"}

// String returns "refuse", "keep" or "recreate".
func (d Drift) String() string {
	if int(d) < len(driftNames) {
		return driftNames[d]
	}
	return fmt.Sprintf("drift(%d)", uint8(d))
}

// EnsureOptions are the options of all Ensure methods. The zero EnsureOptions,
// or nil, are the defaults.
type EnsureOptions struct {
	// DryRun only reads. The decision and the error are those that a call
	// without it would have, as far as reading can tell; the object is the one
	// that is there, nil if none is.
	DryRun bool
	// Drift says what to do with what cannot be changed in place.
	Drift Drift
	// Patient tries again while the service is down, until the context ends:
	// give it a deadline. Down is what matches ErrUnavailable, be it a code of
	// HNS or an error of the backend's own, such as an emulator's whose file
	// another process holds. Each try begins with reading, so what an earlier
	// one did is found. Otherwise the first failure is returned.
	Patient bool
}

func optionsOf(o *EnsureOptions) EnsureOptions {
	if o == nil {
		return EnsureOptions{}
	}
	return *o
}

// ErrDrift says that the object is there and is not as wanted. The error is a
// *[DriftError].
var ErrDrift = errors.New("not as wanted")

// DriftError is the refusal of an object that is not as wanted. It matches
// [ErrDrift].
type DriftError struct {
	Kind Kind
	// Ref is the name in quotes, or the id.
	Ref string
	ID  ID
	// Differences are all of those that stand in the way.
	Differences []Difference
	// Err is why the object was not made anew although that was asked for,
	// such as ErrInUse; nil otherwise.
	Err error
}

// Error lists the differences.
func (e *DriftError) Error() string {
	who := fmt.Sprintf("%s %s", e.Kind, e.Ref)
	if !strings.Contains(e.Ref, e.ID.String()) { // the id may be all there is to name it
		who += fmt.Sprintf(" (%s)", e.ID)
	}
	s := fmt.Sprintf("hns: %s is not as wanted: %s", who, differenceTexts(e.Differences))
	if e.Err != nil {
		return s + ": it is not made anew: " + e.Err.Error()
	}
	return s
}

// Unwrap returns e.Err.
func (e *DriftError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrDrift].
func (e *DriftError) Is(target error) bool { return target == ErrDrift }

// refuse turns the decision into a refusal for these differences.
func (d *Decision) refuse(blocking []Difference, why error) error {
	d.Action = ActionRefuse
	return &DriftError{Kind: d.Kind, Ref: d.Ref, ID: d.ID, Differences: blocking, Err: why}
}

// ensureFailed puts a failure that no request had under the operation.
func ensureFailed(kind Kind, ref string, err error) error {
	return &Error{Op: "ensure " + kind.String(), Kind: kind, Ref: ref, Err: err}
}

// patiently calls once, with Patient again and again while HNS is down.
// Of the decisions it returns the last one that changes something.
func patiently[T any](ctx context.Context, o EnsureOptions, once func() (T, Decision, error)) (T, Decision, error) {
	var wait pause
	var before Decision
	var down error
	for {
		obj, d, err := once()
		if down != nil && errors.Is(err, ErrNotSent) { // what HNS said last stands
			err = fmt.Errorf("%w (%w)", down, whyDone(ctx))
		}
		if before.Changes() && !d.Changes() && d.Action != ActionRefuse {
			d = before
		}
		if !o.Patient || !errors.Is(err, ErrUnavailable) {
			return obj, d, err
		}
		if errWait := wait.wait(ctx); errWait != nil {
			return obj, d, fmt.Errorf("%w (%w)", err, errWait)
		}
		before, down = d, err
	}
}

// The pauses between two tries grow from firstPause to longestPause.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// pause is the length of the last pause; zero before the first.
type pause time.Duration

// wait pauses, longer each time, and returns why ctx ended if it did.
func (p *pause) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return whyDone(ctx)
	}
	*p = min(max(2**p, pause(firstPause)), pause(longestPause))
	t := time.NewTimer(time.Duration(*p))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return whyDone(ctx)
	}
}

// holdsPolicy reports whether got is of want's type and has all settings that
// want sets; those that want leaves zero may be anything.
func holdsPolicy[P policy](want, got P) bool {
	if noValue(want) != nil || noValue(got) != nil || !strings.EqualFold(want.PolicyType(), got.PolicyType()) {
		return false
	}
	w, errW := settingsOf(want)
	g, errG := settingsOf(got)
	if errW != nil || errG != nil {
		return false
	}
	wm, okW := w.(map[string]any)
	gm, okG := g.(map[string]any)
	if okW && (okG || g == nil) {
		return containsMembers(gm, wm)
	}
	return sameValue(w, g)
}

func settingsOf[P policy](p P) (any, error) {
	b, err := encode(p.settings())
	if err != nil {
		return nil, err
	}
	return decodeAny(b)
}

// settingsText returns the settings of a policy as JSON.
func settingsText[P policy](p P) string {
	b, err := encode(p.settings())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// policyPath is the path of a policy in a [Difference].
func policyPath[P policy](i int, p P) string {
	return fmt.Sprintf("Policies[%d] %s", i, p.PolicyType())
}
