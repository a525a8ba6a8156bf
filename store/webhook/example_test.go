package webhook_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/keelson-dev/keelson/store/webhook"
)

// A call to a server with a self-signed certificate.
func Example() {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"allowed":true}`)
	}))
	defer server.Close()
	c := webhook.New(webhook.Options{})
	defer c.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	var response struct {
		Allowed bool `json:"allowed"`
	}
	err := c.Call(context.Background(), webhook.Target{URL: server.URL, CABundle: ca}, 10*time.Second, map[string]string{"name": "web"}, &response)
	fmt.Println(response.Allowed, err)
	// Output: true <nil>
}
