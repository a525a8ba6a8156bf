// Package reflector keeps a copy of a collection in step with the server: it lists, watches, resumes and
// lists again when it must. What to do next is decided by [Machine.Step], a pure function of a
// state and of what just happened; [Reflector.Run] carries the decisions out in one goroutine.
//
// What a Reflector promises to its [Sink]:
//
//   - The sink is only called from the goroutine of Run, one call at a time.
//   - After Commit the sink has seen exactly the collection at one version. Every later change
//     comes as one Apply, in the order of the server, none twice and none left out, until the next Commit.
//   - A change that was missed (a version that expired) shows in the next Commit.
//   - A 404 empties nothing: Gone follows only if the server's own discovery lists other things and not the
//     resource, and after a Commit only if it does so three times in a row, over at least four seconds.
//   - A server's refusal, a closed or silent connection, an event that cannot be read: none of
//     them ends Run; each is reported through OnError and tried again with growing waits, at most 30 s.
package reflector
