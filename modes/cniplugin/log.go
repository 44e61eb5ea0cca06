package cniplugin

import (
	"fmt"
	"log/slog"
	"os"
)

// openLog returns the logger that the keys logFile and logLevel ask for, and a
// function that closes it. Without logFile nothing is logged: stdout and
// stderr of a plugin belong to the protocol.
func openLog(c *Config) (*slog.Logger, func(), error) {
	if c.LogFile == "" {
		return slog.New(slog.DiscardHandler), func() {}, nil
	}
	f, err := os.OpenFile(c.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("logFile: %w", err)
	}
	h := slog.NewJSONHandler(f, &slog.HandlerOptions{Level: c.logLevel})
	return slog.New(h).With("pid", os.Getpid()), func() { f.Close() }, nil
}
