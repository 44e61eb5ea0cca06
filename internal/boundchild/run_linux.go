package boundchild

import (
	"os/exec"
	"runtime"
	"syscall"
)

func run(cmd *exec.Cmd) error {
	// The kernel means the thread that started the program, not the process: it
	// must stay until the program has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd.Run()
}
