package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// Source feeds a controller's queue, or names what its reconciler reads. Sources are made by [For], [Owns],
// [Watches], [From], [Channel], [Producer], [Reads] and [InClusters]. Those that name a type use the
// manager's informer for it, which holds what the manager's informers.Cache says, and release it when the
// controller has stopped.
type Source interface {
	// attach starts feeding the queue. It adds to a what to wait for before the first reconcile and what to
	// stop after the last.
	attach(m *manager.Manager, a *attachment) error
}

// Predicate reports whether an event is passed on. An event is dropped if one of its source's predicates
// returns false. Predicates may be called concurrently.
type Predicate[T metav1.Object] func(informers.Event[T]) bool

type sourceFunc func(*manager.Manager, *attachment) error

func (f sourceFunc) attach(m *manager.Manager, a *attachment) error { return f(m, a) }

// For enqueues the key of every changed object of type T. The predicates do not apply to objects that cannot
// be decoded; their keys are always enqueued, and the reconciler gets the error when it reads them.
func For[T metav1.Object](predicates ...Predicate[T]) Source {
	return watch(Self[T], predicates, func(u informers.Undecodable) []reconcile.Request { return []reconcile.Request{u.Key} })
}

// Owns enqueues the owner of every changed T whose controlling owner is of the group and kind of O, in any
// version. If an object changes owners, both are enqueued. The predicates do not apply to objects that cannot
// be decoded; their owners are always enqueued.
func Owns[O, T metav1.Object](predicates ...Predicate[T]) Source {
	return sourceFunc(func(m *manager.Manager, a *attachment) error {
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

// Owner returns a function that maps an event to the controlling owners of the object's current and previous
// states, as far as they are of the given group and kind; see [Owns]. If namespaced, the owner is in the
// object's namespace.
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

// AnyOwner is Owner with all owner references, whether or not they are of the controlling owner
// (controller-runtime: builder.MatchEveryOwner). It decodes the object; pass it to [Watches] or [From].
func AnyOwner[T metav1.Object](owner schema.GroupKind, namespaced bool) func(informers.Event[T]) []reconcile.Request {
	return func(e informers.Event[T]) []reconcile.Request {
		refs := metav1.MetaOf(e.Object()).OwnerReferences
		if e.Type == informers.Updated {
			refs = slices.Concat(refs, metav1.MetaOf(e.Old()).OwnerReferences)
		}
		var out []reconcile.Request
		for _, ref := range refs {
			out = appendOwner(out, ref, owner, namespaced, e.Key.Namespace)
		}
		return out
	}
}

// appendOwner appends the key of the referenced owner if it is of the group and kind and not yet in out.
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

// Watches enqueues the requests mapTo returns for every changed T. Objects that cannot be decoded are
// skipped.
func Watches[T metav1.Object, K comparable](mapTo func(informers.Event[T]) []K, predicates ...Predicate[T]) Source {
	return watch(mapTo, predicates, nil)
}

// From enqueues the requests mapTo returns for every event of the informer. It is for informers that T alone
// does not identify: metadata only or any kind ([informers.ForResource]), a selection other than that of the
// manager ([informers.Options]), another cluster. With an informer of the manager's own set:
//
//	secrets := informers.ForResource[*metav1.PartialObjectMetadata](m.Informers(), client.Resource{
//		GVR: ..., GVK: ..., Namespaced: true, Metadata: true,
//	})
//	controllers.From(secrets, controllers.Self)
//
// An informer of another set runs with that set, which the caller must run. The first reconcile waits for it.
func From[T metav1.Object, K comparable](inf *informers.Informer[T], mapTo func(informers.Event[T]) []K, predicates ...Predicate[T]) Source {
	return sourceFunc(func(_ *manager.Manager, a *attachment) error {
		return feed(a, inf, inf.Client().Resource().GVK.Kind, mapTo, predicates, nil)
	})
}

// Reads makes the controller wait for the manager's informer for T without enqueuing anything. It is for
// types the reconciler looks up but does not react to.
func Reads[T metav1.Object]() Source {
	return sourceFunc(func(m *manager.Manager, a *attachment) error {
		if _, err := infoFor[T](m); err != nil {
			return err
		}
		inf := informers.For[T](m.Informers())
		a.releases = append(a.releases, inf.Release)
		a.waits = append(a.waits, inf.WaitForSyncOrAbsent)
		return nil
	})
}

// Channel enqueues every request received from ch, until ch is closed or the controller stops. It receives
// where the controller runs: on the leader, or with Options.WithoutLeaderElection on every replica.
func Channel[K comparable](ch <-chan K) Source {
	return Producer(func(ctx context.Context, enqueue func(K)) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case req, ok := <-ch:
				if !ok {
					return nil
				}
				enqueue(req)
			}
		}
	})
}

// Producer runs produce, which enqueues what it finds elsewhere: events of another system, or a time of day
// (controller-runtime: source.Func). It runs where the controller runs, as that of [Channel], and must return
// when ctx ends, which is also when the controller stops. An error ends the manager, as that of any Runnable;
// after nil the controller goes on without it. enqueue may be called by several goroutines, and has no effect
// after the controller has stopped.
func Producer[K comparable](produce func(ctx context.Context, enqueue func(K)) error) Source {
	return sourceFunc(func(_ *manager.Manager, a *attachment) error {
		if produce == nil {
			return errors.New("the function of a Producer must not be nil")
		}
		to, err := queueOf[K](a)
		if err != nil {
			return err
		}
		a.runs = append(a.runs, func(ctx context.Context) error {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			go func() {
				select {
				case <-a.detached:
					stop()
				case <-ctx.Done():
				}
			}()
			return produce(ctx, func(req K) { to.AddWith(req, workqueue.AddOptions{}) })
		})
		return nil
	})
}

// channel is the Runnable of a Channel or Producer source.
type channel func(ctx context.Context) error

// Wait implements manager.Waiter. The controller waits; the channel need not.
func (channel) Wait(context.Context) error { return nil }

// Run implements manager.Runnable.
func (c channel) Run(ctx context.Context) error { return c(ctx) }

// watch returns a source that feeds from the manager's informer for T.
func watch[T metav1.Object, K comparable](mapTo func(informers.Event[T]) []K, predicates []Predicate[T], undecodable func(informers.Undecodable) []K) Source {
	return sourceFunc(func(m *manager.Manager, a *attachment) error {
		info, err := infoFor[T](m)
		if err != nil {
			return err
		}
		inf := informers.For[T](m.Informers())
		a.releases = append(a.releases, inf.Release)
		return feed(a, inf, info.GVK.Kind, mapTo, predicates, undecodable)
	})
}

// infoFor returns the entry of T in the connection's scheme.
func infoFor[T metav1.Object](m *manager.Manager) (*scheme.Info, error) {
	info, err := scheme.InfoFor[T](m.Conn().Scheme())
	if err != nil {
		var obj T
		switch any(obj).(type) {
		case *metav1.PartialObjectMetadata, *metav1.Unstructured:
			err = fmt.Errorf("%T does not identify a resource: use controllers.From with informers.ForResource", obj)
		}
	}
	return info, err
}

// feed adds to the queue of a the requests mapTo returns for the events of inf. For objects that cannot be
// decoded it adds those of undecodable, if not nil.
func feed[T metav1.Object, K comparable](a *attachment, inf *informers.Informer[T], kind string, mapTo func(informers.Event[T]) []K, predicates []Predicate[T], undecodable func(informers.Undecodable) []K) error {
	if mapTo == nil || slices.ContainsFunc(predicates, func(p Predicate[T]) bool { return p == nil }) {
		return fmt.Errorf("the source of %s has a nil function", kind)
	}
	to, err := queueOf[K](a)
	if err != nil {
		return err
	}
	causes := map[informers.EventType]string{}
	for _, t := range []informers.EventType{informers.Added, informers.Updated, informers.Deleted} {
		causes[t] = kind + " " + t.String()
	}
	enqueue := func(reqs []K, e manager.Event, initial bool) {
		opts := workqueue.AddOptions{Cause: causes[e.Type]}
		if initial {
			opts.Priority = workqueue.LowPriority
		}
		for _, req := range reqs {
			if a.onEvent != nil {
				a.onEvent(a.controller, req, e)
			}
			to.AddWith(req, opts)
		}
	}
	opts := informers.HandlerOptions{Name: a.controller, Missed: a.resync}
	if undecodable != nil {
		opts.Undecodable = func(u informers.Undecodable) {
			enqueue(undecodable(u), manager.Event{Type: u.Type, Kind: kind, Key: u.Key, ResourceVersion: u.ResourceVersion}, u.Initial)
		}
	}
	handler := inf.AddHandler(func(e informers.Event[T]) {
		for _, p := range predicates {
			if !e.Resync && !p(e) {
				return
			}
		}
		enqueue(mapTo(e), manager.Event{Type: e.Type, Kind: kind, Key: e.Key, ResourceVersion: e.ResourceVersion}, e.Initial || e.Resync)
	}, opts)
	a.addHandler(handler)
	a.waits = append(a.waits, inf.WaitForSyncOrAbsent)
	return nil
}

// GenerationChanged passes creations, deletions and changes of the desired state, but not changes of status
// or labels. For kinds without generations, such as ConfigMap and Secret, it passes every change.
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

// Matching passes an event if f returns true for the object's new state or its previous one, so that an
// object that begins or ceases to match passes too. f must not change the object.
func Matching[T metav1.Object](f func(obj T) bool) Predicate[T] {
	return func(e informers.Event[T]) bool {
		return e.Type != informers.Deleted && f(e.New()) || e.Type != informers.Added && f(e.Old())
	}
}

// LabelsMatch passes an event if the selector matches the object's new labels or its previous ones, so that
// an object that leaves the selection passes too. It decodes nothing. Where no other controller needs the
// remaining objects, a label selector in the manager's informers.Cache costs less.
func LabelsMatch[T metav1.Object](selector labels.Selector) Predicate[T] {
	return func(e informers.Event[T]) bool {
		return selector.Matches(e.Labels) || e.Type == informers.Updated && selector.Matches(e.OldLabels())
	}
}

// FieldChanged passes creations, deletions and changes of what field returns, such as one annotation or a
// field of the status. field must not change the object.
func FieldChanged[T metav1.Object, V comparable](field func(obj T) V) Predicate[T] {
	return func(e informers.Event[T]) bool {
		return e.Type != informers.Updated || field(e.Old()) != field(e.New())
	}
}

// Any passes an event if at least one of the predicates does.
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

// Not passes an event if p does not.
func Not[T metav1.Object](p Predicate[T]) Predicate[T] {
	return func(e informers.Event[T]) bool { return !p(e) }
}
