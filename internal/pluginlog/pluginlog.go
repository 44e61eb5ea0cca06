// Package pluginlog is the log of a CNI plugin: a file, since standard output and
// standard error belong to the protocol.
package pluginlog

import (
	"fmt"
	"log/slog"
	"os"
)

// Open returns a logger that appends to the file, one JSON document a line, and a
// function that closes it. Without a path nothing is logged. With an error it
// returns a logger too, one that logs nothing.
func Open(path string, level slog.Level) (*slog.Logger, func(), error) {
	none, closeNone := slog.New(slog.DiscardHandler), func() {}
	if path == "" {
		return none, closeNone, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return none, closeNone, fmt.Errorf("logFile: %w", err)
	}
	h := slog.NewJSONHandler(f, &slog.HandlerOptions{Level: level})
	return slog.New(h).With("pid", os.Getpid()), func() { f.Close() }, nil
}
