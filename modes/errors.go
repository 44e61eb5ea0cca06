package modes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// ErrNotReady says that the network as read lacks a value that HNS fills in a
// moment after the create, such as the provider address of an Overlay network.
// Read the network again and retry.
var ErrNotReady = errors.New("network not ready")

// UnsupportedError says that a mode, or this package for that mode, cannot do
// what was asked. It matches [hns.ErrUnsupported].
type UnsupportedError struct {
	// Mode is the mode; empty if the network is of none of the five.
	Mode Mode
	// Path is the member of the intent that asks for it, such as
	// "Addresses[1]"; empty if it is the whole.
	Path string
	// Value is the offending value, if there is one.
	Value string
	// Reason says what cannot be done and why.
	Reason string
}

// Error returns path, value, mode and reason.
func (e *UnsupportedError) Error() string {
	s := e.Reason
	if e.Mode != "" {
		s = fmt.Sprintf("mode %s: %s", e.Mode, s)
	}
	if e.Value != "" {
		s = fmt.Sprintf("%q: %s", e.Value, s)
	}
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	return s
}

// Is reports whether target is [hns.ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == hns.ErrUnsupported }

// problems collects what is wrong with an intent.
type problems []error

func (p *problems) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

func (p *problems) field(path, value, format string, args ...any) {
	p.add(&hns.FieldError{Path: path, Value: value, Reason: fmt.Sprintf(format, args...)})
}

// at adds err with path put before its own.
func (p *problems) at(path string, err error) {
	var fe *hns.FieldError
	if !errors.As(err, &fe) {
		p.add(err)
		return
	}
	c := *fe
	c.Path = path
	if fe.Path != "" {
		c.Path += "." + fe.Path
	}
	p.add(&c)
}

// as returns what was collected as one error of an operation on an object, or
// nil.
func (p problems) as(op, name string) error {
	if len(p) == 0 {
		return nil
	}
	return fmt.Errorf("modes: %s %q: %w", op, name, p)
}

// Error returns the texts of all.
func (p problems) Error() string {
	var texts []string
	for _, e := range p {
		texts = append(texts, e.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns all.
func (p problems) Unwrap() []error { return p }
