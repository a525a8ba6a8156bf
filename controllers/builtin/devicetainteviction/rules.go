package devicetainteviction

import (
	"context"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// statusPeriod is the shortest time between two writes of the status of a rule whose spec has not changed.
const statusPeriod = 10 * time.Second

// addRules adds the controller that reports the progress of rules.
func (e *evictor) addRules(m *manager.Manager, rules *informers.Informer[*rule], o controllers.Options) error {
	c, err := controllers.Add(m, "device-taint-eviction-rules", reconcile.Func(e.reconcileRule), o,
		controllers.From(rules, controllers.Self, controllers.GenerationChanged), controllers.Watches(e.rulesOf, moved),
		controllers.Reads[*resourcev1.ResourceClaim](), controllers.Reads[*resourcev1.ResourceSlice]())
	if err != nil {
		return err
	}
	e.look = c.Enqueue
	return nil
}

// rulesOf are the rules that evict a pod.
func (e *evictor) rulesOf(ev informers.Event[*corev1.Pod]) []reconcile.Request {
	pod := ev.Object()
	if pod == nil || !podclaims.Used(pod) || pod.Spec.NodeName == "" {
		return nil
	}
	// What cannot be read now is reconciled when it can.
	rules, _ := e.evictingRules()
	due, _ := e.evictionOf(pod, rules)
	var out []reconcile.Request
	for _, r := range due.rules {
		out = append(out, reconcile.Request{Name: r.Name})
	}
	return out
}

// reconcileRule writes the condition of a rule.
func (e *evictor) reconcileRule(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r, err := e.rules.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	now := metav1.Now().Truncated()
	i := slices.IndexFunc(r.Status.Conditions, func(c metav1.Condition) bool { return c.Type == inProgress })
	if i >= 0 {
		have := &r.Status.Conditions[i]
		// The time changes with every change of the condition, as upstream.
		if left := statusPeriod - now.Sub(have.LastTransitionTime.Time); have.ObservedGeneration == r.Generation && left > 0 {
			return reconcile.Result{RequeueAfter: left}, nil
		}
	}
	seen, err := e.progress(r)
	if err != nil {
		return reconcile.Result{}, err
	}
	want := conditionOf(r, seen)
	switch {
	case i < 0:
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{})
		i = len(r.Status.Conditions) - 1
	default:
		want.LastTransitionTime = r.Status.Conditions[i].LastTransitionTime
		if r.Status.Conditions[i] == want {
			return again(seen), nil
		}
	}
	want.LastTransitionTime = now
	r.Status.Conditions[i] = want
	_, err = e.rulesAPI.UpdateStatus(ctx, r)
	return again(seen), apierrors.IgnoreNotFound(err)
}

// again has the status of a rule looked at again while pods are to be evicted.
func again(seen progress) reconcile.Result {
	if seen.pods > 0 && !seen.simulated {
		return reconcile.Result{RequeueAfter: statusPeriod}
	}
	return reconcile.Result{}
}

// progress counts what a rule does or, with the effect None, would do.
func (e *evictor) progress(r *rule) (seen progress, err error) {
	rules := []*rule{r}
	switch r.Spec.Taint.Effect {
	case resourcev1.DeviceTaintEffectNoExecute:
	case resourcev1.DeviceTaintEffectNone:
		would := codec.DeepCopy(r)
		would.Spec.Taint.Effect = resourcev1.DeviceTaintEffectNoExecute
		rules, seen.simulated = []*rule{would}, true
		if seen.published, err = e.countPublished(r); err != nil {
			return seen, err
		}
	default:
		return seen, nil
	}
	pods, namespaces := map[types.NamespacedName]bool{}, map[string]bool{}
	var failed error
	err = e.claimsUnder(r, func(c *resourcev1.ResourceClaim) bool {
		for i := range c.Status.Allocation.Devices.Results {
			if d := &c.Status.Allocation.Devices.Results[i]; r.Spec.DeviceSelector.Matches(d.Driver, d.Pool, d.Device) {
				seen.allocated++
			}
		}
		err := e.podsByClaim.View(c.Key().String(), func(p *corev1.Pod) bool {
			if !evictable(p) || pods[p.Key()] {
				return true
			}
			var due eviction
			if due, failed = e.evictionOf(p, rules); len(due.rules) > 0 {
				pods[p.Key()], namespaces[p.Namespace] = true, true
			}
			return failed == nil
		})
		failed = firstOf(failed, err)
		return failed == nil
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	seen.pods, seen.namespaces, seen.evicted = len(pods), len(namespaces), e.evicted[r.UID]
	return seen, firstOf(err, failed)
}

// countPublished counts the devices of current slices that a rule selects.
func (e *evictor) countPublished(r *rule) (n int, err error) {
	pools, err := e.slicesByPool.Values()
	if err != nil {
		return 0, err
	}
	for _, pool := range pools {
		var slices []*resourcev1.ResourceSlice
		err := e.slicesByPool.View(pool, func(s *resourcev1.ResourceSlice) bool {
			slices = append(slices, s)
			return true
		})
		if err != nil {
			return 0, err
		}
		for _, s := range newestOf(slices) {
			for i := range s.Spec.Devices {
				if r.Spec.DeviceSelector.Matches(s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Devices[i].Name) {
					n++
				}
			}
		}
	}
	return n, nil
}
