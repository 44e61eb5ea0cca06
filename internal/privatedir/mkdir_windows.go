package privatedir

import (
	"io/fs"
	"unsafe"

	"golang.org/x/sys/windows"
)

// access is a protected list (nothing inherited) of full access, inherited by
// files and directories within, for SYSTEM, Administrators and the owner. The
// owner is named so that tests of a plain user can use what they made; for a
// service it is one of the other two.
const access = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)"

func mkdir(dir string) error {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	sd, err := windows.SecurityDescriptorFromString(access)
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	sa := windows.SecurityAttributes{SecurityDescriptor: sd}
	sa.Length = uint32(unsafe.Sizeof(sa))
	if err := windows.CreateDirectory(name, &sa); err != nil {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	return nil
}
