package workqueue

import "time"

const (
	// MaxPriority and -MaxPriority bound the priority of a key. Values outside
	// are replaced by the nearest bound.
	MaxPriority = 1000

	// LowPriority is for keys that no user waits for, such as those of an
	// initial list or a resync, so that they do not delay a user's change.
	LowPriority = -100

	// DefaultPassOver makes one of eight hand-outs go by age.
	DefaultPassOver = 7
)

// Options configure a Queue. The zero value is a plain deduplicating
// first-in-first-out queue with delays, priorities and the default limiter.
type Options[K comparable] struct {
	// PassOver is how often the key that has been ready longest is passed over
	// for keys of higher priority before it is its turn. 0 means DefaultPassOver;
	// negative means without end, and then keys of low priority may starve.
	PassOver int

	// Tenant, if not nil, returns the tenant of a key, for example its
	// namespace. Tenants of one priority take turns. It is called by every add
	// and must always return the same tenant for the same key.
	Tenant func(K) string

	// Limiter decides the delay of AddRateLimited. Nil means DefaultLimiter.
	Limiter Limiter[K]

	// Debounce, if positive, holds a key back for this long after its first Add,
	// so that a burst of adds inside the window gives one run. The window is not
	// extended by later adds: a key that is added all the time still runs once
	// per window. AddAfter and AddRateLimited have their own delay and are not
	// debounced.
	Debounce time.Duration

	// Metrics, if not nil, are called on events of the queue. They are a pointer
	// because setting them also makes the queue record when keys were added and
	// when their processing began (see Entry and Stats): without them adding and
	// taking a key reads no clock.
	Metrics *Metrics

	// Order, if not nil, replaces the order of the ready keys, and with it
	// priorities, fairness and Seed. The queue must be its only user.
	Order Order[K]

	// Seed, if not 0, is for tests that search for bugs which depend on the order
	// of work: the next key is drawn from the first 64 of the highest priority (and
	// of a tenant drawn from the first 64) by a generator started with Seed. The
	// same seed and the same calls give the same order, delays included; the
	// bound on waiting does not hold.
	Seed uint64
}

// AnyOptions is an Options[K] of any K.
type AnyOptions interface{ anyOptions() }

func (Options[K]) anyOptions() {}

// AddOptions are the options of one AddWith. The zero value is a plain Add.
type AddOptions struct {
	// Priority of the requested run; higher goes first. See MaxPriority.
	Priority int

	// After delays the add. 0 or less means now.
	After time.Duration

	// RateLimited delays the add as the limiter decides, or by After if that
	// is longer, and counts as one requeue of the key.
	RateLimited bool

	// Cause is why the key is added, for Entries. The first cause of a pending
	// run is kept.
	Cause string
}

// Order is a custom order of the ready keys. Its methods are
// called with the queue's lock held: they must not block or call the queue.
type Order[K comparable] interface {
	// Push adds a key that is not in the order.
	Push(k K)
	// Touch reports that a key which is in the order was added again.
	Touch(k K)
	// Pop removes and returns the key to hand out next. It is only called when
	// Len is positive.
	Pop() K
	// Len is the number of keys in the order.
	Len() int
}

func clampPriority(p int) int32 {
	return int32(max(-MaxPriority, min(MaxPriority, p)))
}
