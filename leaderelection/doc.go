// Package leaderelection lets one of many candidates do a piece of work: an
// [Elector] takes a lease through a [Lock], runs the work while it holds the
// lease, and stops it before another candidate may take over. The Lock that keeps the
// lease in a Kubernetes Lease object is in leaderelection/leaselock.
//
// # What is promised
//
// "The work" is the function given to [Elector.Run], called lead below.
//
//  1. The work is stopped in time. lead's context ends no later than
//     RenewDeadline after the start of the last renewal that succeeded, even if
//     the lock hangs. Another candidate waits for the full LeaseDuration after it
//     saw that renewal. So lead has at least LeaseDuration - RenewDeadline to
//     return, and if it does, the work of two holders never overlaps, provided
//     that the clocks of two machines run at nearly the same speed: their drift
//     over one LeaseDuration must be below that margin.
//  2. The lease is released only after lead has returned. Until then it is
//     renewed, also after ctx has ended, for at most DrainTimeout.
//  3. Clocks need not agree. A candidate measures how long the lease has not
//     changed on its own monotonic clock; the times in the record are for users.
//  4. Errors are not losses. A failed, refused or conflicting renewal is retried
//     until RenewDeadline. Leadership is lost at once when the lock shows another
//     holder.
//  5. When Run returns, no goroutine of it is left and lead has returned. The one
//     exception is ErrNotDrained: lead did not return within DrainTimeout after
//     its context ended. Then the process should exit, since lead may still work.
//  6. An orderly hand-over is quick: when ctx ends and lead has returned, the
//     lease is released at once, and a candidate whose Lock is a [Watcher] takes
//     it as soon as Wait returns, otherwise within RetryPeriod.
//  7. When the holder dies, a Watcher candidate takes over LeaseDuration after
//     the last renewal, others up to RetryPeriod later.
//
// # What is not promised, and fencing
//
// No lease protocol can stop a process that is paused (a suspended machine, a
// long stop of the world) between its last look at the clock and a write. For
// this the context of lead carries a [fence.Token]: clients made by this module
// send it with every write, and our API server refuses a write whose token is no
// longer that of the lease, in the transaction of the write. The token goes to the
// lock's server only, recognized by the address and the roots of its certificates: a
// leader may write to other clusters, and those writes are not fenced. [Elector.Fenced]
// says whether the lock's server checks tokens. Against other servers promise 1 is all
// there is, so lead must hand its context to everything it does and wait for it.
//
// Deleting the lease of a live leader lets another candidate in at once; the old
// leader notices at its next renewal. Only fencing protects the time between.
// Candidates with equal Identity are treated as different ones.
//
// # Coming from client-go
//
//	RunOrDie, NewLeaderElector + Run          New, Elector.Run
//	OnStartedLeading(ctx)                     the function given to Run; it returns when its work has ended
//	OnStoppedLeading()                        Run has returned
//	OnNewLeader(id)                           Options.OnNewLeader
//	ReleaseOnCancel                           always, after the work has returned
//	WatchDog, NewLeaderHealthzAdaptor         Elector.Healthy
//	resourcelock.LeaseLock                    leaselock.New
//	resourcelock.ResourceLockConfig           Options.Identity, leaselock.Options.Event
//	SetProvider (metrics)                     Options.Metrics
//	LeaderElectionConfig.Coordinated          Options.Coordinated
//	NewCandidate                              candidate.New
//
// The package uses package time, keeps no lock while it calls out, and runs on
// virtual time in a testing/synctest bubble.
package leaderelection
