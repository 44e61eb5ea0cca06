package cniplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// Error codes of the CNI specification, section "Error".
const (
	codeUnknownContainer   = types.ErrUnknownContainer            // 3
	codeInvalidEnvironment = types.ErrInvalidEnvironmentVariables // 4
	codeIO                 = types.ErrIOFailure                   // 5
	codeDecoding           = types.ErrDecodingFailure             // 6
	codeInvalidConfig      = types.ErrInvalidNetworkConfig        // 7
	codeTryAgain           = types.ErrTryAgainLater               // 11
	codeNotAvailable       = 50                                   // of STATUS: no ADD can be served
	codeLimited            = 51                                   // of STATUS: and pods that are there may suffer
)

// Error codes of our own: the specification leaves 100 and above to plugins.
// None of them goes away by trying again alone.
const (
	// CodeCheckFailed is the code of a CHECK that found differences.
	CodeCheckFailed = 101
	// CodeConflict: something that is there stands in the way, and stays until
	// somebody takes it away. It is another interface's endpoint of the name, an
	// endpoint that is attached elsewhere or has the address, a port or a subnet that
	// is taken, an object that HNS calls degraded.
	CodeConflict = 102
	// CodeDenied: HNS wants more rights than the plugin has.
	CodeDenied = 103
	// CodeUnsupported: this node cannot do it at all, whatever the configuration
	// says: there is no HNS, or it lacks the call.
	CodeUnsupported = 104
	// CodeNoAddress: IPAM, or HNS, gave the pod no address.
	CodeNoAddress = 105
)

// Error is a failure with the code it has at the edge of the process. The
// cause stays reachable for errors.Is and errors.As.
type Error struct {
	Code uint
	Err  error
}

// Error returns the text of the cause, or the code if there is none.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("error code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CNIError returns err as the CNI specification writes errors: the code of an
// [*Error], else that of a *types.Error (an IPAM plugin's), else one that
// fits the cause, else 999; the package comment lists them. Nil stays nil. A text that is too long for an event
// or a log line loses its middle: what was tried stands at its beginning, and why
// it failed at its end.
func CNIError(err error) *types.Error {
	if err == nil {
		return nil
	}
	var fromPlugin *types.Error
	details := ""
	if errors.As(err, &fromPlugin) {
		details = fromPlugin.Details
	}
	var panicked *panicError
	if errors.As(err, &panicked) {
		details = string(panicked.stack)
	}
	return types.NewError(code(err, fromPlugin), cutMiddle(err.Error(), longestMsg), cutMiddle(details, longestDetails))
}

// How long the texts of an error may be, in bytes.
const (
	longestMsg     = 4 << 10
	longestDetails = 16 << 10
)

// cutMiddle leaves out what does not fit.
func cutMiddle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const mark, room = " … %d bytes left out … ", 50
	head := (most - room) / 2
	tail := len(s) - (most - room - head)
	return strings.ToValidUTF8(s[:head], "") + fmt.Sprintf(mark, tail-head) + strings.ToValidUTF8(s[tail:], "")
}

// writeError writes an error as the specification has it, section "Error":
// types.Error lacks the version, which is that of the configuration if that can
// be read and is one that the plugin speaks.
func writeError(w io.Writer, e *types.Error, conf []byte) error {
	v, err := (&version.ConfigDecoder{}).Decode(conf)
	if err != nil || !slices.Contains(version.All.SupportedVersions(), v) {
		v = types100.ImplementedSpecVersion
	}
	doc, err := json.MarshalIndent(struct {
		CNIVersion string `json:"cniVersion"`
		*types.Error
	}{v, e}, "", "    ")
	if err != nil {
		return err
	}
	_, err = w.Write(doc)
	return err
}

func code(err error, fromPlugin *types.Error) uint {
	var own *Error
	var decoding *confjson.Error
	var config *ipam.ConfigError
	var failed *hns.Error
	var file *fs.PathError
	var lacks *hns.FeatureError
	switch {
	case errors.As(err, &own):
		return own.Code
	case fromPlugin != nil && fromPlugin.Code != 0:
		return fromPlugin.Code
	case errors.As(err, &decoding):
		return codeDecoding
	case isAny(err, hns.ErrUnavailable, hns.ErrOutcomeUnknown, hns.ErrNotSent, ipam.ErrOutcomeUnknown, modes.ErrNotReady,
		context.DeadlineExceeded, context.Canceled):
		return codeTryAgain
	case errors.As(err, &failed) && errors.Is(failed, hns.ErrNotFound):
		if failed.Kind == hns.KindNamespace { // it is the sandbox
			return codeUnknownContainer
		}
		return codeTryAgain // gone since it was looked for
	case errors.As(err, &file):
		return codeIO
	case errors.As(err, &lacks), errors.As(err, &config), hns.FieldErrors(err) != nil, errors.Is(err, ipam.ErrPluginNotFound):
		return codeInvalidConfig
	case isAny(err, hns.ErrExists, hns.ErrAddressInUse, hns.ErrOverlap, hns.ErrAttached, hns.ErrInUse, hns.ErrAmbiguous, hns.ErrDegraded):
		return CodeConflict // before ErrInvalid, which an address in use is too
	case isAny(err, hns.ErrInvalid, hns.ErrInvalidPolicy):
		return codeInvalidConfig
	case errors.Is(err, hns.ErrDenied):
		return CodeDenied
	case isAny(err, hns.ErrUnsupported, hns.ErrUnsupportedOS):
		return CodeUnsupported
	case errors.Is(err, ipam.ErrNoAddress):
		return CodeNoAddress
	}
	return types.ErrInternal
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}

// invalidConfig is a complaint about a value of the configuration.
func invalidConfig(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: codeInvalidConfig, Err: err}
}

// withUndo adds the failure of a clean-up to what made it necessary, whose code
// stays the error's.
func withUndo(err, errUndo error) error {
	if errUndo == nil {
		return err
	}
	return &Error{Code: CNIError(err).Code, Err: fmt.Errorf("%w (%w: %w)", err, hns.ErrLeftBehind, errUndo)}
}

// panicError is a panic that was caught.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// safely calls a step that is not ours, a hook or IPAM, and names it in its
// error. A panic is an error too: what was made before it must be taken back.
func safely(step string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %w", step, &panicError{p, debug.Stack()})
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// reasonOf is the text of an error without the path and value that a
// *hns.FieldError has, for a complaint that has its own.
func reasonOf(err error) string {
	var f *hns.FieldError
	if errors.As(err, &f) {
		return f.Reason
	}
	return err.Error()
}
