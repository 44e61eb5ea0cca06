// Package privatedir makes the directories in which this module keeps state:
// lock files, and what decides which plugin a DEL will run. Nobody but the
// node's own services may write there.
package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Make makes dir and its missing parents.
//
// A dir that is already there is left as it is on Unix. On Windows, where a
// directory that an administrator makes is open to every user below most others,
// it gets the rights of one that Make makes if everybody may write in it by
// rights that it inherits. Rights that stand on the directory itself are the
// administrator's decision and stay. A dir that neither the system nor
// Administrators nor this process's user owns is refused: its owner may have put
// there what he liked.
//
// On Unix every directory made has mode 0700. On Windows, where modes do
// nothing, dir itself gets an access list for SYSTEM, Administrators and its
// owner, without anything inherited; parents are made as usual, because others
// (kubelet, containerd) share them.
func Make(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return checkExisting(dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	err := mkdir(dir)
	if errors.Is(err, fs.ErrExist) {
		// Another process was faster.
		return checkExisting(dir)
	}
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return nil
}
