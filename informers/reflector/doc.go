// Package reflector keeps a copy of a collection in step with the server: it lists, watches, resumes and
// lists again when it must. [Machine.Step] decides what to do next: it is a pure function of a state and of
// what just happened. [Reflector.Run] executes its commands in one goroutine.
//
// What a Reflector promises to its [Sink]:
//
//   - The sink is only called from the goroutine of Run, one call at a time.
//   - After Commit the sink has received exactly the collection at one version. Every later change
//     comes as one Apply, in the order of the server, none twice and none left out, until the next Commit.
//   - A change that was missed (a version that expired) is part of the next Commit.
//   - A 404 alone deletes nothing: NotServed is called only if the server's own discovery lists other
//     resources and not this one, and after a Commit only if it does so three times in a row, over at least
//     four seconds.
//   - Run is not ended by a server's refusal, a closed or silent connection, or an event that cannot be read:
//     each is reported through OnError and retried with growing waits, at most 30 s.
package reflector
