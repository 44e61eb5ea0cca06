package cniplugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/filelock"
)

// lockKey is the key under which a context carries the lock of the file at path.
type lockKey struct{ path string }

// ErrBusy is matched by the error of LockSandbox and TryLockSandbox if another
// verb is at work for the sandbox.
var ErrBusy = errors.New("is busy")

// LockSandbox takes the lock of one sandbox under dir, waiting at most wait
// and as long as ctx allows, and returns a context that carries it: a [Plugin]
// called with that context does not take it again. So a meta-plugin can hold
// it across its own steps and those of the plugin it calls in the same
// process. A plugin that it runs as another process would wait for it in vain,
// if both keep their locks in the same dir.
//
// The lock and its file go with release; the lock goes with the process, too.
// A sandbox that stays busy is "try again later" ([CNIError]).
func LockSandbox(ctx context.Context, wait time.Duration, dir, containerID string) (locked context.Context, release func(), err error) {
	return lockSandbox(ctx, dir, containerID, func(path string) (*filelock.Lock, error) {
		within, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		return filelock.Acquire(within, path)
	})
}

// TryLockSandbox is LockSandbox without waiting: the error matches [ErrBusy] at
// once if the lock is another's.
func TryLockSandbox(ctx context.Context, dir, containerID string) (locked context.Context, release func(), err error) {
	return lockSandbox(ctx, dir, containerID, func(path string) (*filelock.Lock, error) { return filelock.Try(ctx, path) })
}

func lockSandbox(ctx context.Context, dir, containerID string, take func(path string) (*filelock.Lock, error)) (context.Context, func(), error) {
	if err := checkContainerID(containerID); err != nil {
		return nil, nil, err
	}
	path, key, err := lockFile(dir, containerID)
	if err != nil {
		return nil, nil, &Error{Code: codeIO, Err: fmt.Errorf("lock of sandbox %s: %w", containerID, err)}
	}
	if ctx.Value(key) != nil {
		return ctx, func() {}, nil
	}
	l, err := take(path)
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, nil, &Error{Code: codeTryAgain, Err: fmt.Errorf("sandbox %s %w: %w", containerID, ErrBusy, err)}
	case isAny(err, context.DeadlineExceeded, context.Canceled): // before anyone looked whether it is held
		return nil, nil, &Error{Code: codeTryAgain, Err: fmt.Errorf("lock of sandbox %s: the time was up: %w", containerID, err)}
	case err != nil:
		return nil, nil, &Error{Code: codeIO, Err: fmt.Errorf("lock of sandbox %s: %w", containerID, err)}
	}
	// With an error, the lock goes with the process, and the file with the next
	// holder.
	return context.WithValue(ctx, key, true), func() { _ = l.Remove() }, nil
}

// longestID is how much of a container id the name of a file has room for.
// Those of containerd have 64 characters.
const longestID = 128

// locksDir is where the locks are in a state directory.
func locksDir(stateDir string) string { return filepath.Join(stateDir, "locks") }

// lockFile returns the lock file of a sandbox, and the key that is the same for
// all spellings of its path.
func lockFile(dir, containerID string) (path string, key lockKey, err error) {
	path, err = filepath.Abs(filepath.Join(locksDir(dir), fileName(containerID)+".lock"))
	key = lockKey{path}
	if runtime.GOOS == "windows" {
		key.path = strings.ToLower(path)
	}
	return path, key, err
}

// fileName is what files are named after, with something behind it, for the name
// of a container or a network.
func fileName(name string) string {
	if len(name) > longestID {
		sum := sha256.Sum256([]byte(name))
		name = name[:longestID-2*len(sum)-1] + "-" + hex.EncodeToString(sum[:])
	}
	if isDevice(name) {
		name = "_" + name // no container id and no network name begins so
	}
	return name
}

// isDevice reports whether Windows takes a file of that name, whatever follows
// a dot, for a device.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	if n := len(base) - 1; n == 3 && '0' <= base[n] && base[n] <= '9' {
		base = base[:n]
	}
	return slices.Contains([]string{"con", "prn", "aux", "nul", "com", "lpt"}, base)
}

// checkContainerID wants what the CNI specification allows: names of files and
// of HNS objects come of it.
func checkContainerID(id string) error {
	if err := utils.ValidateContainerID(id); err != nil {
		return &Error{Code: codeInvalidEnvironment, Err: fmt.Errorf("runtime: %w",
			&hns.FieldError{Path: "CNI_CONTAINERID", Value: id, Reason: "not a container id (letters, digits, and not first: _ . -)"})}
	}
	return nil
}
