package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// Boat is a custom kind: any struct with TypeMeta and ObjectMeta can be one.
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Length int `json:"length"`
	} `json:"spec"`
}

// An API server for a custom kind, in memory, that kubectl can use.
func Example() {
	kinds, err := apiserver.BuiltinScheme()
	if err != nil {
		panic(err)
	}
	if err := scheme.Add[*Boat](kinds, schema.GroupVersion{Group: "harbour.example.com", Version: "v1"}, scheme.Kind{Resource: "boats", Namespaced: true}); err != nil {
		panic(err)
	}
	server, err := apiserver.New(apiserver.Options{Scheme: kinds})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Run(ctx) }()
	front := httptest.NewServer(server)
	resp, err := http.Post(front.URL+"/apis/harbour.example.com/v1/namespaces/default/boats", "application/json",
		strings.NewReader(`{"metadata":{"name":"argo"},"spec":{"length":28}}`))
	if err != nil {
		panic(err)
	}
	_ = resp.Body.Close()
	fmt.Println(resp.Status)
	front.Close()
	cancel()
	fmt.Println(<-done)
	// Output:
	// 201 Created
	// <nil>
}
