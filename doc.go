// Package keelson is the root of an SDK for building Kubernetes-style control planes and the controllers
// that run on them. The root holds no code; this is the map.
//
//	apimachinery/    what an API object is: types, codec, scheme, patches, schemas. No I/O
//	client/          typed, dynamic and metadata clients of any Kubernetes API server
//	informers/       shared caches fed by list and watch
//	workqueue/       the queue between events and workers
//	leaderelection/  one of many replicas leads, by a Lease, with fencing
//	store/           the storage contract, its backends, the watch cache and the API server
//	controllers/     the reconciler kit, the built-in controllers, scheduler, kubelet and proxy
//	examples/        thin main packages over all of it
//
// A package imports only packages of its own folder or of one further up in this order:
// apimachinery; workqueue; client; leaderelection and informers; controllers; examples. store stands
// beside client: it imports apimachinery and workqueue, and only controllers/controllertest,
// client/clienttest and the examples see both.
package keelson
