package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/dynamic"
)

// pacer spreads operations evenly; nil does not wait.
type pacer struct{ *time.Ticker }

func pace(perSecond int) *pacer {
	if perSecond == 0 {
		return nil
	}
	return &pacer{time.NewTicker(time.Second / time.Duration(perSecond))}
}

func (p *pacer) wait(ctx context.Context) error {
	if p == nil {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.C:
		return nil
	}
}

func (p *pacer) stop() {
	if p != nil {
		p.Stop()
	}
}

// createPods creates pods and waits until they are scheduled, or keeps creating and deleting them.
func (r *run) createPods(ctx context.Context, namespace string, s *step) error {
	count := deref(s.Count, 0)
	if s.CollectMetrics {
		if err := r.start(ctx, namespace, []string{namespace}, nil); err != nil {
			return err
		}
	}
	if s.SteadyState {
		if err := r.steady(ctx, namespace, s); err != nil {
			return err
		}
	} else {
		if err := r.podsOf(ctx, namespace, s, 0); err != nil {
			return err
		}
		if s.SkipWaitToCompletion {
			r.awaited[namespace] += count
			return nil
		}
		waiting, cancel := context.WithTimeout(ctx, r.Patience)
		defer cancel()
		if err := r.pods.wait(waiting, namespace, nil, count, false); err != nil {
			return err
		}
	}
	if s.CollectMetrics {
		return r.stop(ctx)
	}
	return nil
}

// podsOf creates the pods of a step once. Their volumes have names that begin with their number, from first.
func (r *run) podsOf(ctx context.Context, namespace string, s *step, first int) error {
	count := deref(s.Count, 0)
	return each(ctx, r.Conns, count, func(ctx context.Context, conn client.Conn, i int) error {
		p := usualPod()
		if s.object != nil {
			p = &corev1.Pod{}
			if err := s.object.decode(p, i, count); err != nil {
				return err
			}
		}
		p.Namespace = namespace
		if s.claim != nil {
			if err := r.volumeOf(ctx, conn, s, p, first+i); err != nil {
				return err
			}
		}
		begun := time.Now()
		got, err := client.For[*corev1.Pod](conn).Create(ctx, p)
		if err != nil {
			return fmt.Errorf("pod %d: %w", i, err)
		}
		r.pods.made(types.NamespacedName{Namespace: namespace, Name: got.Name}, begun)
		return nil
	})
}

// usualPod is the pod of operations that name no template.
func usualPod() *corev1.Pod {
	needs := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("500Mi")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "pause", Image: "pause",
			Ports:     []corev1.ContainerPort{{ContainerPort: 80}},
			Resources: corev1.ResourceRequirements{Limits: needs, Requests: needs},
		}}},
	}
}

// volumeOf creates a volume and a claim that are bound to each other, for a pod.
func (r *run) volumeOf(ctx context.Context, conn client.Conn, s *step, p *corev1.Pod, i int) error {
	claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := errors.Join(s.claim.decode(claim, 0, 1), s.volume.decode(volume, 0, 1)); err != nil {
		return err
	}
	claim.Namespace, claim.Name = p.Namespace, fmt.Sprintf("pvc-%d", i)
	volume.Name = fmt.Sprintf("%s-vol-%d", p.Namespace, i)
	switch {
	case volume.Spec.CSI != nil:
		volume.Spec.CSI.VolumeHandle = volume.Name
	case volume.Spec.AWSElasticBlockStore != nil:
		volume.Spec.AWSElasticBlockStore.VolumeID = fmt.Sprintf("vol-%d", i)
	}
	claim.Spec.VolumeName = volume.Name
	volume.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name}
	claims, volumes := client.For[*corev1.PersistentVolumeClaim](conn), client.For[*corev1.PersistentVolume](conn)
	claim, err := claims.Create(ctx, claim)
	if err != nil {
		return fmt.Errorf("claim %d: %w", i, err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if _, err = claims.UpdateStatus(ctx, claim); err != nil {
		return fmt.Errorf("status of claim %d: %w", i, err)
	}
	if volume, err = volumes.Create(ctx, volume); err != nil {
		return fmt.Errorf("volume %d: %w", i, err)
	}
	r.made.add(volumes.Resource().GVR, volume.Name)
	volume.Status.Phase = corev1.VolumeBound
	if _, err = volumes.UpdateStatus(ctx, volume); err != nil {
		return fmt.Errorf("status of volume %d: %w", i, err)
	}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{
		Name:         "vol",
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}},
	})
	return nil
}

// steady creates the pods of a step again as often as all of them have been scheduled, for its duration.
func (r *run) steady(ctx context.Context, namespace string, s *step) error {
	ends := time.Now().Add(s.Duration.Duration)
	timed, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	count, rounds := deref(s.Count, 0), 0
	all := client.ListOptions{Namespace: namespace}
	now, background := int64(0), metav1.DeletePropagationBackground
	for {
		err := r.podsOf(timed, namespace, s, rounds*count)
		if err == nil {
			err = r.pods.wait(timed, namespace, nil, count, false)
		}
		if err == nil {
			rounds++
			err = client.For[*corev1.Pod](r.Conns[0]).DeleteCollection(timed, all, client.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: background})
		}
		for err == nil {
			scheduled, attempted, changed := r.pods.count(namespace, nil)
			if scheduled+attempted == 0 {
				break
			}
			select {
			case <-timed.Done():
				err = timed.Err()
			case <-changed:
			}
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case timed.Err() != nil && rounds == 0:
			return fmt.Errorf("not all %d pods were scheduled once within %v", count, s.Duration.Duration)
		case timed.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}

// deletePods deletes pods at once, or one after the other, waiting for the requests or not.
func (r *run) deletePods(ctx context.Context, s *step) error {
	remove := func() error {
		if s.DeletePodsPerSecond == 0 {
			selected := client.ListOptions{Namespace: s.Namespace, LabelSelector: labels.SelectorFromSet(s.LabelSelector)}
			return client.For[*corev1.Pod](r.Conns[0]).DeleteCollection(ctx, selected, client.DeleteOptions{})
		}
		pause := pace(s.DeletePodsPerSecond)
		defer pause.stop()
		for _, name := range r.pods.names(s.Namespace, s.LabelSelector) {
			if err := pause.wait(ctx); err != nil {
				return err
			}
			if err := client.For[*corev1.Pod](r.Conns[0]).Delete(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name}); err != nil {
				return err
			}
		}
		return nil
	}
	if !s.SkipWaitToCompletion {
		return remove()
	}
	r.background.Go(func() { r.failed(ctx, s, remove()) })
	return nil
}

// churn creates objects at an interval, in mode recreate deleting them again, until the workload ends.
func (r *run) churn(ctx context.Context, namespace string, s *step) error {
	interval := time.Duration(s.IntervalMilliseconds) * time.Millisecond
	if interval == 0 {
		interval = 500 * time.Millisecond
	}
	var kinds []*churned
	for _, t := range s.churned {
		o := &metav1.Unstructured{}
		if err := t.decode(o, 0, 1); err != nil {
			return err
		}
		found, err := r.resolve(ctx, t, o, namespace)
		if err != nil {
			return err
		}
		if found.Namespaced {
			o.Namespace = namespace
		}
		kinds = append(kinds, &churned{object: o, client: dynamic.For(r.Conns[0], found.GVR), names: make([]string, max(s.Number, 1))})
	}
	r.background.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for n := 0; s.Mode == "recreate" || s.Number == 0 || n < s.Number; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			for _, k := range kinds {
				r.failed(ctx, s, k.next(ctx, r, n%len(k.names), s.Mode == "recreate"))
			}
		}
	})
	return nil
}

// churned is one kind of the objects of a churn.
type churned struct {
	object *metav1.Unstructured
	client *client.Client[*metav1.Unstructured]
	names  []string // that exist, by their turn
}

// next creates an object, or deletes the one of the turn. An object that exists already is left as it is.
func (c *churned) next(ctx context.Context, r *run, turn int, recreate bool) error {
	if recreate && c.names[turn] != "" {
		key := types.NamespacedName{Namespace: c.object.Namespace, Name: c.names[turn]}
		c.names[turn] = ""
		return c.client.Delete(ctx, key)
	}
	got, err := c.client.Create(ctx, c.object)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.names[turn] = got.Name
	if c.object.Namespace == "" {
		r.made.add(c.client.Resource().GVR, got.Name)
	}
	return nil
}
