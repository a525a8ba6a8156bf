// Package workqueue is the queue between events and the workers that handle them.
//
// A [Queue] holds keys, not work: adding a key requests that it is processed, and
// however often it is added before a worker takes it, it is processed once.
// One type does what other toolkits spread over stacked wrappers: it
// deduplicates, delays, rate limits, orders by priority without starvation,
// shares fairly between tenants, debounces and drains.
//
// # What is promised
//
//  1. No lost wake-up. After Add(k) returns, some Get that begins to hand out k
//     after that Add returns k, unless the queue was shut down before the Add.
//     Adding k while a worker processes it makes k ready again at Done.
//  2. Never two workers on one key. Between the Get that returned k and Done(k)
//     no other Get returns k.
//  3. At most one pending run. Adds of a key that is already ready (or already
//     marked to run again after Done) only change its priority, which
//     can only rise. The first cause is kept.
//  4. At most one pending delay. Of several AddAfter for one key the earliest
//     deadline is used and the others are dropped. A delay is independent of the
//     pending run: Add(k) does not cancel AddAfter(k, d), and at its deadline it
//     merges with a run that is still pending.
//  5. A key becomes ready at its deadline, not earlier, and from then on only the
//     order below decides when it is handed out.
//
// # Order, and the bounds on waiting
//
// The key of the highest priority goes first, and of equal priority the one that
// became ready first. But each time the key that has been ready longest was
// passed over [Options.PassOver] times, P below, for keys of higher priority, it
// is its turn. A ready key whose priority rises becomes ready at that priority
// then. No clock is involved: what follows holds however long keys take and
// however long they have waited. Both bounds are tested on random histories.
//
//  1. Nothing starves. If n keys, itself included, are ready when a key becomes
//     ready, it is handed out after at most (P+1)*n hand-outs, however many more
//     urgent keys keep coming.
//  2. Urgent keys are handed out soon. If u keys of its priority or a higher one, itself
//     included, are handed out from the time a key becomes ready until it is
//     handed out, there are at most u + (u+P-1)/P hand-outs in that time,
//     however many keys of lower priorities are ready. So a user's change is
//     handed out second at the latest, behind an initial list of any length
//     that was added at LowPriority, and if other changes came before it, with
//     one key of the list for every seven of them.
//
// With [Options.Tenant], in each priority the tenants take turns, one key each.
// Let m(q) be the largest number of keys that one tenant has ready at priority q
// that became ready no later than x, and T(q) the number of tenants with keys at
// q meanwhile. Then at most P+1 times the sum over q of m(q)*T(q) hand-outs happen up
// to and including x's, and of its own priority at most m*T: a tenant with a
// million ready keys delays another tenant's only key by one turn, not by a
// million.
//
// # What is not promised
//
// Keys are not persisted. Add never blocks and the queue has no length limit:
// its size is bounded by the number of distinct keys. Priorities and fairness
// order the hand-outs, they do not interrupt running work.
//
// # Coming from client-go or controller-runtime
//
//	NewTypedRateLimitingQueue, NewTypedDelayingQueue,
//	priorityqueue.New                                   New
//	Add, AddAfter, AddRateLimited, Forget, NumRequeues  the same
//	AddWithOpts(AddOpts{Priority, After, RateLimited})  AddWith(key, AddOptions{...})
//	Get() (key, shutdown)                               Get(ctx) (key, error), ErrShutDown
//	GetWithPriority()                                   Get, then Entry(key)
//	Done, Len, ShutDown                                 the same
//	ShutDownWithDrain()                                 ShutDownWithDrain(ctx) error
//	DefaultTypedControllerRateLimiter,
//	NewTypedItemExponentialFailureRateLimiter,
//	NewTypedItemFastSlowRateLimiter, BucketRateLimiter,
//	MaxOfRateLimiter, WithMaxWaitRateLimiter            DefaultLimiter, Exponential, FastSlow, Bucket,
//	                                                    MaxOf, MaxWait
//	the Queue interface (Touch, Push, Len, Pop)         Order
//	MetricsProvider, SetProvider                        Options.Metrics, Stats
//	clock.WithTicker                                    testing/synctest
//
// # Time, goroutines and locks
//
// The queue uses package time, so in a testing/synctest bubble it runs on
// virtual time. It owns no goroutine: delays use one timer, made by the first
// delayed key and stopped by ShutDown. All methods may be called at any time
// from any goroutine. Functions given in [Options] are called without the
// queue's lock held (except those of [Order]) and may call the queue. The lock is
// held for some ten nanoseconds at a time, and of the goroutines that wait for it
// one at a time competes for it.
package workqueue
