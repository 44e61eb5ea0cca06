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
// The options are kept in the file. With opts nil those of the file count,
// else opts take their place, for the other processes too; only Text and
// LockTimeout stay with this HNS.
//
// A process that is stuck in the middle of an operation holds the others up for
// no longer than LockTimeout; they fail then, and nothing has happened.
//
// Each operation locks the file (path with ".lock" behind it), reads it,
// and writes it anew if something changed; a process that is killed leaves the
// state before the operation or after it. Faults, the log of calls and whether
// the service is stopped are of this HNS alone.
func Open(path string, opts *Options) (*HNS, error) {
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

func optionsText(o Options) []byte {
	b, _ := json.Marshal(o) // plain fields
	return b
}

func (f *stateFile) lockPath() string { return f.path + ".lock" }

// ErrLocked means that another process, or another HNS of this one, does not let
// go of a state file.
var ErrLocked = errors.New("its lock is held by another")

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

// clean removes what a killed process left while it wrote.
func (f *stateFile) clean() error {
	dir, base := filepath.Split(f.path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if atomicfile.IsTemp(e.Name(), base) {
			if err := atomicfile.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

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
	if errors.Is(err, fs.ErrNotExist) {
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
		return fmt.Errorf("%s: %w", h.file.path, err)
	}
	var extra struct{ Emulator *private }
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &extra); err != nil {
		return fmt.Errorf("%s: Emulator: %w", h.file.path, err)
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
		return fmt.Errorf("%s: %w", h.file.path, err)
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
