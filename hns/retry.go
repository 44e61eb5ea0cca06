package hns

import (
	"context"
	"errors"
)

// worthRepeating reports whether a call that failed with err is sent once more,
// at once. Two kinds are:
//
//   - A read that HNS lost (RPC_S_CALL_FAILED, RPC_S_CALL_FAILED_DNE): the first
//     call after a restart of the service fails so (microsoft/WSL#9634), and a
//     read changes nothing. Codes that say that the service is down are not
//     worth it: that takes seconds, and waiting is for the caller to decide
//     (EnsureOptions.Patient).
//   - The delete of a load balancer, which Windows Server 2019 fails at times
//     without a reason; kube-proxy sends it again at once. A delete goes by id,
//     so a second one does no harm.
//
// Never a create or a modify. RPC_S_CALL_FAILED_DNE means that a call was not
// carried out, but a create is several calls, of which the last may be the one
// that failed. Whether other deletes fail for nothing is not known.
func worthRepeating(req Request, err error) bool {
	var e *Error
	if !errors.As(err, &e) || errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrNotSent) {
		return false
	}
	switch {
	case req.isRead():
		return e.Code == CodeRPCCallFailed || e.Code == CodeRPCCallFailedDNE
	case req.Verb == VerbDelete && req.Kind == KindLoadBalancer:
		return e.Code != 0 && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnavailable) &&
			!errors.Is(err, ErrDenied) && !errors.Is(err, ErrUnsupported)
	}
	return false
}

// isRead reports whether the request changes nothing.
func (r Request) isRead() bool {
	return r.Verb == VerbList || r.Verb == VerbGet || r.Verb == VerbCall && r.Method == "GET"
}

// again sends the request once more and returns what is then known of it.
func (c *Client) again(ctx context.Context, op, ref string, req Request, first error) (Response, error) {
	if ctx.Err() != nil {
		return Response{}, first
	}
	resp, err := c.once(ctx, op, ref, req)
	switch {
	case errors.Is(err, ErrNotSent): // what HNS said the first time stands
		return Response{}, first
	case req.Verb == VerbDelete && errors.Is(err, ErrNotFound): // the first one deleted it all the same
		return Response{}, nil
	}
	return resp, err
}
