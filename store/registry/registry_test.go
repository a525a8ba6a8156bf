package registry_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

// start runs a registry of the built-in kinds over a memory store until the test ends.
func start(t testing.TB) *registry.Registry { return startOver(t, memory.New(memory.Options{})) }

func startOver(t testing.TB, s store.Store) *registry.Registry {
	t.Helper()
	kinds := scheme.New()
	require.NoError(t, api.AddToScheme(kinds))
	require.NoError(t, api.AddRules(kinds))
	r, err := registry.New(s, registry.Options{})
	require.NoError(t, err)
	builtins, err := builtin.New(r, builtin.Options{})
	require.NoError(t, err)
	defs, err := builtins.Definitions(kinds)
	require.NoError(t, err)
	_, err = r.Add(defs...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = r.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = s.Close()
	})
	return r
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string]string{}}
}

func TestStoredBytes(t *testing.T) {
	r := start(t)
	res := r.Resource(configMaps)
	obj, err := res.Create(t.Context(), "default", configMap("a"), registry.Write{})
	require.NoError(t, err)
	kv, _, err := r.Store().Get(t.Context(), "/configmaps/default/a")
	require.NoError(t, err)
	var stored corev1.ConfigMap
	apiVersion, kind, err := codec.UnmarshalEnvelope(kv.Value, &stored)
	require.NoError(t, err)
	require.Equal(t, "v1/ConfigMap", apiVersion+"/"+kind)
	require.Empty(t, stored.ResourceVersion)
	require.Equal(t, fmt.Sprint(kv.Revision), obj.GetResourceVersion())

	// The protobuf form is the stored bytes and a segment with the version.
	o, err := res.Get(t.Context(), key("a"), registry.Freshness{})
	require.NoError(t, err)
	body, tail, err := res.Proto(t.Context(), o)
	require.NoError(t, err)
	var read corev1.ConfigMap
	require.NoError(t, codec.UnmarshalProto(append(slices.Clone(body), tail...), &read))
	require.Equal(t, obj.GetResourceVersion(), read.ResourceVersion)
	require.Equal(t, "a", read.Name)
	again, err := res.JSON(t.Context(), o)
	require.NoError(t, err)
	require.Contains(t, string(again), `"resourceVersion":"`+obj.GetResourceVersion()+`"`)
}

// An update that begins with a known state reads nothing while that is the newest, and begins again with what
// is stored if it is not: after another write, also one that it would undo, and after a deletion.
func TestUpdateFromKnownState(t *testing.T) {
	r := start(t)
	res := r.Resource(configMaps)
	_, err := res.Create(t.Context(), "default", configMap("a"), registry.Write{})
	require.NoError(t, err)
	known := func() registry.Current {
		snap, err := res.Snapshot(t.Context(), registry.Freshness{})
		require.NoError(t, err)
		o, ok := snap.Get(res.Key(key("a")))
		require.True(t, ok)
		obj, err := res.Decode(t.Context(), o)
		require.NoError(t, err)
		return res.CurrentOf(o, obj)
	}
	var began []metav1.Object
	set := func(from registry.Current, value string) (*corev1.ConfigMap, error) {
		began = nil
		obj, _, err := res.Update(t.Context(), key("a"), func(now registry.Current) (metav1.Object, error) {
			began = append(began, now.Object)
			cm := *now.Object.(*corev1.ConfigMap)
			cm.Data = map[string]string{"k": value}
			return &cm, nil
		}, registry.UpdateOptions{Patch: true, From: from})
		cm, _ := obj.(*corev1.ConfigMap)
		return cm, err
	}

	first := known()
	got, err := set(first, "1")
	require.NoError(t, err)
	require.Equal(t, []metav1.Object{first.Object}, began)
	require.Same(t, first.Object, began[0])
	require.Equal(t, map[string]string{"k": "1"}, got.Data)
	require.Equal(t, got.Data, known().Object.(*corev1.ConfigMap).Data)

	for _, value := range []string{"2", "1"} {
		got, err = set(first, value)
		require.NoError(t, err)
		require.Len(t, began, 2)
		require.Same(t, first.Object, began[0])
		require.NotEqual(t, first.Object.GetResourceVersion(), began[1].GetResourceVersion())
		require.Equal(t, map[string]string{"k": value}, got.Data)
	}
	second := known()
	_, err = set(registry.Current{}, "3")
	require.NoError(t, err)
	got, err = set(second, "1") // which second has: nothing to change, were it the newest
	require.NoError(t, err)
	require.Len(t, began, 2)
	require.Equal(t, map[string]string{"k": "1"}, got.Data)
	require.Equal(t, got.Data, known().Object.(*corev1.ConfigMap).Data)

	last := known()
	_, err = res.Delete(t.Context(), key("a"), nil, registry.Write{})
	require.NoError(t, err)
	_, err = set(last, "4")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestUpdatesWithoutVersionAreRetried(t *testing.T) {
	r := start(t)
	a := r.Access()
	_, err := a.Create(t.Context(), configMaps, configMap("a"), registry.Write{})
	require.NoError(t, err)
	const writers, each = 8, 20
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			for i := range each {
				_, err := a.Update(t.Context(), configMaps, key("a"), func(obj metav1.Object) error {
					cm := obj.(*corev1.ConfigMap)
					if cm.Data == nil {
						cm.Data = map[string]string{}
					}
					cm.Data[fmt.Sprintf("%d-%d", w, i)] = "x"
					return nil
				}, registry.Write{})
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range writers {
		require.NoError(t, <-errs)
	}
	obj, err := a.GetLatest(t.Context(), configMaps, key("a"))
	require.NoError(t, err)
	require.Len(t, obj.(*corev1.ConfigMap).Data, writers*each, "no update was lost")
}

func TestFinalizersHoldAnObject(t *testing.T) {
	r := start(t)
	a := r.Access()
	cm := configMap("a")
	cm.Finalizers = []string{"a.test/x"}
	_, err := a.Create(t.Context(), configMaps, cm, registry.Write{})
	require.NoError(t, err)
	require.NoError(t, a.Delete(t.Context(), configMaps, key("a"), nil, registry.Write{}))
	obj, err := a.GetLatest(t.Context(), configMaps, key("a"))
	require.NoError(t, err)
	require.NotNil(t, metav1.MetaOf(obj).DeletionTimestamp)
	_, err = a.Update(t.Context(), configMaps, key("a"), func(obj metav1.Object) error {
		obj.SetFinalizers([]string{"a.test/x", "a.test/y"})
		return nil
	}, registry.Write{})
	require.True(t, apierrors.IsInvalid(err), "no new finalizers on an object being deleted: %v", err)
	_, err = a.Update(t.Context(), configMaps, key("a"), func(obj metav1.Object) error {
		obj.SetFinalizers(nil)
		return nil
	}, registry.Write{})
	require.NoError(t, err)
	_, err = a.GetLatest(t.Context(), configMaps, key("a"))
	require.True(t, apierrors.IsNotFound(err))
}

// remote is a store whose reads cost a round trip, as etcd's do: writes begin with what the cache holds.
type remote struct{ store.Store }

func (r remote) Capabilities() store.Capabilities {
	c := r.Store.Capabilities()
	c.Remote = true
	return c
}

func TestLastFinalizerOfACachedObject(t *testing.T) {
	r := startOver(t, remote{memory.New(memory.Options{})})
	a := r.Access()
	for i := range 20 {
		name := key(fmt.Sprintf("held-%d", i))
		cm := configMap(name.Name)
		cm.Finalizers = []string{"a.test/x"}
		_, err := a.Create(t.Context(), configMaps, cm, registry.Write{})
		require.NoError(t, err)
		require.NoError(t, a.Delete(t.Context(), configMaps, name, nil, registry.Write{}))
		require.Eventually(t, func() bool {
			obj, err := a.Get(t.Context(), configMaps, name)
			return err == nil && metav1.MetaOf(obj).DeletionTimestamp != nil
		}, time.Minute, time.Millisecond)
		_, err = a.Update(t.Context(), configMaps, name, func(obj metav1.Object) error {
			obj.SetFinalizers(nil)
			return nil
		}, registry.Write{})
		require.NoError(t, err, "the update that removes the object succeeds")
		_, err = a.GetLatest(t.Context(), configMaps, name)
		require.True(t, apierrors.IsNotFound(err))
	}
}

func TestSeedIsDoneOnce(t *testing.T) {
	r := start(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	require.NoError(t, r.Seed(t.Context(), ns))
	before, _, err := r.Store().Get(t.Context(), "/namespaces/kube-system")
	require.NoError(t, err)
	require.NoError(t, r.Seed(t.Context(), ns))
	after, _, err := r.Store().Get(t.Context(), "/namespaces/kube-system")
	require.NoError(t, err)
	require.Equal(t, before.Revision, after.Revision)
	require.Empty(t, ns.UID, "the caller's object is left alone")
}

// Reads of the cache wait for Run, and end with their context.
func TestReadsWaitForRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		defer s.Close()
		r, err := registry.New(s, registry.Options{})
		require.NoError(t, err)
		_, err = r.Add(&registry.Definition{Info: api.Scheme().ForResource(configMaps)})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.Access().List(ctx, configMaps, "", labels.Everything())
		require.True(t, apierrors.IsTimeout(err), "%v", err)
	})
}

// A resource that is only read object by object gets its cache once that is done often.
func TestHotReadsStartTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		_, err := r.Access().Create(t.Context(), configMaps, configMap("a"), registry.Write{})
		require.NoError(t, err)
		res := r.Resource(configMaps)
		read := func() *cache.Object {
			o, err := res.Get(t.Context(), key("a"), registry.Freshness{})
			require.NoError(t, err)
			synctest.Wait()
			return o
		}
		require.NotSame(t, read(), read())
		require.Zero(t, res.Cached())
		for range 100 {
			read()
		}
		require.Equal(t, 1, res.Cached())
		require.Same(t, read(), read())
	})
}

func TestFutureVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		res := r.Resource(configMaps)
		_, err := res.Snapshot(t.Context(), registry.Freshness{AtLeast: 1 << 40})
		require.True(t, apierrors.IsResourceVersionTooLarge(err), "%v", err)
	})
}

// An object whose bytes cannot be read is an error to its reader and does not stop the others.
func TestUnreadableObjects(t *testing.T) {
	r := start(t)
	_, err := r.Store().Create(t.Context(), "/configmaps/default/bad", []byte("k8s\x00rubbish"), store.WriteOptions{})
	require.NoError(t, err)
	_, err = r.Access().Create(t.Context(), configMaps, configMap("good"), registry.Write{})
	require.NoError(t, err)
	_, err = r.Access().GetLatest(t.Context(), configMaps, key("bad"))
	require.True(t, apierrors.IsStoreReadError(err), "%v", err)
	_, err = r.Access().GetLatest(t.Context(), configMaps, key("good"))
	require.NoError(t, err)
}

func Example() {
	r, err := registry.New(memory.New(memory.Options{}), registry.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := r.Add(&registry.Definition{Info: api.Scheme().ForResource(configMaps)}); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Data: map[string]string{"k": "v"}}
	if _, err := r.Access().Create(ctx, configMaps, cm, registry.Write{}); err != nil {
		panic(err)
	}
	read, err := registry.Get[*corev1.ConfigMap](ctx, r.Access(), configMaps, types.NamespacedName{Namespace: "default", Name: "a"})
	fmt.Println(read.Data, err)
	cancel()
	<-done
	// Output: map[k:v] <nil>
}

// A built-in object that is stored as JSON, as older servers did, or at another version is rewritten by an
// apply that changes nothing.
func TestApplyRewritesStaleObjects(t *testing.T) {
	r := start(t)
	res := r.Resource(configMaps)
	apply := func() string {
		obj, _, err := res.Update(t.Context(), key("a"), func(registry.Current) (metav1.Object, error) { return nil, registry.ErrUnchanged }, registry.UpdateOptions{Patch: true})
		require.NoError(t, err)
		return obj.GetResourceVersion()
	}
	obj, err := res.Create(t.Context(), "default", configMap("a"), registry.Write{})
	require.NoError(t, err)
	require.Equal(t, obj.GetResourceVersion(), apply(), "there is nothing to rewrite")
	kv, _, err := r.Store().Get(t.Context(), "/configmaps/default/a")
	require.NoError(t, err)
	var stored corev1.ConfigMap
	_, _, err = codec.UnmarshalEnvelope(kv.Value, &stored)
	require.NoError(t, err)
	asJSON, err := codec.Marshal(&stored)
	require.NoError(t, err)
	older, err := codec.MarshalEnvelope("v1beta3", "ConfigMap", &stored)
	require.NoError(t, err)
	for _, value := range [][]byte{asJSON, older} {
		at, err := r.Store().Update(t.Context(), kv.Key, value, store.AnyRevision, store.WriteOptions{})
		require.NoError(t, err)
		version := apply()
		require.NotEqual(t, fmt.Sprint(at), version)
		now, _, err := r.Store().Get(t.Context(), kv.Key)
		require.NoError(t, err)
		require.Equal(t, kv.Value, now.Value)
		require.Equal(t, version, apply())
	}
}

// No client can write what the server alone decides: of a new object, of a cluster-scoped one, and of one
// with a status.
func TestWritesAreLimited(t *testing.T) {
	r := start(t)
	ctx := t.Context()
	gvr := networkingv1.GroupVersion.WithResource("servicecidrs")
	now := metav1.Now()
	cidr := &networkingv1.ServiceCIDR{Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/24"}}}
	cidr.ObjectMeta = metav1.ObjectMeta{Name: "c", Namespace: "elsewhere", DeletionTimestamp: &now, SelfLink: "/x", ResourceVersion: "5"}
	dry, err := r.Resource(gvr).Create(ctx, "", cidr, registry.Write{DryRun: true, FieldManager: "a"})
	require.NoError(t, err)
	require.Empty(t, dry.GetNamespace())
	cidr.ResourceVersion = "5"
	_, err = r.Resource(gvr).Create(ctx, "", cidr, registry.Write{FieldManager: "a"})
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
	cidr.ResourceVersion, cidr.ManagedFields = "", nil
	cidr.DeletionTimestamp = &now
	made, err := r.Resource(gvr).Create(ctx, "", cidr, registry.Write{FieldManager: "a"})
	require.NoError(t, err)
	m := metav1.MetaOf(made)
	require.Nil(t, m.DeletionTimestamp)
	require.Len(t, m.ManagedFields, 1)
	require.NotContains(t, string(m.ManagedFields[0].FieldsV1.Raw), "f:metadata")

	next := *made.(*networkingv1.ServiceCIDR)
	next.Labels = map[string]string{"a": "b"}
	next.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: now.Truncated()}}
	got, _, err := r.Resource(gvr).Update(ctx, types.NamespacedName{Name: "c"}, func(registry.Current) (metav1.Object, error) { return &next, nil },
		registry.UpdateOptions{Write: registry.Write{Subresource: "status", FieldManager: "b"}})
	require.NoError(t, err)
	require.Empty(t, got.GetLabels())
	for _, f := range metav1.MetaOf(got).ManagedFields {
		require.NotContains(t, string(f.FieldsV1.Raw), "f:labels")
	}

	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "default"}}
	lease.Spec.PreferredHolder = new("x")
	made, err = r.Resource(coordinationv1.GroupVersion.WithResource("leases")).Create(ctx, "default", lease, registry.Write{})
	require.NoError(t, err)
	require.Nil(t, made.(*coordinationv1.Lease).Spec.PreferredHolder)
}
