// Package horizontalpodautoscaler sets the number of replicas of a scale subresource to what keeps metrics of
// its pods, or others, at their targets.
//
// Every [Options.SyncPeriod] it reads the metrics of an autoscaler, computes a number of replicas from each
// and takes the greatest (formula.go, pure), limits it by recent recommendations and the rates of the
// behavior (limits.go, pure), writes the scale if it changes, and the status. Values come from [Metrics],
// which are those that the server serves unless the options have others. Without any, the number of replicas
// stays, and the condition ScalingActive says why.
//
// Recent recommendations are kept in memory. A process that begins takes the current number as recommended.
package horizontalpodautoscaler

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller. Those without a value have that of kube-controller-manager.
type Options struct {
	// Concurrency is the number of autoscalers reconciled concurrently; 0 means 5.
	Concurrency int
	// SyncPeriod is how often an autoscaler is reconciled; 0 means 15 s.
	SyncPeriod time.Duration
	// Tolerance is how far usage may be from its target without a change, as a fraction of it, unless the
	// autoscaler has its own; 0 means 0.1.
	Tolerance float64
	// DownscaleStabilization is how long a greater recommendation keeps the number of replicas up, unless the
	// autoscaler has its own; 0 means 5 minutes.
	DownscaleStabilization time.Duration
	// CPUInitializationPeriod is how long after its start a pod's use of CPU counts only while it is ready; 0
	// means 5 minutes.
	CPUInitializationPeriod time.Duration
	// InitialReadinessDelay is how long after its start a pod that is not ready counts as one that never was;
	// 0 means 30 s.
	InitialReadinessDelay time.Duration
	// Metrics are where values come from; nil means what the server serves, see FromAPI.
	Metrics Metrics
}

type autoscalers struct {
	opts     Options
	list     informers.Lister[*autoscalingv2.HorizontalPodAutoscaler]
	api      *client.Client[*autoscalingv2.HorizontalPodAutoscaler]
	pods     controllers.Labelled[*corev1.Pod]
	conn     client.Conn
	find     *discovery.Client
	recorder *events.Recorder

	mu        sync.Mutex
	histories map[types.NamespacedName]*history
	// selectors are those of the scales that autoscalers have, by namespace and name.
	selectors map[string]map[string]labels.Selector
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	opts.SyncPeriod = cmp.Or(opts.SyncPeriod, 15*time.Second)
	opts.Tolerance = cmp.Or(opts.Tolerance, 0.1)
	opts.DownscaleStabilization = cmp.Or(opts.DownscaleStabilization, 5*time.Minute)
	opts.CPUInitializationPeriod = cmp.Or(opts.CPUInitializationPeriod, 5*time.Minute)
	opts.InitialReadinessDelay = cmp.Or(opts.InitialReadinessDelay, 30*time.Second)
	if opts.Metrics == nil {
		opts.Metrics = FromAPI(m.Conn())
	}
	a := &autoscalers{opts: opts, conn: m.Conn(), find: discovery.New(m.Conn(), discovery.Options{}), recorder: m.Recorder("horizontal-pod-autoscaler"),
		list: informers.For[*autoscalingv2.HorizontalPodAutoscaler](m.Informers()).Lister(), api: client.For[*autoscalingv2.HorizontalPodAutoscaler](m.Conn()),
		pods: controllers.LabelledIn[*corev1.Pod](m.Informers()), histories: map[types.NamespacedName]*history{}, selectors: map[string]map[string]labels.Selector{}}
	_, err := controllers.Add(m, "horizontal-pod-autoscaler", reconcile.Func(a.reconcile),
		controllers.Options{Options: controller.Options{Concurrency: cmp.Or(opts.Concurrency, 5)}},
		controllers.For(specChanged), controllers.Reads[*corev1.Pod]())
	return err
}

// specChanged passes what the period does not: new and deleted autoscalers, and other specs.
func specChanged(e informers.Event[*autoscalingv2.HorizontalPodAutoscaler]) bool {
	return e.Type != informers.Updated || !codec.Equal(&e.Old().Spec, &e.New().Spec)
}

func (a *autoscalers) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	hpa, err := a.list.Get(req)
	if apierrors.IsNotFound(err) {
		a.forget(req)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	s := &step{hpa: hpa, status: *codec.DeepCopy(&hpa.Status), now: time.Now()}
	a.scale(ctx, s)
	for _, n := range s.notes {
		a.recorder.Event(hpa, n.typ, n.reason, n.message)
	}
	if !codec.Equal(&s.status, &hpa.Status) {
		next := codec.DeepCopy(hpa)
		next.Status = s.status
		if _, err := a.api.UpdateStatus(ctx, next); apierrors.IgnoreNotFound(err) != nil {
			a.recorder.Event(hpa, corev1.EventTypeWarning, "FailedUpdateStatus", err.Error())
			return reconcile.Result{}, fmt.Errorf("horizontalpodautoscaler: status of %s: %w", req, err)
		}
	}
	return reconcile.Result{RequeueAfter: a.opts.SyncPeriod}, nil
}

// scale does one step of an autoscaler. What fails is in its status and events, and tried again a period
// later.
func (a *autoscalers) scale(ctx context.Context, s *step) {
	target, scale, err := a.scaleOf(ctx, s.hpa)
	if err != nil {
		s.note(corev1.EventTypeWarning, "FailedGetScale", err.Error())
		s.set(autoscalingv2.AbleToScale, false, reason{"FailedGetScale", "the HPA controller was unable to get the target's current scale: " + err.Error()})
		return
	}
	s.set(autoscalingv2.AbleToScale, true, reason{"SucceededGetScale", "the HPA controller was able to get the target's current scale"})
	h := a.history(s.hpa.Key())
	current := scale.Spec.Replicas
	h.begin(current, s.now)
	wanted, why, ok := a.wanted(ctx, s, h, scale)
	if !ok {
		s.finish(current, s.hpa.Status.DesiredReplicas)
		return
	}
	if wanted == current {
		s.finish(current, wanted)
		return
	}
	if err := a.rescale(ctx, target, s.hpa, scale, wanted); err != nil {
		s.note(corev1.EventTypeWarning, "FailedRescale", fmt.Sprintf("New size: %d; reason: %s; error: %v", wanted, why, err))
		s.set(autoscalingv2.AbleToScale, false, reason{"FailedUpdateScale", "the HPA controller was unable to update the target scale: " + err.Error()})
		s.finish(current, s.hpa.Status.DesiredReplicas)
		return
	}
	s.set(autoscalingv2.AbleToScale, true, reason{"SucceededRescale", fmt.Sprintf("the HPA controller was able to update the target scale to %d", wanted)})
	s.note(corev1.EventTypeNormal, "SuccessfulRescale", fmt.Sprintf("New size: %d; reason: %s", wanted, why))
	if b := s.hpa.Spec.Behavior; b != nil {
		h.scaled(wanted-current, s.now, longest(b))
	}
	s.finish(current, wanted)
	s.status.LastScaleTime = new(metav1.NewTime(s.now).Truncated())
}

// wanted computes the number of replicas and why it changes; ok is false if it cannot be computed.
func (a *autoscalers) wanted(ctx context.Context, s *step, h *history, scale *autoscalingv1.Scale) (n int32, why string, ok bool) {
	b := &bounds{current: scale.Spec.Replicas, least: 1, most: s.hpa.Spec.MaxReplicas, behavior: s.hpa.Spec.Behavior, window: a.opts.DownscaleStabilization, now: s.now}
	if s.hpa.Spec.MinReplicas != nil {
		b.least = *s.hpa.Spec.MinReplicas
	}
	switch {
	case b.current == 0:
		s.set(autoscalingv2.ScalingActive, false, reason{"ScalingDisabled", "scaling is disabled since the replica count of the target is zero"})
		return 0, "", true
	case b.current > b.most:
		return b.most, "Current number of replicas above Spec.MaxReplicas", true
	case b.current < b.least:
		return b.least, "Current number of replicas below Spec.MinReplicas", true
	}
	best, ok := a.measure(ctx, s, scale)
	if !ok {
		return 0, "", false
	}
	switch {
	case best.replicas > b.current:
		why = best.name + " above target"
	case best.replicas < b.current:
		why = "All metrics below target"
	}
	n, stable, limited, bound := h.limit(best.replicas, b)
	s.set(autoscalingv2.AbleToScale, true, stable)
	s.set(autoscalingv2.ScalingLimited, limited, bound)
	return n, why, true
}

// scaleOf returns the scale subresource of an autoscaler's target, and its current scale.
func (a *autoscalers) scaleOf(ctx context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler) (*client.Sub[*autoscalingv1.Scale], *autoscalingv1.Scale, error) {
	ref := hpa.Spec.ScaleTargetRef
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, nil, err
	}
	r, err := a.find.ForKind(ctx, schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, gv.Version)
	if err != nil {
		// The version may not be served any more: another one does as well.
		if r, err = a.find.ForKind(ctx, schema.GroupKind{Group: gv.Group, Kind: ref.Kind}); err != nil {
			return nil, nil, err
		}
	}
	target := client.Subresource[*autoscalingv1.Scale](client.ForResource[*metav1.Unstructured](a.conn, r.Client()), "scale")
	scale, err := target.Get(ctx, types.NamespacedName{Namespace: hpa.Namespace, Name: ref.Name})
	return target, scale, err
}

// rescale writes a number of replicas, and tries again if the target has changed meanwhile.
func (a *autoscalers) rescale(ctx context.Context, target *client.Sub[*autoscalingv1.Scale], hpa *autoscalingv2.HorizontalPodAutoscaler, scale *autoscalingv1.Scale, n int32) error {
	key := types.NamespacedName{Namespace: hpa.Namespace, Name: hpa.Spec.ScaleTargetRef.Name}
	for tries := 0; ; tries++ {
		scale.Spec.Replicas = n
		_, err := target.Update(ctx, key, scale)
		if !apierrors.IsConflict(err) || tries == 4 {
			return err
		}
		if scale, err = target.Get(ctx, key); err != nil {
			return err
		}
	}
}

func (a *autoscalers) history(key types.NamespacedName) *history {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.histories[key]
	if h == nil {
		h = &history{}
		a.histories[key] = h
	}
	return h // used for one key by one worker at a time
}

func (a *autoscalers) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.histories, key)
	delete(a.selectors[key.Namespace], key.Name)
	if len(a.selectors[key.Namespace]) == 0 {
		delete(a.selectors, key.Namespace)
	}
}

// others returns the autoscalers of a namespace besides hpa whose targets select one of the pods, and
// remembers the selector of hpa's target.
func (a *autoscalers) others(hpa *autoscalingv2.HorizontalPodAutoscaler, selector labels.Selector, pods []*corev1.Pod) (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	in := a.selectors[hpa.Namespace]
	if in == nil {
		in = map[string]labels.Selector{}
		a.selectors[hpa.Namespace] = in
	}
	in[hpa.Name] = selector
	for name, other := range in {
		if name == hpa.Name {
			continue
		}
		for _, p := range pods {
			if other.Matches(p.Labels) {
				names = append(names, hpa.Namespace+"/"+name)
				break
			}
		}
	}
	return names
}
