package workqueue

import (
	"math"
	"sync"
	"time"
)

const (
	// DefaultBaseDelay and DefaultMaxDelay are the first and the longest delay of
	// the default per-key limiter.
	DefaultBaseDelay = 5 * time.Millisecond
	DefaultMaxDelay  = 1000 * time.Second

	// DefaultQPS and DefaultBurst describe the default overall limiter.
	DefaultQPS   = 10
	DefaultBurst = 100
)

// Limiter decides how long a key that failed must wait for its next run.
// Implementations are safe for concurrent use.
type Limiter[K comparable] interface {
	// When counts one more failure of k and returns the delay before its next run.
	When(k K) time.Duration
	// Forget resets the failures of k, after it succeeded or if it is not retried.
	Forget(k K)
	// NumRequeues returns the number of failures of k since the last Forget.
	NumRequeues(k K) int
}

// DefaultLimiter returns the longer delay of Exponential from 5 ms to 1000 s per key and a
// Bucket of 10 per second with a burst of 100 over all keys.
func DefaultLimiter[K comparable]() Limiter[K] {
	return MaxOf(Exponential[K](DefaultBaseDelay, DefaultMaxDelay), Bucket[K](DefaultQPS, DefaultBurst))
}

// Exponential delays a key by base, doubled with every failure, up to limit.
func Exponential[K comparable](base, limit time.Duration) Limiter[K] {
	return &perKey[K]{failures: map[K]int{}, delay: func(n int) time.Duration {
		d := float64(base) * math.Pow(2, float64(n))
		if d >= float64(limit) {
			return limit
		}
		return time.Duration(d)
	}}
}

// FastSlow delays a key by fast for its first attempts failures and by slow
// from then on.
func FastSlow[K comparable](fast, slow time.Duration, attempts int) Limiter[K] {
	return &perKey[K]{failures: map[K]int{}, delay: func(n int) time.Duration {
		if n < attempts {
			return fast
		}
		return slow
	}}
}

// perKey counts failures of each key and derives the delay from the number of
// earlier ones.
type perKey[K comparable] struct {
	delay func(earlier int) time.Duration

	mu       sync.Mutex
	failures map[K]int
}

func (l *perKey[K]) When(k K) time.Duration {
	l.mu.Lock()
	n := l.failures[k]
	l.failures[k] = n + 1
	l.mu.Unlock()
	return l.delay(n)
}

func (l *perKey[K]) Forget(k K) {
	l.mu.Lock()
	delete(l.failures, k)
	l.mu.Unlock()
}

func (l *perKey[K]) NumRequeues(k K) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[k]
}

// Bucket allows burst requeues at once and qps per second after that, over all
// keys: each call of When takes the next free place. A qps of 0 or less means no
// limit.
func Bucket[K comparable](qps float64, burst int) Limiter[K] {
	return &bucket[K]{qps: qps, burst: float64(burst), tokens: float64(burst)}
}

type bucket[K comparable] struct {
	qps, burst float64

	mu     sync.Mutex
	tokens float64 // negative: places taken ahead of time
	last   time.Time
}

func (l *bucket[K]) When(K) time.Duration {
	if l.qps <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.last.IsZero() {
		l.tokens = min(l.burst, l.tokens+now.Sub(l.last).Seconds()*l.qps)
	}
	l.last = now
	l.tokens--
	if l.tokens >= 0 {
		return 0
	}
	seconds := -l.tokens / l.qps
	if seconds > math.MaxInt64/float64(2*time.Second) {
		return math.MaxInt64 / 2
	}
	return time.Duration(seconds * float64(time.Second))
}

func (l *bucket[K]) Forget(K)          {}
func (l *bucket[K]) NumRequeues(K) int { return 0 }

// MaxOf calls every limiter and returns the longest delay, and the largest count.
func MaxOf[K comparable](limiters ...Limiter[K]) Limiter[K] { return maxOf[K](limiters) }

type maxOf[K comparable] []Limiter[K]

func (ls maxOf[K]) When(k K) time.Duration {
	var d time.Duration
	for _, l := range ls {
		d = max(d, l.When(k))
	}
	return d
}

func (ls maxOf[K]) Forget(k K) {
	for _, l := range ls {
		l.Forget(k)
	}
}

func (ls maxOf[K]) NumRequeues(k K) int {
	n := 0
	for _, l := range ls {
		n = max(n, l.NumRequeues(k))
	}
	return n
}

// MaxWait returns l with delays of at most limit.
func MaxWait[K comparable](l Limiter[K], limit time.Duration) Limiter[K] {
	return maxWait[K]{l, limit}
}

type maxWait[K comparable] struct {
	Limiter[K]
	limit time.Duration
}

func (l maxWait[K]) When(k K) time.Duration { return min(l.Limiter.When(k), l.limit) }
