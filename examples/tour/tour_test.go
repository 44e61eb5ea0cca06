package main

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/toolbuild"
)

// run builds the command and runs it with a temporary directory of its own. It
// returns the standard output in lines, the standard error and the exit status.
func run(t *testing.T, env []string, args ...string) (lines []string, stderr string, status int) {
	t.Helper()
	prog, err := toolbuild.Local(t.Context(), "./examples/tour", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), prog, args...)
	var errText strings.Builder
	cmd.Stderr = &errText
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("the temporary directory still holds %v", left)
	}
	lines = strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	return lines, errText.String(), cmd.ProcessState.ExitCode()
}

func TestClean(t *testing.T) {
	lines, stderr, status := run(t, nil)
	out := strings.Join(lines, "\n")
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, standard error %q, output:\n%s", status, stderr, out)
	}
	if !slices.Contains(lines, "leaked: 0 endpoints, 0 leases") {
		t.Errorf("no line says that nothing leaked:\n%s", out)
	}
	if last := lines[len(lines)-1]; !regexp.MustCompile(`^9 pod to node +yes +yes +yes +yes\? +yes$`).MatchString(last) {
		t.Errorf("last line is %q", last)
	}
	if len(lines) > 60 {
		t.Errorf("%d lines are more than one reads", len(lines))
	}
	for _, want := range []string{
		`network +cbr0 10\.244\.1\.0/24 gateway 10\.244\.1\.1`,
		`host endpoint +cbr0_ep 10\.244\.1\.2/24`,
		// The first pod of an L2Bridge network has neither the gateway's address
		// nor the host endpoint's (kubernetes/kubernetes#74766, microsoft/SDN#333).
		`pod-1_cbr0 +10\.244\.1\.3/24 +10\.244\.1\.2 +00-15-5D-[-0-9A-F]{8} +OutBoundNAT except 10\.244\.0\.0/16, 10\.96\.0\.0/12`,
		`pod-3_cbr0 +10\.244\.1\.5/24`,
		`network +flannel\.4096 10\.244\.2\.0/24 gateway 10\.244\.2\.1 VNI 4096`,
		`pod-3_flannel\.4096 +10\.244\.2\.4/24 +10\.244\.2\.1 +0E-2A-0A-F4-02-04 `,
		`ProviderAddress 192\.0\.2\.10`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("output lacks %s:\n%s", want, out)
		}
	}
	for _, verb := range []string{"CHECK", "DEL"} {
		ok := regexp.MustCompile(`(?m)^  ` + verb + ` pod-\d: ok$`)
		if got, want := len(ok.FindAllString(out, -1)), 2*podsPerNode; got != want {
			t.Errorf("%d pods passed %s, want %d:\n%s", got, verb, want, out)
		}
	}
}

// TestPlanted shows that the count of leaks is not always zero.
func TestPlanted(t *testing.T) {
	lines, _, status := run(t, nil, "-plant")
	if status != 1 {
		t.Errorf("status %d, want 1", status)
	}
	if !slices.Contains(lines, "leaked: 1 endpoints, 1 leases") {
		t.Errorf("no line says what leaked: %q", lines)
	}
	out := strings.Join(lines, "\n")
	for _, want := range []string{
		"left behind: node-2 endpoint pod-3_flannel.4096\n",
		"left behind: node-2 lease flannel.4096/10.244.2.4\n",
		"left behind: node-2 scratch file ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// TestNoGo: without the go command host-local cannot be built, and the tour says
// so rather than going on with something else.
func TestNoGo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("PATH decides about more than the go command there")
	}
	_, stderr, status := run(t, []string{"PATH="})
	if status != 1 || !strings.Contains(stderr, "the tour needs the host-local plugin") || !strings.Contains(stderr, "go command") {
		t.Errorf("status %d, standard error %q", status, stderr)
	}
}

// TestInterrupted: a tour that is stopped halfway fails, and cleans up.
func TestInterrupted(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	ctx, cancel := context.WithCancel(t.Context())
	w := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "CHECK pod-2") {
			cancel()
		}
		return len(p), nil
	})
	if err := tour(ctx, w, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Every policy has a line but those that HNS adds itself, whether it has a struct
// or is kept raw.
func TestPolicyText(t *testing.T) {
	for _, tt := range []struct {
		policy hns.EndpointPolicy
		want   string
	}{
		{hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16", "10.96.0.0/12"}}, "OutBoundNAT except 10.50.0.0/16, 10.96.0.0/12"},
		{hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12")}, "SDNRoute 10.96.0.0/12"},
		{hns.ProviderAddress{Address: netip.MustParseAddr("192.0.2.10")}, "ProviderAddress 192.0.2.10"},
		{hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}, "PortMapping TCP 8088 to 80"},
		{hns.TierACL{Name: "pods"}, "TierAcl"},
		{hns.RawPolicy{Type: "Firewall"}, "Firewall"},
		{hns.L2Driver{}, ""},
		{hns.ACL{}, ""},
		{hns.RawPolicy{Type: "acl"}, ""},
	} {
		if got := policyText(tt.policy); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.policy.PolicyType(), got, tt.want)
		}
	}
}
