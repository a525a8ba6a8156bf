package objects_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/objects"
	"github.com/keelson-dev/keelson/client/wait"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// mixed has a custom resource before its definition, and an object before its namespace.
const mixed = `
apiVersion: example.com/v1
kind: Website
metadata: {name: home, namespace: shop}
spec: {pages: 1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {k: v}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, namespace: not-namespaced}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: websites, singular: website, kind: Website, listKind: WebsiteList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {status: {}}
`

func read(t *testing.T, text string) []metav1.Object {
	objs, err := manifest.Read(strings.NewReader(text), "mixed.yaml")
	require.NoError(t, err)
	return objects.List(objs)
}

// cluster runs a test against a whole API server in virtual time.
func cluster(t *testing.T, f func(t *testing.T, conn client.Conn)) {
	synctest.Test(t, func(t *testing.T) { f(t, controllertest.Start(t, controllertest.Options{}).Admin()) })
}

func TestAllInOrder(t *testing.T) {
	cluster(t, func(t *testing.T, conn client.Conn) {
		ctx, objs := t.Context(), read(t, mixed)
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}} // a Go type among them
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		deployment.Spec.Template.Labels = map[string]string{"a": "b"}
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		objs = append(objs, deployment)
		all := objects.New(conn, objects.Options{Namespace: "default"})

		made, err := all.CreateAll(ctx, objs)
		require.NoError(t, err)
		require.Len(t, made, 5)
		require.Equal(t, "home", made[0].GetName(), "in the order given")
		require.NotEmpty(t, made[0].GetResourceVersion())
		require.IsType(t, deployment, made[4])
		require.Equal(t, "default", made[4].GetNamespace())
		require.Empty(t, deployment.Namespace, "what is given is only read")
		require.Empty(t, made[2].GetNamespace(), "a namespace is in none")

		_, err = all.CreateAll(ctx, objs)
		require.True(t, apierrors.IsAlreadyExists(err))
		require.ErrorContains(t, err, "objects: create Website shop/home: ")
		require.ErrorContains(t, err, "objects: create CustomResourceDefinition websites.example.com: ", "one failure does not hide the others")

		first, err := all.ApplyAll(ctx, objs, client.ApplyOptions{FieldManager: "test", Force: true})
		require.NoError(t, err)
		second, err := all.ApplyAll(ctx, objs, client.ApplyOptions{FieldManager: "test"})
		require.NoError(t, err)
		for i := range first {
			require.Equal(t, first[i].GetResourceVersion(), second[i].GetResourceVersion(), "applying again changes nothing")
		}

		patched, err := all.Patch(ctx, objs[0], client.Patch{Type: types.MergePatchType, Data: []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)}, client.PatchOptions{Subresource: "status"})
		require.NoError(t, err)
		got, err := all.Get(ctx, objs[0])
		require.NoError(t, err)
		require.Equal(t, patched, got)
		require.NoError(t, all.WaitAll(ctx, objs[:4], wait.Ready))
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err = all.WaitAll(short, objs, wait.Ready)
		require.EqualError(t, err, "objects: wait for Deployment web: wait: Deployment default/web: context deadline exceeded: InProgress: Replicas: 0/1")

		sites, err := all.For(ctx, schema.GroupVersionKind{Group: "example.com", Kind: "Website"})
		require.NoError(t, err)
		list, err := sites.List(ctx, client.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []metav1.Object{got}, list.Items)
		maps, err := all.For(ctx, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		require.NoError(t, err)
		cm, err := maps.Get(ctx, types.NamespacedName{Namespace: "shop", Name: "settings"})
		require.NoError(t, err)
		require.IsType(t, &corev1.ConfigMap{}, cm, "the type of the scheme")

		background := client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground}
		require.NoError(t, all.DeleteAll(ctx, []metav1.Object{objs[0], objs[1], objs[3], objs[4]}, background))
		require.NoError(t, all.WaitAll(ctx, []metav1.Object{objs[0], objs[1], objs[3], objs[4]}, wait.Deleted), "also of a kind that is not served any longer")
		require.NoError(t, all.DeleteAll(ctx, objs), "what does not exist is deleted")
	})
}

func TestErrors(t *testing.T) {
	cluster(t, func(t *testing.T, conn client.Conn) {
		ctx, all := t.Context(), objects.New(conn, objects.Options{})
		unknown, err := manifest.Parse([]byte(`{apiVersion: example.com/v1, kind: Nothing, metadata: {name: a}}`))
		require.NoError(t, err)
		_, err = all.Create(ctx, unknown)
		require.True(t, discovery.IsNoMatch(err), "%v", err)
		var failure *objects.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, "Nothing", failure.Kind.Kind)
		_, err = all.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		require.ErrorContains(t, err, "needs a namespace")
		_, err = all.Get(ctx, &metav1.Unstructured{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		require.True(t, scheme.IsUnregistered(err), "%v", err)
		_, err = all.Create(ctx, nil)
		require.ErrorContains(t, err, "it is nil")
		_, err = all.CreateAll(ctx, []metav1.Object{nil, (*corev1.Pod)(nil)})
		require.ErrorContains(t, err, "it is nil")
		meta, err := all.Get(ctx, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		require.NoError(t, err)
		require.IsType(t, &metav1.PartialObjectMetadata{}, meta)
	})
}

// A definition whose names are taken is reported, and the wait for its kind ends.
func TestADefinitionThatIsNotAccepted(t *testing.T) {
	cluster(t, func(t *testing.T, conn client.Conn) {
		all := objects.New(conn, objects.Options{})
		_, err := all.CreateAll(t.Context(), read(t, mixed))
		require.NoError(t, err)
		other := strings.NewReplacer("websites.example.com", "sites.example.com", "plural: websites", "plural: sites", "singular: website", "singular: site", "name: home", "name: other").Replace(mixed)
		objs := read(t, other)
		_, err = all.CreateAll(t.Context(), []metav1.Object{objs[0], objs[3]})
		var failed *wait.FailedError
		require.ErrorAs(t, err, &failed)
		require.ErrorContains(t, err, "objects: wait for the kind of Website shop/other: ")
	})
}

// The process may end after any request. Applying all again completes what was begun.
func TestApplyAllAfterACrash(t *testing.T) {
	for crash := 1; ; crash++ {
		done := false
		cluster(t, func(t *testing.T, conn client.Conn) {
			ctx, cancel := context.WithCancel(t.Context())
			requests := 0
			dying := client.Intercept(conn, func(ctx context.Context, _ client.Call, send func(context.Context) error) error {
				if err := send(ctx); err != nil {
					return err
				}
				if requests++; requests == crash {
					cancel()
					return errors.New("the process ended")
				}
				return nil
			})
			_, err := objects.New(dying, objects.Options{}).ApplyAll(ctx, read(t, mixed), client.ApplyOptions{FieldManager: "test"})
			done = err == nil
			cancel()
			objs := read(t, mixed)
			all := objects.New(conn, objects.Options{})
			_, err = all.ApplyAll(t.Context(), objs, client.ApplyOptions{FieldManager: "test"})
			require.NoError(t, err, "after a crash at request %d", crash)
			require.NoError(t, all.WaitAll(t.Context(), objs, wait.Exists))
		})
		if done {
			require.Greater(t, crash, 6)
			return
		}
	}
}

func ExampleClient_ApplyAll() {
	run := testing.InternalTest{Name: "example", F: func(t *testing.T) {
		conn, ctx := controllertest.Start(t, controllertest.Options{}).Admin(), t.Context()
		objs, err := manifest.Read(strings.NewReader(mixed), "mixed.yaml")
		if err != nil {
			t.Fatal(err)
		}
		all := objects.New(conn, objects.Options{Namespace: "default"})
		applied, err := all.ApplyAll(ctx, objects.List(objs), client.ApplyOptions{FieldManager: "example"})
		if err != nil {
			t.Fatal(err)
		}
		if err := all.WaitAll(ctx, applied, wait.Ready); err != nil {
			t.Fatal(err)
		}
		for _, obj := range applied {
			fmt.Println(obj.GetName(), "is ready")
		}
	}}
	testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{run})
	// Output:
	// home is ready
	// settings is ready
	// shop is ready
	// websites.example.com is ready
}
