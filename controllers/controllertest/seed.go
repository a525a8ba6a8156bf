package controllertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// seedVariable is the environment variable that replays a seed, in every test of the project.
const seedVariable = "KEELSON_SEED"

// seedOf returns the seed of a cluster, 0 for none: that of the environment, or else of the options.
func seedOf(o *Options) (uint64, error) {
	text := os.Getenv(seedVariable)
	if text == "" {
		return o.Seed, nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seed == 0 {
		return 0, fmt.Errorf("%s=%q is not a positive number", seedVariable, text)
	}
	return seed, nil
}

// draws replaces the random generators of a cluster.
type draws struct {
	seed uint64 // 0 for none

	mu    sync.Mutex
	draws *seeds.Draws // nil for random ones
}

// newDraws returns the draws of a cluster before it has started. In a bubble, new clusters of all seeds, and
// of none, start equal: each may be a fork of any other; see boot.go.
func newDraws(seed uint64, bubble bool) *draws {
	if seed == 0 && !bubble {
		return &draws{}
	}
	return &draws{seed: seed, draws: seeds.NewDraws(1)}
}

// started begins with the draws of the seed. Clusters that start from snapshots of different revisions draw
// differently, because names that one of them has drawn may exist in the other.
func (d *draws) started(revision int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draws = nil; d.seed != 0 {
		d.draws = seeds.NewDraws(d.seed ^ uint64(revision)<<32)
	}
}

// number is the Draw of the registry.
func (d *draws) number(purpose string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draws == nil {
		return rand.Uint64()
	}
	return d.draws.For(purpose).Uint64()
}

// jitter is the [backoff.Jitter] of everything that the cluster runs. It depends on the time only, because
// goroutines that wait at the same time draw in any order. It is not in the trace of the seed: whether a
// goroutine still draws when its context ends changes nothing.
func (d *draws) jitter() float64 {
	return rand.New(rand.NewPCG(d.seed, uint64(time.Now().UnixNano()))).Float64()
}

// recordReplay adds the run of the cluster to the trace of its seed, see [seeds.Record]: each write since the
// start with its time and caller, and what it has stored. Certificates differ in each process.
func (c *cluster) recordReplay() {
	if c.draws == nil || c.draws.seed == 0 || !c.bubble || c.store == nil {
		return
	}
	name := "cluster"
	if t, ok := c.owner.(interface{ Name() string }); ok {
		name = t.Name()
	}
	seeds.Record(name, c.draws.seed, func() string {
		state := c.store.Snapshot()
		_, first, commits := c.trace.recorded()
		h := sha256.New()
		for i, w := range commits {
			if first+int64(i) <= c.from {
				continue
			}
			fmt.Fprintln(h, first+int64(i), w.at.UnixNano())
			if by := w.by; by != nil {
				fmt.Fprintln(h, by.user, by.agent, by.method, by.path)
			}
		}
		for kv := range state.All() {
			if kv.Revision > c.from && !bytes.Contains(kv.Value, []byte("BEGIN CERTIFICATE")) {
				fmt.Fprintf(h, "%s %d %x\n", kv.Key, kv.Revision, kv.Value)
			}
		}
		return fmt.Sprintf("revision %d, %d objects, %x", state.Revision(), state.Len(), h.Sum(nil)[:8])
	})
}

// context returns the context in which the parts of the cluster run.
func (c *cluster) context() context.Context {
	if c.draws.seed == 0 {
		return context.Background()
	}
	return backoff.WithJitter(context.Background(), c.draws.jitter)
}
