package subnetenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hnskit/hnskit/internal/atomicfile"
)

// DefaultPath is where flanneld writes the file if not told otherwise. On Windows
// it is relative to the current drive: in practice C:\run\flannel\subnet.env.
const DefaultPath = "/run/flannel/subnet.env"

// Read parses the file at path. A missing file matches fs.ErrNotExist; a
// *ParseError has Path set; all errors name the path.
func Read(path string) (*Env, error) {
	// Container runtimes make a directory where a mount's source is missing; a
	// pipe would hang, and a device may have no end.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("subnetenv: %s is %s, not a file", path, fileKind(info))
	} else if err == nil && info.Size() > maxSize {
		return nil, fmt.Errorf("subnetenv: %s has %d bytes; it cannot be one of flanneld's", path, info.Size())
	}
	data, err := atomicfile.Read(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("subnetenv: %w (flanneld writes it: is it running?)", err)
		}
		return nil, fmt.Errorf("subnetenv: %w", err)
	}
	env, err := Parse(data)
	var parseErr *ParseError
	if errors.As(err, &parseErr) {
		parseErr.Path = path
	}
	return env, err
}

func fileKind(info fs.FileInfo) string {
	if info.IsDir() {
		return "a directory"
	}
	return "a device or pipe"
}

// Write replaces the file at path with e in one step, so that no reader sees a
// part of it, and makes missing directories. An e that is not valid is refused
// with the error of Validate and changes nothing.
//
// As flanneld's, the file has mode 0644 and directories 0755: it holds no secrets
// and others read it.
func Write(path string, e *Env) error {
	if err := e.Validate(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("subnetenv: write %s: %w", path, err)
	}
	if err := atomicfile.Write(path, Format(e), 0o644); err != nil {
		return fmt.Errorf("subnetenv: %w", err)
	}
	return nil
}

// Wait polls until the file at path is there and complete, and returns it. It
// goes on while the file (or its directory) is missing or not ready; anything
// else that is wrong is returned at once. See ErrNotReady for the difference.
//
// The file is read at least once, also when ctx has ended. When ctx ends first,
// the error matches both ctx.Err() and what was wrong with the file last, that is,
// fs.ErrNotExist or ErrNotReady.
func Wait(ctx context.Context, path string) (*Env, error) {
	return wait(ctx, func() (*Env, error) { return Read(path) }, pause)
}

const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 500 * time.Millisecond
)

func wait(ctx context.Context, read func() (*Env, error), pause func(context.Context, time.Duration) error) (*Env, error) {
	for d := firstPoll; ; d = min(2*d, lastPoll) {
		env, err := read()
		if err == nil {
			return env, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotReady) {
			return nil, err
		}
		if ctxErr := pause(ctx, d); ctxErr != nil {
			return nil, fmt.Errorf("%w: %w", ctxErr, err)
		}
	}
}

// pause sleeps unless ctx ends, which it reports.
func pause(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
