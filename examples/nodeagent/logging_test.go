package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// -v counts where it asks for more than --log-level; 4 of klog's levels are one of
// slog's.
func TestLogger(t *testing.T) {
	for _, tt := range []struct {
		args  []string
		least slog.Level
	}{
		{nil, slog.LevelInfo},
		{[]string{"--log-level=error", "--v=0"}, slog.LevelError},
		{[]string{"--log-level=debug"}, slog.LevelDebug},
		{[]string{"--v=2"}, -2},
		{[]string{"--v=4"}, slog.LevelDebug},
		{[]string{"--v=6", "--log-level=debug"}, -6},
		{[]string{"--v=1", "--log-level=debug"}, slog.LevelDebug},
		{[]string{"--v=1", "--log-level=error"}, -1},
	} {
		c, err := parseFlags(tt.args, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := c.logger(&bytes.Buffer{}).Handler()
		if !h.Enabled(context.Background(), tt.least) || h.Enabled(context.Background(), tt.least-1) {
			t.Errorf("%q: not from %s on", tt.args, tt.least)
		}
	}
	for form, want := range map[string]string{"text": `msg=hello`, "json": `"msg":"hello"`} {
		var out bytes.Buffer
		(&config{logFormat: form}).logger(&out).Info("hello")
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", form, out.String())
		}
	}
}
