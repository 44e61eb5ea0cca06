package hns_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// operations are one operation of each verb and kind.
var operations = map[string]func(context.Context, *hns.Client) error{
	"list network":   func(ctx context.Context, c *hns.Client) error { _, err := c.Networks.List(ctx); return err },
	"get network":    func(ctx context.Context, c *hns.Client) error { _, err := c.Networks.ByID(ctx, lake); return err },
	"create network": func(ctx context.Context, c *hns.Client) error { _, err := c.Networks.Create(ctx, fjord()); return err },
	"modify network": func(ctx context.Context, c *hns.Client) error {
		return c.Networks.RemovePolicies(ctx, lake, hns.HostRoute{})
	},
	"delete network": func(ctx context.Context, c *hns.Client) error { return c.Networks.Delete(ctx, lake) },
	"call network": func(ctx context.Context, c *hns.Client) error {
		_, err := c.Networks.ManagementIP(ctx, lake)
		return err
	},
	"list endpoint":   func(ctx context.Context, c *hns.Client) error { _, err := c.Endpoints.List(ctx); return err },
	"get endpoint":    func(ctx context.Context, c *hns.Client) error { _, err := c.Endpoints.ByID(ctx, podID); return err },
	"create endpoint": func(ctx context.Context, c *hns.Client) error { _, err := c.Endpoints.Create(ctx, pod()); return err },
	"modify endpoint": func(ctx context.Context, c *hns.Client) error {
		return c.Endpoints.AddPolicies(ctx, podID, hns.VLAN{IsolationID: 7})
	},
	"delete endpoint": func(ctx context.Context, c *hns.Client) error { return c.Endpoints.Delete(ctx, podID) },
	"call endpoint":   func(ctx context.Context, c *hns.Client) error { _, err := c.Endpoints.State(ctx, podID); return err },
	"list namespace":  func(ctx context.Context, c *hns.Client) error { _, err := c.Namespaces.List(ctx); return err },
	"get namespace":   func(ctx context.Context, c *hns.Client) error { _, err := c.Namespaces.ByID(ctx, podNS); return err },
	"create namespace": func(ctx context.Context, c *hns.Client) error {
		_, err := c.Namespaces.Create(ctx, &hns.Namespace{})
		return err
	},
	"modify namespace":   func(ctx context.Context, c *hns.Client) error { return c.Namespaces.RemoveEndpoint(ctx, podNS, podID) },
	"delete namespace":   func(ctx context.Context, c *hns.Client) error { return c.Namespaces.Delete(ctx, podNS) },
	"list load balancer": func(ctx context.Context, c *hns.Client) error { _, err := c.LoadBalancers.List(ctx); return err },
	"get load balancer": func(ctx context.Context, c *hns.Client) error {
		_, err := c.LoadBalancers.ByID(ctx, vipID)
		return err
	},
	"create load balancer": func(ctx context.Context, c *hns.Client) error {
		_, err := c.LoadBalancers.Create(ctx, nodePort())
		return err
	},
	"modify load balancer": func(ctx context.Context, c *hns.Client) error { return c.LoadBalancers.Update(ctx, nodePortWithID()) },
	"delete load balancer": func(ctx context.Context, c *hns.Client) error { return c.LoadBalancers.Delete(ctx, vipID) },
	"list SDN route":       func(ctx context.Context, c *hns.Client) error { _, err := c.Routes.List(ctx); return err },
	"get SDN route":        func(ctx context.Context, c *hns.Client) error { _, err := c.Routes.ByID(ctx, routeID); return err },
	"create SDN route": func(ctx context.Context, c *hns.Client) error {
		_, err := c.Routes.Create(ctx, metadata())
		return err
	},
	"delete SDN route": func(ctx context.Context, c *hns.Client) error { return c.Routes.Delete(ctx, routeID) },
	"call service":     func(ctx context.Context, c *hns.Client) error { _, err := c.Version(ctx); return err },
}

type means = []error

// What a code means depends on the operation. "*" stands for every operation
// that has no row of its own.
var meaningTable = map[hns.Code]map[string]means{
	hns.CodeNetworkNotFound: {"*": {hns.ErrNotFound}, "get namespace": {}, "delete namespace": {},
		"get load balancer": {}, "delete load balancer": {}, "get SDN route": {}, "delete SDN route": {}},
	hns.CodeEndpointNotFound: {"*": {hns.ErrNotFound}, "get network": {}, "delete network": {}, "get namespace": {}, "delete namespace": {},
		"get load balancer": {}, "delete load balancer": {}, "get SDN route": {}, "delete SDN route": {}},
	hns.CodeElementNotFound:           {"*": {hns.ErrNotFound}}, // a namespace that is gone
	hns.CodeObjectNotFound:            {"*": {hns.ErrNotFound}},
	hns.CodeSwitchNotFound:            partNotFound,
	hns.CodePortNotFound:              partNotFound,
	hns.CodeSubnetNotFound:            partNotFound,
	hns.CodeAdapterNotFound:           partNotFound,
	hns.CodeLayerNotFound:             partNotFound,
	hns.CodePolicyNotFound:            partNotFound,
	hns.CodeVFPPortSettingNotFound:    partNotFound,
	hns.CodeSwitchExtensionNotFound:   partNotFound,
	hns.CodeNetworkExists:             {"*": {hns.ErrExists}},
	hns.CodeAlreadyExists:             {"*": {hns.ErrExists}},
	hns.CodeDuplicateName:             {"*": {hns.ErrExists}},
	hns.CodePortExists:                {"*": {hns.ErrExists}, "create load balancer": {hns.ErrExists, hns.ErrInUse}, "modify load balancer": {hns.ErrExists, hns.ErrInUse}},
	hns.CodePolicyExists:              {"*": {hns.ErrExists}},
	hns.CodeObjectAlreadyExists:       {"*": {hns.ErrExists}, "create endpoint": {hns.ErrExists, hns.ErrAddressInUse}, "create network": {hns.ErrExists, hns.ErrOverlap}},
	hns.CodeAddressInvalidOrReserved:  {"*": {hns.ErrInvalid}, "create endpoint": {hns.ErrInvalid, hns.ErrAddressInUse}},
	hns.CodeEndpointAttached:          {"*": {hns.ErrAttached}},
	hns.CodeEndpointInNamespace:       {"*": {hns.ErrAttached}},
	hns.CodeRequestUnsupported:        {"*": {hns.ErrUnsupported}, "delete namespace": {hns.ErrInUse}},
	hns.CodeHasReferences:             {"*": {hns.ErrInUse}},
	hns.CodeSharingViolation:          {"*": {hns.ErrInUse}},
	hns.CodeInvalidPolicy:             {"*": {hns.ErrInvalid, hns.ErrInvalidPolicy}},
	hns.CodeInvalidPolicyType:         {"*": {hns.ErrInvalid, hns.ErrInvalidPolicy}},
	hns.CodeInvalidParameter:          {"*": {hns.ErrInvalid}},
	hns.CodeInvalidIP:                 {"*": {hns.ErrInvalid}},
	hns.CodeInvalidNetworkType:        {"*": {hns.ErrInvalid}},
	hns.CodeDegraded:                  {"*": {hns.ErrDegraded}},
	hns.CodeNamespaceAttachFailed:     {"*": {hns.ErrDegraded}},
	hns.CodeNotImplemented:            {"*": {hns.ErrUnsupported}},
	hns.CodeProcNotFound:              {"*": {hns.ErrUnsupported}}, // an old DLL; "procedure not found" is no object not found
	hns.CodeModuleNotFound:            {"*": {hns.ErrUnsupported}},
	hns.CodeICSDisabled:               {"*": {hns.ErrUnsupported}},
	hns.CodeAccessDenied:              {"*": {hns.ErrDenied}},
	hns.CodeManagerStopped:            {"*": {hns.ErrUnavailable}},
	hns.CodeServiceNotActive:          {"*": {hns.ErrUnavailable}},
	hns.CodeRPCUnavailable:            {"*": {hns.ErrUnavailable}},
	hns.CodeRPCCallFailed:             {"*": {hns.ErrUnavailable}},
	hns.CodeRPCCallFailedDNE:          {"*": {hns.ErrUnavailable}},
	hns.CodeRPCNotRegistered:          {"*": {hns.ErrUnavailable}},
	hns.CodeRegistryFailure:           {"*": {}},
	hns.CodeObjectUsedAfterUnload:     {"*": {}},
	hns.CodeInvalidNetwork:            {"*": {hns.ErrInvalid}},
	hns.CodeInvalidEndpoint:           {"*": {hns.ErrInvalid}},
	hns.CodeInvalidRemoteOperation:    {"*": {hns.ErrInvalid}},
	hns.CodeGUIDConversion:            {"*": {hns.ErrInvalid}},
	hns.CodeInvalidJSON:               {"*": {hns.ErrInvalid}},
	hns.CodeInvalidJSONReference:      {"*": {hns.ErrInvalid}},
	hns.CodeInvalidPrefix:             {"*": {hns.ErrInvalid}},
	hns.CodeInvalidSubnet:             {"*": {hns.ErrInvalid}},
	hns.CodeInvalidIPSubnet:           {"*": {hns.ErrInvalid}},
	hns.CodeEndpointNotAttached:       {"*": {hns.ErrInvalid}},
	hns.CodeEndpointNotLocal:          {"*": {hns.ErrInvalid}},
	hns.CodeInvalidInternalPort:       {"*": {hns.ErrInvalid, hns.ErrInvalidPolicy}},
	hns.CodeInterfaceParametersExists: {"*": {hns.ErrInvalid, hns.ErrInvalidPolicy}},
	hns.CodeLayerExists:               {"*": {hns.ErrExists}},
	hns.CodeMappingNotSupported:       {"*": {hns.ErrUnsupported}},
	hns.CodeSharingDisabled:           {"*": {hns.ErrUnsupported}},
	hns.CodeVFPNotAllowed:             {"*": {hns.ErrUnsupported}},
	hns.CodeSharedSwitchModification:  {"*": {hns.ErrInUse}},
	0x80041002:                        {"*": {}}, // not found, says WMI, of whatever HNS asked it for (microsoft/WSL#12019)
	0x80004005:                        {"*": {}}, // unspecified
}

// A part that is missing below an object does not make the object gone: a
// delete that took it so would leak it.
var partNotFound = map[string]means{
	"*":           {hns.ErrNotFound},
	"get network": {}, "delete network": {}, "get endpoint": {}, "delete endpoint": {}, "get namespace": {}, "delete namespace": {},
	"get load balancer": {}, "delete load balancer": {}, "get SDN route": {}, "delete SDN route": {},
}

func TestMeanings(t *testing.T) {
	for code, rows := range meaningTable {
		for name, do := range operations {
			t.Run(fmt.Sprintf("%s %s", name, code), func(t *testing.T) {
				want, ok := rows[name]
				if !ok {
					want = rows["*"]
				}
				// The text is misleading on purpose: it is in the language of
				// the system and never counts.
				allow := &hns.Options{Allow: []string{"feature-ModifyLoadbalancer"}}
				err := do(t.Context(), hns.New(failing(code, "Element not found. The object already exists. "), allow))
				wantIs(t, err, want...)
				wantIs(t, fmt.Errorf("ADD: %w", errors.Join(errors.New("first"), err)), want...)
				var e *hns.Error
				if !errors.As(err, &e) || e.Code != code || e.Verb.String()+" "+e.Kind.String() != name || e.Text == "" {
					t.Errorf("error %#v", err)
				}
			})
		}
	}
}

// Failures as they were reported, each with the operation it came from and the
// text of a system in another language or with odd form: the code decides, and
// where none is known nothing does.
func TestReportedFailures(t *testing.T) {
	const down = hns.CodeRPCUnavailable
	for _, tt := range []struct {
		report, op string
		code       hns.Code
		text       string
		want       means
	}{
		{"microsoft/hcsshim#850", "create network", hns.CodeNetworkExists, "Ein Netzwerk dieses Namens\r\n ist schon da. ", means{hns.ErrExists}},
		{"kubernetes-sigs/sig-windows-tools#249", "create network", hns.CodeInvalidParameter, "Falscher Parameter. ", means{hns.ErrInvalid}},
		{"microsoft/SDN#269", "create network", hns.CodeAdapterNotFound, "Kein Adapter. ", means{hns.ErrNotFound}},
		{"microsoft/SDN#238", "create network", hns.CodeInvalidNetworkType, "", means{hns.ErrInvalid}},
		{"microsoft/windows-container-networking#69", "create network", hns.CodeInvalidJSON, "", means{hns.ErrInvalid}},
		{"microsoft/WSL#12019", "create network", 0x80041002, "", nil},
		{"microsoft/WSL#4112", "create network", down, "Element nicht gefunden. ", means{hns.ErrUnavailable}},
		{"ocroz/wsl2-boot#3", "create network", hns.CodeDuplicateName, "Der Name ist im Netz\n doppelt. ", means{hns.ErrExists}},
		{"docker/for-win#396", "create network", 0, "The parameter is incorrect.", nil},
		{"docker/for-win#3821", "create network", 0, "Element not found.", nil},
		{"Azure/aks-engine#3900", "get network", hns.CodeNetworkNotFound, "", means{hns.ErrNotFound}},
		{"kubernetes/kubernetes#74766", "create endpoint", hns.CodeObjectAlreadyExists, "Das Objekt ist schon da. ", means{hns.ErrExists, hns.ErrAddressInUse}},
		{"projectcalico/calico#8465", "create endpoint", hns.CodeInvalidPolicy, "所提供的原則無效。 ", means{hns.ErrInvalid, hns.ErrInvalidPolicy}},
		{"kubernetes/kubernetes#100962", "create endpoint", hns.CodeAddressInvalidOrReserved, "", means{hns.ErrInvalid, hns.ErrAddressInUse}},
		{"docker/for-win#3893", "create endpoint", hns.CodeSharingViolation, "Outro processo usa o arquivo. ", means{hns.ErrInUse}},
		{"microsoft/WSL#10483", "create endpoint", hns.CodeDegraded, "", means{hns.ErrDegraded}},
		{"moby/moby#34498", "create endpoint", 0, "文件正在被删除。", nil},
		{"docker/for-win#2213", "create endpoint", 0, "The file is being used by another process. ", nil},
		{"Azure/azure-container-networking#283", "create endpoint", hns.CodeElementNotFound, "Element nicht gefunden. ", means{hns.ErrNotFound}},
		{"microsoft/hcsshim#164", "modify endpoint", 0, "The parameter is incorrect.", nil},
		{"projectcalico/calico#4280", "modify namespace", hns.CodeEndpointAttached, "", means{hns.ErrAttached}},
		{"projectcalico/felix#2893", "modify namespace", hns.CodeDegraded, "", means{hns.ErrDegraded}},
		{"kubernetes/kubernetes#100384", "create load balancer", hns.CodeInvalidJSONReference, "Bezug ungültig. A Reference is required", means{hns.ErrInvalid}},
		{"kubernetes/community#8883", "create load balancer", hns.CodePortExists, "", means{hns.ErrExists, hns.ErrInUse}},
		{"aws/containers-roadmap#240", "create load balancer", hns.CodeInvalidPolicy, "", means{hns.ErrInvalid, hns.ErrInvalidPolicy}},
		{"microsoft/hcsshim#470", "create SDN route", hns.CodeInvalidPolicyType, "", means{hns.ErrInvalid, hns.ErrInvalidPolicy}},
		{"microsoft/SDN#273", "create load balancer", hns.CodePolicyNotFound, "", means{hns.ErrNotFound}},
	} {
		t.Run(tt.report, func(t *testing.T) {
			err := operations[tt.op](t.Context(), hns.New(failing(tt.code, tt.text), nil))
			wantIs(t, err, tt.want...)
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
}

// Text alone means nothing, neither from the v1 API, which has no codes on
// older builds, nor in another language.
func TestTextIsNeverMatched(t *testing.T) {
	for _, text := range []string{"Element not found. ", "The object already exists.", "Der angegebene Endpunkt wurde nicht gefunden.", "access denied"} {
		wantIs(t, operations["call endpoint"](t.Context(), hns.New(failing(0, text), nil)))
		wantIs(t, operations["delete endpoint"](t.Context(), hns.New(failing(hns.CodeRegistryFailure, text), nil)))
	}
}

// An error has operation, kind, object, place, symbol and number
// (microsoft/hcsshim#54).
func TestErrorText(t *testing.T) {
	tests := []struct {
		op, text string
		code     hns.Code
		want     string
	}{
		{"create endpoint", "The specified policy is\r\n invalid. ", hns.CodeInvalidPolicy,
			`hns: create endpoint "sbx-01_lake" on network 1a000000-0000-4000-8000-000000000001 with 10.50.3.7,fd00:50:3::7: HCN_E_INVALID_POLICY (0x803b000d): The specified policy is invalid.`},
		{"create network", "", hns.CodeInvalidParameter, `hns: create network "fjord <1>" (Overlay): ERROR_INVALID_PARAMETER (0x57)`},
		{"create namespace", "", 0x80004005, `hns: create namespace: 0x80004005`},
		{"delete endpoint", "", hns.CodeEndpointNotFound, `hns: delete endpoint 2b000000-0000-4000-8000-0000000000ab: HCN_E_ENDPOINT_NOT_FOUND (0x803b0002)`},
		{"modify namespace", "", hns.CodeElementNotFound,
			`hns: remove endpoint 2b000000-0000-4000-8000-0000000000ab from namespace 3c000000-0000-4000-8000-000000000001: ERROR_NOT_FOUND (0x490)`},
		{"modify network", "", hns.CodePolicyNotFound, `hns: remove policies of network 1a000000-0000-4000-8000-000000000001: HCN_E_POLICY_NOT_FOUND (0x803b0008)`},
		{"call service", "Zugriff verweigert ", 0, `hns: read version: Zugriff verweigert`},
	}
	for _, tt := range tests {
		err := operations[tt.op](t.Context(), hns.New(failing(tt.code, tt.text), nil))
		if err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	err := operations["call service"](t.Context(), hns.New(failing(0, strings.Repeat("ä", 4000)), nil))
	if len(err.Error()) > 400 || !strings.HasSuffix(err.Error(), "ä…") {
		t.Errorf("a long text is cut to %q", err)
	}
}

// Documents of a request never reach an error: policies may hold keys.
func TestErrorsHoldNoDocument(t *testing.T) {
	e := pod()
	e.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "Encryption", Settings: json.RawMessage(`{"Key":"secret"}`)}}
	_, err := hns.New(failing(hns.CodeInvalidPolicy, ""), nil).Endpoints.Create(t.Context(), e)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

// The cause of a backend's failure stays reachable, and so does what a wrapper
// of the user's puts round it.
func TestErrorCauses(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "state.json", Err: fs.ErrPermission}
	fromFile := backend(func(hns.Request) (hns.Response, error) {
		return hns.Response{}, &hns.BackendError{Code: hns.CodeAccessDenied, Err: cause}
	})
	err := operations["get network"](t.Context(), hns.New(fromFile, nil))
	var path *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &path) || !errors.Is(err, hns.ErrDenied) {
		t.Errorf("error %v", err)
	}
	if want := "hns: get network " + lake.String() + ": ERROR_ACCESS_DENIED (0x5): open state.json: permission denied"; err.Error() != want {
		t.Errorf("got %q", err)
	}

	wrapped := backend(func(r hns.Request) (hns.Response, error) {
		resp, err := fromFile(r)
		return resp, fmt.Errorf("replica 2: %w", err)
	})
	err = operations["get network"](t.Context(), hns.New(wrapped, nil))
	var be *hns.BackendError
	if !errors.As(err, &be) || !strings.Contains(err.Error(), "replica 2") || !errors.Is(err, hns.ErrDenied) {
		t.Errorf("error %v", err)
	}

	foreign := backend(func(hns.Request) (hns.Response, error) { return hns.Response{}, fs.ErrClosed })
	if err := operations["get network"](t.Context(), hns.New(foreign, nil)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("error %v", err)
	}
	var typedNil *hns.BackendError
	broken := backend(func(hns.Request) (hns.Response, error) { return hns.Response{}, typedNil })
	err = operations["get network"](t.Context(), hns.New(broken, nil))
	wantIs(t, err)
	if err == nil || !strings.Contains(err.Error(), "nil *BackendError") || hns.Explain(err) != "" {
		t.Errorf("error %v", err)
	}
}

func TestBackendErrorText(t *testing.T) {
	for want, e := range map[string]*hns.BackendError{
		"HNS failed": {}, "HNS failed: text": {Text: "text"}, "E_NOTIMPL (0x80004001)": {Code: hns.CodeNotImplemented},
		"ERROR_NOT_FOUND (0x490): text: permission denied": {Code: hns.CodeElementNotFound, Text: "text", Err: fs.ErrPermission},
	} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e, want)
		}
	}
}

func TestCodes(t *testing.T) {
	for in, want := range map[uint32]struct {
		code  hns.Code
		text  string
		win32 uint32
	}{
		0:          {0, "0x00000000", 0},
		0x490:      {hns.CodeElementNotFound, "ERROR_NOT_FOUND (0x490)", 0x490},
		0x80070490: {hns.CodeElementNotFound, "ERROR_NOT_FOUND (0x490)", 0x490},
		0x1392:     {hns.CodeObjectAlreadyExists, "ERROR_OBJECT_ALREADY_EXISTS (0x1392)", 0x1392},
		0xffff:     {0x8007ffff, "0xffff", 0xffff},
		0x10000:    {0x10000, "0x00010000", 0},
		2151350272: {0x803b0000, "0x803b0000", 0}, // as the error record writes it
		2151350291: {hns.CodePortExists, "HCN_E_PORT_ALREADY_EXISTS (0x803b0013)", 0},
		0x80004001: {hns.CodeNotImplemented, "E_NOTIMPL (0x80004001)", 0},
	} {
		c := hns.NewCode(in)
		w, ok := c.Win32()
		if c != want.code || c.String() != want.text || w != want.win32 || ok != (want.win32 != 0) {
			t.Errorf("NewCode(%#x) = %#x %s, Win32 %#x %v", in, uint32(c), c, w, ok)
		}
	}
	for code := range meaningTable {
		if code != 0x80004005 && code != 0x80041002 && !strings.Contains(code.String(), "_") && code != hns.CodeNotImplemented {
			t.Errorf("%#x has no name", uint32(code))
		}
	}
}

func TestSmallTexts(t *testing.T) {
	for got, want := range map[string]string{
		hns.VerbCreate.String(): "create", hns.VerbCall.String(): "call", hns.Verb(0).String(): "verb(0)", hns.Verb(99).String(): "verb(99)",
		hns.KindService.String(): "service", hns.KindNamespace.String(): "namespace", hns.Kind(99).String(): "kind(99)",
		hns.KindLoadBalancer.String(): "load balancer", hns.KindRoute.String(): "SDN route",
		hns.ProtocolAny.String(): "any", hns.TCP.String(): "TCP", hns.ICMPv6.String(): "ICMPv6", hns.Protocol(132).String(): "132",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFieldErrors(t *testing.T) {
	a, b, c := &hns.FieldError{Path: "A", Value: "x", Reason: "wrong"}, &hns.FieldError{Path: "B", Reason: "missing"}, &hns.FieldError{Reason: "odd", Value: "y"}
	err := fmt.Errorf("one: %w", errors.Join(fmt.Errorf("two: %w and %w", a, b), fs.ErrClosed, &hns.Error{Op: "x", Err: c}))
	same(t, "found", []*hns.FieldError{a, b, c}, hns.FieldErrors(err))
	same(t, "none", nil, hns.FieldErrors(fs.ErrClosed))
	same(t, "nil", nil, hns.FieldErrors(nil))
	for want, e := range map[string]*hns.FieldError{`A: "x": wrong`: a, `B: missing`: b, `"y": odd`: c} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e, want)
		}
	}
	for path, policy := range map[string]bool{
		"": false, "Name": false, "Policies[0]": true, "Ipams[0].Subnets[1].Policies[0].Settings.IsolationId": true, "Settings": true,
		"Settings.Exceptions[0]": true, "policies[2].value.Settings.ProviderAddress": true, "Dns.ServerList[0]": false,
	} {
		e := &hns.FieldError{Path: path}
		if !errors.Is(e, hns.ErrInvalid) || errors.Is(e, hns.ErrInvalidPolicy) != policy {
			t.Errorf("path %q: ErrInvalidPolicy %v", path, !policy)
		}
	}
}

// All complaints come at once, in one line.
func TestComplaintsText(t *testing.T) {
	err := createEndpoint(t, &hns.Endpoint{Name: "x", Policies: []hns.EndpointPolicy{hns.VLAN{}}})
	want := `hns: create endpoint "x" on network 00000000-0000-0000-0000-000000000000: HostComputeNetwork: missing; ` +
		`Policies[0].Settings.IsolationId: "0": a VLAN id is 1 to 4094`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
