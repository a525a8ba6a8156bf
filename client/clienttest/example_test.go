package clienttest_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

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
