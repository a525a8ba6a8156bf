// Package events records what happened to objects as Event objects, of the core group or of events.k8s.io.
//
//	rec := events.New(conn, events.Options{Component: "website-controller"})
//	go rec.Run(ctx)
//	rec.Eventf(site, events.Normal, "Deployed", "deployed revision %d", rev)
//
// What is promised:
//
//   - Recording never blocks and never fails: what cannot be queued or written is dropped and counted.
//   - The same event again is counted on the one that is there. More than ten similar ones (the same
//     but for the message) within ten minutes become one combined event.
//   - One object gets at most 25 events at once from a component, and one more every five minutes.
//   - When Run's context ends what is queued is still written, for two seconds at most.
package events
