// Package events records events about objects as Event objects, of the core group or of events.k8s.io.
//
//	rec := events.New(conn, events.Options{Component: "website-controller"})
//	go rec.Run(ctx)
//	rec.Eventf(site, events.Normal, "Deployed", "deployed revision %d", rev)
//
// What is promised:
//
//   - Recording never blocks and never fails: an event that cannot be queued or written is dropped and
//     counted. What the queue had no room for is logged when the next event has been written.
//   - A repeated event increases the count of the existing one. More than ten similar events (equal
//     except for the message) within ten minutes are combined into one.
//   - One object gets at most 25 events at once from a component, and one more every five minutes.
//   - When Run's context ends the queued events are still written, for two seconds at most.
package events
