package webhook_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/keelson-dev/keelson/controllers/webhook"
)

func ExampleMutating() {
	server := webhook.New(webhook.Options{CertDir: "/certs"})
	server.Handle("/mutate", webhook.Mutating(func(_ context.Context, _ *webhook.Request, site *Website) error {
		site.Spec.Image = "nginx"
		return nil
	}))
	// m.AddWithoutLeaderElection("webhooks", server) serves it on every replica. Here the API server's
	// question comes by hand.
	req := httptest.NewRequest("POST", "/mutate", strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",
		"request":{"uid":"1","operation":"CREATE","object":{"spec":{"unknown":true}}}}`))
	req.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, req)
	fmt.Println(strings.Contains(answer.Body.String(), `"allowed":true`))
	// Output: true
}
