package hnstest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

var profiles = []hns.Version{
	emulator.WindowsServer2019KB4489899, emulator.WindowsServer2019, emulator.Windows20H2,
	emulator.WindowsServer2022, emulator.WindowsServer2025, emulator.WindowsServer2025Serviced,
}

// The emulator passes as each Windows it can be, in memory and, as one, in a
// file, and is as empty afterwards as before.
func TestEmulator(t *testing.T) {
	for _, v := range profiles {
		t.Run(v.String(), func(t *testing.T) {
			modes := []string{"memory"}
			if v == emulator.WindowsServer2022 && !testing.Short() {
				modes = append(modes, "file") // one is enough: it writes some thousand times
			}
			for _, mode := range modes {
				t.Run(mode, func(t *testing.T) {
					t.Parallel()
					opts := &emulator.Options{Version: v, Listeners: []emulator.Listener{{Protocol: 6, Port: busy}}}
					h := emulator.New(opts)
					if mode == "file" {
						var err error
						if h, err = emulator.Open(filepath.Join(t.TempDir(), "hns.json"), opts); err != nil {
							t.Fatal(err)
						}
					}
					hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
						return hnstest.Harness{Backend: h, Version: v, External: true, Strict: true, Busy: busy}
					})
					checkEmpty(t, h)
				})
			}
		})
	}
}

// unasked are the codes of the Host Compute Network reference that no case
// expects, and why.
var unasked = map[hns.Code]string{
	hns.CodeSwitchNotFound:         "takes a switch removed by hand",
	hns.CodePortNotFound:           "by default backends need no port",
	hns.CodeVFPPortSettingNotFound: "no operation is known to give it",
	hns.CodeLayerExists:            "no operation is known to give it",
	hns.CodeRegistryFailure:        "takes a broken host",
	hns.CodeSharingDisabled:        "takes real containers",
	hns.CodeManagerStopped:         "takes a service that stops",
	hns.CodeICSDisabled:            "takes a host without SharedAccess",
	hns.CodeObjectUsedAfterUnload:  "takes a handle that outlives its object",
	hns.CodeInvalidIPSubnet:        "no operation is known to give it",
	hns.CodeEndpointNotAttached:    "no operation is known to give it",
	hns.CodeEndpointNotLocal:       "no operation is known to give it",
	hns.CodeVFPNotAllowed:          "takes a Windows without VFP",
}

// Every code of HNS is expected somewhere, or there is a reason.
func TestCodesAsked(t *testing.T) {
	wanted := map[string]bool{}
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: emulator.New(&emulator.Options{Version: emulator.WindowsServer2025Serviced}), External: true, Strict: true,
			Record: func(a hnstest.Answer) {
				for _, s := range a.Steps {
					wanted[s.Want] = true
				}
			}}
	})
	named := 0
	for c := hns.CodeNetworkNotFound; c <= hns.CodeVFPNotAllowed; c++ {
		if !strings.HasPrefix(c.String(), "HCN") {
			continue // a code of the guest side
		}
		named++
		if _, reason := unasked[c]; wanted[c.String()] == reason {
			t.Errorf("%s: expected by a case: %v, reason not to: %q", c, wanted[c.String()], unasked[c])
		}
	}
	if named < 40 {
		t.Errorf("only %d codes have names", named)
	}
}

func checkEmpty(t *testing.T, h *emulator.HNS) {
	t.Helper()
	s, err := h.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Networks) + len(s.Endpoints) + len(s.Namespaces) + len(s.LoadBalancers) + len(s.Routes); n != 0 {
		t.Errorf("%d objects are left", n)
	}
}
