package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// Source feeds a controller's queue, or is what its reconciler reads. Made by For, Owns, Watches, From,
// Channel and Reads.
type Source interface {
	// attach starts feeding, and notes in a what to wait for before the first reconcile and what to end after
	// the last.
	attach(m *manager.Manager, a *added) error
}

// Predicate says whether an event matters. All of a source's predicates must agree. It may be called from
// several goroutines.
type Predicate[T metav1.Object] func(informers.Event[T]) bool

type sourceFunc func(*manager.Manager, *added) error

func (f sourceFunc) attach(m *manager.Manager, a *added) error { return f(m, a) }

// For enqueues the key of every changed object of type T, and whatever the predicates of those that cannot be
// decoded: the reconciler gets the error when it reads them.
func For[T metav1.Object](predicates ...Predicate[T]) Source {
	return watch(Self[T], predicates, func(u informers.Undecodable) []reconcile.Request { return []reconcile.Request{u.Key} })
}

// Owns enqueues the owner of every changed T whose controlling owner is of type O, whatever the version it
// names. An object that changed owners enqueues both, and one that cannot be decoded enqueues its owner
// whatever the predicates.
func Owns[O, T metav1.Object](predicates ...Predicate[T]) Source {
	return sourceFunc(func(m *manager.Manager, a *added) error {
		owner, err := scheme.InfoFor[O](m.Conn().Scheme())
		if err != nil {
			return err
		}
		gk := owner.GVK.GroupKind()
		undecodable := func(u informers.Undecodable) (out []reconcile.Request) {
			for _, ref := range u.Owners {
				out = appendOwner(out, ref, gk, owner.Namespaced, u.Key.Namespace)
			}
			return out
		}
		return watch(Owner[T](gk, owner.Namespaced), predicates, undecodable).attach(m, a)
	})
}

// Self maps an event to the object itself, for [From].
func Self[T metav1.Object](e informers.Event[T]) []reconcile.Request {
	return []reconcile.Request{e.Key}
}

// Owner returns the function that maps an event to the controlling owner of the object, and to that of its
// state before, if they are of the group and kind; see [Owns]. namespaced says whether such owners live in
// namespaces: then it is the object's own.
func Owner[T metav1.Object](owner schema.GroupKind, namespaced bool) func(informers.Event[T]) []reconcile.Request {
	return func(e informers.Event[T]) []reconcile.Request {
		var out []reconcile.Request
		if ref, ok := e.Controller(); ok {
			out = appendOwner(out, ref, owner, namespaced, e.Key.Namespace)
		}
		if ref, ok := e.OldController(); ok {
			out = appendOwner(out, ref, owner, namespaced, e.Key.Namespace)
		}
		return out
	}
}

// appendOwner appends the key of an owner of the group and kind, once.
func appendOwner(out []reconcile.Request, ref metav1.OwnerReference, owner schema.GroupKind, namespaced bool, namespace string) []reconcile.Request {
	if ref.Kind != owner.Kind || group(ref.APIVersion) != owner.Group {
		return out
	}
	key := types.NamespacedName{Name: ref.Name}
	if namespaced {
		key.Namespace = namespace
	}
	if slices.Contains(out, key) {
		return out
	}
	return append(out, key)
}

// Watches enqueues what mapTo returns for every changed T that can be decoded.
func Watches[T metav1.Object](mapTo func(informers.Event[T]) []reconcile.Request, predicates ...Predicate[T]) Source {
	return watch(mapTo, predicates, nil)
}

// From enqueues what mapTo returns for every change that the informer tells of. It is for informers that T
// alone does not name: metadata only or any kind ([informers.ForResource]), some namespaces or a selector
// ([informers.Options]), another cluster. With an informer of the manager's own set:
//
//	secrets := informers.ForResource[*metav1.PartialObjectMetadata](m.Informers(), client.Resource{GVR: ..., GVK: ..., Namespaced: true, Metadata: true})
//	controllers.From(secrets, controllers.Self)
//
// An informer of another set runs with that set, which the caller runs: the first reconcile waits for it.
func From[T metav1.Object](inf *informers.Informer[T], mapTo func(informers.Event[T]) []reconcile.Request, predicates ...Predicate[T]) Source {
	return sourceFunc(func(_ *manager.Manager, a *added) error {
		return feed(a, inf, inf.Client().Resource().GVK.Kind, mapTo, predicates, nil)
	})
}

// Reads makes the controller wait for the informer that the manager has for T, and feeds nothing: for what
// the reconciler looks up without being run for its changes.
func Reads[T metav1.Object]() Source {
	return sourceFunc(func(m *manager.Manager, a *added) error {
		if _, err := infoFor[T](m); err != nil {
			return err
		}
		a.waits = append(a.waits, informers.For[T](m.Informers()).WaitForSyncOrAbsent)
		return nil
	})
}

// Channel enqueues every request received from ch until it is closed, while the controller runs: on the
// leader, or with Options.AllReplicas on all.
func Channel(ch <-chan reconcile.Request) Source {
	return sourceFunc(func(_ *manager.Manager, a *added) error {
		a.channels = append(a.channels, channel{a, ch})
		return nil
	})
}

// channel is the runnable of a Channel.
type channel struct {
	to *added
	ch <-chan reconcile.Request
}

// Wait implements manager.Waiter: it need not wait, for the controller does.
func (channel) Wait(context.Context) error { return nil }

// Run enqueues what comes until ctx ends.
func (c channel) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case req, ok := <-c.ch:
			if !ok {
				return nil
			}
			c.to.Enqueue(req)
		}
	}
}

// watch feeds from the informer that the manager has for T.
func watch[T metav1.Object](mapTo func(informers.Event[T]) []reconcile.Request, predicates []Predicate[T], undecodable func(informers.Undecodable) []reconcile.Request) Source {
	return sourceFunc(func(m *manager.Manager, a *added) error {
		info, err := infoFor[T](m)
		if err != nil {
			return err
		}
		return feed(a, informers.For[T](m.Informers()), info.GVK.Kind, mapTo, predicates, undecodable)
	})
}

// infoFor is what the connection's scheme knows of T.
func infoFor[T metav1.Object](m *manager.Manager) (*scheme.Info, error) {
	info, err := scheme.InfoFor[T](m.Conn().Scheme())
	if err != nil {
		var obj T
		switch any(obj).(type) {
		case *metav1.PartialObjectMetadata, *metav1.Unstructured:
			err = fmt.Errorf("%T does not say which resource: use controllers.From with informers.ForResource", obj)
		}
	}
	return info, err
}

// feed adds to the queue of a what mapTo returns for the events of inf, and what undecodable, if not nil,
// returns for those that cannot be decoded.
func feed[T metav1.Object](a *added, inf *informers.Informer[T], kind string, mapTo func(informers.Event[T]) []reconcile.Request, predicates []Predicate[T], undecodable func(informers.Undecodable) []reconcile.Request) error {
	if mapTo == nil || slices.ContainsFunc(predicates, func(p Predicate[T]) bool { return p == nil }) {
		return fmt.Errorf("the source of %s has a nil function", kind)
	}
	causes := map[informers.EventType]string{}
	for _, t := range []informers.EventType{informers.Added, informers.Updated, informers.Deleted} {
		causes[t] = kind + " " + t.String()
	}
	enqueue := func(reqs []reconcile.Request, typ informers.EventType, initial bool) {
		opts := workqueue.AddOptions{Cause: causes[typ]}
		if initial {
			opts.Priority = workqueue.LowPriority
		}
		for _, req := range reqs {
			a.Queue().AddWith(req, opts)
		}
	}
	opts := informers.HandlerOptions{Name: a.Name()}
	if undecodable != nil {
		opts.Undecodable = func(u informers.Undecodable) { enqueue(undecodable(u), u.Type, u.Initial) }
	}
	handler := inf.AddHandler(func(e informers.Event[T]) {
		for _, p := range predicates {
			if !p(e) {
				return
			}
		}
		enqueue(mapTo(e), e.Type, e.Initial)
	}, opts)
	a.handlers = append(a.handlers, handler)
	a.waits = append(a.waits, inf.WaitForSyncOrAbsent)
	return nil
}

// GenerationChanged passes creations, deletions and changes of the desired state, not of status or labels; of
// kinds that count no generations, such as ConfigMap and Secret, it passes every change.
func GenerationChanged[T metav1.Object](e informers.Event[T]) bool {
	return e.SpecChanged()
}

// LabelsChanged passes creations, deletions and changes of labels.
func LabelsChanged[T metav1.Object](e informers.Event[T]) bool {
	if e.Type != informers.Updated {
		return true
	}
	return !maps.Equal(e.OldLabels(), e.Labels)
}

// AnnotationsChanged passes creations, deletions and changes of annotations.
func AnnotationsChanged[T metav1.Object](e informers.Event[T]) bool {
	if e.Type != informers.Updated {
		return true
	}
	return !maps.Equal(e.Old().GetAnnotations(), e.New().GetAnnotations())
}

// Any passes what at least one of the predicates passes.
func Any[T metav1.Object](predicates ...Predicate[T]) Predicate[T] {
	return func(e informers.Event[T]) bool {
		for _, p := range predicates {
			if p(e) {
				return true
			}
		}
		return false
	}
}

// Not passes what p does not.
func Not[T metav1.Object](p Predicate[T]) Predicate[T] {
	return func(e informers.Event[T]) bool { return !p(e) }
}
