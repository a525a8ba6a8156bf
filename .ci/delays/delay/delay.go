// Package delay is what .ci/delays adds to the programs of tests.
package delay

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
)

const (
	// shareOfPoints is the part of all points that delay with one seed: one of so many.
	shareOfPoints = 4
	// often is how many times a point always delays. Then it does so less and less, so that tests end.
	often = 100
	// longest is the time of the longest delay, in nanoseconds.
	longest = 1_000_000
)

var (
	// seed selects the points that delay; 0 selects none.
	seed = number("KEELSON_DELAY")
	// only, if not 0, is the one point that delays.
	only = number("KEELSON_DELAY_POINT")
	hits [1 << 16]atomic.Uint32
)

func number(variable string) uint64 {
	n, _ := strconv.ParseUint(os.Getenv(variable), 10, 64)
	return n
}

// Point delays the goroutine, at some of the points. In virtual time no time passes meanwhile: a sleep of the
// system is not one that a bubble knows.
func Point(id uint64) {
	switch {
	case only != 0 && id != only, only == 0 && seed == 0, only == 0 && mixed(seed, id)%shareOfPoints != 0:
		return
	}
	n := hits[id%uint64(len(hits))].Add(1)
	if n > often && rand.Uint32N(n) > often {
		return
	}
	if rand.Uint32N(3) == 0 {
		for range 20 {
			runtime.Gosched()
		}
		return
	}
	_ = syscall.Nanosleep(&syscall.Timespec{Nsec: rand.Int64N(longest)}, nil)
}

// mixed is a number that depends on both, without a pattern, and allocates nothing.
func mixed(seed, id uint64) uint64 {
	n := seed*0xbf58476d1ce4e5b9 ^ id*0x9e3779b97f4a7c15
	n = (n ^ n>>29) * 0x94d049bb133111eb
	return n ^ n>>32
}
