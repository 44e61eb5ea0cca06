package cniplugin

import (
	"fmt"
	"log/slog"
	"os"
)

// openLog returns the logger that the keys logFile and logLevel ask for, and a
// function that closes it. Without logFile nothing is logged: stdout and
// stderr of a plugin belong to the protocol. With an error it returns a logger
// too, one that logs nothing.
func openLog(c *Config) (*slog.Logger, func(), error) {
	none, closeNone := slog.New(slog.DiscardHandler), func() {}
	if c.LogFile == "" {
		return none, closeNone, nil
	}
	f, err := os.OpenFile(c.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return none, closeNone, fmt.Errorf("logFile: %w", err)
	}
	h := slog.NewJSONHandler(f, &slog.HandlerOptions{Level: c.logLevel})
	return slog.New(h).With("pid", os.Getpid()), func() { f.Close() }, nil
}
