// Package podgroupprotection protects PodGroups in use from deletion: the deletion of one waits until all its
// pods have ended or are gone. They have a finalizer, which the admission plugin PodGroupProtection adds at
// creation and the controller removes.
//
// That a pod of the group exists is seen in the informers' copy, as upstream's controller does: a pod that is
// created as its group is deleted may find the group gone. The API scheduling.k8s.io/v1alpha2 is disabled by
// default; do not add the controller if it is not served.
package podgroupprotection

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

type group = schedulingv1alpha2.PodGroup

// Add adds the controller to m. Its user must be able to read pods and to read and update PodGroups.
func Add(m *manager.Manager) error {
	gv := schedulingv1alpha2.GroupVersion
	all := informers.ForResource[*group](m.Informers(), client.Resource{GVR: gv.WithResource("podgroups"), GVK: gv.WithKind("PodGroup"), Namespaced: true})
	p := &protection{
		groups: all.Lister(), pods: informers.For[*corev1.Pod](m.Informers()).Index(byGroup),
		client: client.ForResource[*group](m.Conn(), all.Client().Resource()),
	}
	_, err := controllers.Add(m, "podgroup-protection", reconcile.Func(p.reconcile), controllers.Options{},
		controllers.From(all, waiting), controllers.Watches(released))
	return err
}

type protection struct {
	groups informers.Lister[*group]
	pods   informers.Index[*corev1.Pod]
	client *client.Client[*group]
}

// reconcile removes the finalizer of a group that is being deleted and has no pods.
func (p *protection) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, err := p.groups.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if !isWaiting(g) {
		return reconcile.Result{}, nil
	}
	used := false
	err = p.pods.View(req.String(), func(*corev1.Pod) bool {
		used = true
		return false
	})
	if err != nil || used {
		return reconcile.Result{}, err
	}
	next := codec.DeepCopy(g)
	metav1.RemoveFinalizer(next, schedulingv1alpha2.Finalizer)
	if _, err := p.client.Update(ctx, next); err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("podgroupprotection: finalizer of %s: %w", req, err)
	}
	return reconcile.Result{}, nil
}

// isWaiting reports whether only pods keep the group.
func isWaiting(g *group) bool {
	return metav1.IsTerminating(g) && metav1.HasFinalizer(g, schedulingv1alpha2.Finalizer)
}

// waiting returns the group of an event if only pods keep it.
func waiting(e informers.Event[*group]) []reconcile.Request {
	if g := e.New(); e.Type != informers.Deleted && g != nil && isWaiting(g) {
		return []reconcile.Request{g.Key()}
	}
	return nil
}

// byGroup files pods that have not ended under their groups.
var byGroup = informers.DefineIndex("podgroupprotection.pods", func(p *corev1.Pod) []string {
	if key, ok := groupOf(p); ok && !p.HasEnded() {
		return []string{key.String()}
	}
	return nil
})

func groupOf(p *corev1.Pod) (key types.NamespacedName, ok bool) {
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return types.NamespacedName{Namespace: p.Namespace, Name: *g.PodGroupName}, true
	}
	return key, false
}

// released returns the group of a pod that has ended or is gone, also if another pod has its name by now.
func released(e informers.Event[*corev1.Pod]) []reconcile.Request {
	before, after := e.Old(), e.New()
	var out []reconcile.Request
	add := func(p *corev1.Pod) {
		if key, ok := groupOf(p); ok {
			out = append(out, key)
		}
	}
	if before != nil && (e.Type == informers.Deleted || after != nil && after.UID != before.UID) {
		add(before)
	}
	if e.Type != informers.Deleted && after != nil && after.HasEnded() {
		add(after)
	}
	return out
}
