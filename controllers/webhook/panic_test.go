package webhook_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/controllers/webhook"
)

// The stack of a panic is logged and not sent to clients of the API server; without a logger it is
// in the answer.
func TestStacksOfPanicsGoToTheLog(t *testing.T) {
	questions := map[string]string{
		"/validate": `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","object":{}}}`,
		"/convert": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1","desiredAPIVersion":"example.com/v2",
			"objects":[{"apiVersion":"example.com/v1","kind":"Website","metadata":{"name":"a"}}]}}`,
	}
	answer := func(path string, log *slog.Logger) string {
		s := webhook.New(webhook.Options{Logger: log})
		s.Handle("/validate", webhook.Validating(func(context.Context, *webhook.Request, *Website) error { panic("boom") }))
		s.Handle("/convert", webhook.Conversion(func(context.Context, *metav1.Unstructured, schema.GroupVersion) error { panic("boom") }))
		req := httptest.NewRequest("POST", path, strings.NewReader(questions[path]))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		return w.Body.String()
	}
	for path := range questions {
		var log bytes.Buffer
		text := answer(path, slog.New(slog.NewTextHandler(&log, nil)))
		require.Contains(t, text, "webhook: panic: boom")
		require.NotContains(t, text, "panic_test.go")
		require.Contains(t, log.String(), "path="+path+" panic=boom")
		require.Contains(t, log.String(), "panic_test.go")

		text = answer(path, nil)
		require.Contains(t, text, "webhook: panic: boom")
		require.Contains(t, text, "panic_test.go")
	}
}
