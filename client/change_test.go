package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/rest"
)

// counted runs a test against a real server in virtual time and counts the writes by verb.
func counted(t *testing.T, f func(t *testing.T, c client.Conn, writes map[string]int)) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{Scheme: ruled(t)})
		writes := map[string]int{}
		f(t, client.Intercept(s.Conn(t, rest.Options{}), func(ctx context.Context, call client.Call, send func(context.Context) error) error {
			if call.Verb != "get" && call.Verb != "list" {
				writes[call.Verb]++
			}
			return send(ctx)
		}), writes)
	})
}

func deployment(name string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = "default", name
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	d.Spec.Template.Labels = map[string]string{"app": name}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "image", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1000m")}}}}
	return d
}

func TestCreateOrUpdateWritesNothingWhenEqual(t *testing.T) {
	counted(t, func(t *testing.T, c client.Conn, writes map[string]int) {
		ctx, deployments := t.Context(), client.For[*appsv1.Deployment](c)
		replicas := int32(2)
		want := func(d *appsv1.Deployment) error {
			// As rendered: without what the server defaults, and with quantities in another notation.
			d.Spec = deployment("web").Spec
			d.Spec.Replicas = &replicas
			d.Spec.Template.Labels = map[string]string{"app": "web"}
			return nil
		}
		made, did, err := client.CreateOrUpdate(ctx, deployments, deployment("web"), want)
		require.NoError(t, err)
		require.Equal(t, client.Created, did)
		require.Equal(t, "1", made.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"].String())
		for range 3 {
			same, did, err := client.CreateOrUpdate(ctx, deployments, deployment("web"), want)
			require.NoError(t, err)
			require.Equal(t, client.Unchanged, did)
			require.Equal(t, made.ResourceVersion, same.ResourceVersion)
		}
		require.Equal(t, map[string]int{"create": 1}, writes, "an equal object is not sent")
		replicas = 3
		changed, did, err := client.CreateOrUpdate(ctx, deployments, deployment("web"), want)
		require.NoError(t, err)
		require.Equal(t, client.Updated, did)
		require.EqualValues(t, 3, *changed.Spec.Replicas)
		require.Equal(t, map[string]int{"create": 1, "update": 1}, writes)
	})
}

// frozen is a cache of one ConfigMap, or of none, that no event reaches.
type frozen struct {
	client.Reader[*corev1.ConfigMap]
	cached *corev1.ConfigMap
}

func (f frozen) Get(_ context.Context, key types.NamespacedName, _ ...client.GetOptions) (*corev1.ConfigMap, error) {
	if f.cached == nil {
		return nil, apierrors.NewNotFound(corev1.GroupVersion.WithResource("configmaps").GroupResource(), key.Name)
	}
	return f.cached, nil
}

// A cache saves the read, and one that is behind costs a request more but no wrong write.
func TestCreateOrUpdateFromACache(t *testing.T) {
	wanted := map[string]string{"v": "wanted"}
	for name, c := range map[string]struct {
		cached, stored map[string]string // nil: missing
		changed        bool              // since it was cached
		did            client.Outcome
		requests       []string
	}{
		"as wanted":                    {wanted, wanted, false, client.Unchanged, nil},
		"missing":                      {nil, nil, false, client.Created, []string{"create"}},
		"different":                    {map[string]string{}, map[string]string{}, false, client.Updated, []string{"update"}},
		"changed by others":            {map[string]string{}, map[string]string{"x": "y"}, true, client.Updated, []string{"update", "get", "update"}},
		"written by others":            {map[string]string{}, wanted, true, client.Unchanged, []string{"update", "get"}},
		"deleted by others":            {map[string]string{}, nil, true, client.Created, []string{"update", "get", "create"}},
		"created by others":            {nil, map[string]string{}, false, client.Updated, []string{"create", "get", "update"}},
		"created by others, as wanted": {nil, wanted, false, client.Unchanged, []string{"create", "get"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.Start(t, clienttest.Options{})
				live := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{}))
				cache := frozen{}
				if c.cached != nil {
					var err error
					cache.cached, err = live.Create(t.Context(), configMap("a", c.cached))
					require.NoError(t, err)
					if c.changed {
						require.NoError(t, live.Delete(t.Context(), cache.cached.Key()))
					}
				}
				if c.stored != nil && (c.cached == nil || c.changed) {
					_, err := live.Create(t.Context(), configMap("a", c.stored))
					require.NoError(t, err)
				}
				before := codec.DeepCopy(cache.cached)
				var requests []string
				conn := client.Intercept(s.Conn(t, rest.Options{}), func(ctx context.Context, call client.Call, send func(context.Context) error) error {
					requests = append(requests, call.Verb)
					return send(ctx)
				})
				got, did, err := client.CreateOrUpdate(t.Context(), client.For[*corev1.ConfigMap](conn), configMap("a", nil),
					func(cm *corev1.ConfigMap) error { cm.Data = wanted; return nil }, cache)
				require.NoError(t, err)
				require.Equal(t, c.did, did)
				require.Equal(t, c.requests, requests)
				require.Equal(t, wanted, got.Data)
				require.Equal(t, before, cache.cached, "what is cached is not changed")
				now, err := live.Get(t.Context(), got.Key())
				require.NoError(t, err)
				require.Equal(t, wanted, now.Data)
			})
		})
	}
}

// Without the kind's defaults the server is asked, and says that nothing changed.
func TestCreateOrUpdateWithoutDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{Scheme: api.Scheme()})
		deployments := client.For[*appsv1.Deployment](s.Conn(t, rest.Options{}))
		want := func(d *appsv1.Deployment) error { d.Spec = deployment("web").Spec; return nil }
		_, did, err := client.CreateOrUpdate(t.Context(), deployments, deployment("web"), want)
		require.NoError(t, err)
		require.Equal(t, client.Created, did)
		_, did, err = client.CreateOrUpdate(t.Context(), deployments, deployment("web"), want)
		require.NoError(t, err)
		require.Equal(t, client.Unchanged, did)
	})
}

func TestCreateOrUpdateErrors(t *testing.T) {
	counted(t, func(t *testing.T, c client.Conn, writes map[string]int) {
		ctx, maps := t.Context(), client.For[*corev1.ConfigMap](c)
		boom := errors.New("boom")
		for range 2 { // missing, then existing
			_, _, err := client.CreateOrUpdate(ctx, maps, configMap("a", nil), func(*corev1.ConfigMap) error { return boom })
			require.ErrorIs(t, err, boom)
			_, did, err := client.CreateOrUpdate(ctx, maps, configMap("a", nil), func(*corev1.ConfigMap) error { return client.ErrNoChange })
			require.NoError(t, err)
			require.Equal(t, client.Unchanged, did)
			_, _, err = client.CreateOrUpdate(ctx, maps, configMap("a", nil), func(cm *corev1.ConfigMap) error { cm.Name = "b"; return nil })
			require.ErrorContains(t, err, "renames default/a to default/b")
			_, _, err = client.CreateOrUpdate(ctx, maps, configMap("a", nil), func(*corev1.ConfigMap) error { return nil })
			require.NoError(t, err)
		}
		require.Equal(t, map[string]int{"create": 1}, writes)
		_, _, err := client.CreateOrUpdate(ctx, maps, nil, func(*corev1.ConfigMap) error { return nil })
		require.ErrorContains(t, err, "it is nil")
	})
}

// Twenty writers make and count up one object; some replies are lost after the write.
func TestCreateOrUpdateUnderContention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		done := make(chan error)
		for i := range 20 {
			conn := s.Conn(t, rest.Options{})
			go func() {
				_, _, err := client.CreateOrUpdate(t.Context(), client.For[*corev1.ConfigMap](conn), configMap("n", nil), func(cm *corev1.ConfigMap) error {
					if cm.Data == nil {
						cm.Data = map[string]string{}
					}
					cm.Data[fmt.Sprint("writer-", i)] = "was here"
					return nil
				})
				done <- err
			}()
		}
		for range 20 {
			require.NoError(t, <-done)
		}
		cm, err := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{})).Get(t.Context(), key("n"))
		require.NoError(t, err)
		require.Len(t, cm.Data, 20)
	})
}

func TestUpdateWritesNothingWhenEqual(t *testing.T) {
	counted(t, func(t *testing.T, c client.Conn, writes map[string]int) {
		ctx, deployments := t.Context(), client.For[*appsv1.Deployment](c)
		_, err := deployments.Create(ctx, deployment("web"))
		require.NoError(t, err)
		_, err = client.Update(ctx, deployments, key("web"), func(d *appsv1.Deployment) error {
			d.Spec.Template.Spec.NodeSelector = map[string]string{} // means the same as none
			return nil
		})
		require.NoError(t, err)
		ready := func(d *appsv1.Deployment) error { d.Status.ReadyReplicas, d.Status.Replicas = 1, 1; return nil }
		for range 2 {
			d, err := client.UpdateStatus(ctx, deployments, key("web"), ready)
			require.NoError(t, err)
			require.EqualValues(t, 1, d.Status.ReadyReplicas)
		}
		require.Equal(t, map[string]int{"create": 1, "update": 1}, writes)
	})
}

func TestPatchFrom(t *testing.T) {
	counted(t, func(t *testing.T, c client.Conn, writes map[string]int) {
		ctx, deployments := t.Context(), client.For[*appsv1.Deployment](c)
		before, err := deployments.Create(ctx, deployment("web"))
		require.NoError(t, err)
		after, err := deployments.Get(ctx, key("web"))
		require.NoError(t, err)
		same, err := client.PatchFrom(ctx, deployments, before, after, client.PatchFromOptions{Lock: true})
		require.NoError(t, err)
		require.Equal(t, after, same)
		require.Zero(t, writes["patch"], "an empty patch is not sent")

		// A strategic patch merges the containers: one that another writer adds stays.
		side := client.Patch{Type: types.StrategicMergePatchType, Data: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}`)}
		_, err = deployments.Patch(ctx, key("web"), side)
		require.NoError(t, err)
		after.Spec.Template.Spec.Containers[0].Image = "newer"
		got, err := client.PatchFrom(ctx, deployments, before, after, client.PatchFromOptions{Strategic: true})
		require.NoError(t, err)
		require.Len(t, got.Spec.Template.Spec.Containers, 2)

		_, err = client.PatchFrom(ctx, deployments, before, after, client.PatchFromOptions{Strategic: true, Lock: true})
		require.True(t, apierrors.IsConflict(err), "before is stale: %v", err)
		_, err = client.PatchFrom(ctx, deployments, before, after, client.PatchFromOptions{Lock: true})
		require.True(t, apierrors.IsConflict(err), "before is stale: %v", err)
		got, err = client.PatchFrom(ctx, deployments, before, after, client.PatchFromOptions{})
		require.NoError(t, err)
		require.Len(t, got.Spec.Template.Spec.Containers, 1, "a JSON merge patch replaces lists")

		after = got
		after.Status.Replicas = 7
		before, err = deployments.Get(ctx, key("web"))
		require.NoError(t, err)
		got, err = client.PatchFrom(ctx, deployments, before, after, client.PatchFromOptions{PatchOptions: client.PatchOptions{Subresource: "status"}, Lock: true})
		require.NoError(t, err)
		require.EqualValues(t, 7, got.Status.Replicas)
	})
	_, err := client.PatchBetween(configMap("a", nil), configMap("a", map[string]string{"k": "v"}), client.PatchFromOptions{Lock: true})
	require.ErrorContains(t, err, "needs the resourceVersion")
	_, err = client.PatchBetween(configMap("a", nil), deployment("a"), client.PatchFromOptions{})
	require.ErrorContains(t, err, "between a *corev1.ConfigMap and a *appsv1.Deployment")
	_, err = client.PatchBetween(&metav1.Unstructured{}, &metav1.Unstructured{}, client.PatchFromOptions{Strategic: true})
	require.ErrorContains(t, err, "needs the Go type of the kind")
}

func TestFinalizersOfOthersAreKept(t *testing.T) {
	counted(t, func(t *testing.T, c client.Conn, writes map[string]int) {
		ctx, maps := t.Context(), client.For[*corev1.ConfigMap](c)
		stale, err := maps.Create(ctx, configMap("a", nil))
		require.NoError(t, err)
		one, err := client.AddFinalizer(ctx, maps, stale, "example.com/one")
		require.NoError(t, err)
		two, err := client.AddFinalizer(ctx, maps, stale, "example.com/two") // of a stale state
		require.NoError(t, err)
		require.Equal(t, []string{"example.com/one", "example.com/two"}, two.Finalizers)
		patches := writes["patch"]
		_, err = client.AddFinalizer(ctx, maps, two, "example.com/two")
		require.NoError(t, err)
		_, err = client.RemoveFinalizer(ctx, maps, two, "example.com/none")
		require.NoError(t, err)
		require.Equal(t, patches, writes["patch"], "nothing to do is not sent")

		require.NoError(t, maps.Delete(ctx, key("a")))
		going, err := maps.Get(ctx, key("a"))
		require.NoError(t, err)
		_, err = client.AddFinalizer(ctx, maps, going, "example.com/three")
		require.ErrorContains(t, err, "is being deleted")
		_, err = client.RemoveFinalizer(ctx, maps, one, "example.com/one") // of a stale state
		require.NoError(t, err)
		_, err = client.RemoveFinalizer(ctx, maps, two, "example.com/two")
		require.NoError(t, err)
		_, err = maps.Get(ctx, key("a"))
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		_, err = client.RemoveFinalizer(ctx, maps, two, "example.com/two")
		require.NoError(t, err, "the object is gone")
		again := configMap("a", nil)
		again.Finalizers = []string{"example.com/two"}
		_, err = maps.Create(ctx, again)
		require.NoError(t, err)
		_, err = client.RemoveFinalizer(ctx, maps, two, "example.com/two")
		require.NoError(t, err)
		kept, err := maps.Get(ctx, key("a"))
		require.NoError(t, err)
		require.Equal(t, []string{"example.com/two"}, kept.Finalizers, "another object of the name is not touched")
	})
}

func TestWithFieldManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		bare := s.Conn(t, rest.Options{})
		// Wrapped twice more: the manager is found below.
		conn := client.Impersonate(client.WithHeader(client.WithFieldManager(bare, "operator"), "X", "y"), client.User{})
		maps := client.For[*corev1.ConfigMap](client.WithFieldManager(bare, "operator"))
		managers := func(cm *corev1.ConfigMap) (out []string) {
			for _, m := range cm.ManagedFields {
				out = append(out, m.Manager)
			}
			return out
		}
		cm, err := maps.Create(t.Context(), configMap("a", map[string]string{"k": "1"}))
		require.NoError(t, err)
		require.Equal(t, []string{"operator"}, managers(cm))
		cm.Data["k"] = "2"
		cm, err = maps.Update(t.Context(), cm, client.UpdateOptions{FieldManager: "other"})
		require.NoError(t, err)
		require.Contains(t, managers(cm), "other")
		cm, err = maps.Apply(t.Context(), configMap("b", map[string]string{"k": "1"}), client.ApplyOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"operator"}, managers(cm))
		_, err = client.For[*corev1.ConfigMap](bare).Apply(t.Context(), configMap("b", nil), client.ApplyOptions{})
		require.ErrorContains(t, err, "ApplyOptions.FieldManager is empty")
		_, err = client.For[*corev1.ConfigMap](conn).Apply(t.Context(), configMap("c", nil), client.ApplyOptions{})
		require.NoError(t, err)
	})
}

// An interceptor sees every request with its kind and key, fails those it chooses, and loses replies.
func TestIntercept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		var seen []string
		var fault func(client.Call) (before, after error)
		conn := client.Intercept(s.Conn(t, rest.Options{}), func(ctx context.Context, call client.Call, send func(context.Context) error) error {
			seen = append(seen, fmt.Sprintf("%s %s %s %s", call.Verb, call.Kind.Kind, call.Subresource, call.Key))
			var before, after error
			if fault != nil {
				before, after = fault(call)
			}
			if before != nil {
				return before
			}
			if err := send(ctx); err != nil {
				return err
			}
			return after
		})
		ctx, maps := t.Context(), client.For[*corev1.ConfigMap](conn)
		_, err := maps.Create(ctx, configMap("a", nil))
		require.NoError(t, err)
		_, err = dynamic.For(conn, maps.Resource().GVR).Create(ctx, &metav1.Unstructured{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: configMap("b", nil).ObjectMeta})
		require.NoError(t, err)

		conflict := apierrors.NewConflict(maps.Resource().GVR.GroupResource(), "a", errors.New("injected"))
		tries := 0
		fault = func(call client.Call) (before, after error) {
			if call.Verb == "update" {
				if tries++; tries < 3 {
					return conflict, nil
				}
			}
			return nil, nil
		}
		_, err = client.Update(ctx, maps, key("a"), func(cm *corev1.ConfigMap) error { cm.Data = map[string]string{"k": "v"}; return nil })
		require.NoError(t, err)
		require.Equal(t, 3, tries, "the conflicts are retried")

		lost := errors.New("the reply was lost")
		fault = func(client.Call) (before, after error) { return nil, lost }
		_, err = maps.Create(ctx, configMap("c", nil))
		require.ErrorIs(t, err, lost)
		fault = func(call client.Call) (before, after error) {
			if call.Verb == "watch" {
				return nil, apierrors.NewForbidden(call.Resource.GroupResource(), "", lost)
			}
			return nil, nil
		}
		_, err = maps.Get(ctx, key("c"))
		require.NoError(t, err, "the object was made")
		_, err = client.For[*appsv1.Deployment](conn).UpdateStatus(ctx, deployment("no"))
		require.True(t, apierrors.IsNotFound(err))
		for _, err = range maps.Watch(ctx, client.WatchOptions{Namespace: "default", ResourceVersion: "1"}) {
		}
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.Equal(t, []string{
			"create ConfigMap  default/a", "create ConfigMap  default/b",
			"get ConfigMap  default/a", "update ConfigMap  default/a", "get ConfigMap  default/a", "update ConfigMap  default/a",
			"get ConfigMap  default/a", "update ConfigMap  default/a",
			"create ConfigMap  default/c", "get ConfigMap  default/c", "update Deployment status default/no", "watch ConfigMap  default/",
		}, seen)

		mute := client.Intercept(conn, func(context.Context, client.Call, func(context.Context) error) error { return nil })
		_, err = client.For[*corev1.ConfigMap](mute).Get(ctx, key("a"))
		require.ErrorIs(t, err, client.ErrNotSent)
	})
}

func TestForObject(t *testing.T) {
	bubble(t, func(t *testing.T, _ *clienttest.Server, c *rest.Conn) {
		ctx := t.Context()
		typed := client.For[*corev1.ConfigMap](c)
		maps := client.ForObject(c, typed.Resource(), &corev1.ConfigMap{})
		require.True(t, maps.Protobuf())
		made, err := maps.Create(ctx, configMap("a", map[string]string{"k": "1"}))
		require.NoError(t, err)
		require.IsType(t, &corev1.ConfigMap{}, made)
		list, err := maps.List(ctx, client.ListOptions{Namespace: "default"})
		require.NoError(t, err)
		require.Equal(t, []metav1.Object{made}, list.Items)
		_, err = client.Update(ctx, maps, key("a"), func(obj metav1.Object) error { obj.SetLabels(map[string]string{"x": "y"}); return nil })
		require.NoError(t, err)
		applied, err := maps.Apply(ctx, configMap("a", map[string]string{"m": "1"}), client.ApplyOptions{FieldManager: "m"})
		require.NoError(t, err)
		part, err := client.Extract(applied, "m", "")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"m": "1"}, part.(*corev1.ConfigMap).Data)
		_, err = maps.Create(ctx, deployment("web"))
		require.ErrorContains(t, err, "is for *corev1.ConfigMap, not for *appsv1.Deployment")
		_, err = maps.Create(ctx, (*corev1.ConfigMap)(nil))
		require.ErrorContains(t, err, "it is nil")
		require.Error(t, client.ForObject(c, typed.Resource(), nil).Err())
	})
}

func TestASubresourceIsNotReplacedByAnOption(t *testing.T) {
	scales := dynamic.Scale(stub{}, client.For[*appsv1.Deployment](stub{}).Resource().GVR)
	_, err := scales.Patch(t.Context(), key("a"), client.Patch{Type: types.MergePatchType}, client.PatchOptions{Subresource: "status"})
	require.ErrorContains(t, err, "the subresource status cannot be written through scale")
	_, err = scales.Apply(t.Context(), key("a"), nil, client.ApplyOptions{Subresource: "status"})
	require.ErrorContains(t, err, "the subresource status cannot be written through scale")
}

// ruled is the scheme of a program that knows the defaults of the built-in kinds.
func ruled(t *testing.T) *scheme.Scheme {
	s := api.Scheme().Clone()
	require.NoError(t, api.AddRules(s))
	return s
}
