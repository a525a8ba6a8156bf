//go:build unix

package storetest

import "syscall"

// Pause suspends the process, as on a machine that hangs.
func (e *Etcd) Pause() { e.signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (e *Etcd) Resume() { e.signal(syscall.SIGCONT) }

func (e *Etcd) signal(sig syscall.Signal) {
	e.t.Helper()
	if err := e.process.Process.Signal(sig); err != nil {
		e.t.Fatalf("signal etcd: %v", err)
	}
}
