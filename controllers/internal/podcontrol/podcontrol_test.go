package podcontrol_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

var kind = appsv1.GroupVersion.WithKind("ReplicaSet")

func TestFromTemplate(t *testing.T) {
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "1"}}
	template := &corev1.PodTemplateSpec{}
	template.Labels, template.Annotations, template.Finalizers = map[string]string{"a": "b"}, map[string]string{"c": "d"}, []string{"e.test/f"}
	template.Spec.Containers = []corev1.Container{{Name: "main"}}
	pod := podcontrol.FromTemplate(template, owner, kind, "web")
	require.Equal(t, "ns", pod.Namespace)
	require.Equal(t, "web-", pod.GenerateName)
	require.Equal(t, []metav1.OwnerReference{metav1.NewControllerRef(owner, kind)}, pod.OwnerReferences)
	require.Equal(t, template.Labels, pod.Labels)
	require.Equal(t, template.Annotations, pod.Annotations)
	require.Equal(t, template.Finalizers, pod.Finalizers)
	require.Equal(t, template.Spec, pod.Spec)
	pod.Labels["x"], pod.Spec.Containers[0].Name = "y", "changed"
	require.NotContains(t, template.Labels, "x", "the pod shares nothing with the template")
	require.Equal(t, "main", template.Spec.Containers[0].Name)
}

// ready returns a pod that has been ready since a time; not ready if that is zero.
func ready(since time.Time) *corev1.Pod {
	p := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if !since.IsZero() {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	}
	return p
}

func TestAvailable(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		pod *corev1.Pod
		min int32
		ok  bool
		in  time.Duration
	}{
		{ready(time.Time{}), 0, false, 0},
		{ready(now), 0, true, 0},
		{ready(now.Add(-4 * time.Second)), 10, false, 6 * time.Second},
		{ready(now.Add(-10 * time.Second)), 10, true, 0},
	} {
		ok, in := podcontrol.Available(c.pod, c.min, now)
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.in, in)
	}
	require.True(t, podcontrol.Active(ready(now)))
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		require.False(t, podcontrol.Active(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}))
	}
	deleted := ready(now)
	deleted.DeletionTimestamp = new(metav1.NewTime(now))
	require.False(t, podcontrol.Active(deleted))
}

// Each pair has the one to delete first first; what a pair differs in decides whatever less important
// properties say.
func TestRankForDeletion(t *testing.T) {
	now := time.Unix(1e6, 0)
	pod := func(edit func(p *corev1.Pod)) *corev1.Pod {
		p := ready(now.Add(-50 * time.Second))
		p.Spec.NodeName, p.UID = "few", "m"
		p.CreationTimestamp = metav1.NewTime(now.Add(-500 * time.Second))
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}}
		edit(p)
		return p
	}
	usual := func(*corev1.Pod) {}
	related := map[string]int{"few": 1, "many": 5}
	pairs := map[string][2]func(*corev1.Pod){
		"assigned":  {func(p *corev1.Pod) { p.Spec.NodeName = "" }, usual},
		"phase":     {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }},
		"running":   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }, usual},
		"readiness": {func(p *corev1.Pod) { p.Status.Conditions = nil }, usual},
		"cost":      {func(p *corev1.Pod) { p.Annotations = map[string]string{podcontrol.DeletionCostAnnotation: "-1"} }, usual},
		"bad cost": {func(p *corev1.Pod) { p.Annotations = map[string]string{podcontrol.DeletionCostAnnotation: "cheap"} },
			func(p *corev1.Pod) { p.Annotations = map[string]string{podcontrol.DeletionCostAnnotation: "1"} }},
		"related":    {func(p *corev1.Pod) { p.Spec.NodeName = "many" }, usual},
		"ready time": {func(p *corev1.Pod) { *p = *ready(now.Add(-5 * time.Second)); p.Spec.NodeName = "few" }, usual},
		"restarts":   {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 4 }, usual},
		"age":        {func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-20 * time.Second)) }, usual},
		"uid":        {func(p *corev1.Pod) { p.UID = "a" }, usual},
		// Ages of the same power of two do not differ: the uid decides.
		"similar age": {func(p *corev1.Pod) { p.UID, p.CreationTimestamp = "a", metav1.NewTime(now.Add(-520*time.Second)) }, usual},
		// Half of the age is another one.
		"half the ready time": {func(p *corev1.Pod) { *p = *ready(now.Add(-25 * time.Second)); p.Spec.NodeName = "few" }, usual},
		"half the age":        {func(p *corev1.Pod) { p.UID, p.CreationTimestamp = "z", metav1.NewTime(now.Add(-250*time.Second)) }, usual},
		"sidecar": {func(p *corev1.Pod) {
			p.UID, p.Spec.InitContainers = "z", []corev1.Container{{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "setup", RestartCount: 1}, {Name: "proxy", RestartCount: 2}}
		}, func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "setup", RestartCount: 9}}
		}},
	}
	for name, edits := range pairs {
		first, second := pod(edits[0]), pod(edits[1])
		for _, list := range [][]*corev1.Pod{{first, second}, {second, first}} {
			podcontrol.RankForDeletion(list, related, now)
			require.Same(t, first, list[0], name)
		}
	}
	order := []*corev1.Pod{
		pod(pairs["assigned"][0]), pod(pairs["phase"][0]), pod(pairs["running"][0]), pod(pairs["readiness"][0]), pod(pairs["cost"][0]),
		pod(pairs["related"][0]), pod(pairs["ready time"][0]), pod(pairs["restarts"][0]), pod(pairs["age"][0]), pod(pairs["uid"][0]), pod(usual),
	}
	shuffled := slices.Clone(order)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		podcontrol.RankForDeletion(shuffled, related, now)
		require.Equal(t, order, shuffled)
	}
}

func TestWithLabel(t *testing.T) {
	m := map[string]string{"a": "1"}
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, podcontrol.WithLabel(m, "b", "2"))
	require.Len(t, m, 1)
	require.Equal(t, map[string]string{"b": "2"}, podcontrol.WithLabel(nil, "b", "2"))
}

// owned is a cluster with a replica set web that selects app=web, and Owners for its kind.
type owned struct {
	*controllertest.Cluster
	t          *testing.T
	owners     *podcontrol.Owners[*appsv1.ReplicaSet]
	reconciled atomic.Int32
	rs         *appsv1.ReplicaSet
}

func startOwned(t *testing.T) *owned {
	o := &owned{t: t}
	o.Cluster = controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
		o.owners = podcontrol.NewOwners(m, "test", func(rs *appsv1.ReplicaSet) *metav1.LabelSelector { return rs.Spec.Selector })
		return o.owners.Register(m, 0, func(context.Context, reconcile.Request) (reconcile.Result, error) {
			o.reconciled.Add(1)
			return reconcile.Result{}, nil
		})
	}}})
	rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rs.Spec.Template.Labels = rs.Spec.Selector.MatchLabels
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	o.rs = controllertest.Create(o.Cluster, rs)
	o.Settle()
	return o
}

// create creates a pod of the replica set, as edited.
func (o *owned) create(name, app string, edit func(*corev1.Pod)) *corev1.Pod {
	p := podcontrol.FromTemplate(&o.rs.Spec.Template, o.rs, kind, "web")
	p.Name, p.GenerateName, p.Labels = name, "", map[string]string{"app": app}
	if edit != nil {
		edit(p)
	}
	return controllertest.Create(o.Cluster, p)
}

func orphan(p *corev1.Pod) { p.OwnerReferences = nil }

func (o *owned) get(name string) *corev1.Pod {
	return controllertest.Get[*corev1.Pod](o.Cluster, "default", name)
}

func (o *owned) claim(owner *appsv1.ReplicaSet) ([]string, error) {
	pods, err := o.owners.Claim(o.t.Context(), owner, labels.MustParse("app=web"), "a.test/done")
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names, err
}

func TestOwners(t *testing.T) {
	inOwned(t, "claim", ownersClaim)
	inOwned(t, "drop finalizer", ownersDropFinalizer)
	inOwned(t, "delete all", ownersDeleteAll)
}

// inOwned runs a subtest in a bubble, with a cluster of its own.
func inOwned(t *testing.T, name string, test func(t *testing.T, o *owned)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, startOwned(t)) })
	})
}

// An owner keeps the pods it controls and selects, releases those that it no longer selects, and adopts
// orphans, but only while it lives.
func ownersClaim(t *testing.T, o *owned) {
	o.create("kept", "web", nil)
	o.create("released", "db", func(p *corev1.Pod) { p.Finalizers = []string{"a.test/done", "b.test/other"} })
	o.create("foreign", "web", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" })
	o.create("unselected", "db", orphan)
	o.Settle()
	before := o.reconciled.Load()
	o.create("adopted", "web", orphan)
	o.Settle()
	require.Greater(t, o.reconciled.Load(), before, "an owner that selects an orphan is reconciled")

	// The reader's copy of the owner is outdated: another one has its name by now.
	old := *o.rs
	old.UID = types.UID("previous")
	names, err := o.claim(&old)
	require.ErrorContains(t, err, "cannot adopt Pod default/adopted: ReplicaSet default/web was replaced by another")
	require.Empty(t, names)

	names, err = o.claim(o.rs)
	require.NoError(t, err)
	require.Equal(t, []string{"adopted", "kept"}, names)
	require.Equal(t, o.rs.UID, metav1.ControllerOf(o.get("adopted")).UID)
	require.Equal(t, []string{"a.test/done"}, o.get("adopted").Finalizers)
	require.Nil(t, metav1.ControllerOf(o.get("released")))
	require.Equal(t, []string{"b.test/other"}, o.get("released").Finalizers)
	require.EqualValues(t, "another", metav1.ControllerOf(o.get("foreign")).UID)
	require.Nil(t, metav1.ControllerOf(o.get("unselected")))
}

func ownersDropFinalizer(t *testing.T, o *owned) {
	p := o.create("kept", "web", func(p *corev1.Pod) { p.Finalizers = []string{"a.test/done"} })
	require.NoError(t, podcontrol.DropFinalizer(t.Context(), o.owners.PodsAPI, p, "a.test/done"))
	require.Empty(t, o.get("kept").Finalizers)
	p.Name = "missing"
	require.NoError(t, podcontrol.DropFinalizer(t.Context(), o.owners.PodsAPI, p, "a.test/done"))
}

func ownersDeleteAll(t *testing.T, o *owned) {
	// A recreated pod of the same name is another one and stays.
	replaced := o.create("kept", "web", nil)
	replaced.UID = "previous"
	p := o.create("deleted", "web", nil)
	missing := o.get("deleted")
	missing.Name = "missing"
	var failed atomic.Int32
	err := podcontrol.DeleteAll(t.Context(), o.owners.PodsAPI, []*corev1.Pod{p, replaced, missing}, func(_ *corev1.Pod, err error) {
		if err != nil {
			failed.Add(1)
		}
	})
	require.NoError(t, err)
	require.Zero(t, failed.Load())
	o.Settle()
	o.get("kept")
	_, err = client.For[*corev1.Pod](o.Admin()).Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "deleted"})
	require.True(t, apierrors.IsNotFound(err), err)
}
