package controlplane_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/keelson-dev/keelson/store/controlplane"
)

// A cluster's API server, with its policy, on a port of this machine.
func Example() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	cp, err := controlplane.New(controlplane.Options{ServiceAccountKeys: []any{key}, Anonymous: true})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- cp.Run(ctx) }()
	<-cp.Ready()
	front := httptest.NewServer(cp)
	for _, path := range []string{"/readyz", "/api/v1/nodes"} {
		resp, err := http.Get(front.URL + path)
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		fmt.Println(path, resp.StatusCode)
	}
	front.Close()
	cancel()
	fmt.Println(<-done)
	// Output:
	// /readyz 200
	// /api/v1/nodes 403
	// <nil>
}
