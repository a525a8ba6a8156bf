package deployment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// deployed returns a Deployment of n pods of an image, with a surge and unavailability of a quarter.
func deployed(n int32, image string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Name, d.UID, d.Generation, d.Annotations = "web", "1", 1, map[string]string{revisionAnnotation: "1"}
	d.Spec.Replicas, d.Spec.ProgressDeadlineSeconds = &n, new(int32(600))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	d.Spec.Template = templateOf(image)
	return d
}

func templateOf(image string) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{}
	t.Labels = map[string]string{"app": "web"}
	t.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	return t
}

// setOf returns a set of an image that a Deployment of wanted pods was scaled for. Its name is the image, and
// sets with a higher revision are younger.
func setOf(image string, number, n, ready, wanted int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{}
	rs.Name, rs.CreationTimestamp = image, metav1.Time{Time: start.Add(time.Duration(number) * time.Minute)}
	rs.Spec.Replicas, rs.Spec.Template = &n, templateOf(image)
	rs.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = image
	rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = n, ready, ready
	rs.Annotations = map[string]string{revisionAnnotation: fmt.Sprint(number), desiredAnnotation: fmt.Sprint(wanted),
		maxAnnotation: fmt.Sprint(wanted + (wanted+3)/4)}
	return rs
}

// text is a plan in short.
func (p plan) text() (out []string) {
	if p.pause != nil {
		out = append(out, p.pause.Reason)
	}
	if p.create != nil {
		out = append(out, fmt.Sprintf("create %s of %d", p.create.Spec.Template.Spec.Containers[0].Image, *p.create.Spec.Replicas))
	}
	if p.progress != nil {
		out = append(out, p.progress.Reason)
	}
	if p.adopt != nil {
		out = append(out, fmt.Sprintf("%s is revision %s", p.adopt.set.Name, p.adopt.annotations[revisionAnnotation]))
	}
	if p.revision != 0 {
		out = append(out, fmt.Sprintf("revision %d", p.revision))
	}
	for _, c := range p.resize {
		out = append(out, fmt.Sprintf("%s from %d to %d for %s", c.set.Name, size(c.set), c.replicas, c.annotations[desiredAnnotation]))
	}
	for _, rs := range p.remove {
		out = append(out, "remove "+rs.Name)
	}
	return out
}

func TestDecide(t *testing.T) {
	progressing := func(d *appsv1.Deployment, reason string) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason}}
	}
	for name, c := range map[string]struct {
		change func(*facts)
		dep    *appsv1.Deployment
		sets   []*appsv1.ReplicaSet
		want   []string
	}{
		"the first set":        {dep: deployed(4, "a"), want: []string{"create a of 4", "NewReplicaSetCreated"}},
		"as much as the surge": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8)}, want: []string{"create b of 2", "NewReplicaSetCreated"}},
		"down by what may be missing": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8), setOf("b", 2, 2, 0, 8)},
			want: []string{"FoundNewReplicaSet", "revision 2", "a from 8 to 6 for 8"}},
		"unhealthy ones first, then what may be missing": {dep: deployed(8, "c"),
			sets: []*appsv1.ReplicaSet{setOf("a", 1, 4, 4, 8), setOf("b", 2, 4, 1, 8), setOf("c", 3, 2, 2, 8)},
			want: []string{"FoundNewReplicaSet", "revision 3", "b from 4 to 1 for 8", "a from 4 to 3 for 8"}},
		"no step while too few are available": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 6, 6, 8), setOf("b", 2, 4, 0, 8)},
			want: []string{"FoundNewReplicaSet", "revision 2"}},
		"back to an earlier template": {dep: deployed(8, "a"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 0, 0, 8), setOf("b", 2, 8, 8, 8)},
			want: []string{"FoundNewReplicaSet", "a is revision 3", "revision 3", "a from 0 to 2 for 8"}},
		"another size, one set": {dep: deployed(5, "a"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8)}, want: []string{"FoundNewReplicaSet", "a from 8 to 5 for 5"}},
		"another size that the set has already": {dep: deployed(5, "a"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 5, 5, 8)},
			want: []string{"FoundNewReplicaSet", "a from 5 to 5 for 5"}},
		"another size in proportion": {dep: deployed(16, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 6, 6, 8), setOf("b", 2, 4, 4, 8)},
			want: []string{"FoundNewReplicaSet", "revision 2", "a from 6 to 12 for 16", "b from 4 to 8 for 16"}},
		"another size, and nothing runs": {dep: deployed(3, "c"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 0, 0, 8), setOf("b", 2, 0, 0, 8)},
			want: []string{"DeploymentPaused", "b from 0 to 3 for 3"}, change: func(f *facts) { f.dep.Spec.Paused = true }},
		"another size and another annotation": {dep: deployed(5, "a"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8)},
			want: []string{"FoundNewReplicaSet", "a is revision 1", "a from 8 to 5 for 5"}, change: func(f *facts) { f.dep.Annotations["team"] = "x" }},
		"no deadline": {dep: deployed(8, "a"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8)}, want: nil,
			change: func(f *facts) {
				f.dep.Spec.Paused, f.dep.Spec.ProgressDeadlineSeconds = true, new(int32(math.MaxInt32))
			}},
		"paused": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8)}, want: []string{"DeploymentPaused"},
			change: func(f *facts) { f.dep.Spec.Paused = true }},
		"resumed": {dep: deployed(8, "a"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8)}, want: []string{"DeploymentResumed"},
			change: func(f *facts) { progressing(f.dep, "DeploymentPaused") }},
		"being deleted": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8)},
			change: func(f *facts) { f.dep.DeletionTimestamp = &metav1.Time{Time: start} }},
		"recreate: the old end": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 8, 8, 8)}, want: []string{"a from 8 to 0 for 8"},
			change: func(f *facts) { f.dep.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }},
		"recreate: their pods still run": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 0, 0, 8)},
			change: func(f *facts) { f.dep.Spec.Strategy.Type, f.oldRun = appsv1.RecreateDeploymentStrategyType, true }},
		"recreate: their status says so": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 0, 0, 8)}, change: func(f *facts) {
			f.dep.Spec.Strategy.Type, f.old[0].Status.Replicas = appsv1.RecreateDeploymentStrategyType, 1
		}},
		"recreate: all at once": {dep: deployed(8, "b"), sets: []*appsv1.ReplicaSet{setOf("a", 1, 0, 0, 8)},
			want:   []string{"create b of 8", "NewReplicaSetCreated"},
			change: func(f *facts) { f.dep.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }},
		"the oldest of the history": {dep: deployed(2, "c"),
			sets: []*appsv1.ReplicaSet{setOf("a", 2, 0, 0, 2), setOf("b", 1, 0, 0, 2), setOf("c", 3, 2, 2, 2)},
			want: []string{"revision 3", "remove b"}, change: func(f *facts) {
				f.dep.Spec.RevisionHistoryLimit = new(int32(1))
				progressing(f.dep, "NewReplicaSetAvailable")
			}},
		"a full one counts for the history": {dep: deployed(2, "c"),
			sets: []*appsv1.ReplicaSet{setOf("a", 1, 0, 0, 2), setOf("b", 2, 0, 0, 2), setOf("c", 3, 2, 2, 2)},
			want: []string{"revision 3", "remove a"}, change: func(f *facts) {
				f.dep.Spec.RevisionHistoryLimit, f.old[1].Generation = new(int32(1)), 2 // not observed
				progressing(f.dep, "NewReplicaSetAvailable")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			f := split(c.dep, c.sets, start)
			if c.change != nil {
				c.change(f)
			}
			require.Equal(t, c.want, decide(f).text())
		})
	}
}

// The bound of pods is never exceeded and enough of them stay available, whatever the pods of the sets do.
func TestPlansKeepTheBounds(t *testing.T) {
	for _, seed := range seeds.Of(t, 3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := int32(r.IntN(12))
		dep := deployed(n, "c")
		surge, missing := r.IntN(4), r.IntN(4)
		dep.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(int32(surge))), MaxUnavailable: new(intstr.FromInt32(int32(missing)))}
		if surge+missing == 0 {
			missing = 1 // or nothing could change
		}
		var sets []*appsv1.ReplicaSet
		total, available := int32(0), int32(0)
		for i, image := range []string{"a", "b", "c"} {
			have := int32(r.IntN(6))
			ready := int32(r.IntN(int(have) + 1))
			sets, total, available = append(sets, setOf(image, int32(i+1), have, ready, n)), total+have, available+ready
		}
		p := decide(split(dep, sets, start))
		sizes := map[string]int32{}
		for _, rs := range sets {
			sizes[rs.Name] = size(rs)
		}
		for _, c := range p.resize {
			sizes[c.set.Name] = c.replicas
		}
		after, kept := int32(0), int32(0)
		for _, rs := range sets {
			require.GreaterOrEqual(t, sizes[rs.Name], int32(0))
			after += sizes[rs.Name]
			kept += min(rs.Status.AvailableReplicas, sizes[rs.Name])
		}
		require.LessOrEqual(t, after, max(total, n+int32(surge)), p.text())
		require.GreaterOrEqual(t, kept, min(available, n-min(int32(missing), n)), p.text())
	}
}

func TestStatusOf(t *testing.T) {
	reason := func(s appsv1.DeploymentStatus) string {
		if c := find(s.Conditions, appsv1.DeploymentProgressing); c != nil {
			return c.Reason
		}
		return ""
	}
	f := split(deployed(8, "b"), []*appsv1.ReplicaSet{setOf("a", 1, 4, 4, 8), setOf("b", 2, 4, 2, 8)}, start)
	s, again := statusOf(f, true)
	require.Equal(t, "ReplicaSetUpdated", reason(s))
	require.Equal(t, []int32{8, 4, 6, 2}, []int32{s.Replicas, s.UpdatedReplicas, s.AvailableReplicas, s.UnavailableReplicas})
	require.Equal(t, corev1.ConditionTrue, find(s.Conditions, appsv1.DeploymentAvailable).Status, "two may be missing")
	require.Equal(t, 601*time.Second, again)

	f.dep.Status, f.now = s, start.Add(601*time.Second)
	s, again = statusOf(f, true)
	require.Equal(t, "ProgressDeadlineExceeded", reason(s))
	require.Zero(t, again)

	f.dep.Status = s
	f.old[0].Spec.Replicas, f.old[0].Status = new(int32(0)), appsv1.ReplicaSetStatus{}
	f.new.Spec.Replicas, f.new.Status = new(int32(8)), appsv1.ReplicaSetStatus{Replicas: 8, ReadyReplicas: 8, AvailableReplicas: 8}
	s, _ = statusOf(f, true)
	require.Equal(t, "NewReplicaSetAvailable", reason(s))

	f.dep.Status = s
	f.new.Status.AvailableReplicas = 1
	s, again = statusOf(f, true)
	require.Equal(t, "NewReplicaSetAvailable", reason(s), "pods that fail later are no new rollout")
	require.Equal(t, corev1.ConditionFalse, find(s.Conditions, appsv1.DeploymentAvailable).Status)
	require.Zero(t, again)

	since := metav1.Time{Time: start.Add(-time.Hour)}
	f.new.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", LastTransitionTime: since}}
	s, _ = statusOf(f, true)
	failure := find(s.Conditions, appsv1.DeploymentReplicaFailure)
	require.Equal(t, "FailedCreate", failure.Reason)
	require.Equal(t, []metav1.Time{since, since}, []metav1.Time{failure.LastUpdateTime, failure.LastTransitionTime})

	f.dep.Spec.ProgressDeadlineSeconds = new(int32(math.MaxInt32))
	s, again = statusOf(f, true)
	require.Empty(t, reason(s))
	require.Zero(t, again)

	require.Zero(t, *s.TerminatingReplicas, "sets that were never synced do not count")
	f.new.Status.TerminatingReplicas = new(int32(2))
	s, _ = statusOf(f, true)
	require.Equal(t, int32(2), *s.TerminatingReplicas)
	f.old[0].Status.ObservedGeneration = 1
	s, _ = statusOf(f, true)
	require.Nil(t, s.TerminatingReplicas, "one does not say")
}

func TestLongNames(t *testing.T) {
	require.Equal(t, "web-abc", setName("web", "abc"))
	require.Len(t, setName(strings.Repeat("n", 253), "abc"), 253)
}
