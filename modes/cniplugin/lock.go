package cniplugin

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/filelock"
)

type lockKey struct{ dir, container string }

// LockSandbox takes the lock of one sandbox under dir, waiting at most wait
// and as long as ctx allows, and returns a context that carries it: a [Plugin]
// called with that context does not take it again. So a meta-plugin can hold
// it across its own steps and those of the plugin it calls in the same
// process. The lock goes with release, or with the process. Failing to get it
// is "try again later" ([CNIError]).
func LockSandbox(ctx context.Context, wait time.Duration, dir, containerID string) (locked context.Context, release func(), err error) {
	if err := checkContainerID(containerID); err != nil {
		return nil, nil, err
	}
	key := lockKey{dir, containerID}
	if ctx.Value(key) != nil {
		return ctx, func() {}, nil
	}
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	l, err := filelock.Acquire(within, filepath.Join(dir, "locks", containerID+".lock"))
	if err != nil {
		return nil, nil, &Error{Code: codeTryAgain, Err: fmt.Errorf("sandbox %s is busy: %w", containerID, err)}
	}
	// The lock goes with the process in any case.
	return context.WithValue(ctx, key, true), func() { _ = l.Release() }, nil
}

// checkContainerID wants what the CNI specification allows: names of files and
// of HNS objects come of it.
func checkContainerID(id string) error {
	if err := utils.ValidateContainerID(id); err != nil {
		return &Error{Code: codeInvalidEnvironment, Err: &hns.FieldError{Path: "CNI_CONTAINERID", Value: id, Reason: "not a container id (letters, digits, and not first: _ . -)"}}
	}
	return nil
}
