//go:build !linux

package component

import "os/exec"

// EndWithParent does nothing: only Linux ends a process with its parent.
func EndWithParent(*exec.Cmd) {}
