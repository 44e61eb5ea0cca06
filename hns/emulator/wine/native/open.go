package native

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// The environment variables that [Open] reads.
const (
	// StateVariable names the state file of the emulator. Programs with the
	// same file share an HNS; without it each process has its own.
	StateVariable = "HNSKIT_STATE"
	// LogVariable names the file of the call log. Without it nothing is
	// logged.
	LogVariable = "HNSKIT_CALL_LOG"
)

// Open returns the API that the environment asks for. open makes the backend
// from the path of the state file, which is empty for an HNS in memory. Paths
// may be of Wine (Z:\tmp\x) or of Linux (/tmp/x).
//
// Open always returns an API: if something is amiss, every call of it fails
// and tells why, which is the only voice that a DLL has.
func Open(getenv func(string) string, open func(path string) (hns.Backend, error)) *API {
	var log *Log
	if path := getenv(LogVariable); path != "" {
		var err error
		if log, err = NewLog(filePath(path)); err != nil {
			return New(broken{fmt.Errorf("%s: %w", LogVariable, err)}, nil)
		}
	}
	backend, err := open(filePath(getenv(StateVariable)))
	if err != nil {
		backend = broken{fmt.Errorf("%s: %w", StateVariable, err)}
	}
	return New(backend, log)
}

// broken is a backend that could not be opened.
type broken struct{ err error }

func (b broken) Do(hns.Request) (hns.Response, error) {
	return hns.Response{}, &hns.BackendError{Err: b.err}
}

// filePath returns a path of either form as this process takes it.
func filePath(path string) string {
	if runtime.GOOS != "windows" {
		return path
	}
	return winePath(path)
}

// winePath returns the path of a Linux file as Windows programs see it: Wine
// shows the root as drive Z. Other paths, and the empty one, stay as they are.
func winePath(path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	return "Z:" + strings.ReplaceAll(path, "/", `\`)
}
