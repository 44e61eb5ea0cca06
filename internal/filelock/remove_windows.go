package filelock

import (
	"errors"

	"golang.org/x/sys/windows"
)

// remove deletes the file after the release, since a file that is open cannot be
// deleted. For the same reason it can hit nobody: with the next holder's, or a
// waiter's, file open the delete fails, and the file is his to remove.
func (l *Lock) remove() error {
	if err := l.Release(); err != nil {
		return err
	}
	if err := l.removeFile(); !transient(err) {
		return err
	}
	return nil
}

// transient reports whether err is what Windows says of a file that somebody is
// deleting, or, when deleting, of one that somebody has open. A lack of rights
// looks the same.
func transient(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}
