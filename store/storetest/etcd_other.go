//go:build !unix

package storetest

// Pause skips the test: this system cannot stop a process where it is.
func (e *Etcd) Pause() { e.t.Skip("no way to pause a process on this system") }

// Resume lets a paused process go on.
func (e *Etcd) Resume() {}
