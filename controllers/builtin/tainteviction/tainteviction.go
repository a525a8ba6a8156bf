// Package tainteviction deletes pods from nodes with NoExecute taints they do not tolerate, immediately or
// after the shortest tolerationSeconds of the matching tolerations. The time starts when both the taint and
// the pod are on the node. For a taint without timeAdded, as written by kubectl, it starts when the
// controller first observed the taint.
package tainteviction

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

type evictor struct {
	nodes    informers.Lister[*corev1.Node]
	pods     podindex.Pods
	client   *client.Client[*corev1.Pod]
	recorder *events.Recorder

	mu sync.Mutex
	// seen is since when each node has each of its NoExecute taints, by node name; the taints are without
	// their timeAdded.
	seen map[string]map[corev1.Taint]time.Time
	// later are the pods that are to be evicted when their time is over.
	later map[types.NamespacedName]eviction
}

// eviction is that of a pod at a time.
type eviction struct {
	uid types.UID
	at  time.Time
}

// Add adds the controller to m.
func Add(m *manager.Manager) error {
	e := &evictor{nodes: informers.For[*corev1.Node](m.Informers()).Lister(), pods: podindex.Of(m.Informers()),
		client: client.For[*corev1.Pod](m.Conn()), recorder: m.Recorder("taint-eviction-controller"), seen: map[string]map[corev1.Taint]time.Time{},
		later: map[types.NamespacedName]eviction{}}
	_, err := controllers.Add(m, "taint-eviction", reconcile.Func(e.reconcile), controllers.Options{Options: controller.Options{Concurrency: 8}},
		controllers.For(func(ev informers.Event[*corev1.Pod]) bool {
			if ev.Type != informers.Updated {
				return ev.Type == informers.Added || e.isPlanned(ev.Key)
			}
			return ev.Old().Spec.NodeName != ev.New().Spec.NodeName || !codec.Equal(new(ev.Old().Spec.Tolerations), new(ev.New().Spec.Tolerations))
		}),
		controllers.Watches(func(ev informers.Event[*corev1.Node]) []reconcile.Request {
			e.note(ev.Key.Name, ev.New())
			if ev.Type == informers.Deleted || ev.Type == informers.Updated && codec.Equal(new(ev.Old().Spec.Taints), new(ev.New().Spec.Taints)) ||
				ev.Type == informers.Added && len(noExecute(ev.New())) == 0 {
				return nil
			}
			var out []reconcile.Request
			// A pod that cannot be read now is reconciled when it can.
			pods, _ := e.pods.OnNode(ev.Key.Name)
			for _, pod := range pods {
				out = append(out, pod.Key())
			}
			return out
		}))
	return err
}

func (e *evictor) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod, err := e.pods.Get(req)
	if apierrors.IsNotFound(err) {
		e.spare(req)
		return reconcile.Result{}, nil
	}
	if err != nil || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	var taints []corev1.Taint
	err = e.nodes.View(types.NamespacedName{Name: pod.Spec.NodeName}, func(n *corev1.Node) { taints = slices.Clone(noExecute(n)) })
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	now := time.Now()
	e.date(pod.Spec.NodeName, taints, now)
	stays, until := Tolerated(pod.Spec.Tolerations, taints, boundAt(pod), now)
	switch {
	case stays && until > 0:
		e.plan(req, eviction{pod.UID, now.Add(until)})
		return reconcile.Result{RequeueAfter: until}, nil
	case stays:
		e.spare(req)
		return reconcile.Result{}, nil
	}
	if was := e.plan(req, eviction{}); now.Before(was.at) {
		e.reportSpared(req, was.uid)
	}
	e.recorder.Eventf(pod, corev1.EventTypeNormal, "TaintManagerEviction", "Marking for deletion Pod %s", pod.Key())
	_, err = podcontrol.Evict(ctx, e.client, pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
	return reconcile.Result{}, err
}

// plan notes when a pod is to be evicted, with the zero value that it is not, and returns what was noted.
func (e *evictor) plan(pod types.NamespacedName, next eviction) (was eviction) {
	e.mu.Lock()
	defer e.mu.Unlock()
	was = e.later[pod]
	if next == (eviction{}) {
		delete(e.later, pod)
	} else {
		e.later[pod] = next
	}
	return was
}

// isPlanned reports whether a pod is to be evicted later.
func (e *evictor) isPlanned(pod types.NamespacedName) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, planned := e.later[pod]
	return planned
}

// spare takes back that a pod is to be evicted later, if it is.
func (e *evictor) spare(pod types.NamespacedName) {
	if was := e.plan(pod, eviction{}); was != (eviction{}) {
		e.reportSpared(pod, was.uid)
	}
}

// reportSpared says in an event that a pod, which may be gone, is not evicted at the time it was to be.
func (e *evictor) reportSpared(pod types.NamespacedName, uid types.UID) {
	about := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: uid}}
	e.recorder.Eventf(about, corev1.EventTypeNormal, "TaintManagerEviction", "Cancelling deletion of Pod %s", pod)
}

// note remembers since when a node has its taints; nil is a node that is gone.
func (e *evictor) note(name string, n *corev1.Node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.seen[name]
	delete(e.seen, name)
	if n == nil {
		return
	}
	now := map[corev1.Taint]time.Time{}
	for _, t := range noExecute(n) {
		t.TimeAdded = nil
		since, known := was[t]
		if !known {
			since = time.Now()
		}
		now[t] = since
	}
	if len(now) > 0 {
		e.seen[name] = now
	}
}

// date gives the taints of a node that have no timeAdded the time from which they count.
func (e *evictor) date(node string, taints []corev1.Taint, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range taints {
		if taints[i].TimeAdded != nil {
			continue
		}
		since, known := e.seen[node][taints[i]]
		if !known {
			since = now // the event is on its way, and has the pod looked at again
		}
		taints[i].TimeAdded = &metav1.Time{Time: since}
	}
}

// boundAt is since when a pod is on its node.
func boundAt(p *corev1.Pod) time.Time {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

func noExecute(n *corev1.Node) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			out = append(out, t)
		}
	}
	return out
}

// Tolerated reports whether a pod with these tolerations, on its node since bound, may stay under these
// NoExecute taints at now, and if so for how long (0: forever). The time counts from bound or from when the
// taint was added, whichever is later; a taint without timeAdded counts as added now.
func Tolerated(tolerations []corev1.Toleration, taints []corev1.Taint, bound, now time.Time) (stays bool, until time.Duration) {
	for i := range taints {
		limited, tolerated := false, false
		var seconds int64
		for j := range tolerations {
			t := &tolerations[j]
			if !nodefit.Matches(t, &taints[i]) {
				continue
			}
			tolerated = true
			if t.TolerationSeconds != nil && (!limited || *t.TolerationSeconds < seconds) {
				limited, seconds = true, max(*t.TolerationSeconds, 0)
			}
		}
		if !tolerated {
			return false, 0
		}
		if !limited {
			continue
		}
		added := now
		if taints[i].TimeAdded != nil {
			added = taints[i].TimeAdded.Time
		}
		if added.Before(bound) {
			added = bound
		}
		left := added.Add(time.Duration(seconds) * time.Second).Sub(now)
		if left <= 0 {
			return false, 0
		}
		if until == 0 || left < until {
			until = left
		}
	}
	return true, until
}
