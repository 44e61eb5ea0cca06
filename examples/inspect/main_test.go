package main

import (
	"io"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hnskit/hnskit/internal/golden"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"inspect": main}) }

// The stories say what a user sees of the program; -update writes what they compare
// with.
func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true, UpdateScripts: golden.Update(t)})
}

func TestStatus(t *testing.T) {
	const clean, letter = "FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n", "Dear reader"
	for name, tc := range map[string]struct {
		args  []string
		stdin string
		want  int
	}{
		"clean":                    {[]string{"-"}, clean, 0},
		"refused":                  {[]string{"-"}, "FLANNEL_MTU=many\n", 1},
		"a warning":                {[]string{"-"}, `{"cniVersion":"1.0.0","name":"lake","type":"win-bridge"}`, 1},
		"broken, and known":        {[]string{"-"}, `{"cniVersion":"1.0.0","name":__NAME__}`, 1},
		"nothing known":            {[]string{"-"}, letter, 2},
		"nothing at all":           {[]string{"-json", "-"}, "", 2},
		"no file of the name":      {[]string{"testdata/absent"}, "", 2},
		"a directory":              {[]string{"testdata"}, "", 2},
		"absent beats its company": {[]string{"testdata/absent", "-"}, "FLANNEL_MTU=many\n", 2},
		"no file":                  {nil, "", 2},
		"help":                     {[]string{"-h"}, "", 0},
		"no such flag":             {[]string{"-colour", "-"}, clean, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := run(tc.args, strings.NewReader(tc.stdin), io.Discard, io.Discard); got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
}
