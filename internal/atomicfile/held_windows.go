package atomicfile

import (
	"errors"

	"golang.org/x/sys/windows"
)

// heldByOther reports whether err is what Windows says about a file that another
// process has open. Access denied is among them: a rename over an open file and
// any use of a file that is about to vanish give it. A real lack of rights gives
// it too, and is then reported after the retries.
func heldByOther(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) ||
		errors.Is(err, windows.ERROR_SHARING_VIOLATION) ||
		errors.Is(err, windows.ERROR_LOCK_VIOLATION) ||
		errors.Is(err, windows.ERROR_USER_MAPPED_FILE)
}

// syncDir does nothing: Windows offers no sync of a directory, and NTFS journals
// the rename.
func syncDir(string) {}
