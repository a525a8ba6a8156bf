package podcontrol

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/creation"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Owners holds the clients and listers of a controller of objects that own pods. Create it with NewOwners.
type Owners[T metav1.Object] struct {
	// List has the owners, Pods all pods.
	List informers.Lister[T]
	Pods podindex.Pods
	// API and PodsAPI write them.
	API     *client.Client[T]
	PodsAPI *client.Client[*corev1.Pod]
	// Recorder records events about the owners.
	Recorder *events.Recorder

	name       string
	copies     informers.Lister[*corev1.Pod]
	dependents controllers.Dependents[T, *corev1.Pod]
	selectors  controllers.Selectors[T]
}

// NewOwners returns the Owners of type T, whose selector selects the pods of an owner. The controller is
// called name.
func NewOwners[T metav1.Object](m *manager.Manager, name string, selector func(T) *metav1.LabelSelector) *Owners[T] {
	return &Owners[T]{
		List: informers.For[T](m.Informers()).Lister(), Pods: podindex.Of(m.Informers()),
		API: client.For[T](m.Conn()), PodsAPI: client.For[*corev1.Pod](m.Conn()), Recorder: m.Recorder(name + "-controller"),
		name: name, copies: informers.For[*corev1.Pod](m.Informers()).Lister(), dependents: controllers.NewDependents[T, *corev1.Pod](m),
		selectors: controllers.SelectorsIn(m.Informers(), controllers.DefineSelector(func(owner T) (labels.Selector, error) {
			s, err := selector(owner).Selector()
			if s.Empty() {
				return labels.Nothing(), err // such an owner adopts nothing
			}
			return s, err
		})),
	}
}

// Register adds the controller to m: r is called for owners that changed or whose pods did, and for those
// that may adopt a pod without a controller, and as the other sources say. concurrency 0 means 5.
func (o *Owners[T]) Register(m *manager.Manager, concurrency int, r func(context.Context, reconcile.Request) (reconcile.Result, error), others ...controllers.Source) error {
	if concurrency == 0 {
		concurrency = 5
	}
	sources := append([]controllers.Source{controllers.For[T](), controllers.Owns[T, *corev1.Pod](), controllers.Watches(o.adopters)}, others...)
	_, err := controllers.Add(m, o.name, reconcile.Func(r), controllers.Options{Options: controller.Options{Concurrency: concurrency}}, sources...)
	return err
}

// adopters returns the owners that select an orphan.
func (o *Owners[T]) adopters(e informers.Event[*corev1.Pod]) []reconcile.Request {
	if e.Type == informers.Deleted || len(e.Labels) == 0 || metav1.ControllerOf(e.New()) != nil {
		return nil
	}
	// An owner that cannot be read now is reconciled when it can.
	out, _ := o.selectors.Of(e.Key.Namespace, e.Labels)
	return out
}

// Claim returns the pods that belong to owner; see [controllers.Dependents.Claim]. Only active pods are
// adopted, and get the finalizers.
func (o *Owners[T]) Claim(ctx context.Context, owner T, selector labels.Selector, finalizers ...string) ([]*corev1.Pod, error) {
	return o.dependents.Claim(ctx, owner, controllers.ClaimOptions[*corev1.Pod]{Selector: selector, Adopts: Active, Finalizers: finalizers})
}

// ClaimIf is Claim of the pods for which belongs returns true too, those included that have ended.
func (o *Owners[T]) ClaimIf(ctx context.Context, owner T, selector labels.Selector, belongs func(*corev1.Pod) bool) ([]*corev1.Pod, error) {
	return o.dependents.Claim(ctx, owner, controllers.ClaimOptions[*corev1.Pod]{Selector: selector, Belongs: belongs})
}

// Create creates a pod, of which a lost answer makes no second one.
func (o *Owners[T]) Create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return creation.Create(ctx, o.PodsAPI, o.copies, pod)
}
