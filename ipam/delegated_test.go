package ipam_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	types040 "github.com/containernetworking/cni/pkg/types/040"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/ipam"
)

const goodResult = `{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.7/24","gateway":"10.50.3.1"}],"dns":{"nameservers":["10.96.0.10"]}}`

// TestPluginSeesTheRequest: the environment of the request, and the configuration
// byte for byte (microsoft/windows-container-networking#64: a plugin wrote it
// anew and lost ranges).
func TestPluginSeesTheRequest(t *testing.T) {
	s := newStage(t)
	req := s.request("1.0.0", map[string]behaviour{"ADD": {Stdout: goodResult, Stderr: "chatter"}})
	var stderr bytes.Buffer
	d := ipam.Delegated{Stderr: &stderr}
	lease, err := d.Allocate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := &ipam.Lease{
		Addresses: []ipam.Address{{pfx("10.50.3.7/24"), adr("10.50.3.1")}},
		DNS:       types.DNS{Nameservers: []string{"10.96.0.10"}},
	}
	if diff := cmp.Diff(want, lease, byText); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}
	if err := d.Check(t.Context(), req, nil); err != nil {
		t.Error(err)
	}
	if err := d.Release(t.Context(), req); err != nil {
		t.Error(err)
	}
	path := strings.Join(req.PluginPath, string(os.PathListSeparator))
	var calls []heard
	for _, verb := range []string{"ADD", "CHECK", "DEL"} {
		calls = append(calls, heard{verb, "sbx-01", "eth0", "ns-01", req.Args, path, string(req.Config)})
	}
	if diff := cmp.Diff(calls, s.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if stderr.String() != "chatter" {
		t.Errorf("stderr %q", stderr.String())
	}
}

// TestAllocateReleases: if the plugin gave an address that cannot be used, it is
// given back, once, with the configuration and arguments of ADD
// (projectcalico/cni-plugin#325). If the plugin itself failed, nothing is.
func TestAllocateReleases(t *testing.T) {
	const failure = `{"cniVersion":"1.0.0","code":11,"msg":"come back","details":"later"}`
	tests := []struct {
		name    string
		version string
		add     behaviour
		verbs   string
		want    string // part of the error
		is      error
	}{
		{"no addresses", "1.0.0", behaviour{Stdout: `{"cniVersion":"1.0.0"}`}, "ADD DEL", "no address", ipam.ErrNoAddress},
		{"no addresses, old", "0.2.0", behaviour{Stdout: `{"cniVersion":"0.2.0"}`}, "ADD DEL", "no address", ipam.ErrNoAddress},
		{"null", "1.0.0", behaviour{Stdout: `null`}, "ADD DEL", "no address", ipam.ErrNoAddress},
		{"nothing printed", "1.0.0", behaviour{}, "ADD DEL", "unusable", nil},
		{"not JSON", "1.0.0", behaviour{Stdout: `ok`}, "ADD DEL", "unusable", nil},
		{"unknown version", "1.0.0", behaviour{Stdout: `{"cniVersion":"9.0.0"}`}, "ADD DEL", "unusable", nil},
		{"null address", "0.4.0", behaviour{Stdout: `{"cniVersion":"0.4.0","ips":[null]}`}, "ADD DEL", "ips[0]: null", nil},
		{"null address, version left out", "0.4.0", behaviour{Stdout: `{"ips":[{"address":"10.50.3.7/24"},null]}`}, "ADD DEL", "ips[1]: null", nil},
		{"null route", "0.3.1", behaviour{Stdout: `{"cniVersion":"0.3.1","ips":[],"routes":[null]}`}, "ADD DEL", "routes[0]: null", nil},
		{"null interface", "0.3.1", behaviour{Stdout: `{"cniVersion":"0.3.1","interfaces":[null]}`}, "ADD DEL", "interfaces[0]: null", nil},
		{"bad address", "1.0.0", behaviour{Stdout: `{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.7"}]}`}, "ADD DEL", "10.50.3.7", nil},
		{"no address in the entry", "1.0.0", behaviour{Stdout: `{"cniVersion":"1.0.0","ips":[{}]}`}, "ADD DEL", "no address with a prefix length", nil},
		{"unspecified address", "1.0.0", behaviour{Stdout: `{"cniVersion":"1.0.0","ips":[{"address":"0.0.0.0/24"}]}`}, "ADD DEL", "is no address", nil},
		{"gateway of the other family", "1.0.0", behaviour{Stdout: `{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.7/24","gateway":"fd00::1"}]}`}, "ADD DEL", "other address family", nil},
		{"the plugin's error", "1.0.0", behaviour{Stdout: failure, Exit: 1}, "ADD", "come back; later", nil},
		{"dies without an error", "1.0.0", behaviour{Stderr: "panic: oops", Exit: 2}, "ADD", `stderr: "panic: oops"`, ipam.ErrOutcomeUnknown},
		{"dies with other output", "1.0.0", behaviour{Stdout: "usage", Exit: 2}, "ADD", `stdout: "usage"`, ipam.ErrOutcomeUnknown},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			req := s.request(tc.version, map[string]behaviour{"ADD": tc.add})
			lease, err := new(ipam.Delegated).Allocate(t.Context(), req)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "puppet ADD sbx-01/eth0: ") {
				t.Fatalf("got %v, %v; want %q", lease, err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("error is not %q: %v", tc.is, err)
			}
			if got := s.verbs(); got != tc.verbs {
				t.Errorf("plugin heard %q, want %q", got, tc.verbs)
			}
			for _, c := range s.calls() {
				if c.Stdin != string(req.Config) || c.Args != req.Args || c.Netns != req.Netns {
					t.Errorf("%s differs from the request: %+v", c.Verb, c)
				}
			}
			var cniErr *types.Error
			if tc.add.Stdout == failure && (!errors.As(err, &cniErr) || cniErr.Code != 11) {
				t.Errorf("the plugin's error is not reachable: %v", err)
			}
		})
	}
}

// TestByteOrderMark is not passed on: host-local cannot read it
// (MicrosoftDocs/Virtualization-Documentation#1240).
func TestByteOrderMark(t *testing.T) {
	const conf = `{"cniVersion":"1.0.0","ipam":{"type":"x"}}`
	spy := &spyExec{result: goodResult}
	d := ipam.Delegated{Exec: spy}
	req := ipam.Request{Config: []byte("\ufeff" + conf)}
	_, err := d.Allocate(t.Context(), req)
	for _, next := range []func() error{
		func() error { return err },
		func() error { return d.Check(t.Context(), req, nil) },
		func() error { return d.Release(t.Context(), req) },
	} {
		if err := next(); err != nil || string(spy.stdin) != conf {
			t.Errorf("%v, plugin heard %q", err, spy.stdin)
		}
		spy.stdin = nil
	}
}

func TestAllocateTellsOfALeak(t *testing.T) {
	s := newStage(t)
	req := s.request("1.0.0", map[string]behaviour{
		"ADD": {Stdout: `{"cniVersion":"1.0.0"}`},
		"DEL": {Stdout: `{"code":5,"msg":"disk full"}`, Exit: 1},
	})
	_, err := new(ipam.Delegated).Allocate(t.Context(), req)
	var cniErr *types.Error
	if !errors.Is(err, ipam.ErrNoAddress) || !errors.As(err, &cniErr) || !strings.Contains(err.Error(), "still held") {
		t.Errorf("error %v, want both causes", err)
	}
}

// TestHungPluginIsStopped: at the end of the context, and although a process
// that it started holds its output open. Nothing is released.
func TestHungPluginIsStopped(t *testing.T) {
	for _, child := range []bool{false, true} {
		s := newStage(t)
		req := s.request("1.0.0", map[string]behaviour{"ADD": {Hang: true, Child: child}, "DEL": {Hang: true}})
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the runtime gave up")
		go func() {
			s.waitForCall()
			cancel(why)
		}()
		_, err := new(ipam.Delegated).Allocate(ctx, req)
		if !errors.Is(err, ipam.ErrOutcomeUnknown) || !errors.Is(err, why) {
			t.Errorf("child %v: error %v", child, err)
		}
		if got := s.verbs(); got != "ADD" {
			t.Errorf("plugin heard %q", got)
		}
	}
}

// TestPluginThatFloods: what it writes to standard output is no result, and it is
// stopped; of what it writes to standard error the begin is passed on.
func TestPluginThatFloods(t *testing.T) {
	s := newStage(t)
	req := s.request("1.0.0", map[string]behaviour{"ADD": {Stdout: goodResult, Flood: "stdout"}, "DEL": {Flood: "stderr"}})
	var stderr bytes.Buffer
	d := &ipam.Delegated{Stderr: &stderr}
	lease, err := d.Allocate(t.Context(), req)
	if lease != nil || !errors.Is(err, ipam.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "more than 1048576 bytes") || len(err.Error()) > 2000 {
		t.Errorf("%v, %.2000v; want ErrOutcomeUnknown and the bound", lease, err)
	}
	if err := d.Release(t.Context(), req); err != nil {
		t.Error(err)
	}
	if got := stderr.String(); len(got) > 66<<10 || !strings.HasPrefix(got, "xxx") || !strings.HasSuffix(got, "65536 bytes left out\n") {
		t.Errorf("%d bytes of standard error, ending %q", len(got), got[max(0, len(got)-80):])
	}
	if got := s.verbs(); got != "ADD DEL" {
		t.Errorf("plugin heard %q", got)
	}
}

// TestPluginMayLeaveAProcess: a plugin that has answered is done, whatever holds
// its output open (the dhcp plugin's daemon may).
func TestPluginMayLeaveAProcess(t *testing.T) {
	s := newStage(t)
	req := s.request("1.0.0", map[string]behaviour{"ADD": {Stdout: goodResult, Child: true}})
	lease, err := new(ipam.Delegated).Allocate(t.Context(), req)
	if err != nil || len(lease.Addresses) != 1 {
		t.Errorf("%v, %v", lease, err)
	}
}

func TestNothingIsRunWhenTheContextIsDone(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(ipam.Delegated).Allocate(ctx, s.request("1.0.0", nil))
	if !errors.Is(err, context.Canceled) || errors.Is(err, ipam.ErrOutcomeUnknown) {
		t.Errorf("error %v", err)
	}
	if got := s.verbs(); got != "" {
		t.Errorf("plugin heard %q", got)
	}
}

func TestPluginNotFound(t *testing.T) {
	empty := t.TempDir()
	conf := []byte(`{"cniVersion":"1.0.0","name":"lake","ipam":{"type":"lake-ipam"}}`)
	d := new(ipam.Delegated)
	for _, path := range [][]string{{empty, filepath.Join(empty, "no-such")}, nil} {
		err := d.Release(t.Context(), ipam.Request{ContainerID: "sbx-01", IfName: "eth0", PluginPath: path, Config: conf})
		if !errors.Is(err, ipam.ErrPluginNotFound) || !strings.Contains(err.Error(), `"lake-ipam"`) {
			t.Errorf("error %v", err)
		}
		for _, dir := range path {
			if quoted, _ := json.Marshal(dir); !strings.Contains(err.Error(), string(quoted)) {
				t.Errorf("error does not name %s: %v", dir, err)
			}
		}
	}
}

// TestRefusesConfig: nothing is looked for, let alone run.
func TestRefusesConfig(t *testing.T) {
	tests := []struct{ name, conf, want string }{
		{"HNS assigns", `{"cniVersion":"1.0.0"}`, "ipam.type: missing"},
		{"not JSON", `{`, "network configuration: "},
		{"path in the type", `{"ipam":{"type":"../puppet"}}`, `ipam.type "../puppet"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t)
			req := s.request("1.0.0", nil)
			req.Config = []byte(tc.conf)
			d := new(ipam.Delegated)
			_, addErr := d.Allocate(t.Context(), req)
			for _, err := range []error{addErr, d.Check(t.Context(), req, &ipam.Lease{}), d.Release(t.Context(), req)} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
			}
		})
	}
}

func TestPluginType(t *testing.T) {
	tests := []struct{ conf, typ, err string }{
		{`{"ipam":{"type":"host-local"}}`, "host-local", ""},
		{`{"Ipam":{"Type":"host-local.exe"}}`, "host-local.exe", ""},
		{`{}`, "", ""},
		{`{"ipam":null}`, "", ""},
		{`{"ipam":{}}`, "", ""},
		{`{"ipam":{"type":null}}`, "", ""},
		{`{"ipam":{"type":"","subnet":"10.4.0.0/24"}}`, "", ""},
		{`{"policies":[],"Policies":[]}`, "", ""},
		{`[]`, "", "want an object"},
		{`{"ipam":"host-local"}`, "", `ipam: want an object, got "host-local"`},
		{`{"ipam":{"type":7}}`, "", "ipam.type 7: want text"},
		{`{"ipam":{"type":"a/b"}}`, "", `cannot have '/'`},
		{`{"ipam":{"type":"a\\b"}}`, "", `cannot have '\\'`},
		{`{"ipam":{"type":"C:ipam"}}`, "", `cannot have ':'`},
		{`{"ipam":{"type":".."}}`, "", "not a plugin's name"},
		{`{"ipam":{"type":"a\u0000"}}`, "", `cannot have '\x00'`},
		{"\ufeff" + `{"ipam":{"type":"host-local"}}`, "host-local", ""}, // MicrosoftDocs/Virtualization-Documentation#1240
		{"{\u00a0}", "", "line 1 column 2"},
	}
	for _, tc := range tests {
		typ, err := ipam.PluginType([]byte(tc.conf))
		if typ != tc.typ || (tc.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v; want %q, %q", tc.conf, typ, err, tc.typ, tc.err)
		}
	}
}

// TestCheckAddsPrevResult where the specification has it and the runtime has not
// given it, in the version of the configuration.
func TestCheckAddsPrevResult(t *testing.T) {
	lease := &ipam.Lease{
		Addresses: []ipam.Address{{pfx("10.50.3.7/24"), adr("10.50.3.1")}},
		Routes:    []ipam.Route{{Destination: pfx("0.0.0.0/0")}},
	}
	tests := []struct{ name, conf, want string }{
		{"1.0.0", `{"cniVersion":"1.0.0","ipam":{"type":"x"}}`,
			`{"cniVersion":"1.0.0","ipam":{"type":"x"},"prevResult":{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.7/24","gateway":"10.50.3.1"}],"routes":[{"dst":"0.0.0.0/0"}]}}`},
		{"0.4.0", `{"cniVersion":"0.4.0","ipam":{"type":"x"}}`,
			`{"cniVersion":"0.4.0","ipam":{"type":"x"},"prevResult":{"cniVersion":"0.4.0","dns":{},"ips":[{"version":"4","address":"10.50.3.7/24","gateway":"10.50.3.1"}],"routes":[{"dst":"0.0.0.0/0"}]}}`},
		{"before CHECK", `{"cniVersion":"0.3.1","ipam":{"type":"x"}}`, `{"cniVersion":"0.3.1","ipam":{"type":"x"}}`},
		{"no version", `{"ipam":{"type":"x"}}`, `{"ipam":{"type":"x"}}`},
		{"given", ` {"cniVersion":"1.0.0","prevResult":{ },"ipam":{"type":"x"}}`, ` {"cniVersion":"1.0.0","prevResult":{ },"ipam":{"type":"x"}}`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var spy spyExec
			d := ipam.Delegated{Exec: &spy}
			if err := d.Check(t.Context(), ipam.Request{Config: []byte(tc.conf)}, lease); err != nil {
				t.Fatal(err)
			}
			got := string(spy.stdin)
			if strings.Contains(tc.want, `"dns"`) || strings.Contains(tc.want, "prevResult\":{\"cni") {
				if !sameJSON(json.RawMessage(tc.want), json.RawMessage(got)) {
					t.Errorf("got %s", got)
				}
			} else if got != tc.want {
				t.Errorf("got %s, want it unchanged", got)
			}
		})
	}
}

// spyExec answers every call with a fixed result.
type spyExec struct {
	version.PluginDecoder
	stdin  []byte
	result string
	err    error
}

func (s *spyExec) FindInPath(plugin string, _ []string) (string, error) { return plugin, nil }
func (s *spyExec) ExecPlugin(_ context.Context, _ string, stdin []byte, _ []string) ([]byte, error) {
	s.stdin = stdin
	return []byte(s.result), s.err
}

func TestExecOfTheCaller(t *testing.T) {
	req := ipam.Request{ContainerID: "sbx-01", IfName: "eth0", Config: []byte(`{"cniVersion":"1.0.0","ipam":{"type":"x"}}`)}
	d := ipam.Delegated{Exec: &spyExec{result: goodResult}}
	lease, err := d.Allocate(t.Context(), req)
	if err != nil || lease.Addresses[0].Prefix != pfx("10.50.3.7/24") {
		t.Errorf("%v, %v", lease, err)
	}
	why := errors.New("no such host")
	d.Exec = &spyExec{err: why}
	if _, err := d.Allocate(t.Context(), req); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

// TestPluginCannotStart: nothing has happened, and the cause is reachable.
func TestPluginCannotStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows goes by the name, not by permission")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := new(ipam.Delegated).Allocate(t.Context(), ipam.Request{PluginPath: []string{dir}, Config: []byte(`{"ipam":{"type":"x"}}`)})
	if !errors.Is(err, os.ErrPermission) || errors.Is(err, ipam.ErrOutcomeUnknown) {
		t.Errorf("error %v", err)
	}
	// An empty entry in the path is the working directory, never PATH.
	t.Chdir(dir)
	if _, err := exec.LookPath("sh"); err == nil {
		if err := os.WriteFile(filepath.Join(dir, "sh"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		err := new(ipam.Delegated).Release(t.Context(), ipam.Request{PluginPath: []string{""}, Config: []byte(`{"ipam":{"type":"sh"}}`)})
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("error %v", err)
		}
	}
}

func TestNewLeaseRefuses(t *testing.T) {
	if _, err := ipam.NewLease(nil); err == nil {
		t.Error("nil accepted")
	}
	bad := []types.Result{
		&types040.Result{CNIVersion: "0.4.0", IPs: []*types040.IPConfig{nil}},
		&types100.Result{CNIVersion: "1.0.0", IPs: []*types100.IPConfig{nil}},
		&types100.Result{CNIVersion: "1.0.0", IPs: []*types100.IPConfig{{}}},
		&types100.Result{CNIVersion: "1.0.0", Routes: []*types.Route{nil}},
		&types100.Result{CNIVersion: "1.0.0", Routes: []*types.Route{{}}},
		&types100.Result{CNIVersion: "1.0.0", IPs: []*types100.IPConfig{{Gateway: []byte{1, 2}}}},
	}
	for _, res := range bad {
		if lease, err := ipam.NewLease(res); err == nil {
			t.Errorf("%+v accepted as %+v", res, lease)
		}
	}
}

// TestLeaseRoundTrip: what a lease says survives being a result, IPv4 in IPv6
// form turns into IPv4.
func TestLeaseRoundTrip(t *testing.T) {
	text := `{"cniVersion":"1.1.0","ips":[{"address":"::ffff:10.50.3.7/120","gateway":"10.50.3.1"},{"address":"fd00::7/64"}],
		"routes":[{"dst":"10.96.0.1/12","gw":"10.50.3.1","mtu":1400,"advmss":1360,"priority":3,"table":9,"scope":0},{"dst":"::/0"}],"dns":{"domain":"lake","search":["a"],"options":["ndots:5"]}}`
	res, err := types100.NewResult([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	lease, err := ipam.NewLease(res)
	if err != nil {
		t.Fatal(err)
	}
	nine, zero := 9, 0
	want := &ipam.Lease{
		Addresses: []ipam.Address{{pfx("10.50.3.7/24"), adr("10.50.3.1")}, {Prefix: pfx("fd00::7/64")}},
		Routes: []ipam.Route{
			{Destination: pfx("10.96.0.0/12"), Gateway: adr("10.50.3.1"), MTU: 1400, AdvMSS: 1360, Priority: 3, Table: &nine, Scope: &zero},
			{Destination: pfx("::/0")},
		},
		DNS: types.DNS{Domain: "lake", Search: []string{"a"}, Options: []string{"ndots:5"}},
	}
	if diff := cmp.Diff(want, lease, byText); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := ipam.NewLease(lease.Result())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lease, again, byText); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
}
