package hns

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Version is the version of HNS (not of Windows), as GET /globals/version
// gives it. The zero Version is unknown.
type Version struct {
	Major, Minor uint32
}

// String returns "13.3", or "unknown" for the zero Version.
func (v Version) String() string {
	if v == (Version{}) {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// VersionRange is a range of versions with both ends included. A zero To means
// every newer version.
type VersionRange struct {
	From, To Version
}

func (r VersionRange) holds(v Version) bool {
	return !v.Less(r.From) && (r.To == Version{} || !r.To.Less(v))
}

// String returns "10.2+" or "9.3-9.x".
func (r VersionRange) String() string {
	switch {
	case r.To == Version{}:
		return r.From.String() + "+"
	case r.To.Minor == math.MaxUint32:
		return fmt.Sprintf("%s-%d.x", r.From, r.To.Major)
	}
	return r.From.String() + "-" + r.To.String()
}

// Feature is something that only some versions of HNS can do. The ranges are
// data since they have holes: a minimum version would be wrong.
type Feature struct {
	// Name is the field's name for it, such as "DSR".
	Name string
	// Versions that have it.
	Versions []VersionRange
	// Windows says which Windows that is.
	Windows string
}

// In reports whether HNS of version v has the feature. An unknown version has
// none.
func (f Feature) In(v Version) bool {
	for _, r := range f.Versions {
		if r.holds(v) {
			return true
		}
	}
	return false
}

// FeatureError says that this HNS lacks a feature. It matches [ErrUnsupported].
type FeatureError struct {
	Feature Feature
	Found   Version
}

// Error names the feature, the versions that have it and the version found.
func (e *FeatureError) Error() string {
	var rs []string
	for _, r := range e.Feature.Versions {
		rs = append(rs, r.String())
	}
	return fmt.Sprintf("%s needs HNS %s (%s), this is %s", e.Feature.Name, strings.Join(rs, " or "), e.Feature.Windows, e.Found)
}

// Is reports whether target is [ErrUnsupported].
func (e *FeatureError) Is(target error) bool { return target == ErrUnsupported }

// Version asks HNS for its version. A good answer is kept for the client's
// life; a failure is not, and says nothing about features.
func (c *Client) Version(ctx context.Context) (Version, error) {
	c.versionMu.Lock()
	v := c.version
	c.versionMu.Unlock()
	if v != (Version{}) {
		return v, nil
	}
	const op = "read version"
	resp, err := c.do(ctx, op, "", Request{Verb: VerbCall, Kind: KindService, Method: "GET", Path: "/globals/version"})
	if err != nil {
		return Version{}, err
	}
	fail := func(err error) (Version, error) {
		return Version{}, &Error{Op: op, Verb: VerbCall, Err: err}
	}
	if len(resp.Documents) != 1 {
		return fail(errors.New("HNS answered without a version"))
	}
	var d Document
	r, bad := startReading(resp.Documents[0], &d)
	if bad != nil {
		return fail(bad)
	}
	v = Version{uint32(r.uint("Major", 32)), uint32(r.uint("Minor", 32))}
	if len(d.Unread) > 0 { // half a version would be a wrong one
		return fail(joinFields(unreadable(d.Unread)))
	}
	if v == (Version{}) {
		return fail(errors.New("HNS answered without a version"))
	}
	c.versionMu.Lock()
	c.version = v
	c.versionMu.Unlock()
	return v, nil
}

// Require returns nil if this HNS has the feature, a *[FeatureError] if it has
// not, and the error of the version call if that is not known.
func (c *Client) Require(ctx context.Context, f Feature) error {
	v, err := c.Version(ctx)
	if err != nil {
		return fmt.Errorf("whether HNS has %s is not known: %w", f.Name, err)
	}
	if !f.In(v) {
		return &FeatureError{f, v}
	}
	return nil
}
