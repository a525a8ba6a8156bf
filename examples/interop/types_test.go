package interop

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	upappsv1 "k8s.io/api/apps/v1"
	upcorev1 "k8s.io/api/core/v1"
	upmetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/informers"
)

// upstreamTypes registers types of k8s.io/api with Keelson: one line for each kind, and nothing generated.
func upstreamTypes(t testing.TB) *scheme.Scheme {
	s := scheme.New()
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	for _, err := range []error{
		scheme.Add[*upcorev1.Pod](s, core, scheme.Kind{Resource: "pods", Namespaced: true}),
		scheme.Add[*upcorev1.ConfigMap](s, core, scheme.Kind{Resource: "configmaps", Namespaced: true}),
		scheme.Add[*upcorev1.Node](s, core, scheme.Kind{Resource: "nodes"}),
		scheme.Add[*upappsv1.Deployment](s, apps, scheme.Kind{Resource: "deployments", Namespaced: true}),
	} {
		require.NoError(t, err)
	}
	return s
}

// Programs with k8s.io/api types use Keelson's client and informers with them.
func TestUpstreamTypesInOurClientAndInformers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := controllertest.Start(t, controllertest.Options{Scheme: upstreamTypes(t)})
	conn := c.Conn()
	set := informers.NewSet(conn, informers.SetOptions{})
	inf := informers.For[*upcorev1.Pod](set)
	byImage := inf.Index(informers.DefineIndex("image", func(p *upcorev1.Pod) []string { return []string{p.Spec.Containers[0].Image} }))
	var added, deleted atomic.Int32
	inf.AddHandler(func(e informers.Event[*upcorev1.Pod]) {
		switch e.Type {
		case informers.Added:
			added.Add(1)
		case informers.Deleted:
			deleted.Add(1)
		}
	}, informers.HandlerOptions{})
	done := make(chan error, 1)
	go func() { done <- set.Run(ctx) }()
	defer func() { cancel(); require.NoError(t, <-done) }()
	require.NoError(t, set.WaitForSync(ctx))

	pods := client.For[*upcorev1.Pod](set.Conn())
	made, err := pods.Create(ctx, pod("a"))
	require.NoError(t, err)
	require.NotEmpty(t, made.UID)
	require.Equal(t, upcorev1.RestartPolicyAlways, made.Spec.RestartPolicy)
	got, err := inf.Lister().Get(types.NamespacedName{Namespace: "default", Name: "a"})
	require.NoError(t, err, "own writes are visible at once")
	made.ManagedFields = nil // not kept by informers
	require.Equal(t, made, got)
	require.Len(t, must(byImage.List("app:1")), 1)
	require.Len(t, must(inf.Lister().List(informers.ListOptions{LabelSelector: labels.MustParse("app=a")})), 1)
	// An object that is deleted before the handler runs causes no event.
	eventually(t, "an added event", func() bool { return added.Load() == 1 })
	zero := int64(0)
	require.NoError(t, pods.Delete(ctx, types.NamespacedName{Namespace: "default", Name: "a"}, client.DeleteOptions{GracePeriodSeconds: &zero}))
	_, err = pods.Get(ctx, types.NamespacedName{Namespace: "default", Name: "a"})
	require.True(t, apierrors.IsNotFound(err))
	eventually(t, "a deleted event", func() bool { return deleted.Load() == 1 })

	// Update, apply, watch, list through upstream's types.
	ds := client.For[*upappsv1.Deployment](conn)
	d, err := ds.Create(ctx, deployment("web", 2))
	require.NoError(t, err)
	d.Labels = map[string]string{"x": "y"}
	_, err = ds.Update(ctx, d)
	require.NoError(t, err)
	three := int32(3)
	d, err = ds.Apply(ctx, &upappsv1.Deployment{ObjectMeta: upmetav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: upappsv1.DeploymentSpec{Replicas: &three}},
		client.ApplyOptions{FieldManager: "interop", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 3, *d.Spec.Replicas)
	d.Status.Replicas = 3
	_, err = ds.UpdateStatus(ctx, d)
	require.NoError(t, err)
	n := 0
	for d, err := range ds.All(ctx, client.ListOptions{}) {
		require.NoError(t, err)
		require.EqualValues(t, 3, d.Status.Replicas)
		n++
	}
	require.Equal(t, 1, n)
	for e, err := range ds.Watch(ctx, client.WatchOptions{}) {
		require.NoError(t, err)
		require.Equal(t, "web", e.Object.Name)
		break
	}
	// A type that was not registered is an error that names the call to make.
	_, err = client.For[*upcorev1.Secret](conn).Get(ctx, types.NamespacedName{Namespace: "default", Name: "s"})
	require.True(t, scheme.IsUnregistered(err), "%v", err)
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
