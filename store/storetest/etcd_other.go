//go:build !unix

package storetest

// Pause skips the test: this system cannot suspend a process.
func (e *Etcd) Pause() { e.t.Skip("no way to pause a process on this system") }

// Resume continues a paused process.
func (e *Etcd) Resume() {}
