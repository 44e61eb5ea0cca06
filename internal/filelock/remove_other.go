//go:build !windows

package filelock

import "errors"

// remove unlinks the file while the lock is held: nobody else holds the lock of
// the file at this path then. Whoever has opened it meanwhile will get the lock,
// and see that the path no longer leads there.
func (l *Lock) remove() error { return errors.Join(l.removeFile(), l.Release()) }

// transient reports whether err is due to a file that is being removed; here a
// file that is open does not mind.
func transient(error) bool { return false }
