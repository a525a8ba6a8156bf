// Package informers keeps local copies of collections in step with an API server and tells handlers of
// changes.
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
//   - Every handler receives the final state of every object. Events of one object come in order, each
//     event's Old is the New of the one before, and none is given twice. A handler that is slower than the
//     server gets fewer events, not older ones: what waits for it is at most one deletion and one state per
//     object. What was there first comes in the order of the server's list.
//   - A handler is never given an object that cannot be decoded: New, Old and Object are not nil where they
//     have a meaning. For the handler an object stays what it was until it can be decoded again;
//     [HandlerOptions].Undecodable hears of such states.
//   - A deletion that was missed has StateUnknown set and the last state known.
//   - A handler is called by one goroutine at a time, and holds up no other handler. A panic in it is
//     reported through OnError and the handler goes on with the next event.
//   - Objects are kept as the server encoded them and decoded on demand. Get and List return private copies;
//     New, Old and View share one decoded object which must not be changed.
//   - An object that cannot be decoded is reported through OnError, once for each of its versions; all others
//     stay available.
//   - A reading of a lister or an index never leaves anything out in silence: before the copy is complete,
//     and where an object cannot be decoded, it has an error that says so.
//   - Writes through [Set.Conn] are visible to the listers of the set as soon as they return, where the
//     answer says what the object has become: creations, updates, patches, applies and deletions of objects,
//     status included. These come with the watch, like the writes of others: deletions of whole collections;
//     patches through a client of metadata; what a subresource such as scale, binding or eviction does to its
//     object; writes through another version of the resource; and with a field selector other than of the
//     name, that an object has entered or left the selection. [Lister.AtLeast] waits for them.
//   - Run returns when its context has ended and every goroutine of the set has.
//
// # Slow handlers
//
// A handler that is behind never holds up the watch, the listers or another handler, and never costs more
// memory than one change for each object it knows or that exists: later changes of an object are merged into
// the one that waits, and what came and went before the handler heard of it is left out. So there is no
// policy that drops changes and resyncs afterwards: merging is that, object by object, and keeps deletions
// and Old.
//
// What is left to choose is whether being behind is an error. [HandlerOptions].MaxBacklog is how many
// objects' changes may wait; beyond it the handler is reported as a [*SlowHandlerError] and counted by
// Metrics.Slow, and goes on, or with EndSlow is ended: [Registration.Err] says why, and added again it is
// sortedBase everything anew. [Registration.Backlog] and [Status].Silent are the staleness of a handler and of a
// copy, for gauges.
//
// # Looking for bugs
//
// Readers cannot corrupt a copy: it is made of encoded bytes, Get and List decode or copy, and what New, Old
// and View share is dropped when nobody uses it any more. SetOptions.DetectMutations finds who changes a
// shared object nevertheless, VerifyEvery compares copies with the server.
//
// # What it does not promise
//
// That a handler sees every intermediate state; that two informers are at the same version; that an object of
// a lister is still the latest on the server (see [Lister.AtLeast]).
//
// A resource that is not served, because its CustomResourceDefinition is not there yet, is waited for; when
// it disappears, every object is reported as deleted, and the informer waits for it to come back. A 404 alone
// means neither, since anything between program and server may say that: the discovery documents of the
// server decide, and what was read is kept until they have said no three times over some seconds. Until then
// [Status] has the error, and Silent grows.
package informers
