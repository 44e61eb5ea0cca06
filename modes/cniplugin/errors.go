package cniplugin

import (
	"context"
	"errors"
	"io/fs"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/confjson"
)

// Error codes of the CNI specification, section "Error", and one of our own:
// 100 and above are the plugin's.
const (
	codeInvalidEnvironment = types.ErrInvalidEnvironmentVariables // 4
	codeDecoding           = types.ErrDecodingFailure             // 6
	codeInvalidConfig      = types.ErrInvalidNetworkConfig        // 7
	codeTryAgain           = types.ErrTryAgainLater               // 11
	// CodeCheckFailed is the code of a CHECK that found differences.
	CodeCheckFailed = 101
)

// Error is a failure with the code it has at the edge of the process. The
// cause stays reachable for errors.Is and errors.As.
type Error struct {
	Code uint
	Err  error
}

// Error returns the text of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CNIError returns err as the CNI specification writes errors: the code of an
// [*Error], else that of a *types.Error (an IPAM plugin's), else one that
// fits the cause, else 999. Nil stays nil.
func CNIError(err error) *types.Error {
	if err == nil {
		return nil
	}
	var fromPlugin *types.Error
	errors.As(err, &fromPlugin)
	details := ""
	if fromPlugin != nil {
		details = fromPlugin.Details
	}
	return types.NewError(code(err, fromPlugin), err.Error(), details)
}

func code(err error, fromPlugin *types.Error) uint {
	var own *Error
	var decoding *confjson.Error
	switch {
	case errors.As(err, &own):
		return own.Code
	case fromPlugin != nil && fromPlugin.Code != 0:
		return fromPlugin.Code
	case errors.As(err, &decoding):
		return codeDecoding
	case errors.Is(err, hns.ErrUnavailable), errors.Is(err, hns.ErrOutcomeUnknown), errors.Is(err, hns.ErrNotSent),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, fs.ErrNotExist):
		return codeTryAgain
	}
	return types.ErrInternal
}

// invalidConfig is a complaint about a value of the configuration.
func invalidConfig(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: codeInvalidConfig, Err: err}
}
