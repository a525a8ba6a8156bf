package seeds

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
)

// Draws is for histories in which several goroutines draw from one seed. One generator that they share would
// give each what the others have left, so that the same seed would be another history each time. Here a draw
// depends on its name and on how many draws of that name there were, and on no other. It may be used from
// many goroutines.
type Draws struct {
	seed uint64
	mu   sync.Mutex
	n    map[string]uint64
}

// NewDraws returns the draws of a seed.
func NewDraws(seed uint64) *Draws {
	d := &Draws{seed: seed, n: map[string]uint64{}}
	if tracing() {
		traced.mu.Lock()
		defer traced.mu.Unlock()
		traced.draws = append(traced.draws, d)
	}
	return d
}

// trace returns the numbers of draws of each name.
func (d *Draws) trace() (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, n := range d.n {
		lines = append(lines, fmt.Sprintf("draws of %s seed %d: %d", name, d.seed, n))
	}
	return lines
}

// For returns the generator of the next draw of a name. A name should be used by one goroutine at a time,
// such as that of a machine and what it does, or of a request.
func (d *Draws) For(name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	d.mu.Lock()
	d.n[name]++
	n := d.n[name]
	d.mu.Unlock()
	return rand.New(rand.NewPCG(d.seed^h.Sum64(), n))
}
