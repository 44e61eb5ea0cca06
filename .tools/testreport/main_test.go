package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const pass = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
	tests := []struct {
		name, in string
		allowed  map[string]string
		ok       bool
		last     string
	}{
		{"pass", pass, nil, true, "suite s: 1 ran, 0 failed, 0 skipped"},
		{"nothing ran", "", nil, false, "suite s: 0 ran, 0 failed, 0 skipped"},
		{"fail", pass + `{"Action":"fail","Package":"p","Test":"TestB"}` + "\n", nil, false, "suite s: 2 ran, 1 failed, 0 skipped"},
		{"package fails alone", pass + `{"Action":"fail","Package":"p"}` + "\n", nil, false, "suite s: 1 ran, 0 failed, 0 skipped"},
		{"build fails", pass + `{"Action":"build-fail","ImportPath":"p"}` + "\n", nil, false, "suite s: 1 ran, 0 failed, 0 skipped"},
		{"skip", pass + `{"Action":"skip","Package":"p","Test":"TestB"}` + "\n", nil, false, "suite s: 1 ran, 0 failed, 1 skipped"},
		{"skip that may be", pass + `{"Action":"skip","Package":"p","Test":"TestB"}` + "\n", map[string]string{"p TestB": "because"}, true, "suite s: 1 ran, 0 failed, 1 skipped"},
		{"sub-tests that may be", pass + `{"Action":"skip","Package":"p","Test":"TestB/c/d"}` + "\n", map[string]string{"p TestB/*": "because"}, true, "suite s: 1 ran, 0 failed, 1 skipped"},
		{"the test of these sub-tests", pass + `{"Action":"skip","Package":"p","Test":"TestB"}` + "\n", map[string]string{"p TestB/*": "because"}, false, "suite s: 1 ran, 0 failed, 1 skipped"},
		{"package without tests", pass + `{"Action":"skip","Package":"q"}` + "\n", nil, true, "suite s: 1 ran, 0 failed, 0 skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := report(strings.NewReader(tt.in), &out, "s", tt.allowed)
			if err != nil || ok != tt.ok {
				t.Errorf("got %v, %v, want %v", ok, err, tt.ok)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := lines[len(lines)-1]; got != tt.last {
				t.Errorf("last line %q, want %q", got, tt.last)
			}
		})
	}
}
