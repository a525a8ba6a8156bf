// Package nodelifecycle monitors nodes. It sets the Ready condition of a node to Unknown if its Lease and
// status are stale, and turns conditions into taints that keep pods off a node (NoSchedule) or evict them
// (NoExecute). Staleness is measured from when this process observed a change, never by a node's clock.
//
// A node that has never reported whether it is ready keeps the taint not-ready that it was created with;
// upstream's controller removes that until it sets the condition to Unknown, so that pods go to a node of
// which nothing is known.
package nodelifecycle

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
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
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// The keys of the taints that the controller adds and removes.
const (
	TaintNotReady           = "node.kubernetes.io/not-ready"
	TaintUnreachable        = "node.kubernetes.io/unreachable"
	TaintUnschedulable      = "node.kubernetes.io/unschedulable"
	TaintMemoryPressure     = "node.kubernetes.io/memory-pressure"
	TaintDiskPressure       = "node.kubernetes.io/disk-pressure"
	TaintPIDPressure        = "node.kubernetes.io/pid-pressure"
	TaintNetworkUnavailable = "node.kubernetes.io/network-unavailable"
)

// Options of the controller.
type Options struct {
	// GracePeriod is the time without a renewed Lease or status after which a node is marked Unknown; 0 means
	// 50 s.
	GracePeriod time.Duration
	// StartupGracePeriod is the same for a node that has never reported a status; 0 means 60 s.
	StartupGracePeriod time.Duration
	// Period is the time between checks of a node; 0 means 5 s.
	Period time.Duration
	// EvictionRate is the number of nodes per second and zone that get a NoExecute taint; 0 means 0.1.
	EvictionRate float64
	// SecondaryEvictionRate replaces EvictionRate in zones with more than LargeZone nodes of which at least
	// UnhealthyThreshold are not ready; 0 means 0.01. In smaller such zones no node gets a taint.
	SecondaryEvictionRate float64
	// UnhealthyThreshold is the fraction of nodes that are not ready; 0 means 0.55.
	UnhealthyThreshold float64
	// LargeZone is the number of nodes above which a zone is large; 0 means 50.
	LargeZone int
}

func (opts *Options) setDefaults() {
	opts.GracePeriod = orDuration(opts.GracePeriod, 50*time.Second)
	opts.StartupGracePeriod = orDuration(opts.StartupGracePeriod, time.Minute)
	opts.Period = orDuration(opts.Period, 5*time.Second)
	if opts.EvictionRate == 0 {
		opts.EvictionRate = 0.1
	}
	if opts.SecondaryEvictionRate == 0 {
		opts.SecondaryEvictionRate = 0.01
	}
	if opts.UnhealthyThreshold == 0 {
		opts.UnhealthyThreshold = 0.55
	}
	if opts.LargeZone == 0 {
		opts.LargeZone = 50
	}
}

func orDuration(d, unset time.Duration) time.Duration {
	if d == 0 {
		return unset
	}
	return d
}

type lifecycle struct {
	opts     Options
	nodes    informers.Lister[*corev1.Node]
	leases   informers.Lister[*coordinationv1.Lease]
	pods     podindex.Pods
	client   *client.Client[*corev1.Node]
	podsAPI  *client.Client[*corev1.Pod]
	recorder *events.Recorder
	zones    zones
	begin    sync.Once // to survey

	mu   sync.Mutex
	seen map[string]sign // by node name
}

// sign is the last sign of life of a node, and when it was seen here.
type sign struct {
	renewed, heartbeat time.Time
	at                 time.Time
	uid                types.UID // of the node
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	opts.setDefaults()
	l := &lifecycle{
		opts: opts, nodes: informers.For[*corev1.Node](m.Informers()).Lister(), leases: informers.For[*coordinationv1.Lease](m.Informers()).Lister(),
		pods: podindex.Of(m.Informers()), client: client.For[*corev1.Node](m.Conn()), podsAPI: client.For[*corev1.Pod](m.Conn()),
		recorder: m.Recorder("node-controller"), seen: map[string]sign{},
	}
	_, err := controllers.Add(m, "node-lifecycle", reconcile.Func(l.reconcile), controllers.Options{Options: controller.Options{Concurrency: 8}},
		controllers.For[*corev1.Node]())
	return err
}

func (l *lifecycle) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	l.begin.Do(l.survey)
	node, err := l.nodes.Get(req)
	if apierrors.IsNotFound(err) {
		l.forget(req.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if node, err = l.label(ctx, node); err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	now := time.Now()
	fresh, err := l.observe(node, now)
	if err != nil {
		return reconcile.Result{}, err
	}
	if grace := l.grace(node); now.Sub(fresh) > grace {
		if node, err = l.markUnknown(ctx, node, now); err != nil {
			return reconcile.Result{}, err
		}
	}
	ready := conditionStatus(node, corev1.NodeReady)
	evicted := hasTaint(node, TaintNotReady, corev1.TaintEffectNoExecute) || hasTaint(node, TaintUnreachable, corev1.TaintEffectNoExecute)
	// Silence is judged when all nodes of the zone have been looked at since: they may all be silent.
	c := find(node, corev1.NodeReady)
	early := !evicted && ready == corev1.ConditionUnknown && now.Sub(c.LastTransitionTime.Time) <= l.opts.Period
	mayEvict := l.zones.allow(nodefit.Zone(node), node.Name, ready == corev1.ConditionTrue, evicted, early, &l.opts, now)
	if err := l.taint(ctx, node, now, mayEvict); err != nil {
		return reconcile.Result{}, err
	}
	if ready != corev1.ConditionTrue {
		if err := l.unreadyPods(ctx, node.Name); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: l.opts.Period}, nil
}

// survey notes the state of every node before the first is judged, so that after a restart the one that is
// looked at first is not taken for all.
func (l *lifecycle) survey() {
	// The nodes have been read: the controller begins after that.
	_ = l.nodes.ViewAll(informers.ListOptions{}, func(n *corev1.Node) bool {
		l.zones.note(nodefit.Zone(n), n.Name, conditionStatus(n, corev1.NodeReady) == corev1.ConditionTrue)
		return true
	})
}

func (l *lifecycle) forget(name string) {
	l.mu.Lock()
	last, known := l.seen[name]
	delete(l.seen, name)
	l.mu.Unlock()
	l.zones.forget(name)
	if known {
		l.event(name, last.uid, "RemovingNode", "Removing Node %s from Controller")
	}
}

// event records an event about a node, of which note has the name. It is about all its versions.
func (l *lifecycle) event(name string, uid types.UID, reason, note string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
	l.recorder.Eventf(node, corev1.EventTypeNormal, reason, "Node %s event: "+note, name, name)
}

func (l *lifecycle) grace(node *corev1.Node) time.Duration {
	if c := find(node, corev1.NodeReady); c == nil || c.LastHeartbeatTime.IsZero() {
		return l.opts.StartupGracePeriod
	}
	return l.opts.GracePeriod
}

// observe returns when the node last showed life, by the local clock.
func (l *lifecycle) observe(node *corev1.Node, now time.Time) (time.Time, error) {
	s := sign{uid: node.UID}
	if c := find(node, corev1.NodeReady); c != nil {
		s.heartbeat = c.LastHeartbeatTime.Time
	}
	err := l.leases.View(types.NamespacedName{Namespace: "kube-node-lease", Name: node.Name}, func(lease *coordinationv1.Lease) {
		if lease.Spec.RenewTime != nil {
			s.renewed = lease.Spec.RenewTime.Time
		}
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return time.Time{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	had, known := l.seen[node.Name]
	if !known {
		l.event(node.Name, node.UID, "RegisteredNode", "Registered Node %s in Controller")
	}
	if known && had.renewed.Equal(s.renewed) && (had.heartbeat.Equal(s.heartbeat) || conditionStatus(node, corev1.NodeReady) == corev1.ConditionUnknown) {
		return had.at, nil
	}
	s.at = now
	l.seen[node.Name] = s
	return now, nil
}

// markUnknown sets the conditions that a kubelet reports to Unknown.
func (l *lifecycle) markUnknown(ctx context.Context, node *corev1.Node, now time.Time) (*corev1.Node, error) {
	next := unknown(node, now)
	if next == nil {
		return node, nil
	}
	l.recorder.Eventf(node, corev1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", node.Name)
	return l.client.UpdateStatus(ctx, next)
}

// taint writes the taints that a node should have, if they are others.
func (l *lifecycle) taint(ctx context.Context, node *corev1.Node, now time.Time, mayEvict bool) error {
	taints, changed := taintsOf(node, mayEvict, now)
	if !changed {
		return nil
	}
	next := codec.DeepCopy(node)
	next.Spec.Taints = taints
	_, err := l.client.Update(ctx, next)
	return apierrors.IgnoreNotFound(err)
}

// label makes the beta labels of a node say what the stable ones do.
func (l *lifecycle) label(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	next := betaLabels(node)
	if next == nil {
		return node, nil
	}
	return l.client.Update(ctx, next)
}

// unreadyPods takes the pods of a node that is not ready out of service.
func (l *lifecycle) unreadyPods(ctx context.Context, node string) error {
	pods, err := l.pods.OnNode(node)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		if i < 0 || pod.Status.Conditions[i].Status != corev1.ConditionTrue {
			continue
		}
		pod = codec.DeepCopy(pod)
		c := &pod.Status.Conditions[i]
		c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.Now()
		if _, err := l.podsAPI.UpdateStatus(ctx, pod); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		l.recorder.Eventf(pod, corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
	return nil
}

func same(a, b corev1.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect }

func hasTaint(node *corev1.Node, key string, effect corev1.TaintEffect) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key && t.Effect == effect })
}

func find(node *corev1.Node, t corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// conditionStatus is "" for a condition that was never reported.
func conditionStatus(node *corev1.Node, t corev1.NodeConditionType) corev1.ConditionStatus {
	if c := find(node, t); c != nil {
		return c.Status
	}
	return ""
}
