// Package calls gives the calls of a history durations and outcomes that follow from its seed. It is for
// tests on virtual time with a seeded cluster of controllertest, in which many goroutines make calls: what
// becomes of a call depends on the seed, the call and the time alone, not on what others have drawn before.
package calls

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"
)

// Chance returns the generator of what becomes of a call now.
func Chance(seed uint64, call string) *rand.Rand {
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, call)
	return rand.New(rand.NewPCG(seed^sum.Sum64(), uint64(time.Now().UnixNano())))
}

// Take waits for the duration of a call, up to a millisecond, and returns its chance. Calls of one instant
// end at different ones, or what follows them would depend on the order in which goroutines run; and none
// ends in the middle of a microsecond, when a cluster with a seed chooses which request it serves.
func Take(seed uint64, call string) *rand.Rand {
	chance := Chance(seed, call)
	end := time.Now().Truncate(time.Microsecond).Add(time.Duration(1+chance.IntN(1000))*time.Microsecond + time.Duration(7*chance.IntN(71)))
	<-time.After(time.Until(end))
	return chance
}
