package hcnbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"

	"github.com/Microsoft/hcsshim/hcn"

	"github.com/hnskit/hnskit/hns"
)

func unsupported(format string, args ...any) error {
	return &hns.BackendError{Code: hns.CodeNotImplemented, Err: fmt.Errorf(format, args...)}
}

// failure returns err as a *hns.BackendError, by its type and its code.
func failure(err error) error {
	if err == nil {
		return nil
	}
	var done *hns.BackendError
	if errors.As(err, &done) {
		return done
	}
	if ok, cause := causeOf(err); ok {
		return ofCall(err, cause)
	}
	if code := absenceCode(err); code != 0 {
		return &hns.BackendError{Code: code, Err: err}
	}
	return &hns.BackendError{Err: err}
}

// causeOf tells whether err is of a call of hcn or of hcsshim's v1 package, and
// what that failed with: its error number, or nil where the call succeeded and
// an error record came with it. Neither type gives that through errors.As.
func causeOf(err error) (ofCall bool, cause error) {
	var ofV2 *hcn.HcnError
	if errors.As(err, &ofV2) {
		return true, ofV2.Err
	}
	ofV1 := (&hcn.HcnError{}).HcsError // its type has no name outside hcsshim
	if errors.As(err, &ofV1) {
		return true, ofV1.Err
	}
	return false, nil
}

// ofCall is the failure of a call with its code and its error record.
func ofCall(err, cause error) error {
	rec := recordOf(err, cause)
	var errno syscall.Errno
	switch {
	case cause == nil:
		return &hns.BackendError{Code: hns.NewCode(rec.ErrorCode), Text: rec.Error}
	case errors.As(cause, &errno) && (errno < 0x10000 || errno&0x80000000 != 0):
		return &hns.BackendError{Code: hns.NewCode(uint32(errno)), Text: rec.Error}
	}
	return &hns.BackendError{Text: rec.Error, Err: cause} // of Go's own, such as a text with a zero byte
}

type record struct {
	Error     string
	ErrorCode uint32
}

// recordOf returns the error record that HNS wrote. hcsshim keeps it only as the
// end of its error's text, behind the error number.
func recordOf(err, cause error) record {
	var errno syscall.Errno
	number := uint32(syscall.Errno(31)) // ERROR_GEN_FAILURE, as hcsshim has for none
	if errors.As(cause, &errno) {
		number = uint32(errno)
	}
	_, rest, _ := strings.Cut(err.Error(), fmt.Sprintf("failed in Win32: %s (0x%x)", cause, number))
	rest = strings.TrimPrefix(rest, " ")
	var rec record
	if rest != "" && json.Unmarshal([]byte(rest), &rec) != nil {
		rec.Error = rest
	}
	return rec
}

// absenceCode returns the code that HNS has for what hcn says in types of its
// own, after a filter found nothing; zero for other errors.
func absenceCode(err error) hns.Code {
	var (
		network      hcn.NetworkNotFoundError
		endpoint     hcn.EndpointNotFoundError
		namespace    hcn.NamespaceNotFoundError
		loadBalancer hcn.LoadBalancerNotFoundError
		route        hcn.RouteNotFoundError
	)
	switch {
	case errors.As(err, &network):
		return hns.CodeNetworkNotFound
	case errors.As(err, &endpoint):
		return hns.CodeEndpointNotFound
	case errors.As(err, &namespace), errors.As(err, &loadBalancer), errors.As(err, &route):
		return hns.CodeElementNotFound
	}
	return 0
}

// isAbsence reports whether a look-up failed since an object is not there.
func isAbsence(err error) bool {
	var be *hns.BackendError
	if !errors.As(failure(err), &be) {
		return false
	}
	switch be.Code {
	case hns.CodeNetworkNotFound, hns.CodeEndpointNotFound, hns.CodeElementNotFound, hns.CodeObjectNotFound:
		return true
	}
	return false
}

// ownRefusal marks what hcn refuses before it calls HNS: every error of a create
// that neither comes from a call nor is about JSON.
func ownRefusal(err error) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var done *hns.BackendError
	call, _ := causeOf(err)
	if err == nil || call || errors.As(err, &syntax) || errors.As(err, &typ) || errors.As(err, &done) {
		return err
	}
	return &hns.BackendError{Err: fmt.Errorf("%w: %w", hns.ErrInvalid, err)}
}

// panicked is a panic of hcn as an error. The failed type assertion is that of
// an error that is none of HNS's: the DLL lacks the function.
func panicked(p any) error {
	err, ok := p.(error)
	if !ok {
		err = fmt.Errorf("%v", p)
	}
	be := &hns.BackendError{Err: fmt.Errorf("panic in hcn: %w", err)}
	var assertion *runtime.TypeAssertionError
	if errors.As(err, &assertion) {
		be.Code = hns.CodeProcNotFound
	}
	return be
}
