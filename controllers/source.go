package controllers

import (
	"context"
	"fmt"
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// Source feeds a controller's queue. Made by For, Owns, Watches and Channel.
type Source interface {
	// attach starts feeding and returns what to wait for before the first reconcile; nil means nothing.
	attach(m *manager.Manager, c *controller.Controller) (wait func(context.Context) error, err error)
}

// Predicate says whether an event matters. All of a source's predicates must agree.
type Predicate[T metav1.Object] func(informers.Event[T]) bool

type sourceFunc func(*manager.Manager, *controller.Controller) (func(context.Context) error, error)

func (f sourceFunc) attach(m *manager.Manager, c *controller.Controller) (func(context.Context) error, error) {
	return f(m, c)
}

// For enqueues the key of every changed object of type T.
func For[T metav1.Object](predicates ...Predicate[T]) Source {
	return watch(func(e informers.Event[T], add func(reconcile.Request)) { add(e.Key) }, predicates)
}

// Owns enqueues the owner of every changed T whose controlling owner is of type O.
func Owns[O, T metav1.Object](predicates ...Predicate[T]) Source {
	return sourceFunc(func(m *manager.Manager, c *controller.Controller) (func(context.Context) error, error) {
		owner, err := scheme.InfoFor[O](m.Conn().Scheme())
		if err != nil {
			return nil, err
		}
		enqueue := func(obj T, add func(reconcile.Request)) {
			ref := metav1.ControllerOf(obj)
			if ref == nil || ref.Kind != owner.GVK.Kind {
				return
			}
			if gvk := owner.GVK; ref.APIVersion != gvk.GroupVersion().String() && group(ref.APIVersion) != gvk.Group {
				return
			}
			key := types.NamespacedName{Name: ref.Name}
			if owner.Namespaced {
				key.Namespace = obj.GetNamespace()
			}
			add(key)
		}
		return watch(func(e informers.Event[T], add func(reconcile.Request)) {
			if e.Type != informers.Deleted {
				enqueue(e.New(), add)
			}
			// An object that changed owners concerns the old one too.
			if e.Type != informers.Added {
				enqueue(e.Old(), add)
			}
		}, predicates).attach(m, c)
	})
}

// Watches enqueues what mapTo returns for every changed T.
func Watches[T metav1.Object](mapTo func(informers.Event[T]) []reconcile.Request, predicates ...Predicate[T]) Source {
	return watch(func(e informers.Event[T], add func(reconcile.Request)) {
		for _, req := range mapTo(e) {
			add(req)
		}
	}, predicates)
}

// Channel enqueues every request received from ch until it is closed.
func Channel(ch <-chan reconcile.Request) Source {
	return sourceFunc(func(m *manager.Manager, c *controller.Controller) (func(context.Context) error, error) {
		m.Add(c.Name()+" channel", manager.Func(func(ctx context.Context) error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case req, ok := <-ch:
					if !ok {
						return nil
					}
					c.Enqueue(req)
				}
			}
		}))
		return nil, nil
	})
}

func watch[T metav1.Object](handle func(informers.Event[T], func(reconcile.Request)), predicates []Predicate[T]) Source {
	return sourceFunc(func(m *manager.Manager, c *controller.Controller) (func(context.Context) error, error) {
		info, err := scheme.InfoFor[T](m.Conn().Scheme())
		if err != nil {
			return nil, fmt.Errorf("controllers: %s: %w", c.Name(), err)
		}
		causes := map[informers.EventType]string{}
		for _, t := range []informers.EventType{informers.Added, informers.Updated, informers.Deleted} {
			causes[t] = info.GVK.Kind + " " + t.String()
		}
		inf := informers.For[T](m.Informers())
		inf.AddHandler(func(e informers.Event[T]) {
			for _, p := range predicates {
				if !p(e) {
					return
				}
			}
			opts := workqueue.AddOptions{Cause: causes[e.Type]}
			if e.Initial {
				opts.Priority = workqueue.LowPriority
			}
			handle(e, func(req reconcile.Request) { c.Queue().AddWith(req, opts) })
		}, informers.HandlerOptions{})
		return inf.WaitForSync, nil
	})
}

// GenerationChanged passes creations, deletions and changes of the desired state, not of status or labels.
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
