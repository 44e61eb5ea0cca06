package hns_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// No method of the client panics for nil where it takes a pointer, nor for nil
// in a list.
func TestNilArguments(t *testing.T) {
	n := newNode(t, nil)
	for _, of := range []any{n.Client, n.Networks, n.Endpoints, n.Namespaces, n.LoadBalancers, n.Routes} {
		v := reflect.ValueOf(of)
		for i := range v.NumMethod() {
			name := fmt.Sprintf("%T.%s", of, v.Type().Method(i).Name)
			takesNil := false
			var args []reflect.Value
			for j := range v.Method(i).Type().NumIn() {
				arg := reflect.New(v.Method(i).Type().In(j)).Elem()
				switch {
				case arg.Type() == reflect.TypeFor[context.Context]():
					arg = reflect.ValueOf(t.Context())
				case arg.Type() == reflect.TypeFor[hns.ID]():
					arg.Set(reflect.ValueOf(n.lake))
				case arg.Kind() == reflect.String:
					arg.SetString("x")
				case arg.Kind() == reflect.Slice:
					takesNil = true
					arg.Set(reflect.MakeSlice(arg.Type(), 1, 1))
				case arg.Kind() == reflect.Pointer, arg.Kind() == reflect.Struct, arg.Kind() == reflect.Func:
					takesNil = true
				}
				args = append(args, arg)
			}
			if !takesNil {
				continue
			}
			noPanic(t, name, func() {
				if v.Method(i).Type().IsVariadic() {
					v.Method(i).CallSlice(args)
				} else {
					v.Method(i).Call(args)
				}
			})
		}
	}
}

// Nor does a function.
func TestNilInFunctions(t *testing.T) {
	network, endpoint := &hns.Network{Name: "x", Policies: []hns.NetworkPolicy{nil}}, &hns.Endpoint{Name: "x", Policies: []hns.EndpointPolicy{nil}}
	errs := []error{(*hns.Error)(nil), (*hns.BackendError)(nil), (*hns.FieldError)(nil), (*hns.FeatureError)(nil), (*hns.GhostError)(nil), (*hns.ConflictError)(nil), (*hns.DriftError)(nil)}
	for name, call := range map[string]func(){
		"CompareNetworks, nothing":  func() { same(t, "differences", 0, len(hns.CompareNetworks(nil, nil))) },
		"CompareNetworks, no want":  func() { same(t, "differences", 0, len(hns.CompareNetworks(nil, network))) },
		"CompareNetworks, no got":   func() { same(t, "differences", "Name", hns.CompareNetworks(network, nil)[0].Path) },
		"CompareEndpoints, nothing": func() { same(t, "differences", 0, len(hns.CompareEndpoints(nil, nil))) },
		"CompareEndpoints, no want": func() { same(t, "differences", 0, len(hns.CompareEndpoints(nil, endpoint))) },
		"CompareEndpoints, no got":  func() { same(t, "differences", "Name", hns.CompareEndpoints(endpoint, nil)[0].Path) },
		"Warnings":                  func() { (&hns.LoadBalancer{Endpoints: []hns.ID{podID}}).Warnings([]*hns.Endpoint{nil}) },
		"New": func() {
			_, err := hns.New(nil, nil).Networks.List(t.Context())
			same(t, "error", "hns: list networks: the client has no backend", fmt.Sprint(err))
		},
		"Explain": func() {
			for _, err := range append(errs, errors.Join(errs...)) {
				same(t, "explanation", "", hns.Explain(err))
			}
		},
		"FieldErrors": func() {
			for _, err := range append(errs, errors.Join(errs...)) {
				same(t, "complaints", 0, len(hns.FieldErrors(err)))
			}
		},
		"policies": func() {
			same(t, "QOS", 0, len(hns.PoliciesOf[hns.QOS](endpoint.Policies)))
			if hns.HasPolicy(endpoint.Policies, "QOS") || hns.CheckEndpointPolicy(nil) == nil || endpoint.Validate() == nil || network.Validate() == nil {
				t.Error("nil is taken for a policy")
			}
		},
	} {
		noPanic(t, name, call)
	}
}

func noPanic(t *testing.T, name string, call func()) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	call()
}
