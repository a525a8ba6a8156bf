// Package podgc removes orphaned pods, whose node does not exist, terminating pods that were never scheduled,
// terminating pods of nodes that are not ready and have the taint node.kubernetes.io/out-of-service, and the
// oldest terminated pods, evicted ones first, if there are too many.
package podgc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
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

// Options of the controller.
type Options struct {
	// Period is the time between collections; 0 means 20 s.
	Period time.Duration
	// Quarantine is how long a node must not exist before its pods are removed; 0 means 40 s.
	Quarantine time.Duration
	// TerminatedThreshold is the number of terminated pods that are kept; 0 means 12,500, a negative value
	// means all.
	TerminatedThreshold int
}

type collector struct {
	opts    Options
	log     *slog.Logger
	pods    informers.Lister[*corev1.Pod]
	nodes   informers.Lister[*corev1.Node]
	podsAPI *client.Client[*corev1.Pod]
	nodeAPI *client.Client[*corev1.Node]
	sync    []func(context.Context) error
	// failures of one look
	failures []error
	missing  map[string]time.Time // nodes that pods name and that are not there, and since when that is known
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Period == 0 {
		opts.Period = 20 * time.Second
	}
	if opts.Quarantine == 0 {
		opts.Quarantine = 40 * time.Second
	}
	if opts.TerminatedThreshold == 0 {
		opts.TerminatedThreshold = 12500
	}
	pods, nodes := informers.For[*corev1.Pod](m.Informers()), informers.For[*corev1.Node](m.Informers())
	c := &collector{opts: opts, log: m.Logger(), pods: pods.Lister(), nodes: nodes.Lister(), podsAPI: client.For[*corev1.Pod](m.Conn()),
		nodeAPI: client.For[*corev1.Node](m.Conn()), sync: []func(context.Context) error{pods.WaitForSync, nodes.WaitForSync}, missing: map[string]time.Time{}}
	begin := make(chan reconcile.Request, 1)
	begin <- reconcile.Request{Name: "all"}
	close(begin)
	_, err := controllers.Add(m, "pod-garbage-collector", reconcile.Func(c.reconcile), controllers.Options{}, controllers.Channel(begin))
	return err
}

// reconcile looks at all pods; there is one key.
func (c *collector) reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	for _, wait := range c.sync {
		if err := wait(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	c.failures = nil
	c.collect(ctx)
	if len(c.failures) > 0 && ctx.Err() == nil {
		c.log.Warn("delete pods failed", "pods", len(c.failures), "err", c.failures[0])
	}
	return reconcile.Result{RequeueAfter: c.opts.Period}, nil
}

// collect looks once. What fails is tried again the next time.
func (c *collector) collect(ctx context.Context) {
	// By keys: a node that cannot be decoded is there all the same.
	keys, err := c.nodes.Keys(informers.ListOptions{})
	if err != nil {
		c.log.Warn("list nodes failed", "err", err)
		return
	}
	nodes := make(map[string]bool, len(keys))
	for _, key := range keys {
		nodes[key.Name] = true
	}
	outOfService := c.outOfService()
	var ended, stuck []*corev1.Pod
	onNode := map[string][]*corev1.Pod{}
	err = c.pods.ViewAll(informers.ListOptions{}, func(p *corev1.Pod) bool {
		switch {
		case p.Spec.NodeName != "" && !nodes[p.Spec.NodeName]:
			onNode[p.Spec.NodeName] = append(onNode[p.Spec.NodeName], p)
		case p.DeletionTimestamp != nil && (p.Spec.NodeName == "" || outOfService[p.Spec.NodeName]):
			stuck = append(stuck, p)
		case p.HasEnded():
			ended = append(ended, p)
		}
		return true
	})
	if err != nil {
		// What is known of the others still holds.
		c.log.Warn("list pods failed", "err", err)
	}
	if surplus := len(ended) - c.opts.TerminatedThreshold; c.opts.TerminatedThreshold >= 0 && surplus > 0 {
		slices.SortFunc(ended, func(a, b *corev1.Pod) int {
			return cmp.Or(rank(a)-rank(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
		})
		for _, p := range ended[:surplus] {
			c.remove(ctx, p, nil)
		}
	}
	for _, p := range stuck {
		c.remove(ctx, p, nil)
	}
	c.orphans(ctx, onNode)
}

// orphans removes the pods of nodes that have been gone for long enough, which is asked once more of the
// server.
func (c *collector) orphans(ctx context.Context, onNode map[string][]*corev1.Pod) {
	now := time.Now()
	for name := range c.missing {
		if onNode[name] == nil {
			delete(c.missing, name)
		}
	}
	for name, pods := range onNode {
		since, known := c.missing[name]
		if !known {
			c.missing[name] = now
			continue
		}
		if now.Sub(since) < c.opts.Quarantine {
			continue
		}
		if _, err := c.nodeAPI.Get(ctx, types.NamespacedName{Name: name}); !apierrors.IsNotFound(err) {
			continue
		}
		for _, p := range pods {
			c.remove(ctx, p, &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC",
				Message: "PodGC: node no longer exists", LastTransitionTime: metav1.Now(), ObservedGeneration: p.Generation})
		}
	}
}

// outOfService returns the nodes whose pods will not end: not ready, and with the taint that says so. A node
// that cannot be decoded is not among them.
func (c *collector) outOfService() map[string]bool {
	out := map[string]bool{}
	err := c.nodes.ViewAll(informers.ListOptions{}, func(n *corev1.Node) bool {
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }) &&
			!slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) {
			out[n.Name] = true
		}
		return true
	})
	if err != nil {
		c.log.Warn("list nodes failed", "err", err)
	}
	return out
}

// rank of a pod that has ended: those with the least go first.
func rank(p *corev1.Pod) int {
	if p.Status.Phase == corev1.PodFailed && p.Status.Reason == "Evicted" {
		return 0
	}
	return 1
}

// remove marks a pod that had not ended as failed, so that it is counted as failed, and deletes it without
// grace.
func (c *collector) remove(ctx context.Context, p *corev1.Pod, why *corev1.PodCondition) {
	if !p.HasEnded() {
		next := codec.DeepCopy(p)
		next.Status.Phase = corev1.PodFailed
		if why != nil {
			next.Status.Conditions = slices.DeleteFunc(next.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == why.Type })
			next.Status.Conditions = append(next.Status.Conditions, *why)
		}
		if err := c.fail(ctx, next); err != nil {
			c.failed(p, err)
			return
		}
	}
	c.failed(p, c.podsAPI.Delete(ctx, p.Key(), client.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.UID}}))
}

// failed notes what is to be tried again at the next look, but not that a pod was gone or has changed, which
// that will see.
func (c *collector) failed(p *corev1.Pod, err error) {
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		c.failures = append(c.failures, fmt.Errorf("pod %s: %w", p.Key(), err))
	}
}

// fail writes what the status of a pod has become. It is a patch because the controller's role allows no
// update.
func (c *collector) fail(ctx context.Context, p *corev1.Pod) error {
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID, "resourceVersion": p.ResourceVersion},
		"status":   map[string]any{"phase": p.Status.Phase, "conditions": p.Status.Conditions, "observedGeneration": p.Generation},
	})
	if err != nil {
		return err
	}
	_, err = c.podsAPI.Patch(ctx, p.Key(), client.Patch{Type: types.MergePatchType, Data: data}, client.PatchOptions{Subresource: "status"})
	return err
}
