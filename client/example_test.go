package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

// inMemory runs an example against an API server in memory.
func inMemory(example func(ctx context.Context, conn client.Conn)) {
	run := testing.InternalTest{Name: "example", F: func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{Scheme: api.Scheme()})
		example(t.Context(), s.Conn(t, rest.Options{}))
	}}
	if !testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{run}) {
		fmt.Println("failed")
	}
}

// Bring an object to a state, whether it exists or not. The second call finds it as it should be.
func ExampleCreateOrUpdate() {
	inMemory(func(ctx context.Context, conn client.Conn) {
		conn = client.WithFieldManager(conn, "operator")
		maps := client.For[*corev1.ConfigMap](conn)
		for range 2 {
			key := metav1.ObjectMeta{Namespace: "default", Name: "settings"}
			cm, did, err := client.CreateOrUpdate(ctx, maps, &corev1.ConfigMap{ObjectMeta: key}, func(cm *corev1.ConfigMap) error {
				cm.Data = map[string]string{"mode": "fast"}
				return nil
			})
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(cm.Name, did)
		}
	})
	// Output:
	// settings created
	// settings unchanged
}

// Change an object that was read before, and fail if another program has changed it since.
func ExamplePatchFrom() {
	inMemory(func(ctx context.Context, conn client.Conn) {
		maps := client.For[*corev1.ConfigMap](conn)
		before := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"a": "1", "b": "2"}}
		before, err := maps.Create(ctx, before)
		if err != nil {
			fmt.Println(err)
			return
		}
		after := &corev1.ConfigMap{TypeMeta: before.TypeMeta, ObjectMeta: before.ObjectMeta, Data: map[string]string{"a": "3"}}
		o := client.PatchFromOptions{Lock: true}
		after, err = client.PatchFrom(ctx, maps, before, after, o)
		fmt.Println(after.Data, err)
		_, err = client.PatchFrom(ctx, maps, before, after, o)
		fmt.Println(apierrors.IsConflict(err))
	})
	// Output:
	// map[a:3] <nil>
	// true
}

// Fail the first update with a conflict, to test that it is retried.
func ExampleIntercept() {
	inMemory(func(ctx context.Context, conn client.Conn) {
		updates := 0
		conn = client.Intercept(conn, func(ctx context.Context, call client.Call, send func(context.Context) error) error {
			if call.Verb == "update" {
				if updates++; updates == 1 {
					return apierrors.NewConflict(call.Resource.GroupResource(), call.Key.Name, errors.New("injected"))
				}
			}
			return send(ctx)
		})
		maps, key := client.For[*corev1.ConfigMap](conn), types.NamespacedName{Namespace: "default", Name: "n"}
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
			fmt.Println(err)
			return
		}
		_, err := client.Update(ctx, maps, key, func(cm *corev1.ConfigMap) error {
			cm.Data = map[string]string{"k": "v"}
			return nil
		})
		fmt.Println(updates, err)
	})
	// Output: 2 <nil>
}
