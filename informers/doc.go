// Package informers keeps local copies of collections in step with an API server and tells handlers of changes.
//
//	set := informers.NewSet(conn, informers.SetOptions{})
//	pods := informers.For[*corev1.Pod](set)
//	pods.AddHandler(func(ev informers.Event[*corev1.Pod]) { queue.Add(ev.Key) }, informers.HandlerOptions{})
//	go set.Run(ctx)
//	err := set.WaitForSync(ctx)
//	pod, err := pods.Lister().Get(key)
//
// # What an informer promises
//
//   - Its copy is at every moment the collection at some version, and versions only grow. After the
//     last change the copy catches up, whatever fails on the way: connections, the server, expired versions.
//   - Every handler is told of the final state of every object. Events of one object come in order, each
//     event's Old is the New of the one before, and none is given twice. A handler that is slower than the
//     server gets fewer events, not older ones: what waits for it is at most one deletion and one state per object.
//   - A deletion that was missed is told with StateUnknown set and the last state known.
//   - A handler is called by one goroutine at a time, and holds up no other handler. A panic in it is
//     reported through OnError and the handler goes on with the next event.
//   - Objects are kept as the server encoded them and decoded on demand. Get and List return private copies;
//     New, Old and View share one decoded object which must not be changed.
//   - An object that cannot be decoded is reported through OnError when it is asked for; all others stay available.
//   - Writes through [Set.Conn] are visible to the listers of the set as soon as they return.
//   - Run returns when its context has ended and every goroutine of the set has.
//
// # What it does not promise
//
// That a handler sees every intermediate state; that two informers are at the same version; that an object of a
// lister is still the latest on the server (see [Lister.AtLeast]).
//
// A resource that is not served, because its CustomResourceDefinition is not there yet, is waited for; when it
// disappears, every object is told as deleted, and the informer waits for it to come back.
package informers
