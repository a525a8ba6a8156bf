// Package seeds chooses the seeds of tests that try random histories, so that every such test of the project
// is driven in one way. It is for tests only; it is here, not internal, because every top-level folder
// imports it.
//
// A test tries a number of fixed seeds, the same on every run, so that its result depends on the code alone.
// The environment overrides the number and the kind:
//
//	KEELSON_SEEDS=100000  go test ./informers        # that many
//	KEELSON_FRESH=1       go test ./informers        # seeds that no other run has tried
//	KEELSON_SEED=12345    go test ./informers -run X # that seed alone, to replay a failure
//
// A test prints the seed in its failure message; that number is all that a replay needs. That it is can be
// checked: two runs with KEELSON_TRACE write the same files.
package seeds

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// Of returns the seeds that the test tries, in order: 1 to usual, or to KEELSON_SEEDS. With KEELSON_FRESH=1
// they are as many random numbers above 2³², so that they never equal a fixed one. usual is the number that
// suits the test's cost; it is at least 1. failed are the fresh seeds that a run has failed on: they come
// first, before the fixed ones. A value in the environment that is not a positive number fails the test.
func Of(t testing.TB, usual int, failed ...uint64) []uint64 {
	t.Helper()
	return share(t, usual, 1, 1, failed)
}

// choose returns that many seeds behind those that failed before, or the one that is to be replayed.
func choose(t testing.TB, n uint64, failed []uint64) []uint64 {
	t.Helper()
	if one, given := fromEnvironment(t, "KEELSON_SEED"); given {
		return []uint64{one}
	}
	_, fresh := fromEnvironment(t, "KEELSON_FRESH")
	if fresh {
		failed = nil
	}
	all := slices.Grow(slices.Clone(failed), int(n))
	for i := range n {
		if fresh {
			all = append(all, 1<<32+rand.Uint64N(1<<31))
		} else {
			all = append(all, i+1)
		}
	}
	return all
}

// PerKind is Of for tests that try every seed on each of the hundred and more built-in kinds: they take one
// in ten of KEELSON_SEEDS, so that 100,000 mean 10,000 a kind.
func PerKind(t testing.TB, usual int, failed ...uint64) []uint64 {
	t.Helper()
	return share(t, usual, 10, 1, failed)
}

// Slow is Of for tests of which one history takes long, because it happens in real time, with processes,
// disks and faults, or moves a whole cluster: of KEELSON_SEEDS they take one in a thousand, but never fewer
// than usual.
func Slow(t testing.TB, usual int, failed ...uint64) []uint64 {
	t.Helper()
	return share(t, usual, 1000, usual, failed)
}

// share returns the seeds of a test that takes one in oneIn of KEELSON_SEEDS, and at least that many.
func share(t testing.TB, usual, oneIn, least int, failed []uint64) []uint64 {
	t.Helper()
	traceAtEnd(t, 2)
	n := uint64(max(usual, 1))
	if many, given := fromEnvironment(t, "KEELSON_SEEDS"); given {
		n = max(many/uint64(oneIn), uint64(max(least, 1)))
	}
	return choose(t, n, failed)
}

// Rand returns the generator of one seed: equal seeds draw equal numbers on every platform.
func Rand(seed uint64) *rand.Rand { return rand.New(source(seed, 0)) }

// Stream returns one of several generators of one seed, for tests in which several things draw: those of
// different numbers draw different numbers, that of 0 draws those of [Rand].
func Stream(seed, number uint64) *rand.Rand { return rand.New(source(seed, number)) }

// fromEnvironment returns the positive number that the variable holds, and false if it is not set.
func fromEnvironment(t testing.TB, name string) (uint64, bool) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		t.Fatalf("%s=%q is not a positive number", name, text)
	}
	return n, true
}
