package dynamic_test

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/dynamic"
)

// shop is a server with one website, which stores updates.
type shop struct{ site []byte }

func (*shop) Scheme() *scheme.Scheme { return api.Scheme() }

func (s *shop) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	fmt.Println(r.Method, r.URLPath())
	if r.Method == "PUT" {
		s.site = r.Body
	}
	return &client.Response{Code: 200, ContentType: client.MediaJSON, Body: s.site}, nil
}

func (*shop) Stream(context.Context, *client.Request) (*client.Stream, error) { return nil, nil }

var websites = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"}

// Raise the replicas of an object of any kind.
func ExampleFor() {
	var conn client.Conn = &shop{site: []byte(`{"apiVersion":"example.com/v1","kind":"Website","metadata":{"name":"shop","namespace":"default"},"spec":{"replicas":2}}`)}
	sites, key := dynamic.For(conn, websites), types.NamespacedName{Namespace: "default", Name: "shop"}
	u, err := client.Update(context.Background(), sites, key, func(u *metav1.Unstructured) error {
		n, _ := u.Nested("spec", "replicas")
		replicas, _ := n.(int64)
		if !u.SetNested(replicas+1, "spec", "replicas") {
			return fmt.Errorf("%s has no spec", u.Name)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Nested("spec", "replicas"))
	// Output:
	// GET /apis/example.com/v1/namespaces/default/websites/shop
	// PUT /apis/example.com/v1/namespaces/default/websites/shop
	// 3 true
}
