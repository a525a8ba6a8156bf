package interop

import (
	"bufio"
	"context"
	stdjson "encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// samples are request bodies, at least one of every kind that is created and stored.
func samples(t *testing.T) (bodies [][]byte) {
	f, err := os.Open("testdata/objects.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		bodies = append(bodies, []byte(lines.Text()))
	}
	require.NoError(t, lines.Err())
	return bodies
}

// typedClient finds the method of the generated clientset that returns a client for obj, such as
// AppsV1().Deployments(ns). It returns nil when client-go has none.
func typedClient(cs *kubernetes.Clientset, obj runtime.Object, namespace string) reflect.Value {
	want := reflect.TypeOf(obj)
	groups := reflect.ValueOf(cs)
	for i := range groups.NumMethod() {
		m := groups.Method(i)
		if m.Type().NumIn() != 0 || m.Type().NumOut() != 1 || m.Type().Out(0).Kind() != reflect.Interface {
			continue
		}
		if _, ok := m.Type().Out(0).MethodByName("RESTClient"); !ok {
			continue
		}
		group := m.Call(nil)[0].Elem()
		for j := range group.NumMethod() {
			r := group.Method(j)
			if r.Type().NumOut() != 1 || r.Type().Out(0).Kind() != reflect.Interface {
				continue
			}
			create, ok := r.Type().Out(0).MethodByName("Create")
			if !ok || create.Type.NumIn() != 3 || create.Type.In(1) != want {
				continue
			}
			if r.Type().NumIn() == 1 {
				return r.Call([]reflect.Value{reflect.ValueOf(namespace)})[0]
			}
			return r.Call(nil)[0]
		}
	}
	return reflect.Value{}
}

// call calls a method of a generated client and returns its first result, if it has two.
func call(client reflect.Value, method string, args ...any) (runtime.Object, error) {
	in := []reflect.Value{reflect.ValueOf(context.Background())}
	for _, a := range args {
		in = append(in, reflect.ValueOf(a))
	}
	out := client.MethodByName(method).Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	if len(out) == 1 {
		return nil, err
	}
	obj, _ := out[0].Interface().(runtime.Object)
	return obj, err
}

// Every kind that is stored is created, read, listed, changed and deleted through client-go's typed clients,
// in JSON and in protobuf, and is returned as it was sent except for the fields that the server sets.
func TestTypedClientsOfEveryKind(t *testing.T) {
	bothTypes(t, func(t *testing.T, contentType string) {
		c := controllertest.Start(t, controllertest.Options{})
		cs := clientset(t, clientGo(c, contentType))
		up := upstreamScheme(t)
		seen := map[schema.GroupVersionKind]bool{}
		for _, body := range samples(t) {
			var head metav1.TypeMeta
			require.NoError(t, stdjson.Unmarshal(body, &head))
			gvk := head.GroupVersionKind()
			ours := schema.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
			if !up.Recognizes(gvk) {
				t.Errorf("client-go does not know %v", gvk)
				continue
			}
			info := api.Scheme().ForKind(ours)
			require.NotNil(t, info, "%v", gvk)
			seen[ours] = true
			obj, err := up.New(gvk)
			require.NoError(t, err)
			require.NoError(t, stdjson.Unmarshal(body, obj))
			acc, err := meta.Accessor(obj)
			require.NoError(t, err)
			t.Run(gvk.Kind+"."+gvk.Version+"."+gvk.Group+"/"+acc.GetName(), func(t *testing.T) {
				namespace := ""
				if info.Namespaced {
					namespace = "default"
				}
				typed := typedClient(cs, obj, namespace)
				if !typed.IsValid() {
					require.Equal(t, "apiextensions.k8s.io", gvk.Group, "no typed client")
					return // its clientset lives elsewhere; see TestDynamicClient
				}
				lifeOf(t, typed, info.HasVerb, obj, acc.GetName(), body)
			})
		}
		for _, info := range api.Scheme().All() {
			if info.HasVerb("create") && info.HasVerb("get") && !seen[info.GVK] {
				require.Equal(t, "APIService", info.Kind.Name, "testdata/objects.jsonl has no %v", info.GVK)
			}
		}
	})
}

func lifeOf(t *testing.T, typed reflect.Value, serves func(string) bool, obj runtime.Object, name string, sent []byte) {
	made, err := call(typed, "Create", obj, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		// A sample with the name of an object that every server has is compared with that object.
		made, err = call(typed, "Get", name, metav1.GetOptions{})
	}
	require.NoError(t, err)
	if _, ok := made.(*flowcontrolv1.FlowSchema); ok {
		// The server itself writes the status of flow schemas soon after their creation.
		require.Eventually(t, func() bool {
			made, err = call(typed, "Get", name, metav1.GetOptions{})
			return err == nil && len(made.(*flowcontrolv1.FlowSchema).Status.Conditions) > 0
		}, time.Minute, 10*time.Millisecond)
	}
	got, err := call(typed, "Get", name, metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, equality.Semantic.DeepEqual(made, got), "created and read differ\n%+v\n%+v", made, got)
	madeJSON, err := stdjson.Marshal(made)
	require.NoError(t, err)
	var want, have any
	require.NoError(t, stdjson.Unmarshal(sent, &want))
	require.NoError(t, stdjson.Unmarshal(madeJSON, &have))
	// Typed clients drop both.
	delete(want.(map[string]any), "apiVersion")
	delete(want.(map[string]any), "kind")
	delete(want.(map[string]any), "stringData") // write-only
	contains(t, "", have, want)

	list, err := call(typed, "List", metav1.ListOptions{})
	require.NoError(t, err)
	found := false
	require.NoError(t, meta.EachListItem(list, func(item runtime.Object) error {
		acc, err := meta.Accessor(item)
		if err == nil && acc.GetName() == name {
			found = true
			require.True(t, equality.Semantic.DeepEqual(got, item), "listed and read differ\n%+v\n%+v", got, item)
		}
		return err
	}))
	require.True(t, found, "not in the list")

	acc, err := meta.Accessor(got)
	require.NoError(t, err)
	version := acc.GetResourceVersion()
	labels := acc.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["interop"] = "updated"
	acc.SetLabels(labels)
	updated, err := call(typed, "Update", got, metav1.UpdateOptions{})
	require.NoError(t, err)
	acc, err = meta.Accessor(updated)
	require.NoError(t, err)
	require.Equal(t, "updated", acc.GetLabels()["interop"])
	require.NotEqual(t, version, acc.GetResourceVersion())
	for _, pt := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		patched := typed.MethodByName("Patch").Call([]reflect.Value{reflect.ValueOf(context.Background()), reflect.ValueOf(name), reflect.ValueOf(pt),
			reflect.ValueOf([]byte(`{"metadata":{"labels":{"interop":"` + strings.Fields(strings.ReplaceAll(string(pt), "/", " "))[0] + `"}}}`)), reflect.ValueOf(metav1.PatchOptions{})})
		require.Nil(t, patched[1].Interface(), "%s", pt)
	}
	if _, err = call(typed, "Update", got, metav1.UpdateOptions{}); err == nil || !apierrors.IsConflict(err) {
		t.Errorf("a stale update answers %v, want a conflict", err)
	}
	if !serves("delete") {
		return
	}
	zero := int64(0)
	_, err = call(typed, "Delete", name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	require.NoError(t, err)
	if after, err := call(typed, "Get", name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		require.NoError(t, err)
		acc, err := meta.Accessor(after)
		require.NoError(t, err)
		require.NotNil(t, acc.GetDeletionTimestamp(), "deleted and still there without a finalizer at work")
	}
}

// contains requires every value of want in have: objects may have further members, lists may not have further
// elements.
func contains(t *testing.T, path string, have, want any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok && len(w) > 0 {
			require.Fail(t, "lost", "%s: have %v, want %v", path, have, want)
		}
		for k, v := range w {
			contains(t, path+"."+k, h[k], v)
		}
	case []any:
		h, _ := have.([]any)
		require.GreaterOrEqual(t, len(h), len(w), path)
		for i := range w {
			contains(t, path+"[]", h[i], w[i])
		}
	case string:
		h, _ := have.(string)
		if a, err := resource.ParseQuantity(w); err == nil { // quantities come back in canonical form
			if b, err := resource.ParseQuantity(h); err == nil && a.Cmp(b) == 0 {
				return
			}
		}
		require.Equal(t, want, have, path)
	default:
		require.Equal(t, want, have, path)
	}
}
