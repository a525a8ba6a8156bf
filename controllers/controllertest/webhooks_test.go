package controllertest_test

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/webhook"
)

const strictHook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: strict}
webhooks:
- name: strict.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 5
  clientConfig: {service: {namespace: default, name: hooks, path: /validate}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
`

// Faults of webhooks: the API server's call fails, breaks, or takes too long, and the next one succeeds.
func TestWebhookFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hooks := webhook.New(webhook.Options{})
		calls := 0
		hooks.Handle("/validate", webhook.Validating(func(context.Context, *webhook.Request, *corev1.ConfigMap) error {
			calls++
			return nil
		}))
		c := controllertest.Start(t, controllertest.Options{Webhooks: controllertest.Webhooks{
			Config: fstest.MapFS{"a.yaml": {Data: []byte(strictHook)}}, Handler: hooks}})
		c.Settle()
		maps := client.For[*corev1.ConfigMap](plainConn(t, c, false))
		of := controllertest.Requests{Webhook: "/validate"}
		for _, effect := range []controllertest.Effect{controllertest.Fail(errors.New("no")), controllertest.Drop(), controllertest.Delay(time.Minute)} {
			fault := c.Inject(controllertest.Fault{Requests: of, Times: 1, Effect: effect})
			_, err := maps.Create(t.Context(), configMap("a"))
			require.ErrorContains(t, err, `failed calling webhook "strict.example.com"`)
			require.Equal(t, 1, fault.Hits())
			require.Zero(t, calls)
		}
		lost := c.Inject(controllertest.Fault{Requests: of, Times: 1, Effect: controllertest.LoseReply()})
		_, err := maps.Create(t.Context(), configMap("a"))
		require.Error(t, err)
		require.Equal(t, 1, lost.Hits())
		require.Equal(t, 1, calls)
		_, err = maps.Create(t.Context(), configMap("a"))
		require.NoError(t, err)
		require.Equal(t, 2, calls)

		effect := controllertest.Drop()
		require.PanicsWithValue(t, "controllertest: Requests.Webhook is not the only field", func() {
			c.Inject(controllertest.Fault{Requests: controllertest.Requests{Webhook: "/", Name: "a"}, Effect: effect})
		})
		require.PanicsWithValue(t, "controllertest: Requests.Webhook is for Inject and Hold only", func() { c.Record(of) })
		require.PanicsWithValue(t, "controllertest: Requests.Webhook, but Options.Webhooks.Handler is nil", func() {
			controllertest.Start(t, controllertest.Options{}).Inject(controllertest.Fault{Requests: of, Effect: effect})
		})
	})
}
