package discovery_test

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
)

// small is a server with one resource.
type small struct{}

func (small) Scheme() *scheme.Scheme { return api.Scheme() }

func (small) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	body := `{"items":[]}`
	if r.Path == "/apis" {
		body = `{"items":[{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[
			{"resource":"websites","responseKind":{"group":"","version":"","kind":"Website"},"scope":"Namespaced","singularResource":"website","shortNames":["ws"],"verbs":["get","list"]}]}]}]}`
	}
	return &client.Response{Code: 200, ContentType: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", Body: []byte(body)}, nil
}

func (small) Stream(context.Context, *client.Request) (*client.Stream, error) { return nil, nil }

func Example() {
	d := discovery.New(small{}, discovery.Options{})
	r, err := d.Find(context.Background(), "ws")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.GVK.Kind, r.GVR.Resource, r.Namespaced)
	_, err = d.Find(context.Background(), "gadgets")
	fmt.Println(discovery.IsNoMatch(err))
	// Output:
	// Website websites true
	// true
}
