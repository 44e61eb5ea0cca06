package native

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/emuopen"
)

// The environment variables that [Open] reads.
const (
	// StateVariable names the state file of the emulator. Programs with the
	// same file share an HNS; without it each process has its own.
	StateVariable = "HNSKIT_STATE"
	// LogVariable names the file of the call log. Without it nothing is
	// logged.
	LogVariable = "HNSKIT_CALL_LOG"
	// VersionVariable is the version of HNS, such as "15.4", that a new HNS
	// has. Without it the emulator has its default.
	VersionVariable = "HNSKIT_HNS_VERSION"
	// AdaptersVariable is the adapters of the host that a new HNS has, such as
	// "Ethernet=192.0.2.11/24". Without it the emulator has its default.
	AdaptersVariable = "HNSKIT_ADAPTERS"
)

// Open returns the API that the environment asks for. open makes the backend.
// Paths may be of Wine (Z:\tmp\x) or of Linux (/tmp/x).
//
// Open always returns an API: if something is amiss, every call of it fails
// and tells why, which is the only voice that a DLL has.
func Open(getenv func(string) string, open func(emuopen.Wish) (hns.Backend, error)) *API {
	var log *Log
	if path := getenv(LogVariable); path != "" {
		var err error
		if log, err = NewLog(filePath(path)); err != nil {
			return New(broken{fmt.Errorf("%s: %w", LogVariable, err)}, nil)
		}
	}
	version, err := parseVersion(getenv(VersionVariable))
	if err != nil {
		return New(broken{fmt.Errorf("%s: %w", VersionVariable, err)}, log)
	}
	adapters, err := emuopen.ParseAdapters(getenv(AdaptersVariable))
	if err != nil {
		return New(broken{fmt.Errorf("%s: %w", AdaptersVariable, err)}, log)
	}
	backend, err := open(emuopen.Wish{Path: filePath(getenv(StateVariable)), Version: version, Adapters: adapters})
	if err != nil {
		backend = broken{fmt.Errorf("%s: %w", StateVariable, err)}
	}
	return New(backend, log)
}

// parseVersion reads "15.4"; the empty text is the zero version.
func parseVersion(text string) (hns.Version, error) {
	if text == "" {
		return hns.Version{}, nil
	}
	major, minor, _ := strings.Cut(text, ".")
	a, aErr := strconv.ParseUint(major, 10, 32)
	b, bErr := strconv.ParseUint(minor, 10, 32)
	if aErr != nil || bErr != nil || a+b == 0 {
		return hns.Version{}, fmt.Errorf("%q is not a version such as 15.4", text)
	}
	return hns.Version{Major: uint32(a), Minor: uint32(b)}, nil
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
