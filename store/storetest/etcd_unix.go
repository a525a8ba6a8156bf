//go:build unix

package storetest

import "syscall"

// Pause stops the process where it is, as a machine that hangs does.
func (e *Etcd) Pause() { e.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (e *Etcd) Resume() { e.signal(syscall.SIGCONT) }

func (e *Etcd) signal(sig syscall.Signal) {
	e.t.Helper()
	if err := e.process.Process.Signal(sig); err != nil {
		e.t.Fatalf("signal etcd: %v", err)
	}
}
