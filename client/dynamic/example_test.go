package dynamic_test

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/dynamic"
)

var websites = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"}

// Raise the replicas of an object of any kind.
func ExampleFor() {
	raise := func(ctx context.Context, conn client.Conn) error {
		sites, key := dynamic.For(conn, websites), types.NamespacedName{Namespace: "default", Name: "shop"}
		_, err := client.Update(ctx, sites, key, func(u *metav1.Unstructured) error {
			n, _ := u.Nested("spec", "replicas")
			replicas, _ := n.(int64)
			if !u.SetNested(replicas+1, "spec", "replicas") {
				return fmt.Errorf("%s has no spec", u.Name)
			}
			return nil
		})
		return err
	}
	_ = raise
}
