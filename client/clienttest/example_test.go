package clienttest_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

// A server of one's own, and a connection to it, without a network.
func ExampleListen() {
	l := clienttest.Listen()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	conn, err := rest.New(rest.Config{Host: "http://memory", Dial: l.Dial}, rest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	resp, err := conn.Do(context.Background(), &client.Request{Method: "GET", Path: "/healthz"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(resp.Body))
	// Output: ok
}

// A test against a real API server, which ends with the test.
func ExampleStart() {
	_ = func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		maps := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{}))
		if _, err := maps.List(t.Context(), client.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
