package crd_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/keelson-dev/keelson/store/apiserver"
)

const boats = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.harbour.example.com"},
"spec":{"group":"harbour.example.com","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
	"spec":{"type":"object","properties":{"masts":{"type":"integer","minimum":1,"default":1}}}}}}}]}}`

// Every API server serves custom resources, from the moment their definition is stored.
func Example() {
	server, err := apiserver.New(apiserver.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Run(ctx) }()
	front := httptest.NewServer(server)
	post := func(path, body string) string {
		resp, err := http.Post(front.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(err)
		}
		_, rest, _ := strings.Cut(string(text), `"spec":`)
		return strings.TrimSpace(resp.Status + " " + rest)
	}
	post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", boats)
	const path = "/apis/harbour.example.com/v1/namespaces/default/boats"
	fmt.Println(post(path, `{"apiVersion":"harbour.example.com/v1","kind":"Boat","metadata":{"name":"argo"},"spec":{"sails":2}}`))
	fmt.Println(post(path, `{"apiVersion":"harbour.example.com/v1","kind":"Boat","metadata":{"name":"raft"},"spec":{"masts":0}}`)[:3])
	front.Close()
	cancel()
	fmt.Println(<-done)
	// Output:
	// 201 Created {"masts":1}}
	// 422
	// <nil>
}
