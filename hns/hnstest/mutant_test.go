package hnstest_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"reflect"
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
	{"SeveralAddresses", func(o *emulator.Options) { o.SeveralAddresses = true }, "endpoint/create/two addresses of a family"},
	{"ACLHostBits", func(o *emulator.Options) { o.ACLHostBits = true }, "policy/settings/ACL address with host bits"},
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
	{"HonourNamespaceID", func(o *emulator.Options) { o.HonourNamespaceID = true }, "namespace/number not honoured"},
	{"IgnoreLoadBalancerModify", func(o *emulator.Options) {
		o.Version, o.IgnoreLoadBalancerModify = emulator.WindowsServer2025, true
	}, "load balancer/changed in 15.4"},
	{"LeaveHalfLoadBalancers", func(o *emulator.Options) { o.LeaveHalfLoadBalancers = true }, "load balancer/refused leaves nothing"},
	{"SubnetsChange", func(o *emulator.Options) { o.SubnetsChange = true }, "network/subnet change"},
	{"NoEndpointSharing", func(o *emulator.Options) { o.NoEndpointSharing = true }, "v1/containers share"},
	{"ListenersCoverVIPs", func(o *emulator.Options) { o.ListenersCoverVIPs = true }, "load balancer/port of a program"},
}

// unswitched are the fields of the emulator's options that are no switch here,
// and why.
var unswitched = map[string]string{
	"Version": "TestEmulator has every one", "Adapters": "of the host", "Seed": "for equal ids", "HostNamespace": "of the host",
	"SharedAccessOff": "of the host", "NoVFP": "of the host", "PortBlocks": "takes more load balancers than the suite should make",
	"Listeners": "of the host", "Serial": "about time", "LockTimeout": "about time", "Text": "about messages, which nobody may read",
	"KeepOrphans":     "against what is tested: one of the mutants",
	"RestartDetaches": "takes a restart: one of the mutants", "StoppedCode": "see TestRestartsChangeNothing",
}

// Every switch of the emulator is one that the suite notices, or there is a
// reason.
func TestEverySwitch(t *testing.T) {
	named := map[string]bool{}
	for _, s := range switches {
		named[s.name] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[emulator.Options]()) {
		if named[f.Name] == (unswitched[f.Name] != "") {
			t.Errorf("%s: among the switches: %v; reason not to be: %q", f.Name, named[f.Name], unswitched[f.Name])
		}
	}
}

// busy is the port on which a program of the emulated host listens.
const busy = 23199

// On a backend that is no emulator, an answer other than assumed is recorded,
// and the run passes.
func TestOtherAnswersAreRecorded(t *testing.T) {
	for _, s := range switches {
		t.Run(s.name, func(t *testing.T) {
			o := emulator.Options{Listeners: []emulator.Listener{{Protocol: 6, Port: busy}}}
			s.set(&o)
			var differ []string
			hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
				return hnstest.Harness{Backend: emulator.New(&o), External: true, Busy: busy, Record: func(a hnstest.Answer) {
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

// mutant is a backend that breaks what is documented or tested, or a harness
// that says of it what is not so. The run fails whatever else the harness says.
type mutant struct {
	bend  func(r hns.Request, resp *hns.Response, err *error) // nil: not at all
	set   func(*emulator.Options)                             // of the emulator behind it; nil: the defaults
	under func(hns.Backend) hns.Backend                       // what bend sees; nil: the emulator
	loses []hnstest.Loss
	// strict is the harness: for what only an emulator is held to, and for
	// deletes that are not waited for.
	strict bool
	fail   string // a case that must fail
	says   string // in its place, a text that the suite ends with
}

var mutants = map[string]mutant{
	"missing namespace has another code": {bend: code(hns.CodeElementNotFound, hns.CodeObjectNotFound), fail: "namespace/missing"},
	"second namespace allowed":           {bend: code(hns.CodeEndpointInNamespace, 0), fail: "namespace/attach_to_a_second_one"},
	"port taken has another code":        {bend: code(hns.CodePortExists, hns.CodeAlreadyExists), fail: "policy/port_taken"},
	"bad address taken for a bad prefix": {bend: code(hns.CodeInvalidIP, hns.CodeInvalidPrefix), fail: "endpoint/create/address_in_no_subnet"},
	"interface parameters twice":         {bend: code(hns.CodeInterfaceParametersExists, hns.CodePolicyExists), fail: "policy/once_only"},
	"no internal port":                   {bend: code(hns.CodeInvalidInternalPort, hns.CodeInvalidPolicy), fail: "load_balancer/create/no_internal_port"},
	"modify never implemented":           {bend: refuse(hns.VerbModify, hns.KindLoadBalancer, hns.CodeNotImplemented), fail: "load_balancer/changed"},
	"modify does nothing":                {strict: true, under: silence(hns.VerbModify, hns.KindNamespace), fail: "namespace/attach_and_detach"},
	"load balancer without flags":        {bend: rewrite(hns.KindLoadBalancer, `,"Flags":\d+`, ""), fail: "load_balancer/comes_back"},
	"small letters in resources":         {bend: lowerResources, fail: "namespace/capitals_in_resources"},
	"settings with a blank":              {bend: rewrite(hns.KindEndpoint, `"Settings":\{`, `"Settings":{ `), fail: "policy/settings_byte_for_byte"},
	"namespace type forgotten":           {bend: rewrite(hns.KindNamespace, `,"Type":"Guest(Default)?"`, ""), fail: "namespace/type/Guest"},
	"network flags forgotten":            {bend: rewrite(hns.KindNetwork, `,"Flags":8`, ""), fail: "network/flags"},
	"lists too much":                     {strict: true, bend: listMore, fail: "query/nothing_found"},
	"lists nothing":                      {strict: true, bend: listNothing, fail: "query/by_id"},
	"delete does nothing":                {strict: true, under: silence(hns.VerbDelete, hns.KindEndpoint), fail: "endpoint/create,_read_and_delete"},
	"get gives two":                      {bend: twice, fail: "network/create,_read_and_delete"},
	"documents beside a failure":         {bend: beside, fail: "namespace/missing"},
	"no service":                         {bend: stopped, says: "the service does not answer: RPC_S_SERVER_UNAVAILABLE"},
	"failure of another type":            {bend: strange, fail: "namespace/missing"},
	"orphans kept":                       {set: func(o *emulator.Options) { o.KeepOrphans = true }, fail: "network/delete_takes_lists_along"},
	"detached by a restart":              {set: func(o *emulator.Options) { o.RestartDetaches = true }, under: unsteadied, fail: "v1/endpoint_on_the_host"}, // projectcalico/calico#5164
	"lost, and nobody said so":           {under: narrowed, fail: "document/owner"},
	"said to be lost, and read":          {loses: narrow, fail: "namespace/states_of_an_endpoint"},
	"said to be lost, and written":       {loses: narrow, fail: "document/owner"},
	"said to be lost, and not asked for": {strict: true, loses: []hnstest.Loss{{Name: "colour", Kind: hns.KindEndpoint, Read: "Colour"}}, says: `["colour"] are said to be lost, and no case met them`},
	"refused by HNS, not on the way":     {bend: refuseOwner, loses: narrow[1:2], fail: "document/owner"},
}

// refuse answers in place of HNS, which has carried out the request.
func refuse(verb hns.Verb, kind hns.Kind, c hns.Code) func(hns.Request, *hns.Response, *error) {
	return func(r hns.Request, resp *hns.Response, err *error) {
		if r.Verb == verb && r.Kind == kind {
			*resp, *err = hns.Response{}, &hns.BackendError{Code: c}
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

func silence(verb hns.Verb, kind hns.Kind) func(hns.Backend) hns.Backend {
	return func(b hns.Backend) hns.Backend { return silent{b, verb, kind} }
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
			want := m.says
			if want == "" {
				want = "--- FAIL: TestMutant/" + m.fail + " "
			}
			if !strings.Contains(string(out), want) {
				t.Errorf("no %q:\n%.3000s", want, failures(out))
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
	m := mutants[name]
	o := emulator.Options{Version: emulator.WindowsServer2025Serviced}
	if m.set != nil {
		m.set(&o)
	}
	var b hns.Backend = emulator.New(&o)
	if m.under != nil {
		b = m.under(b)
	}
	if m.bend != nil {
		b = bent{b, m.bend}
	}
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: b, External: true, Strict: m.strict, Loses: m.loses}
	})
}
