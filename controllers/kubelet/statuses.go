package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// statuses writes pod statuses: the latest of each pod, one request per change, never an older one after a
// newer.
type statuses struct {
	k *Kubelet

	mu      sync.Mutex
	wanted  map[types.UID]*wantedStatus
	pending map[types.UID]bool
	later   map[types.UID]bool // those that others keep changing
	ready   chan struct{}      // capacity 1
}

type wantedStatus struct {
	key    types.NamespacedName
	static bool
	status corev1.PodStatus
	// version counts changes; written is the one the server has. changed is when the first of those was made
	// that it does not have.
	version, written int
	changed          time.Time
	failures         int
	// answer is the version of the object that the latest write made, empty before. repaired is when a change
	// by others was last put back.
	answer   string
	repaired time.Time
	// gone is true once the server has said that the pod is: nothing more is written.
	gone bool
	// lock is held by the one write of the pod under way.
	lock chan struct{}
}

func newStatuses(k *Kubelet) *statuses {
	return &statuses{k: k, wanted: map[types.UID]*wantedStatus{}, pending: map[types.UID]bool{}, later: map[types.UID]bool{}, ready: make(chan struct{}, 1)}
}

// set takes the status a pod should have.
func (s *statuses) set(pod *corev1.Pod, static bool, st corev1.PodStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.wanted[pod.UID]
	if w == nil {
		w = &wantedStatus{key: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, static: static, lock: make(chan struct{}, 1)}
		s.wanted[pod.UID] = w
	} else if codec.Equal(&w.status, &st) && (w.version == w.written || s.pending[pod.UID]) {
		if codec.Equal(&st, &pod.Status) || static {
			return
		}
		// Another writer changed it, or this event is of an older write of ours; the write compares again.
	}
	if w.version == 0 {
		s.k.metrics.ended(&pod.Status, &st)
	} else {
		s.k.metrics.ended(&w.status, &st)
	}
	if w.version == w.written {
		w.changed = time.Now()
	}
	w.status = st
	w.version++
	s.pending[pod.UID] = true
	s.signal()
}

// repairInterval is how often at most what others do to a status is put back.
const repairInterval = 10 * time.Second

// seen compares what the server has with what was written last, and puts back what others have changed. pod
// is the object, for a static pod its mirror.
func (s *statuses) seen(uid types.UID, pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.wanted[uid]
	if w == nil || w.version != w.written {
		return // it is about to be written; one that is pending without a change would not be
	}
	if metav1.IsOlder(pod.ResourceVersion, w.answer) {
		return // from before
	}
	if merged := merge(&pod.Status, &w.status); codec.Equal(&pod.Status, &merged) {
		return
	}
	w.version++
	if time.Since(w.repaired) < repairInterval {
		s.later[uid] = true
		return
	}
	w.repaired = time.Now()
	s.pending[uid] = true
	s.signal()
}

// repairLater makes those pending that were changed by others.
func (s *statuses) repairLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.later {
		if w := s.wanted[uid]; w != nil && w.version != w.written {
			w.repaired = time.Now()
			s.pending[uid] = true
		}
	}
	clear(s.later)
}

func (s *statuses) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *statuses) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.wanted, uid)
	delete(s.pending, uid)
	delete(s.later, uid)
}

// statusWriters is how many pods are written side by side.
const statusWriters = 8

func (s *statuses) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, statusWriters)
	repairs := time.NewTicker(repairInterval)
	defer repairs.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-repairs.C:
			s.repairLater()
		case <-s.ready:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gatherTime): // a step may change a status twice
		}
		select {
		case <-repairs.C:
			s.repairLater()
		default:
		}
		s.mu.Lock()
		select {
		case <-s.ready: // what it is about is pending
		default:
		}
		due := slices.Sorted(maps.Keys(s.pending))
		clear(s.pending)
		s.mu.Unlock()
		for _, uid := range due {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			wg.Go(func() {
				defer func() { <-slots }()
				if err := s.write(ctx, uid); err != nil && ctx.Err() == nil {
					s.k.log.Info("update pod status failed", "uid", uid, "err", err)
					s.retry(ctx, uid, &wg)
				}
			})
		}
	}
}

// retry writes again after a pause that grows.
func (s *statuses) retry(ctx context.Context, uid types.UID, wg *sync.WaitGroup) {
	s.mu.Lock()
	w := s.wanted[uid]
	n := 0
	if w != nil {
		w.failures++
		n = w.failures
	}
	s.mu.Unlock()
	if w == nil {
		return
	}
	after := min(time.Duration(n)*500*time.Millisecond, 10*time.Second)
	after -= backoff.Spread(ctx, after/4)
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-time.After(after):
			s.mu.Lock()
			s.pending[uid] = true
			s.mu.Unlock()
			s.signal()
		}
	})
}

// write brings the server's status up to date with the latest wanted.
func (s *statuses) write(ctx context.Context, uid types.UID) error {
	s.mu.Lock()
	w := s.wanted[uid]
	s.mu.Unlock()
	if w == nil {
		return nil
	}
	select {
	case w.lock <- struct{}{}:
		defer func() { <-w.lock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	status, version, done := w.status, w.version, w.gone || w.version == w.written
	s.mu.Unlock()
	if done {
		return nil
	}
	var pod *corev1.Pod // shared
	err := s.k.apiPods.Lister().View(w.key, func(p *corev1.Pod) { pod = p })
	if apierrors.IsNotFound(err) {
		if w.static {
			return nil // written when the mirror is there
		}
		pod, err = s.get(ctx, w.key)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !w.static && pod.UID != uid || w.static && !isMirror(pod) {
		return nil // another pod of this name
	}
	if over(pod.Status.Phase) && !over(status.Phase) && !w.static {
		return nil // what has ended stays ended
	}
	before := pod.Status
	merged := merge(&before, &status)
	answer := pod.ResourceVersion
	if !codec.Equal(&before, &merged) {
		now, err := s.patch(ctx, pod, before, merged)
		if err != nil {
			if s.replaced(ctx, w.key, pod.UID, err) {
				s.mu.Lock()
				w.gone = !w.static // a static pod gets another mirror
				s.mu.Unlock()
				return nil
			}
			return err
		}
		answer = now.ResourceVersion
		s.k.starts.wrote(now)
	}
	s.mu.Lock()
	if w.written < version {
		s.k.metrics.statusWritten.Observe(time.Since(w.changed).Truncate(time.Millisecond).Seconds())
		w.changed = time.Now() // of what has been changed meanwhile, if it has
	}
	w.failures = 0
	w.answer = answer
	w.written = max(w.written, version)
	s.mu.Unlock()
	// What others wrote while the request was under way was taken for what is about to be overwritten.
	_ = s.k.apiPods.Lister().View(w.key, func(now *corev1.Pod) { // if it is there
		if now.UID == pod.UID {
			s.seen(uid, now)
		}
	})
	return nil
}

// get reads a pod from the server. One that is no longer there is not found: the Node authorizer refuses it
// as it does the pods of other nodes, and a node without any rights is reported by its informers.
func (s *statuses) get(ctx context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	pod, err := s.k.pods.Get(ctx, key)
	if apierrors.IsForbidden(err) {
		return nil, apierrors.NewNotFound(s.k.pods.Resource().GVR.GroupResource(), key.Name)
	}
	return pod, err
}

// replaced reports whether a write failed because the pod is gone or another pod has its name. The server
// calls a wrong UID in a patch invalid.
func (s *statuses) replaced(ctx context.Context, key types.NamespacedName, uid types.UID, err error) bool {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true
	}
	if !apierrors.IsInvalid(err) {
		return false
	}
	now, err := s.get(ctx, key)
	return apierrors.IsNotFound(err) || err == nil && now.UID != uid
}

// merge is the status that the server should have: the kubelet's, with what others put into it.
func merge(server, ours *corev1.PodStatus) corev1.PodStatus {
	merged := *ours
	merged.Conditions = mergeConditions(server.Conditions, ours.Conditions)
	merged.QOSClass = cmp.Or(server.QOSClass, ours.QOSClass)
	// These are of controllers and the scheduler, who may have written them since the kubelet looked.
	merged.ResourceClaimStatuses, merged.ExtendedResourceClaimStatus = server.ResourceClaimStatuses, server.ExtendedResourceClaimStatus
	merged.NodeAllocatableResourceClaimStatuses = server.NodeAllocatableResourceClaimStatuses
	return merged
}

// mergeConditions keeps conditions that are not the kubelet's as the server has them.
func mergeConditions(server, ours []corev1.PodCondition) []corev1.PodCondition {
	own := map[corev1.PodConditionType]bool{corev1.PodScheduled: true, corev1.PodReady: true, corev1.AllContainersRestarting: true, corev1.PodInitialized: true,
		corev1.ContainersReady: true, corev1.PodReadyToStartContainers: true,
		corev1.PodResizePending: true, corev1.PodResizeInProgress: true}
	var out []corev1.PodCondition
	placed := map[corev1.PodConditionType]bool{}
	for _, c := range server {
		if isResize(c.Type) && !slices.ContainsFunc(ours, func(o corev1.PodCondition) bool { return o.Type == c.Type }) {
			continue // it is over
		}
		if own[c.Type] || c.Type == corev1.DisruptionTarget {
			for _, o := range ours {
				if o.Type == c.Type && (own[o.Type] || disrupted(&o)) {
					if o.Status == c.Status {
						o.LastTransitionTime = c.LastTransitionTime
						o.LastProbeTime = c.LastProbeTime
					}
					c = o
				}
			}
		}
		placed[c.Type] = true
		out = append(out, c)
	}
	for _, o := range ours {
		if !placed[o.Type] && (own[o.Type] || disrupted(&o)) {
			out = append(out, o)
		}
	}
	return out
}

// byKubelet is the reason of a DisruptionTarget condition that is this kubelet's.
const byKubelet = "TerminationByKubelet"

// disrupted reports whether a condition, whose type others set too, is the kubelet's.
func disrupted(c *corev1.PodCondition) bool {
	return c.Type == corev1.DisruptionTarget && c.Reason == byKubelet
}

// patch makes a pod's status after, where the server has before. It changes neither.
func (s *statuses) patch(ctx context.Context, pod *corev1.Pod, before, after corev1.PodStatus) (*corev1.Pod, error) {
	// The longest parts mostly stay as they are, and need not be encoded then.
	leaveOut(&before.ContainerStatuses, &after.ContainerStatuses)
	leaveOut(&before.InitContainerStatuses, &after.InitContainerStatuses)
	leaveOut(&before.EphemeralContainerStatuses, &after.EphemeralContainerStatuses)
	from, err := codec.Marshal(&corev1.Pod{Status: before})
	if err != nil {
		return nil, err
	}
	// With its UID in the patch, a pod of the same name made later is not touched.
	to, err := codec.Marshal(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: after})
	if err != nil {
		return nil, err
	}
	diff, err := patch.CreateTwoWayStrategic(from, to, reflect.TypeFor[corev1.Pod]())
	if err != nil {
		return nil, fmt.Errorf("compute status patch: %w", err)
	}
	if string(diff) == fmt.Sprintf(`{"metadata":{"uid":%q}}`, pod.UID) {
		return pod, nil // differences that do not show, such as fractions of seconds
	}
	return s.k.pods.Patch(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name},
		client.Patch{Type: types.StrategicMergePatchType, Data: diff}, client.PatchOptions{Subresource: "status"})
}

// leaveOut removes lists that are equal.
func leaveOut(a, b *[]corev1.ContainerStatus) {
	if codec.Equal(*a, *b) {
		*a, *b = nil, nil
	}
}

// deleteObject removes a pod's object for good. Its last status has been written.
func (s *statuses) deleteObject(ctx context.Context, pod *corev1.Pod) error {
	zero := int64(0)
	err := s.k.pods.Delete(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name},
		client.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	return nil
}
