package webhooks_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/examples/operator/webhooks"
)

// admit sends an admission request to a path.
func admit(t *testing.T, path, request string) *admissionv1.AdmissionResponse {
	s := webhook.New(webhook.Options{})
	webhooks.Handle(s, "example.org")
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1",`+request+`}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var review admissionv1.AdmissionReview
	require.NoError(t, codec.Unmarshal(w.Body.Bytes(), &review))
	return review.Response
}

func TestDefaults(t *testing.T) {
	for object, patch := range map[string]string{
		`{"metadata":{"namespace":"n","name":"a"},"spec":{"image":"x"}}`:             `[{"op":"add","path":"/spec/host","value":"a.n.example.org"}]`,
		`{"metadata":{"namespace":"n","name":"a"},"spec":{"image":"x","host":"h"}}`:  "",
		`{"metadata":{"namespace":"n","generateName":"a-"},"spec":{"image":"x"}}`:    "",
		`{"metadata":{"namespace":"n","name":"a"},"spec":{"image":"x","future":{}}}`: `[{"op":"add","path":"/spec/host","value":"a.n.example.org"}]`,
	} {
		answer := admit(t, "/mutate-website", `"operation":"CREATE","object":`+object)
		require.True(t, answer.Allowed)
		require.Equal(t, patch, string(answer.Patch), "%s", object)
	}
}

func TestValidation(t *testing.T) {
	const deleting = `"oldObject":{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"image":"x y"}}`
	for _, c := range []struct{ request, refused, warning string }{
		{`"operation":"CREATE","object":{"spec":{"image":"r:5000/web:1","host":"a.example"}}`, "", ""},
		{`"operation":"CREATE","object":{"spec":{"image":"r:5000/web"}}`, "", "spec.image: a tag other than latest makes rollouts repeatable"},
		{`"operation":"CREATE","object":{"spec":{"image":"web@sha256:00"}}`, "", ""},
		{`"operation":"CREATE","object":{"metadata":{"name":"a"},"spec":{"image":"x y","host":"-","environment":{"a=":"b"}}}`,
			"Website.demo.keelson.dev \"a\" is invalid: [spec.host: Invalid value: \"-\": ", ""},
		{`"operation":"UPDATE","object":{"spec":{"image":"x y"}},"oldObject":{"spec":{"image":"x:1"}}`, "spec.image: Invalid value", ""},
		{`"operation":"UPDATE","object":{"spec":{"image":"x y"}},` + deleting, "", ""},
		{`"operation":"DELETE","oldObject":{"metadata":{"annotations":{"demo.keelson.dev/protected":"true"}},"spec":{"image":"x"}}`,
			"the website is protected: remove the annotation demo.keelson.dev/protected first", ""},
		{`"operation":"DELETE","oldObject":{"spec":{"image":"x"}}`, "", ""},
	} {
		answer := admit(t, "/validate-website", c.request)
		require.Equal(t, c.refused == "", answer.Allowed, "%s: %+v", c.request, answer.Result)
		if c.refused != "" {
			require.Contains(t, answer.Result.Message, c.refused)
		}
		require.Equal(t, c.warning, strings.Join(answer.Warnings, " "), c.request)
	}
}
