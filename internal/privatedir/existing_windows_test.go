package privatedir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

func descriptor(t *testing.T, text string) *windows.SECURITY_DESCRIPTOR {
	t.Helper()
	sd, err := windows.SecurityDescriptorFromString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return sd
}

// TestIsOpen: the rights in the form of SDDL; ID is "inherited".
func TestIsOpen(t *testing.T) {
	tests := []struct {
		name, dacl string
		open       bool
	}{
		{"as Make makes it", access, false},
		{"below C:\\", "D:AI(A;OICIID;FA;;;BA)(A;OICIID;FA;;;SY)(A;OICIID;0x1200a9;;;BU)(A;OICIIOID;SDGXGWGR;;;AU)(A;ID;0x1301bf;;;AU)", true},
		{"below ProgramData", "D:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;CIID;0x116;;;BU)", true},
		{"everybody", "D:(A;OICIID;FA;;;WD)", true},
		{"for what is made in it", "D:(A;OICIIOID;GA;;;BU)", true},
		{"everybody reads", "D:AI(A;OICIID;FA;;;BA)(A;OICIID;0x1200a9;;;BU)(A;OICIID;0x1200a9;;;WD)", false},
		{"somebody's decision", "D:(A;OICI;FA;;;WD)", false},
		{"one user", "D:(A;OICIID;FA;;;S-1-5-21-1-2-3-1001)", false},
		{"denied", "D:(D;OICIID;FA;;;WD)", false},
		{"no list", "O:BA", false},
	}
	for _, tc := range tests {
		open, err := isOpen(descriptor(t, tc.dacl))
		if open != tc.open || err != nil {
			t.Errorf("%s: %v, %v; want %v", tc.name, open, err, tc.open)
		}
	}
}

func TestCheckOwner(t *testing.T) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	for _, sid := range []string{"SY", "BA", installerSID, user.User.Sid.String()} {
		if err := checkOwner(descriptor(t, "O:"+sid)); err != nil {
			t.Errorf("%s: %v", sid, err)
		}
	}
	for _, sid := range []string{"S-1-5-21-1-2-3-1001", "BU", "WD"} {
		if err := checkOwner(descriptor(t, "O:"+sid)); err == nil || !strings.Contains(err.Error(), "owner") {
			t.Errorf("%s: error %v", sid, err)
		}
	}
	if err := checkOwner(descriptor(t, "D:")); err == nil {
		t.Error("a directory without owner is accepted")
	}
}

// TestMakeClosesWhatIsOpen and leaves what it does not have to change.
func TestMakeClosesWhatIsOpen(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	dacl, _, err := descriptor(t, "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)(A;OICI;FA;;;AU)").DACL()
	if err != nil {
		t.Fatal(err)
	}
	err = windows.SetNamedSecurityInfo(parent, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
	if err != nil {
		t.Fatal(err)
	}
	rights := func(dir string) *windows.SECURITY_DESCRIPTOR {
		t.Helper()
		sd, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
		if err != nil {
			t.Fatal(err)
		}
		return sd
	}
	dir := filepath.Join(parent, "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if open, err := isOpen(rights(dir)); err != nil || !open {
		if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
			t.Skip("Wine keeps Unix modes and inherits no rights")
		}
		t.Fatalf("a new directory does not inherit: open %v, %v", open, err)
	}
	for range 2 {
		if err := Make(dir); err != nil {
			t.Fatal(err)
		}
		if open, err := isOpen(rights(dir)); err != nil || open {
			t.Errorf("open %v, %v: %s", open, err, rights(dir))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Errorf("the maker cannot write: %v", err)
	}
	before := rights(parent).String()
	if err := Make(parent); err != nil || rights(parent).String() != before {
		t.Errorf("rights that somebody gave: %v, %s, before %s", err, rights(parent), before)
	}
}
