package boundchild

import (
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

func run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	if job, err := bind(cmd.Process.Pid); err == nil {
		// The program has ended by then, so nothing is killed.
		defer func() { _ = windows.CloseHandle(job) }()
	}
	return cmd.Wait()
}

// bind puts a process into a job of its own that is killed when its last handle,
// the one returned, is closed. The process is known to be ours: the id cannot be
// used again before cmd.Wait.
func bind(pid int) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	if err := put(job, pid); err != nil {
		return 0, closeOn(job, err)
	}
	return job, nil
}

func put(job windows.Handle, pid int) error {
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			// Breakaway: what the program leaves running on purpose stays out.
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK,
		},
	}
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	return closeOn(process, windows.AssignProcessToJobObject(job, process))
}

// closeOn closes a handle and passes on the error of what it was used for.
func closeOn(h windows.Handle, err error) error {
	_ = windows.CloseHandle(h)
	return err
}
