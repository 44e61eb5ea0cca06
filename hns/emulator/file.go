package emulator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/atomicfile"
	"github.com/hnskit/hnskit/internal/filelock"
)

// stateFile is the file of an HNS that several processes share.
type stateFile struct {
	path string
	text []byte // what h.store stands for
}

// Open returns an HNS whose state lies in the file at path, and is shared with
// every other process that opened it. The file is made if missing. It holds a
// snapshot in text form, with what schema 2 does not show under the member
// Emulator; a snapshot of a node will do as well.
//
// An empty file, such as mktemp makes, is as good as none: an HNS without
// networks. So is a file that somebody removes or empties while others have it
// open; nobody is told. A file that is a symbolic link is the one it leads to when
// it is opened, and a hard link is a file of its own after the first change. A
// file that cannot be read as a state is left as it is, and everything fails with
// [ErrStateFile] until it can.
//
// The options are kept in the file. With opts nil those of the file count,
// else opts take their place, for the other processes too; only Text and
// LockTimeout stay with this HNS.
//
// A process that is stuck in the middle of an operation holds the others up for
// no longer than LockTimeout; they fail with [ErrLocked] then, and nothing has
// happened.
//
// Each operation locks the file (path with ".lock" behind it), reads it,
// and writes it anew if something changed; a process that is killed leaves the
// state before the operation or after it, and perhaps a temporary file beside it
// (".<name>.<process>.<n>.tmp"), which goes with the next Open or the next change
// by anybody. Faults, the log of calls and whether the service is stopped are of
// this HNS alone.
func Open(path string, opts *Options) (*HNS, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	h := &HNS{store: newStore(), file: &stateFile{path: path}}
	if opts != nil {
		h.given = *opts
	}
	h.opts = h.given.withDefaults()
	lock, err := h.lock()
	if err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	err = errors.Join(h.open(opts != nil), lock.Release())
	if err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	return h, nil
}

// open reads the file, or makes it; the lock is held.
func (h *HNS) open(replace bool) error {
	if err := h.file.clean(); err != nil {
		return err
	}
	want := h.opts
	if err := h.read(); err != nil {
		return err
	}
	if replace && !bytes.Equal(optionsText(want), optionsText(h.opts)) {
		h.opts = want
		h.store.changed = true
	}
	return h.write()
}

// mostLinks is how many symbolic links may lead to a state file.
const mostLinks = 40

// resolve returns the file that path leads to, which may be missing. Its directory
// may well have several names: the lock lies in it, too.
func resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("the state file has no name")
	}
	for at, n := path, 0; n <= mostLinks; n++ {
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return at, nil
		case err != nil:
			return "", err
		case info.IsDir():
			return "", fmt.Errorf("%s: %w: it is a directory", path, ErrStateFile)
		case info.Mode()&fs.ModeSymlink == 0:
			return at, nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = to
	}
	return "", fmt.Errorf("%s: %w: too many symbolic links", path, ErrStateFile)
}

func optionsText(o Options) []byte {
	b, _ := json.Marshal(o) // plain fields
	return b
}

func (f *stateFile) lockPath() string { return f.path + ".lock" }

var (
	// ErrLocked means that another process, or another HNS of this one, does not
	// let go of a state file. Nothing has happened, and it may work later: it
	// matches [hns.ErrUnavailable], too.
	ErrLocked error = lockedError{}
	// ErrStateFile means that a state file cannot be read as one. Nothing is wrong
	// with what HNS was asked, so it is no [hns.ErrInvalid], whatever is wrong with
	// the file.
	ErrStateFile = errors.New("not a state file")
)

type lockedError struct{}

func (lockedError) Error() string        { return "its lock is held by another" }
func (lockedError) Is(target error) bool { return target == hns.ErrUnavailable }

// broken hides what is wrong with the file from errors.Is: it is no complaint
// about a request.
func (f *stateFile) broken(err error) error {
	return fmt.Errorf("%s: %w: %v", f.path, ErrStateFile, err) //nolint:errorlint // not wrapped, see above
}

const defaultLockTimeout = time.Minute

// lock takes the lock of the state file.
func (h *HNS) lock() (*filelock.Lock, error) {
	timeout := cmp.Or(h.given.LockTimeout, defaultLockTimeout)
	ctx := context.Background()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	lock, err := filelock.Acquire(ctx, h.file.lockPath())
	if errors.Is(err, context.DeadlineExceeded) { // no deadline of the caller's, who must not take it for one
		return nil, fmt.Errorf("%s: %w, waited for %s", h.file.path, ErrLocked, timeout)
	}
	return lock, err
}

// clean removes what a killed process left while it wrote; the lock is held, so
// nobody writes now. It costs little beside a write, which is synced to disk.
func (f *stateFile) clean() error { return atomicfile.RemoveTemps(f.path) }

// exclusive calls do with the store of the moment, alone among all goroutines
// and processes, and keeps what it changed. On an error nothing is kept.
func (h *HNS) exclusive(do func() error) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		if err := do(); err != nil {
			h.store.rollback()
			return err
		}
		h.store.commit()
		return nil
	}
	lock, err := h.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := h.read(); err != nil {
		return err
	}
	store, opts := h.store, h.opts
	if err := do(); err != nil {
		h.store.rollback()
		return err
	}
	if err := h.write(); err != nil {
		h.store.rollback()
		h.store, h.opts = store, opts
		return err
	}
	return nil
}

// read makes the store that of the file. A missing file is an unused HNS.
func (h *HNS) read() error {
	text, err := atomicfile.Read(h.file.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		h.store = newStore()
		h.file.text = nil
		h.populate()
		h.store.changed = true
		return nil
	}
	if err != nil {
		return err
	}
	if h.file.text != nil && bytes.Equal(text, h.file.text) {
		return nil
	}
	s, err := hns.ParseSnapshot(text)
	if err != nil {
		return h.file.broken(err)
	}
	var extra struct{ Emulator *private }
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &extra); err != nil {
		return h.file.broken(fmt.Errorf("Emulator: %w", err))
	}
	opts := h.opts
	if extra.Emulator != nil {
		opts = extra.Emulator.Options.withDefaults()
		opts.Text = h.opts.Text
	} else if s.Version != (hns.Version{}) && h.given.Version == (hns.Version{}) {
		opts.Version = s.Version
	}
	store, err := load(s, extra.Emulator, &opts)
	if err != nil {
		return h.file.broken(err)
	}
	store.changed = extra.Emulator == nil
	h.store, h.opts, h.file.text = store, opts, text
	return nil
}

// write writes the file if the store changed, and makes the change final.
func (h *HNS) write() error {
	if !h.store.changed && len(h.store.journal) == 0 {
		return nil
	}
	text, err := h.encode()
	if err != nil {
		return err
	}
	_ = h.file.clean() // what stays this time goes the next time
	if err := atomicfile.Write(h.file.path, text, 0o600); err != nil {
		return err
	}
	h.store.commit()
	h.store.changed = false
	h.file.text = text
	return nil
}

// encode returns the text of the state file: the text form of the snapshot,
// with one more member at its end.
func (h *HNS) encode() ([]byte, error) {
	text, err := h.snapshot().Bytes()
	if err != nil {
		return nil, err
	}
	extra, err := json.MarshalIndent(h.private(), "  ", "  ")
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(text, '}')
	text = append(bytes.TrimRight(text[:end], "\n "), ",\n  \"Emulator\": "...)
	return append(append(text, extra...), "\n}\n"...), nil
}
