package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the lock of an open file without waiting. The locked byte lies behind the pid, which stays
// readable.
func lockFile(f *os.File) error {
	at := &windows.Overlapped{Offset: 1 << 20}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
}
