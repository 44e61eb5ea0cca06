package cniplugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// TestCodesOfADD: what the runtime is told of each cause for which an ADD fails. 999
// is left for what no configuration and no node can do about.
func TestCodesOfADD(t *testing.T) {
	member := func(m string) func(*pod) error {
		return func(p *pod) error { _, err := p.add(m); return err }
	}
	args := func(change func(*pod, *skel.CmdArgs)) func(*pod) error {
		return func(p *pod) error {
			a := p.args(p.config())
			change(p, a)
			_, err := p.plugin.Add(context.Background(), a)
			return err
		}
	}
	prepared := func(prepare func(*pod) error) func(*pod) error {
		return func(p *pod) error {
			if err := prepare(p); err != nil {
				p.tb.Fatal(err)
			}
			_, err := p.add()
			return err
		}
	}
	ipamSays := func(err error) func(*pod) error {
		return prepared(func(p *pod) error { p.ipam.on("ADD", before(err)); return nil })
	}
	file := func(dir string) func(*pod) error {
		return prepared(func(p *pod) error {
			if err := os.MkdirAll(p.plugin.StateDir, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(p.plugin.StateDir, dir), nil, 0o600)
		})
	}
	hook := func(f func(*pod) error) func(*pod) error {
		return prepared(func(p *pod) error {
			p.plugin.Hooks.BeforeCreate = func(context.Context, *cniplugin.Pod, *hns.Endpoint) error { return f(p) }
			return nil
		})
	}
	tests := []struct {
		cause string
		add   func(*pod) error
		code  uint
	}{
		{"not JSON", args(func(_ *pod, a *skel.CmdArgs) { a.StdinData = []byte("{") }), types.ErrDecodingFailure},
		{"a version of no plugin", member(`"cniVersion": "9.0.0"`), types.ErrInvalidNetworkConfig},
		{"a value of the wrong type", member(`"name": 7`), types.ErrInvalidNetworkConfig},
		{"a mode that is not the plugin's", member(`"mode": "overlay"`), types.ErrInvalidNetworkConfig},
		{"a capability of nobody", member(`"runtimeConfig": {"aliases": ["web"]}`), types.ErrInvalidNetworkConfig},
		{"an address that IPAM does not give", member(`"runtimeConfig": {"ips": ["10.50.3.99"]}`), types.ErrInvalidNetworkConfig},
		{"a key of another mode", member(`"endpointMacPrefix": "0E-2A"`), types.ErrInvalidNetworkConfig},
		{"an interface of an earlier plugin", member(`"prevResult": {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "x"}]}`), types.ErrInvalidNetworkConfig},
		{"no GUID", args(func(_ *pod, a *skel.CmdArgs) { a.Netns = "/proc/1/ns/net" }), types.ErrInvalidEnvironmentVariables},
		{"no container id", args(func(_ *pod, a *skel.CmdArgs) { a.ContainerID = "../x" }), types.ErrInvalidEnvironmentVariables},
		{"no interface name", args(func(_ *pod, a *skel.CmdArgs) { a.IfName = "a/b" }), types.ErrInvalidEnvironmentVariables},
		{"no namespace", args(func(_ *pod, a *skel.CmdArgs) { a.Netns = hns.NewID().String() }), types.ErrUnknownContainer},
		{"no network", member(`"name": "pond"`), types.ErrTryAgainLater},
		{"no place for locks", file("locks"), types.ErrIOFailure},
		{"no place for notes", file("interfaces"), types.ErrIOFailure},
		{"no HNS", prepared(func(p *pod) error {
			p.plugin.Open = func(*hns.Options) (*hns.Client, error) { return nil, hns.ErrUnsupportedOS }
			return nil
		}), cniplugin.CodeUnsupported},
		{"HNS is stopped", prepared(func(p *pod) error { p.hns.Stop(); return nil }), types.ErrTryAgainLater},
		{"the runtime has gone", func(p *pod) error {
			ctx, cancel := context.WithCancel(p.tb.Context())
			cancel()
			_, err := p.addUntil(ctx)
			return err
		}, types.ErrTryAgainLater},
		{"another interface of the sandbox", prepared(func(p *pod) error {
			a := p.args(p.config())
			a.IfName = "net1"
			_, err := p.plugin.Add(p.tb.Context(), a)
			return err
		}), cniplugin.CodeConflict},
		{"an endpoint without a lease", prepared(func(p *pod) error {
			p.mustAdd()
			delete(p.ipam.books, p.id+"/eth0")
			return nil
		}), cniplugin.CodeConflict},
		{"two endpoints of the name", prepared(func(p *pod) error {
			for range 2 {
				if _, err := p.client.Endpoints.Create(p.tb.Context(), &hns.Endpoint{Name: p.id + "_lake", Network: p.network.ID}); err != nil {
					return err
				}
			}
			return nil
		}), cniplugin.CodeConflict},
		{"an endpoint of another sandbox", prepared(func(p *pod) error {
			p.mustAdd()
			other := p.pod("other")
			p.namespace = other.namespace
			return nil
		}), cniplugin.CodeConflict},
		{"an endpoint that lacks something", prepared(func(p *pod) error {
			p.mustAdd()
			p.plugin.Hooks.BeforeCreate = func(_ context.Context, _ *cniplugin.Pod, e *hns.Endpoint) error {
				e.Policies = append(e.Policies, hns.QOS{MaximumOutgoingBandwidthInBytes: 7})
				return nil
			}
			return nil
		}), types.ErrInvalidNetworkConfig},
		{"IPAM has no address", ipamSays(fmt.Errorf("pool: %w", ipam.ErrNoAddress)), cniplugin.CodeNoAddress},
		{"IPAM gives no address", prepared(func(p *pod) error { p.ipam.subnets = nil; return nil }), cniplugin.CodeNoAddress},
		{"IPAM is nowhere", ipamSays(ipam.ErrPluginNotFound), types.ErrInvalidNetworkConfig},
		{"IPAM was stopped", ipamSays(ipam.ErrOutcomeUnknown), types.ErrTryAgainLater},
		{"IPAM refuses the configuration", ipamSays(&ipam.ConfigError{Path: "ipam.x", Err: errBroken}), types.ErrInvalidNetworkConfig},
		{"a plugin's own code", ipamSays(types.NewError(107, "no addresses left", "")), 107},
		{"IPAM fails", ipamSays(errBroken), types.ErrInternal},
		{"a hook fails", hook(func(*pod) error { return errHook }), types.ErrInternal},
		{"a hook panics", hook(func(*pod) error { panic("oh") }), types.ErrInternal},
		{"a hook's own code", hook(func(*pod) error { return &cniplugin.Error{Code: 120, Err: errHook} }), 120},
		{"the mode is none", prepared(func(p *pod) error { p.plugin.Mode = "bridge"; return nil }), types.ErrInternal},
	}
	for _, tt := range tests {
		t.Run(tt.cause, func(t *testing.T) {
			n := newBridge(t, nil)
			if err := tt.add(n.pod("sbx-01")); codeOf(err) != tt.code {
				t.Errorf("code %d, %v; want %d", codeOf(err), err, tt.code)
			}
		})
	}
}

// TestCodesOfHNS: what the runtime is told if HNS refuses to make the endpoint.
func TestCodesOfHNS(t *testing.T) {
	tests := map[hns.Code]uint{
		hns.CodeAccessDenied:             cniplugin.CodeDenied,
		hns.CodeObjectAlreadyExists:      cniplugin.CodeConflict, // the address is in use
		hns.CodeAddressInvalidOrReserved: cniplugin.CodeConflict, // so it says of that, too
		hns.CodePortExists:               cniplugin.CodeConflict,
		hns.CodePolicyExists:             cniplugin.CodeConflict,
		hns.CodeSharingViolation:         cniplugin.CodeConflict,
		hns.CodeDegraded:                 cniplugin.CodeConflict,
		hns.CodeInvalidPolicy:            types.ErrInvalidNetworkConfig,
		hns.CodeInvalidIP:                types.ErrInvalidNetworkConfig,
		hns.CodeInvalidParameter:         types.ErrInvalidNetworkConfig,
		hns.CodeInvalidJSON:              types.ErrInvalidNetworkConfig,
		hns.CodeRequestUnsupported:       cniplugin.CodeUnsupported,
		hns.CodeNotImplemented:           cniplugin.CodeUnsupported,
		hns.CodeProcNotFound:             cniplugin.CodeUnsupported,
		hns.CodeNetworkNotFound:          types.ErrTryAgainLater,
		hns.CodeServiceNotActive:         types.ErrTryAgainLater,
		hns.CodeRPCCallFailed:            types.ErrTryAgainLater,
		0x8007ffff:                       types.ErrInternal,
	}
	for code, want := range tests {
		n := newBridge(t, nil)
		n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Code: code})
		if _, err := n.pod("sbx-01").add(); codeOf(err) != want {
			t.Errorf("%s: code %d, %v; want %d", code, codeOf(err), err, want)
		}
		if left := append(n.state(), n.noteFiles()...); len(left) > 0 {
			t.Errorf("%s: left %v", code, left)
		}
	}
}
