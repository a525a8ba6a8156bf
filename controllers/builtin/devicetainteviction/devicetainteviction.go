// Package devicetainteviction deletes pods that use devices with NoExecute taints which their claims do not
// tolerate, immediately or after the shortest tolerationSeconds of the matching tolerations. A taint is one
// of the device in a ResourceSlice of the pool's highest generation, or that of a DeviceTaintRule which
// selects the device; the time counts from its timeAdded.
//
// The condition EvictionInProgress of a rule says how many pods are still to be evicted and how many have
// been since the controller was started; with the effect None, how many NoExecute would evict. It changes
// with the spec of the rule, and otherwise every ten seconds at most.
//
// Unlike upstream's, a toleration without an effect tolerates NoExecute too, as the API says.
package devicetainteviction

import (
	"context"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of pods, and of rules, reconciled concurrently; 0 means 8.
	Concurrency int
	// Rules is to be set where DeviceTaintRules (resource.k8s.io/v1beta2) are served.
	Rules bool
}

type (
	rule   = resourcev1beta2.DeviceTaintRule
	device = resourcev1.DeviceRequestAllocationResult
)

type evictor struct {
	pods           informers.Lister[*corev1.Pod]
	podsByClaim    informers.Index[*corev1.Pod]
	podsAPI        *client.Client[*corev1.Pod]
	claims         informers.Lister[*resourcev1.ResourceClaim]
	claimsByPool   informers.Index[*resourcev1.ResourceClaim]
	claimsByDriver informers.Index[*resourcev1.ResourceClaim]
	slicesByPool   informers.Index[*resourcev1.ResourceSlice]
	rules          *informers.Lister[*rule] // nil: not served
	rulesAPI       *client.Client[*rule]
	// look has the status of a rule looked at.
	look     func(reconcile.Request)
	recorder *events.Recorder

	mu sync.Mutex
	// announced are the pods that are to be evicted later.
	announced map[types.NamespacedName]types.UID
	// evicted counts the pods evicted because of a rule.
	evicted map[types.UID]int
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 8
	}
	pods, claims := informers.For[*corev1.Pod](m.Informers()), informers.For[*resourcev1.ResourceClaim](m.Informers())
	e := &evictor{
		pods: pods.Lister(), podsByClaim: pods.Index(podclaims.ByClaim), podsAPI: client.For[*corev1.Pod](m.Conn()),
		claims: claims.Lister(), claimsByPool: claims.Index(claimsByPool), claimsByDriver: claims.Index(claimsByDriver),
		slicesByPool: informers.For[*resourcev1.ResourceSlice](m.Informers()).Index(slicesByPool),
		recorder:     m.Recorder("device-taint-eviction-controller"), announced: map[types.NamespacedName]types.UID{}, evicted: map[types.UID]int{},
	}
	o := controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}}
	sources := []controllers.Source{controllers.For(moved), controllers.Watches(e.usersOfClaim), controllers.Watches(e.usersOfPool)}
	if opts.Rules {
		gv := resourcev1beta2.GroupVersion
		rules := informers.ForResource[*rule](m.Informers(), client.Resource{GVR: gv.WithResource("devicetaintrules"), GVK: gv.WithKind("DeviceTaintRule")})
		e.rules, e.rulesAPI = new(rules.Lister()), client.ForResource[*rule](m.Conn(), rules.Client().Resource())
		sources = append(sources, controllers.From(rules, e.usersUnderRule))
		if err := e.addRules(m, rules, o); err != nil {
			return err
		}
	}
	_, err := controllers.Add(m, "device-taint-eviction", reconcile.Func(e.reconcile), o, sources...)
	return err
}

// claimsByPool and claimsByDriver file allocated claims under the pools and the drivers of their devices,
// slicesByPool slices under theirs. A pool is written as driver/pool.
var (
	claimsByPool = informers.DefineIndex("devicetainteviction.claims of pool", func(c *resourcev1.ResourceClaim) (out []string) {
		return devicesBy(c, func(d *device) string { return d.Driver + "/" + d.Pool })
	})
	claimsByDriver = informers.DefineIndex("devicetainteviction.claims of driver", func(c *resourcev1.ResourceClaim) (out []string) {
		return devicesBy(c, func(d *device) string { return d.Driver })
	})
	slicesByPool = informers.DefineIndex("devicetainteviction.slices", func(s *resourcev1.ResourceSlice) []string { return []string{poolOf(s)} })
)

func devicesBy(c *resourcev1.ResourceClaim, key func(*device) string) []string {
	seen := map[string]bool{}
	var out []string
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			if k := key(&a.Devices.Results[i]); !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return out
}

func poolOf(s *resourcev1.ResourceSlice) string { return s.Spec.Driver + "/" + s.Spec.Pool.Name }

// moved passes a pod with claims that may have to be evicted, or need not be any more.
func moved(e informers.Event[*corev1.Pod]) bool {
	if e.Type != informers.Updated {
		return e.Type == informers.Deleted || podclaims.Used(e.New())
	}
	before, after := e.Old(), e.New()
	return podclaims.Used(after) && (before.UID != after.UID || before.Spec.NodeName != after.Spec.NodeName ||
		evictable(before) != evictable(after) || !codec.Equal(new(before.Status.ResourceClaimStatuses), new(after.Status.ResourceClaimStatuses)))
}

// usersOfClaim are the pods that use a claim that is or was allocated. What cannot be read now is reconciled
// when it can.
func (e *evictor) usersOfClaim(ev informers.Event[*resourcev1.ResourceClaim]) []reconcile.Request {
	allocated := func(c *resourcev1.ResourceClaim) bool { return c != nil && c.Status.Allocation != nil }
	if !allocated(ev.Old()) && !allocated(ev.New()) {
		return nil
	}
	keys, _ := e.podsByClaim.Keys(ev.Key.String())
	return keys
}

// usersOfPool are the pods that use devices of the pool of a slice, if the slice may change their taints: its
// own, or those of another slice that it makes current or outdates.
func (e *evictor) usersOfPool(ev informers.Event[*resourcev1.ResourceSlice]) []reconcile.Request {
	before, after := ev.Old(), ev.New()
	if before != nil && after != nil && codec.Equal(&before.Spec, &after.Spec) {
		return nil
	}
	var out []reconcile.Request
	for i, s := range []*resourcev1.ResourceSlice{before, after} {
		if s == nil || i == 1 && before != nil && poolOf(before) == poolOf(after) {
			continue
		}
		keys, _ := e.claimsByPool.Keys(poolOf(s))
		out = e.appendUsers(out, keys)
	}
	return out
}

// usersUnderRule are the pods that use devices that a rule selects or has selected.
func (e *evictor) usersUnderRule(ev informers.Event[*rule]) []reconcile.Request {
	before, after := ev.Old(), ev.New()
	if before != nil && after != nil && before.UID == after.UID && codec.Equal(&before.Spec, &after.Spec) {
		return nil
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		e.forget(before.UID)
	}
	var out []reconcile.Request
	for _, r := range []*rule{before, after} {
		if r == nil || r.Spec.Taint.Effect != resourcev1.DeviceTaintEffectNoExecute {
			continue
		}
		_ = e.claimsUnder(r, func(c *resourcev1.ResourceClaim) bool {
			out = e.appendUsers(out, []types.NamespacedName{c.Key()})
			return true
		})
	}
	return out
}

func (e *evictor) appendUsers(out []reconcile.Request, claims []types.NamespacedName) []reconcile.Request {
	for _, claim := range claims {
		keys, _ := e.podsByClaim.Keys(claim.String())
		out = append(out, keys...)
	}
	return out
}

// claimsUnder calls f for the allocated claims with a device that a rule selects, until f returns false.
func (e *evictor) claimsUnder(r *rule, f func(*resourcev1.ResourceClaim) bool) error {
	s := r.Spec.DeviceSelector
	if s == nil {
		return nil
	}
	selected := func(c *resourcev1.ResourceClaim) bool {
		for i := range c.Status.Allocation.Devices.Results {
			if d := &c.Status.Allocation.Devices.Results[i]; s.Matches(d.Driver, d.Pool, d.Device) {
				return f(c)
			}
		}
		return true
	}
	switch {
	case s.Driver != nil && s.Pool != nil:
		return e.claimsByPool.View(*s.Driver+"/"+*s.Pool, selected)
	case s.Driver != nil:
		return e.claimsByDriver.View(*s.Driver, selected)
	}
	return e.claims.ViewAll(informers.ListOptions{}, func(c *resourcev1.ResourceClaim) bool { return c.Status.Allocation == nil || selected(c) })
}

// reconcile evicts a pod, or waits until it has to.
func (e *evictor) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod, err := e.pods.Get(req)
	if err != nil || !evictable(pod) {
		e.announce(req, "")
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	rules, err := e.evictingRules()
	if err != nil {
		return reconcile.Result{}, err
	}
	due, err := e.evictionOf(pod, rules)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !due.is() {
		if e.announce(req, "") == pod.UID {
			e.recorder.Eventf(pod, corev1.EventTypeNormal, "DeviceTaintManagerEviction", "Cancelling deletion")
		}
		return reconcile.Result{}, nil
	}
	if left := time.Until(due.at); left > 0 {
		e.announce(req, pod.UID)
		return reconcile.Result{RequeueAfter: left}, nil
	}
	e.announce(req, "")
	e.recorder.Eventf(pod, corev1.EventTypeNormal, "DeviceTaintManagerEviction", "Marking for deletion")
	deleted, err := podcontrol.Evict(ctx, e.podsAPI, pod, "DeletionByDeviceTaintManager", "Device Taint manager: deleting due to NoExecute taint")
	if deleted {
		for _, r := range due.rules {
			e.count(r.UID)
			e.look(reconcile.Request{Name: r.Name})
		}
	}
	return reconcile.Result{}, err
}

// evictionOf decides on the eviction of a pod under the taints of drivers and of rules.
func (e *evictor) evictionOf(pod *corev1.Pod, rules []*rule) (due eviction, err error) {
	for _, name := range podclaims.Names(pod) {
		var failed error
		err := e.claims.View(types.NamespacedName{Namespace: pod.Namespace, Name: name}, func(claim *resourcev1.ResourceClaim) {
			if inUse(pod, claim) {
				failed = evictionBy(&due, claim, e.published, rules)
			}
		})
		if err = apierrors.IgnoreNotFound(err); err != nil || failed != nil {
			return eviction{}, firstOf(err, failed)
		}
	}
	return due, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// published returns the taints of a device in the slices of its pool.
func (e *evictor) published(d *device) ([]resourcev1.DeviceTaint, error) {
	var slices []*resourcev1.ResourceSlice
	err := e.slicesByPool.View(d.Driver+"/"+d.Pool, func(s *resourcev1.ResourceSlice) bool {
		slices = append(slices, s)
		return true
	})
	return publishedTaints(slices, d.Device), err
}

// evictingRules are the rules that evict.
func (e *evictor) evictingRules() (out []*rule, err error) {
	if e.rules == nil {
		return nil, nil
	}
	err = e.rules.ViewAll(informers.ListOptions{}, func(r *rule) bool {
		if r.Spec.Taint.Effect == resourcev1.DeviceTaintEffectNoExecute {
			out = append(out, r)
		}
		return true
	})
	return out, err
}

// announce notes that a pod is to be evicted later, or, with an empty uid, that it is not. It returns the pod
// of that name for which it was noted before.
func (e *evictor) announce(pod types.NamespacedName, uid types.UID) (before types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before = e.announced[pod]
	if uid == "" {
		delete(e.announced, pod)
	} else {
		e.announced[pod] = uid
	}
	return before
}

// count notes that a pod was evicted because of a rule.
func (e *evictor) count(r types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.evicted[r]++
}

// forget ends the count of a rule that is gone.
func (e *evictor) forget(r types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.evicted, r)
}
