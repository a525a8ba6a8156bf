package controllers

import "github.com/keelson-dev/keelson/controllers/internal/parallel"

// Batches calls do for 0 to n-1, first for one and then in batches that double while all calls succeed, so
// that a refusal by a quota or by admission happens once and not n times. The calls of a batch run
// concurrently, 32 at a time, and the batch with the first failure is the last one. Batches returns how many
// calls succeeded and the first error in the order of the numbers.
func Batches(n int, do func(i int) error) (succeeded int, err error) {
	for size, next := 1, 0; next < n && err == nil; size *= 2 {
		size = min(size, n-next)
		for _, e := range parallel.Do(size, func(i int) error { return do(next + i) }) {
			if e == nil {
				succeeded++
			} else if err == nil {
				err = e
			}
		}
		next += size
	}
	return succeeded, err
}
