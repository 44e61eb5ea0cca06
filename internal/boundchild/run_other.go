//go:build !linux && !windows

package boundchild

import "os/exec"

func run(cmd *exec.Cmd) error { return cmd.Run() }
