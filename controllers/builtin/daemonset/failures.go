package daemonset

import (
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// How long a node waits between attempts while its pods fail.
const (
	firstWait   = time.Second
	longestWait = 15 * time.Minute
)

// failure names a node on which the pods of a generation of a set fail.
type failure struct {
	set        types.UID
	generation int64
	node       string
}

// attempt is the last replacement of a failed pod.
type attempt struct {
	at   time.Time
	wait time.Duration // until the next one
}

// failures limits how often failed pods are replaced. Its zero value is not usable.
type failures struct {
	mu     sync.Mutex
	byNode map[failure]*attempt
	swept  time.Time
}

// wait returns how long the replacement of a failed pod has to wait; if it need not, the attempt counts. A
// node without an attempt for twice the longest wait begins again.
func (f *failures) wait(of failure, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep(now)
	last := f.byNode[of]
	if last == nil {
		f.byNode[of] = &attempt{at: now, wait: firstWait}
		return 0
	}
	if left := last.at.Add(last.wait).Sub(now); left > 0 {
		return left
	}
	last.at, last.wait = now, min(2*last.wait, longestWait)
	return 0
}

// sweep removes what is too old to matter, once in a while.
func (f *failures) sweep(now time.Time) {
	if now.Sub(f.swept) < longestWait {
		return
	}
	f.swept = now
	for of, last := range f.byNode {
		if now.Sub(last.at) > 2*longestWait {
			delete(f.byNode, of)
		}
	}
}
