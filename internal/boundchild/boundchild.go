// Package boundchild runs a program that does not outlive this process.
//
// A CNI plugin is killed when its runtime loses patience. The IPAM plugin, or the
// delegate, that it runs would go on, and might take an address after the
// runtime's DEL, which nobody then gives back. Ended with its caller it has done
// its work before that DEL, or never does; what it was in the middle of, the DEL
// finds.
package boundchild

import "os/exec"

// Run is cmd.Run, and the program is killed when this process ends, however it
// ends. Programs that the program itself starts are not.
//
// On Linux the kernel sees to it (prctl PR_SET_PDEATHSIG); on Windows a job object
// that closes with this process does, from a moment after the start on; where a
// job cannot be had the program runs as without. Other systems have no such thing.
func Run(cmd *exec.Cmd) error { return run(cmd) }
