// Package flowcontrol decides when a request may run: priority and fairness, as FlowSchema and
// PriorityLevelConfiguration objects describe it.
//
// # What it promises
//
//  1. Every request belongs to one flow: the first FlowSchema, by precedence and name, that matches it, and
//     within that the user or namespace it distinguishes by. What no schema matches belongs to the schema
//     catch-all, which is always there.
//  2. A level runs requests up to its nominal seats; what it does not lend (its guarantee) is never used by
//     others, and what levels lend is one pool from which those with more to do borrow, up to their limit.
//     All levels together use no more than Options.Seats, except for rounding each level up to one seat. A
//     level below its nominal seats comes before those that borrow.
//  3. Within a level, flows are dealt to queues by shuffle sharding, and queues take turns by the time their
//     requests have used (start-time fair queueing), so that a flow that floods the server delays itself more
//     than others.
//  4. A request waits no longer than Options.Wait, in a queue no longer than the level allows; otherwise
//     Acquire returns a *RejectedError.
//  5. Exempt levels neither wait nor count.
//
// Everything is safe for concurrent use. The package starts no goroutine; waiting is on channels and package
// time, so it works inside a testing/synctest bubble.
package flowcontrol
