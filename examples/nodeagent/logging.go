package main

import (
	"flag"
	"io"
	"log/slog"
	"strconv"

	"k8s.io/klog/v2"
)

// logger returns the log of the program. If -v asks for more than --log-level, it
// counts.
func (c *config) logger(w io.Writer) *slog.Logger {
	level := c.logLevel
	if c.verbosity > 0 {
		level = min(level, slog.Level(-c.verbosity))
	}
	o := &slog.HandlerOptions{Level: level}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// sendKlogTo has the Kubernetes client, which logs by klog, log to l.
func sendKlogTo(l *slog.Logger, verbosity int) {
	klog.SetSlogLogger(l)
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	if err := fs.Set("v", strconv.Itoa(verbosity)); err != nil {
		l.Warn("the log of the Kubernetes client keeps its level", "error", err)
	}
}
