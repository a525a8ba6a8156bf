// Package informers keeps local copies of collections in step with an API server and notifies handlers of
// changes.
//
//	set := informers.NewSet(conn, informers.SetOptions{})
//	pods := informers.For[*corev1.Pod](set)
//	pods.AddHandler(func(ev informers.Event[*corev1.Pod]) { queue.Add(ev.Key) }, informers.HandlerOptions{})
//	go set.Run(ctx)
//	err := set.WaitForSync(ctx)
//	pod, err := pods.Lister().Get(key)
//
// # The parts
//
// A change travels from the top of this picture to the bottom; the file of each part is on the right.
//
//	API server
//	  | list, watch-list, watch
//	reflector          decides what to read next (machine.go), reads it      reflector/
//	  | Begin, Add, Commit: a whole collection;  Apply: one change
//	source             one per namespace, or one for all                     source.go
//	  |
//	core               the copy                                              core.go
//	  |- base          objects as the server sent them, encoded              object.go, decode.go
//	  |- overlay       own writes not yet delivered by the watch            overlay.go  <- Set.Conn (set.go)
//	  |- indexes       keys by computed values                               index.go
//	  |
//	  |-> queue        one per handler, merges what was not read              queue.go
//	  |     |
//	  |   registration calls Handler with an Event                           registration.go, event.go
//	  |
//	  '-> Lister, Snapshot, Index                                            lister.go, index.go
//
// Informer (informer.go) is the public side of a core, Set (set.go) the informers of one connection.
//
// # What is held
//
// Without further options an informer holds all objects of its resource. [Cache] limits all informers of a
// set, by default and by resource: to namespaces, to what label and field selectors select, and to what a
// transform leaves of each object; [Options] do so for one informer. Calls of [For] with the same selection
// share one informer, which starts with the first one and, after a [Informer.Release] for each, stops and is
// dropped. [Set.Status] lists the informers with what they hold, their size and their number of users.
//
// # What an informer promises
//
//   - Its copy is at every moment the collection at some version, and versions only grow. After the
//     last change the copy catches up, whatever fails in between: connections, the server, expired versions.
//   - Every handler eventually receives the final state of every object. Events of one object come in order,
//     each event's Old is the New of the one before, and none is delivered twice. A handler that is slower
//     than the server gets fewer events, not older ones; see "What a handler sees". The initial objects come
//     in the order of the server's list.
//   - A handler is never called with an object that cannot be decoded: New, Old and Object are not nil where
//     they have a meaning. For the handler an object keeps its last state until it can be decoded again;
//     [HandlerOptions].Undecodable is called with such states.
//   - A deletion whose event was missed has StateUnknown set and the last state known.
//   - A handler is called by one goroutine at a time, and does not block other handlers. A panic in it is
//     reported through OnError and the handler continues with the next event.
//   - Objects are kept as the server encoded them and decoded on demand. Get and List return private copies;
//     New, Old and View share one decoded object which must not be changed.
//   - An object that cannot be decoded is reported through OnError, once for each of its versions; all others
//     stay available.
//   - A read of a lister or an index never omits anything silently: before the copy is complete,
//     and where an object cannot be decoded, it returns an error that says so.
//   - Writes through [Set.Conn] are visible to the listers of the set as soon as they return, where the
//     response holds the resulting object: creations, updates, patches, applies and deletions of objects,
//     status included. Others become visible with the watch, like the writes of other programs: deletions of
//     collections; patches through a metadata client; the effect of a subresource such as scale, binding or
//     eviction on its object; writes through another version of the resource; and with a field selector other
//     than of the name, that an object has entered or left the selection. [Lister.AtLeast] waits for them.
//   - Run returns when its context has ended and every goroutine of the set has returned.
//
// # What a handler sees
//
// Listers are ahead of handlers: they have a change at once, a handler when it gets to it. Of the states that
// an object passes through meanwhile a handler sees the last one, and each that could have decided something:
//
//   - A state that a lister, an index or a snapshot has returned, or with a selector has looked at, is
//     delivered by itself, as New, and what followed it with it as Old. If the object was deleted, Added or
//     Updated comes first and then Deleted, also if the handler had not seen the object before.
//   - If an index has not returned an object because of its state then, and does before and after, the state
//     is delivered too.
//   - An object that the program has created through [Set.Conn] with a create request is delivered, and so
//     are the states that it has written and a reader may have got before the watch delivered them, even if a
//     second read of the collection has others in their place, or none. There is one exception: an object
//     that was created and deleted between the watch and such a read is delivered when the response to its
//     creation arrives, unless another object has its name by then.
//   - An object that is visible again, because it was recreated while a deletion of the program hid the name,
//     is repeated as Updated with Resync set.
//
// So a program that adds the keys of events to a queue, as the sources of package controllers do, and reads
// listers when a key is due, gets a key again after each change of what it has read for it, however short the
// life of an object was. Index.Len and Index.Values do not count as reads. Other states are merged: later
// changes of an object into the waiting one, and an object that comes and goes leaves nothing.
//
// # Slow handlers
//
// A handler that is behind never blocks the watch, the listers or another handler, and never costs more
// memory than one change for each object that exists or that it has seen, and 4,096 states besides that were
// read and have been replaced since. If more were read, the rest is merged as if it was not, and
// [HandlerOptions].Missed is called behind those that wait. The sources of package controllers then look at
// all objects again, so that a key is only missed if it depends on an object that came and went in this time.
// So there is no policy that drops changes and resyncs afterwards: merging does that, object by object, and
// keeps deletions and Old.
//
// The only choice is whether being behind is an error. [HandlerOptions].MaxBacklog is the number of objects
// whose changes may wait; beyond it the handler is reported as a [*SlowHandlerError] and counted by
// Metrics.Slow, and continues, or with EndSlow is removed: [Registration.Err] returns the reason, and if it
// is added again it receives everything from the start. [Registration.Backlog] and [Status].Silent are the
// staleness of a handler and of a copy, for gauges.
//
// # Debugging
//
// Readers cannot corrupt a copy: it consists of encoded bytes, Get and List decode or copy, and what New, Old
// and View share is dropped when it is no longer referenced. SetOptions.DetectMutations finds changes to a
// shared object nevertheless, VerifyEvery compares copies with the server.
//
// # What it does not promise
//
// That a handler sees every intermediate state; that two informers are at the same version; that an object of
// a lister is still the latest on the server (see [Lister.AtLeast]).
//
// An informer of a resource that is not served, because its CustomResourceDefinition is not installed yet,
// waits for it; when the resource disappears, every object is reported as deleted, and the informer waits for
// it to return. A 404 alone means neither, since any proxy between program and server may send one: the
// discovery documents of the server decide, and the copy is kept until they have confirmed the absence three
// times over some seconds. Until then [Status] has the error, and Silent grows.
package informers
