// Package filelock is an exclusive lock named by a file, held against other
// processes and against other goroutines of this one.
//
// The operating system drops the lock when the holder dies, so a killed plugin
// never blocks the next one. Lock files stay where they are: whoever deletes one
// can let two holders in. The lock is advisory, and it is not re-entrant: a
// second Acquire by the holder waits for the first.
package filelock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/hnskit/hnskit/internal/privatedir"
)

// The lock is polled, since waiting in the kernel could not be given up when the
// context ends. Jitter keeps waiters from asking in step.
const (
	minPause = 5 * time.Millisecond
	maxPause = 10 * time.Millisecond
)

// fence orders memory between the goroutines of this process. The kernel's lock
// keeps them apart, but Go's memory model knows nothing of it: what one holder
// wrote, the next must see.
var fence atomic.Uint64

// Lock is a lock that is held. Only Acquire makes one.
type Lock struct {
	file *flock.Flock
}

// Acquire takes the lock of the file at path and waits for it while ctx allows.
// The file (mode 0600) and its directories (see package privatedir) are made if
// missing.
//
// The error names the path. If ctx ended first, it matches ctx.Err(); a context
// that has ended already takes nothing.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := privatedir.Make(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// Each call opens the file anew, and flock(2) and LockFileEx belong to the
	// open file, not to the process: that is what keeps goroutines apart.
	file := flock.New(path, flock.SetPermissions(0o600))
	for {
		locked, err := file.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if locked {
			fence.Add(1)
			return &Lock{file: file}, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: held by another: %w", path, ctx.Err())
		case <-time.After(minPause + rand.N(maxPause-minPause)):
		}
	}
}

// Release gives the lock back. Releasing it again does nothing.
func (l *Lock) Release() error {
	fence.Add(1)
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("unlock %s: %w", l.file.Path(), err)
	}
	return nil
}
