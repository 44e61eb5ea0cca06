package hcnbridge

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/Microsoft/hcsshim"
	"github.com/Microsoft/hcsshim/hcn"

	"github.com/hnskit/hnskit/hns"
)

// callV1 makes those v1 calls that hcsshim exports, by their path.
func callV1(req hns.Request) (hns.Response, error) {
	resource, rest, _ := strings.Cut(strings.Trim(req.Path, "/"), "/")
	read := req.Method == "GET"
	list := read && rest == ""
	body := string(req.Document)
	var answer any
	var err error
	switch {
	case resource == "globals" && rest == "version" && read:
		var g *hcn.Globals
		if g, err = hcn.GetGlobals(); err == nil {
			answer = g.Version
		}
	case resource == "networks" && list:
		return each(hcsshim.HNSListNetworkRequest(req.Method, rest, body))
	case resource == "networks":
		answer, err = hcsshim.HNSNetworkRequest(req.Method, rest, body)
	case resource == "endpoints" && list:
		return each(hcsshim.HNSListEndpointRequest())
	case resource == "endpoints":
		answer, err = hcsshim.HNSEndpointRequest(req.Method, rest, body)
	case resource == "policylists" && list:
		return each(hcsshim.HNSListPolicyListRequest())
	case resource == "policylists":
		answer, err = hcsshim.HNSPolicyListRequest(req.Method, rest, body)
	case resource == "endpointstats" && read && rest != "":
		answer, err = hcsshim.GetHNSEndpointStats(rest)
	default:
		return hns.Response{}, unsupported("hcsshim exports no v1 call for %s %s", req.Method, req.Path)
	}
	if err != nil {
		if !read && answeredText(err) {
			return hns.Response{}, nil
		}
		return hns.Response{}, failureV1(err)
	}
	if v := reflect.Indirect(reflect.ValueOf(answer)); !v.IsValid() || v.IsZero() {
		return hns.Response{}, nil // no output
	}
	return respond(answer, nil)
}

// each gives a list as the one document that the v1 call has for it.
func each[T any](list []T, err error) (hns.Response, error) {
	if err != nil {
		return hns.Response{}, failureV1(err)
	}
	if list == nil {
		list = []T{}
	}
	return respond(list, nil)
}

// answeredText reports whether HNS said yes with a text for output, which
// hcsshim takes for an error since it reads an object only.
func answeredText(err error) bool {
	var typ *json.UnmarshalTypeError
	return errors.As(err, &typ) && typ.Value == "string" && typ.Field == ""
}

// failureV1 is [failure] for the v1 call. Of an answer without success hcsshim
// leaves the message alone, behind words of its own.
func failureV1(err error) error {
	for _, prefix := range []string{"hns failed with error : ", "HNS failed with error : "} {
		if text, ok := strings.CutPrefix(err.Error(), prefix); ok {
			return &hns.BackendError{Text: text}
		}
	}
	return failure(err)
}
