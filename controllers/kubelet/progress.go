package kubelet

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// progress is how far a kubelet has started, and when its loop last began a round. Safe for concurrent use.
type progress struct {
	log   *slog.Logger
	phase atomic.Pointer[string] // nil before New has checked the options
	loop  atomic.Int64           // Unix time in nanoseconds; 0 before the first round
}

// The phases of a start.
const (
	phaseObjects  = "construction" // the options were checked
	phaseRuntime  = "dependencies" // the runtime and the machine's groups
	phaseServices = "main services"
	phaseServers  = "HTTP and gRPC servers"
)

// enter begins a phase.
func (p *progress) enter(phase string) {
	p.phase.Store(&phase)
	p.log.Info("starting the kubelet", "phase", phase)
}

// round begins a round of the loop.
func (p *progress) round() {
	if p.loop.Swap(time.Now().UnixNano()) == 0 {
		p.log.Info("the kubelet has started")
	}
}

// started reports whether the loop has begun its first round.
func (p *progress) started() bool { return p.loop.Load() != 0 }

// loopTime is how long a round of the loop may take at least.
const loopTime = 5 * time.Minute

// healthy returns an error if the loop does not run, or if its round takes too long: more than twice the time
// between syncs of a pod, and more than loopTime.
func (p *progress) healthy(sync time.Duration) error {
	last := p.loop.Load()
	if last == 0 {
		return fmt.Errorf("the kubelet is starting, phase %q", *p.phase.Load())
	}
	if time.Since(time.Unix(0, last)) > max(2*sync, loopTime) {
		return errors.New("sync Loop took longer than expected")
	}
	return nil
}
