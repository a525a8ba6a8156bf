// Package wake has a signal that wakes one waiting goroutine.
package wake

// Signal is received from by one goroutine and set by any number. Setting a signal that is set has no effect,
// so a receiver must look at everything it waits for.
type Signal chan struct{}

// New returns a signal that is not set.
func New() Signal { return make(Signal, 1) }

// Set sets the signal. It never blocks.
func (s Signal) Set() {
	select {
	case s <- struct{}{}:
	default:
	}
}
