package hnstest_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// switches are what a real HNS may well do otherwise than the emulator's
// defaults. The suite must notice each, and yet pass on a host that does so.
var switches = []struct {
	name string
	set  func(*emulator.Options)
	// noticed is one of the cases that differ.
	noticed string
}{
	{"NetworkNamesIgnoreCase", func(o *emulator.Options) { o.NetworkNamesIgnoreCase = true }, "network/name in other letters"},
	{"AllowLowVNI", func(o *emulator.Options) { o.AllowLowVNI = true }, "network/create/VNI too low"},
	{"LowVNICode", func(o *emulator.Options) { o.LowVNICode = hns.CodeInvalidNetwork }, "network/create/VNI too low"},
	{"SingleNAT", func(o *emulator.Options) { o.SingleNAT = true }, "network/two NATs"},
	{"SubnetFullCode", func(o *emulator.Options) { o.SubnetFullCode = hns.CodeInvalidSubnet }, "endpoint/subnet full"},
	{"RemoteAddressMayShadow", func(o *emulator.Options) { o.RemoteAddressMayShadow = true }, "endpoint/remote address in use"},
	{"UpdateReplacesAll", func(o *emulator.Options) { o.UpdateReplacesAll = true }, "policy/update replaces its types"},
	{"RefuseBadPrefix", func(o *emulator.Options) { o.RefuseBadPrefix = true }, "policy/degraded"},
	{"IgnoreNamespaceInCreate", func(o *emulator.Options) { o.IgnoreNamespaceInCreate = true }, "namespace/attach at create"},
	{"BackendLimit", func(o *emulator.Options) { o.BackendLimit = 10 }, "load balancer/many backends"},
	{"BackendNeedsPort", func(o *emulator.Options) { o.BackendNeedsPort = true }, "load balancer/create/on a bridge, not attached"},
	{"RefuseBackendDelete", func(o *emulator.Options) { o.RefuseBackendDelete = true }, "load balancer/backend deleted"},
	{"RoutesCode", func(o *emulator.Options) { o.RoutesCode = hns.CodeNotImplemented }, "route/comes back"},
	{"V1TextErrors", func(o *emulator.Options) { o.V1TextErrors = true }, "v1/missing"},
	{"V1LowerCaseIDs", func(o *emulator.Options) { o.V1LowerCaseIDs = true }, "views/capitals"},
	{"AddressAfterReads", func(o *emulator.Options) { o.AddressAfterReads = -1 }, "views/overlay"},
}

// On a backend that is no emulator, an answer other than assumed is recorded,
// and the run passes.
func TestOtherAnswersAreRecorded(t *testing.T) {
	for _, s := range switches {
		t.Run(s.name, func(t *testing.T) {
			var o emulator.Options
			s.set(&o)
			var differ []string
			hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
				return hnstest.Harness{Backend: emulator.New(&o), External: true, Record: func(a hnstest.Answer) {
					if a.Verdict == hnstest.Differs {
						differ = append(differ, a.Case)
					}
				}}
			})
			if !slices.Contains(differ, s.noticed) {
				t.Errorf("%q is not among what differs: %q", s.noticed, differ)
			}
		})
	}
}

// bent is a backend that answers wrongly where bend says so.
type bent struct {
	hns.Backend
	bend func(r hns.Request, resp *hns.Response, err *error)
}

func (b bent) Do(r hns.Request) (hns.Response, error) {
	resp, err := b.Backend.Do(r)
	b.bend(r, &resp, &err)
	return resp, err
}

// code makes one code of another.
func code(from, to hns.Code) func(hns.Request, *hns.Response, *error) {
	return func(_ hns.Request, resp *hns.Response, err *error) {
		var be *hns.BackendError
		if errors.As(*err, &be) && be.Code == from {
			*err = &hns.BackendError{Code: to}
			if to == 0 {
				*err = nil
			}
		}
	}
}

// rewrite changes the text of documents of a kind.
func rewrite(kind hns.Kind, pattern, with string) func(hns.Request, *hns.Response, *error) {
	re := regexp.MustCompile(pattern)
	return func(r hns.Request, resp *hns.Response, _ *error) {
		if r.Kind != kind {
			return
		}
		for i, d := range resp.Documents {
			resp.Documents[i] = json.RawMessage(re.ReplaceAllString(string(d), with))
		}
	}
}

// mutants are backends that break what is documented or tested. They fail the
// run whatever the harness says. The case is one that must fail; without one
// the suite does not even begin.
var mutants = map[string]struct {
	bend func(r hns.Request, resp *hns.Response, err *error)
	fail string
}{
	"missing namespace has another code": {code(hns.CodeElementNotFound, hns.CodeObjectNotFound), "namespace/missing"},
	"second namespace allowed":           {code(hns.CodeEndpointInNamespace, 0), "namespace/attach_to_a_second_one"},
	"port taken has another code":        {code(hns.CodePortExists, hns.CodeAlreadyExists), "policy/port_taken"},
	"bad address taken for a bad prefix": {code(hns.CodeInvalidIP, hns.CodeInvalidPrefix), "endpoint/create/address_in_no_subnet"},
	"interface parameters twice":         {code(hns.CodeInterfaceParametersExists, hns.CodePolicyExists), "policy/once_only"},
	"no internal port":                   {code(hns.CodeInvalidInternalPort, hns.CodeInvalidPolicy), "load_balancer/create/no_internal_port"},
	"modify never implemented":           {refuse(hns.VerbModify, hns.KindLoadBalancer, hns.CodeNotImplemented), "load_balancer/changed"},
	"modify does nothing":                {refuse(hns.VerbModify, hns.KindNamespace, 0), "namespace/attach_and_detach"},
	"load balancer without flags":        {rewrite(hns.KindLoadBalancer, `,"Flags":\d+`, ""), "load_balancer/comes_back"},
	"small letters in resources":         {lowerResources, "namespace/capitals_in_resources"},
	"settings with a blank":              {rewrite(hns.KindEndpoint, `"Settings":\{`, `"Settings":{ `), "policy/settings_byte_for_byte"},
	"namespace type forgotten":           {rewrite(hns.KindNamespace, `,"Type":"Guest(Default)?"`, ""), "namespace/type/Guest"},
	"network flags forgotten":            {rewrite(hns.KindNetwork, `,"Flags":8`, ""), "network/flags"},
	"lists too much":                     {listMore, "query/nothing_found"},
	"lists nothing":                      {listNothing, "query/by_id"},
	"delete does nothing":                {refuse(hns.VerbDelete, hns.KindEndpoint, 0), "endpoint/create,_read_and_delete"},
	"get gives two":                      {twice, "network/create,_read_and_delete"},
	"documents beside a failure":         {beside, "namespace/missing"},
	"no service":                         {stopped, ""},
	"failure of another type":            {strange, "namespace/missing"},
}

// refuse answers without asking. The verb is undone by asking nothing: the
// backend below never sees the request, see child.
func refuse(verb hns.Verb, kind hns.Kind, c hns.Code) func(hns.Request, *hns.Response, *error) {
	return func(r hns.Request, resp *hns.Response, err *error) {
		if r.Verb == verb && r.Kind == kind {
			*resp, *err = hns.Response{}, nil
			if c != 0 {
				*err = &hns.BackendError{Code: c}
			}
		}
	}
}

var resourceID = regexp.MustCompile(`"Data":\{"Id":"[^"]+"`)

func lowerResources(r hns.Request, resp *hns.Response, _ *error) {
	for i, d := range resp.Documents {
		if r.Kind == hns.KindNamespace {
			resp.Documents[i] = resourceID.ReplaceAllFunc(d, func(b []byte) []byte {
				return []byte(strings.Replace(strings.ToLower(string(b)), `"data":{"id"`, `"Data":{"Id"`, 1))
			})
		}
	}
}

func listMore(r hns.Request, resp *hns.Response, _ *error) {
	if r.Verb == hns.VerbList && r.Kind == hns.KindNetwork && r.Filter != "" && len(resp.Documents) == 0 {
		resp.Documents = []json.RawMessage{json.RawMessage(`{"ID":"11111111-2222-4333-8444-555555555555"}`)}
	}
}

func listNothing(r hns.Request, resp *hns.Response, _ *error) {
	if r.Verb == hns.VerbList {
		resp.Documents = nil
	}
}

func twice(r hns.Request, resp *hns.Response, _ *error) {
	if r.Verb == hns.VerbGet {
		resp.Documents = append(resp.Documents, resp.Documents...)
	}
}

func beside(_ hns.Request, resp *hns.Response, err *error) {
	if *err != nil {
		resp.Documents = []json.RawMessage{json.RawMessage(`{}`)}
	}
}

func strange(_ hns.Request, _ *hns.Response, err *error) {
	if *err != nil {
		*err = errors.New("something went wrong")
	}
}

func stopped(_ hns.Request, resp *hns.Response, err *error) {
	*resp, *err = hns.Response{}, &hns.BackendError{Code: hns.CodeRPCUnavailable}
}

// silent keeps requests from a backend that a mutant says nothing happens to.
type silent struct {
	hns.Backend
	verb hns.Verb
	kind hns.Kind
}

func (s silent) Do(r hns.Request) (hns.Response, error) {
	if r.Verb == s.verb && r.Kind == s.kind {
		return hns.Response{}, nil
	}
	return s.Backend.Do(r)
}

const mutantVariable = "HNSTEST_MUTANT"

// TestMutants: the suite fails on each mutant, in the case that is about it.
// It runs in a process of its own, since a failed test cannot be taken back.
func TestMutants(t *testing.T) {
	if os.Getenv(mutantVariable) != "" {
		t.Skip("this is the mutant")
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutant$", "-test.v")
			cmd.Env = append(cmd.Environ(), mutantVariable+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("the suite passes")
			}
			want := "--- FAIL: TestMutant/" + m.fail + " "
			if m.fail == "" {
				want = "the service does not answer: RPC_S_SERVER_UNAVAILABLE"
			}
			if !strings.Contains(string(out), want) {
				t.Errorf("%s does not fail:\n%.3000s", m.fail, failures(out))
			}
		})
	}
}

func failures(out []byte) string {
	var lines []string
	for _, l := range strings.Split(string(out), "\n") {
		if strings.Contains(l, "FAIL") || strings.Contains(l, "panic") {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// TestMutant is the process of TestMutants.
func TestMutant(t *testing.T) {
	name := os.Getenv(mutantVariable)
	if name == "" {
		t.Skip("run by TestMutants")
	}
	var b hns.Backend = emulator.New(&emulator.Options{Version: emulator.WindowsServer2025Serviced})
	switch name {
	case "modify does nothing":
		b = silent{b, hns.VerbModify, hns.KindNamespace}
	case "delete does nothing":
		b = silent{b, hns.VerbDelete, hns.KindEndpoint}
	}
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		// An emulator's deletes need not be waited for.
		patient := !strings.Contains(name, "nothing")
		return hnstest.Harness{Backend: bent{b, mutants[name].bend}, External: true, Strict: !patient}
	})
}
