package component

import (
	"os/exec"
	"syscall"
)

// EndWithParent makes a process that cmd starts end with this one, however that ends: the kernel kills it
// then. It must be called before Start, by a goroutine whose thread goes on, as threads do unless a goroutine
// that is locked to one ends.
func EndWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
