//go:build !windows

package pluginexec

import (
	"errors"
	"syscall"
)

// isBusy reports whether a program could not be started because its file is open
// for writing.
func isBusy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }
