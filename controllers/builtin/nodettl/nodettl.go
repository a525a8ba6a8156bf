// Package nodettl annotates nodes with the time for which kubelets may use Secrets and ConfigMaps without
// asking the server again. It grows with the number of nodes, so that their requests do not.
package nodettl

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Annotation has the time in seconds.
const Annotation = "node.alpha.kubernetes.io/ttl"

// steps are the times for numbers of nodes, those of kube-controller-manager. The ranges overlap, so that a
// number that varies a little does not change all nodes again and again.
var steps = []struct{ least, most, seconds int }{
	{0, 100, 0}, {90, 500, 15}, {450, 1000, 30}, {900, 2000, 60}, {1800, 10_000, 300}, {9000, int(^uint(0) >> 1), 600},
}

// Options of the controller.
type Options struct {
	// Concurrency is the number of nodes reconciled concurrently; 0 means 5.
	Concurrency int
}

type nodes struct {
	list informers.Lister[*corev1.Node]
	api  *client.Client[*corev1.Node]

	mu   sync.Mutex
	n    int
	step int
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	n := &nodes{list: informers.For[*corev1.Node](m.Informers()).Lister(), api: client.For[*corev1.Node](m.Conn())}
	_, err := controllers.Add(m, "ttl", reconcile.Func(n.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.Watches(n.affected))
	return err
}

// affected counts the nodes and returns those whose annotation an event may make wrong: the node itself, or
// all if the time changes with their number.
func (n *nodes) affected(e informers.Event[*corev1.Node]) []reconcile.Request {
	switch e.Type {
	case informers.Added:
		if n.add(1) {
			return n.all()
		}
	case informers.Deleted:
		if n.add(-1) {
			return n.all()
		}
		return nil
	}
	return []reconcile.Request{e.Key}
}

// add adds to the number of nodes and reports whether the time is another one now.
func (n *nodes) add(delta int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n += delta
	before := n.step
	n.step = stepOf(before, n.n)
	return n.step != before
}

// stepOf returns the step for a number of nodes after that of another number.
func stepOf(step, count int) int {
	for count > steps[step].most {
		step++
	}
	for count < steps[step].least {
		step--
	}
	return step
}

func (n *nodes) all() []reconcile.Request {
	keys, err := n.list.Keys(informers.ListOptions{})
	if err != nil {
		return nil // the informer does not hold nodes yet: each is added by an event of its own
	}
	return keys
}

func (n *nodes) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	n.mu.Lock()
	want := strconv.Itoa(steps[n.step].seconds)
	n.mu.Unlock()
	same := false
	var uid types.UID
	if err := n.list.View(req, func(node *corev1.Node) { same, uid = node.Annotations[Annotation] == want, node.UID }); err != nil || same {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "annotations": map[string]string{Annotation: want}}})
	if err != nil {
		return reconcile.Result{}, err
	}
	_, err = n.api.Patch(ctx, req, client.Patch{Type: types.MergePatchType, Data: body})
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}
