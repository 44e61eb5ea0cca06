package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

// installerSID is the service that owns Windows' own directories.
const installerSID = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

// everybody are the groups in which users are without anybody's decision.
var everybody = []windows.WELL_KNOWN_SID_TYPE{
	windows.WinWorldSid, windows.WinAuthenticatedUserSid, windows.WinBuiltinUsersSid, windows.WinBuiltinGuestsSid,
	windows.WinInteractiveSid, windows.WinNetworkSid, windows.WinAnonymousSid,
}

// fileDeleteChild is FILE_DELETE_CHILD of winnt.h.
const fileDeleteChild = 0x40

// writing are the rights by which a directory's content can be changed, or those
// rights themselves.
const writing = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | fileDeleteChild | windows.DELETE |
	windows.WRITE_DAC | windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL

// checkExisting refuses a directory of somebody else's, and closes one that is
// open to everybody without anybody's decision.
func checkExisting(dir string) error {
	fail := func(err error) error { return &fs.PathError{Op: "check rights of", Path: dir, Err: err} }
	sd, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return fail(err)
	}
	if err := checkOwner(sd); err != nil {
		return fail(err)
	}
	open, err := isOpen(sd)
	if err != nil {
		return fail(err)
	}
	if !open {
		return nil
	}
	closed, err := windows.SecurityDescriptorFromString(access)
	if err != nil {
		return fail(err)
	}
	dacl, _, err := closed.DACL()
	if err != nil {
		return fail(err)
	}
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
	if err != nil {
		return &fs.PathError{Op: "close to other users", Path: dir, Err: err}
	}
	return nil
}

// checkOwner wants the owner, who can always change the rights, to be the system,
// Administrators or this process's user.
func checkOwner(sd *windows.SECURITY_DESCRIPTOR) error {
	owner, _, err := sd.Owner()
	if err != nil {
		return err
	}
	if owner == nil {
		return errors.New("it has no owner")
	}
	if owner.IsWellKnown(windows.WinLocalSystemSid) || owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) || owner.String() == installerSID {
		return nil
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	if owner.Equals(user.User.Sid) {
		return nil
	}
	return fmt.Errorf("its owner %s is neither the system nor Administrators and could change what is in it (icacls /setowner mends that, once it is known what is in it)", owner)
}

// isOpen reports whether everybody may write by rights that are inherited: an
// administrator who makes a directory below C:\ gives them without being asked.
// Rights that stand on the directory itself are somebody's decision.
func isOpen(sd *windows.SECURITY_DESCRIPTOR) (bool, error) {
	dacl, _, err := sd.DACL()
	if errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) || err == nil && dacl == nil {
		return false, nil // no list at all is a decision, if an odd one
	}
	if err != nil {
		return false, err
	}
	for i := range uint32(dacl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(dacl, i, &ace); err != nil {
			return false, err
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || ace.Header.AceFlags&windows.INHERITED_ACE == 0 || ace.Mask&writing == 0 {
			continue
		}
		sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		if slices.ContainsFunc(everybody, sid.IsWellKnown) {
			return true, nil
		}
	}
	return false, nil
}
