package hns

import (
	"context"
	"slices"
	"strings"
)

// gated is a policy that not every HNS has.
type gated interface {
	features() []Feature
}

// policyFeatures returns what the policies need. Raw ones of a known type are
// judged by its struct.
func policyFeatures[P policy](ps []P, known decoders[P]) []Feature {
	var out []Feature
	for _, p := range ps {
		if g, ok := any(typed(p, known)).(gated); ok {
			out = append(out, g.features()...)
		}
	}
	return out
}

// typed returns a raw policy of a known type as its struct, whatever gets lost
// by it; others come back as they are.
func typed[P policy](p P, known decoders[P]) P {
	raw, ok := any(p).(RawPolicy)
	if !ok {
		return p
	}
	dec := known[strings.ToLower(raw.Type)]
	if dec == nil {
		return p
	}
	var unread []Unread
	return dec(newReader(raw.Settings, &unread))
}

// gate refuses features that this HNS is known to lack. The version is asked
// for only if there are any: what a plugin's ADD sends by default needs none, so
// it costs no call. If HNS does not tell its version, it shall judge the request
// itself: what cannot be asked for may be there.
func (c *Client) gate(ctx context.Context, fs []Feature) error {
	var needed []Feature
	for _, f := range fs {
		if !c.allowed["feature-"+f.Name] && !slices.ContainsFunc(needed, func(g Feature) bool { return g.Name == f.Name }) {
			needed = append(needed, f)
		}
	}
	if len(needed) == 0 {
		return nil
	}
	v, err := c.Version(ctx)
	var missing gateError
	for _, f := range needed {
		if err == nil && !f.In(v) {
			missing = append(missing, &FeatureError{f, v})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return missing
}

// gateError is why a document was not sent.
type gateError []*FeatureError

func (e gateError) Error() string {
	var texts []string
	for _, f := range e {
		texts = append(texts, f.Error())
	}
	return strings.Join(texts, "; ")
}

func (e gateError) Unwrap() []error {
	var out []error
	for _, f := range e {
		out = append(out, f)
	}
	return out
}
