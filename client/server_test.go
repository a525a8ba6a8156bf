package client_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/rest"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{Data: data}
	cm.Namespace, cm.Name = "default", name
	return cm
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// bubble runs a test against a real server, in virtual time, over HTTP/2 and TLS and over plain HTTP.
func bubble(t *testing.T, f func(t *testing.T, s *clienttest.Server, c *rest.Conn)) {
	for _, tls := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", tls), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.Start(t, clienttest.Options{TLS: tls})
				f(t, s, s.Conn(t, rest.Options{}))
			})
		})
	}
}

func TestVerbs(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		cms := client.For[*corev1.ConfigMap](c)
		require.NoError(t, cms.Err())
		made, err := cms.Create(ctx, configMap("a", map[string]string{"k": "1"}))
		require.NoError(t, err)
		require.NotEmpty(t, made.UID)
		require.Equal(t, "ConfigMap", made.Kind)
		require.Equal(t, "v1", made.APIVersion)

		_, err = cms.Create(ctx, configMap("a", nil))
		require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
		got, err := cms.Get(ctx, key("a"))
		require.NoError(t, err)
		require.Equal(t, made, got)
		_, err = cms.Get(ctx, key("nope"))
		require.True(t, apierrors.IsNotFound(err))

		got.Data["k"] = "2"
		updated, err := cms.Update(ctx, got)
		require.NoError(t, err)
		require.NotEqual(t, made.ResourceVersion, updated.ResourceVersion)
		made.Data["k"] = "3"
		_, err = cms.Update(ctx, made)
		require.True(t, apierrors.IsConflict(err), "%v", err)

		patched, err := cms.Patch(ctx, key("a"), client.Patch{Type: types.MergePatchType, Data: []byte(`{"data":{"m":"x"}}`)})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"k": "2", "m": "x"}, patched.Data)

		l, err := cms.List(ctx, client.ListOptions{Namespace: "default", LabelSelector: labels.SelectorFromSet(labels.Set{"no": "such"})})
		require.NoError(t, err)
		require.Empty(t, l.Items)
		require.Equal(t, "ConfigMapList", l.Kind)
		l, err = cms.List(ctx, client.ListOptions{Namespace: "default"})
		require.NoError(t, err)
		require.NotEmpty(t, l.ResourceVersion)
		names := []string{}
		for _, cm := range l.Items {
			require.Equal(t, "ConfigMap", cm.Kind)
			names = append(names, cm.Name)
		}
		require.Contains(t, names, "a")

		_, err = cms.Create(ctx, configMap("dry", nil), client.CreateOptions{DryRun: true})
		require.NoError(t, err)
		_, err = cms.Get(ctx, key("dry"))
		require.True(t, apierrors.IsNotFound(err))

		wrong := types.UID("another")
		err = cms.Delete(ctx, key("a"), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
		require.True(t, apierrors.IsConflict(err), "%v", err)
		require.NoError(t, cms.Delete(ctx, key("a")))
		_, err = cms.Get(ctx, key("a"))
		require.True(t, apierrors.IsNotFound(err))

		for i := range 3 {
			cm := configMap(fmt.Sprintf("d%d", i), nil)
			cm.Labels = map[string]string{"d": "d"}
			_, err := cms.Create(ctx, cm)
			require.NoError(t, err)
		}
		require.NoError(t, cms.DeleteCollection(ctx, client.ListOptions{Namespace: "default", LabelSelector: labels.SelectorFromSet(labels.Set{"d": "d"})}, client.DeleteOptions{}))
		_, err = cms.Get(ctx, key("d1"))
		require.True(t, apierrors.IsNotFound(err))
	})
}

func TestApplySendsExactlyTheFieldsSet(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		cms := client.For[*corev1.ConfigMap](c)
		one, err := cms.Apply(ctx, configMap("a", map[string]string{"x": "1", "y": "1"}), client.ApplyOptions{FieldManager: "one"})
		require.NoError(t, err)
		again, err := cms.Apply(ctx, configMap("a", map[string]string{"x": "1", "y": "1"}), client.ApplyOptions{FieldManager: "one"})
		require.NoError(t, err)
		require.Equal(t, one.ResourceVersion, again.ResourceVersion, "applying the same changes nothing")
		_, err = cms.Apply(ctx, configMap("a", map[string]string{"y": "2"}), client.ApplyOptions{FieldManager: "two"})
		require.True(t, apierrors.IsConflict(err), "%v", err)
		forced, err := cms.Apply(ctx, configMap("a", map[string]string{"y": "2"}), client.ApplyOptions{FieldManager: "two", Force: true})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"x": "1", "y": "2"}, forced.Data)

		mine, err := client.Extract(forced, "one", "")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"x": "1"}, mine.Data)
		require.Equal(t, "a", mine.Name)
		same, err := cms.Apply(ctx, mine, client.ApplyOptions{FieldManager: "one"})
		require.NoError(t, err)
		require.Equal(t, forced.ResourceVersion, same.ResourceVersion)
	})
}

// A manager that changes from plain updates to apply takes over its own fields, so that those it no longer
// applies are removed.
func TestFromUpdatesToApply(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		cms := client.For[*corev1.ConfigMap](c)
		for _, upgraded := range []bool{false, true} {
			name := fmt.Sprintf("upgraded-%v", upgraded)
			_, err := cms.Create(ctx, configMap(name, map[string]string{"keep": "1", "drop": "1"}), client.CreateOptions{FieldManager: "old"})
			require.NoError(t, err)
			live, err := cms.Patch(ctx, key(name), client.Patch{Type: types.MergePatchType, Data: []byte(`{"data":{"other":"1"}}`)}, client.PatchOptions{FieldManager: "somebody"})
			require.NoError(t, err)
			if upgraded {
				patch, err := managedfields.UpgradePatch(live, []string{"old"}, "new", "")
				require.NoError(t, err)
				_, err = cms.Patch(ctx, key(name), client.Patch{Type: types.JSONPatchType, Data: patch})
				require.NoError(t, err)
				_, err = cms.Patch(ctx, key(name), client.Patch{Type: types.JSONPatchType, Data: patch})
				require.True(t, apierrors.IsConflict(err), "of a version that is gone: %v", err)
			}
			got, err := cms.Apply(ctx, configMap(name, map[string]string{"keep": "1"}), client.ApplyOptions{FieldManager: "new"})
			require.NoError(t, err)
			want := map[string]string{"keep": "1", "other": "1"}
			if !upgraded {
				want["drop"] = "1"
			}
			require.Equal(t, want, got.Data)
		}
	})
}

func TestUpdateRetriesConflicts(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		cms := client.For[*corev1.ConfigMap](c)
		_, err := cms.Create(ctx, configMap("n", map[string]string{"n": "0"}))
		require.NoError(t, err)
		errs := make(chan error)
		for range 20 {
			go func() {
				_, err := client.Update(ctx, cms, key("n"), func(cm *corev1.ConfigMap) error {
					var n int
					fmt.Sscan(cm.Data["n"], &n)
					cm.Data["n"] = fmt.Sprint(n + 1)
					return nil
				})
				errs <- err
			}()
		}
		for range 20 {
			require.NoError(t, <-errs)
		}
		cm, err := cms.Get(ctx, key("n"))
		require.NoError(t, err)
		require.Equal(t, "20", cm.Data["n"])
	})
}

// Several clients create the same object; each gets it, and commits its change to the state that the others
// have written.
func TestGetOrCreateAndCommit(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		cms := client.For[*corev1.ConfigMap](c)
		errs := make(chan error)
		for i := range 8 {
			go func() {
				_, err := client.GetOrCreate(ctx, cms, configMap("shared", map[string]string{"first": fmt.Sprint(i)}))
				if err == nil {
					_, err = client.Update(ctx, cms, key("shared"), func(cm *corev1.ConfigMap) error {
						cm.Data[fmt.Sprintf("by-%d", i)] = cm.Data["first"]
						return nil
					})
				}
				errs <- err
			}()
		}
		for range 8 {
			require.NoError(t, <-errs)
		}
		cm, err := cms.Get(ctx, key("shared"))
		require.NoError(t, err)
		require.Len(t, cm.Data, 9)
		same, err := client.Update(ctx, cms, key("shared"), func(*corev1.ConfigMap) error { return client.ErrNoChange })
		require.NoError(t, err)
		require.Equal(t, cm, same)
	})
}

func TestWatchResumes(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		cms := client.For[*corev1.ConfigMap](c)
		_, err := cms.Create(ctx, configMap("w0", nil))
		require.NoError(t, err)
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			for i := 1; i < 20; i++ {
				time.Sleep(700 * time.Millisecond)
				_, err := cms.Create(ctx, configMap(fmt.Sprintf("w%d", i), nil))
				require.NoError(t, err)
			}
		}()
		var names []string
		for ev, err := range cms.Watch(ctx, client.WatchOptions{Namespace: "default", Timeout: 2 * time.Second}) {
			require.NoError(t, err)
			if ev.Object.Name[0] != 'w' {
				continue
			}
			require.Equal(t, client.Added, ev.Type)
			names = append(names, ev.Object.Name)
			if len(names) == 20 {
				break
			}
		}
		for i, n := range names {
			require.Equal(t, fmt.Sprintf("w%d", i), n)
		}
		<-wrote
	})
}

func TestLastChange(t *testing.T) {
	bubble(t, func(t *testing.T, _ *clienttest.Server, c *rest.Conn) {
		cms := client.For[*corev1.ConfigMap](c)
		last := func() string {
			version, ok, err := cms.LastChange(t.Context(), "default")
			require.NoError(t, err)
			require.True(t, ok)
			return version
		}
		made, err := cms.Create(t.Context(), configMap("a", nil))
		require.NoError(t, err)
		require.Equal(t, made.ResourceVersion, last())
		_, err = client.For[*corev1.Secret](c).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		require.NoError(t, err)
		require.Equal(t, made.ResourceVersion, last(), "another resource changes nothing")
		other := configMap("b", nil)
		other.Namespace = "kube-system"
		other, err = cms.Create(t.Context(), other)
		require.NoError(t, err)
		require.Equal(t, other.ResourceVersion, last(), "another namespace does")
		require.NoError(t, cms.Delete(t.Context(), key("a")))
		require.True(t, metav1.IsOlder(other.ResourceVersion, last()), "so does a deletion")
		_, _, err = client.For[*corev1.Node](c).LastChange(t.Context(), "default")
		require.Error(t, err, "nodes have no namespace")
	})
}

func TestAllPages(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		cms := client.For[*corev1.ConfigMap](c)
		for i := range 25 {
			_, err := cms.Create(ctx, configMap(fmt.Sprintf("p%02d", i), nil))
			require.NoError(t, err)
		}
		n := 0
		for cm, err := range cms.All(ctx, client.ListOptions{Namespace: "default", Limit: 7}) {
			require.NoError(t, err)
			if cm.Name[0] == 'p' {
				require.Equal(t, fmt.Sprintf("p%02d", n), cm.Name)
				n++
			}
		}
		require.Equal(t, 25, n)
	})
}

func TestSubresourcesDynamicAndMetadata(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		d := &appsv1.Deployment{}
		d.Namespace, d.Name = "default", "web"
		d.Spec.Replicas = new(int32(2))
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		d.Spec.Template.Labels = map[string]string{"app": "web"}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		deployments := client.For[*appsv1.Deployment](c)
		_, err := deployments.Create(ctx, d)
		require.NoError(t, err)
		scales := client.Subresource[*autoscalingv1.Scale](deployments, "scale")
		sc, err := scales.Get(ctx, key("web"))
		require.NoError(t, err)
		require.EqualValues(t, 2, sc.Spec.Replicas)
		sc.Spec.Replicas = 5
		sc, err = scales.Update(ctx, key("web"), sc)
		require.NoError(t, err)
		require.EqualValues(t, 5, sc.Spec.Replicas)
		got, err := client.UpdateStatus(ctx, deployments, key("web"), func(d *appsv1.Deployment) error {
			d.Status.Replicas = 3
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 3, got.Status.Replicas)
		require.EqualValues(t, 5, *got.Spec.Replicas)

		dyn := dynamic.For(c, appsv1.GroupVersion.WithResource("deployments"))
		u, err := dyn.Get(ctx, key("web"))
		require.NoError(t, err)
		n, _ := u.Nested("spec", "replicas")
		require.EqualValues(t, 5, n)
		require.True(t, u.SetNested(int64(6), "spec", "replicas"))
		u, err = dyn.Update(ctx, u)
		require.NoError(t, err)
		n, _ = u.Nested("spec", "replicas")
		require.EqualValues(t, 6, n)

		meta := dynamic.Metadata(c, appsv1.GroupVersion.WithResource("deployments"))
		m, err := meta.Get(ctx, key("web"))
		require.NoError(t, err)
		require.Equal(t, "web", m.Name)
		require.Equal(t, "apps/v1 Deployment", m.APIVersion+" "+m.Kind, "the kind of the object, not PartialObjectMetadata")
		_, err = meta.Update(ctx, m)
		require.Error(t, err)
		ml, err := meta.List(ctx, client.ListOptions{Namespace: "default"})
		require.NoError(t, err)
		require.Len(t, ml.Items, 1)
		require.Equal(t, "apps/v1 Deployment", ml.Items[0].APIVersion+" "+ml.Items[0].Kind)
		unknown := client.Resource{GVR: appsv1.GroupVersion.WithResource("deployments"), Metadata: true}
		m, err = client.ForResource[*metav1.PartialObjectMetadata](c, unknown).Get(ctx, key("web"))
		require.NoError(t, err)
		require.Equal(t, "PartialObjectMetadata", m.Kind)
	})
}

func TestDiscovery(t *testing.T) {
	bubble(t, func(t *testing.T, s *clienttest.Server, c *rest.Conn) {
		d := discovery.New(c, discovery.Options{})
		r, err := d.Find(t.Context(), "deploy")
		require.NoError(t, err)
		require.Equal(t, appsv1.GroupVersion.WithResource("deployments"), r.GVR)
		require.NotNil(t, r.Subresource("scale"))
		require.Equal(t, "Scale", r.Subresource("scale").GVK.Kind)
		_, err = d.Find(t.Context(), "websites.example.com")
		require.True(t, discovery.IsNoMatch(err), "%v", err)
		v, err := d.Version(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, v.GitVersion)
		cat, err := d.Refresh(t.Context())
		require.NoError(t, err)
		again, err := d.Refresh(t.Context())
		require.NoError(t, err)
		require.Same(t, cat, again, "304")
	})
}
