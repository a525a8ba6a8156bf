package podcontrol

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Owners is what a controller of objects that own pods works with. Use NewOwners.
type Owners[T metav1.Object] struct {
	// List has the owners, Pods all pods.
	List informers.Lister[T]
	Pods podindex.Pods
	// API and PodsAPI write them.
	API     *client.Client[T]
	PodsAPI *client.Client[*corev1.Pod]
	// Recorder records events about the owners.
	Recorder *events.Recorder

	name     string
	kind     schema.GroupVersionKind
	selector func(T) *metav1.LabelSelector
}

// NewOwners makes the Owners of a kind, whose selector finds the pods that an owner may have. The controller
// is called name.
func NewOwners[T metav1.Object](m *manager.Manager, name string, kind schema.GroupVersionKind, selector func(T) *metav1.LabelSelector) *Owners[T] {
	return &Owners[T]{
		List: informers.For[T](m.Informers()).Lister(), Pods: podindex.Of(m.Informers()),
		API: client.For[T](m.Conn()), PodsAPI: client.For[*corev1.Pod](m.Conn()), Recorder: m.Recorder(name + "-controller"),
		name: name, kind: kind, selector: selector,
	}
}

// Register adds the controller to m: r is called for owners that changed or whose pods did, and for those
// that may adopt a pod without a controller. concurrency 0 means 5.
func (o *Owners[T]) Register(m *manager.Manager, concurrency int, r reconcile.Func) error {
	if concurrency == 0 {
		concurrency = 5
	}
	_, err := controllers.Add(m, o.name, r, controllers.Options{Options: controller.Options{Concurrency: concurrency}},
		controllers.For[T](), controllers.Owns[T, *corev1.Pod](), controllers.Watches(o.adopters))
	return err
}

// adopters returns the owners that select an orphan.
func (o *Owners[T]) adopters(e informers.Event[*corev1.Pod]) []reconcile.Request {
	if e.Type == informers.Deleted || len(e.Labels) == 0 || metav1.ControllerOf(e.New()) != nil {
		return nil
	}
	var out []reconcile.Request
	// An owner that cannot be read now is reconciled when it can.
	_ = o.List.ViewAll(informers.ListOptions{Namespace: e.Key.Namespace}, func(owner T) bool {
		if sel, err := o.selector(owner).Selector(); err == nil && !sel.Empty() && sel.Matches(e.Labels) {
			out = append(out, metav1.KeyOf(owner))
		}
		return true
	})
	return out
}

// Claim returns the pods that belong to owner; see [claim]. Adopted pods get the finalizers.
func (o *Owners[T]) Claim(ctx context.Context, owner T, selector labels.Selector, finalizers ...string) ([]*corev1.Pod, error) {
	return claim(ctx, o.Pods, o.PodsAPI, owner, o.kind, selector, func(ctx context.Context) error {
		key := metav1.KeyOf(owner)
		live, err := o.API.Get(ctx, key)
		if err != nil {
			return err
		}
		switch m := metav1.MetaOf(live); {
		case m.UID != metav1.MetaOf(owner).UID:
			return fmt.Errorf("%s %v was replaced by another", o.kind.Kind, key)
		case m.DeletionTimestamp != nil:
			return fmt.Errorf("%s %v is being deleted", o.kind.Kind, key)
		}
		return nil
	}, finalizers)
}
