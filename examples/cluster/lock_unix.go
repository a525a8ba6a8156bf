//go:build unix

package main

import (
	"os"
	"syscall"
)

// lockFile takes the lock of an open file without waiting.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
