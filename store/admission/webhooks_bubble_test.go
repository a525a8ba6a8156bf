package admission_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// TestWebhookInBubble reaches a webhook behind a service over an in-memory network, on virtual time: a call
// that hangs ends after its timeout, and the failure policy decides.
func TestWebhookInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := pipenet.New()
		var dialled []string
		p := planetest.Start(t, func(o *controlplane.Options) {
			o.WebhookDial = func(ctx context.Context, _, addr string) (net.Conn, error) {
				dialled = append(dialled, addr)
				return network.Dial(ctx, "tcp", addr)
			}
		})
		authority, err := certs.NewAuthority("webhooks")
		require.NoError(t, err)
		pair, err := authority.Serving("hook", "hook.system.svc")
		require.NoError(t, err)
		hang := false
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var review tree
			_ = json.NewDecoder(r.Body).Decode(&review)
			if hang {
				<-r.Context().Done()
				return
			}
			review["response"] = tree{"uid": review["request"].(tree)["uid"], "allowed": true, "patchType": "JSONPatch",
				"patch": []byte(`[{"op":"add","path":"/data","value":{"path":"` + r.URL.Path + `"}}]`)}
			_ = json.NewEncoder(w).Encode(review)
		})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Serve(tls.NewListener(network, &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, MinVersion: tls.VersionTLS13}))
		}()
		t.Cleanup(func() { _ = server.Close(); <-done })

		config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: planetest.Meta("", "hook"), Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "hook.a.test", Rules: about("", "v1", "configmaps", opCreate), AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(3)), FailurePolicy: new(admissionregistrationv1.Ignore),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: authority.CertPEM(),
				Service: &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "hook", Path: new("/mutate"), Port: new(int32(8443))}},
		}}}
		planetest.Create(t, p.Admin(), config)
		require.Equal(t, map[string]string{"path": "/mutate"}, planetest.Create(t, p.Admin(), configMap("a", nil)).Data)
		require.Equal(t, []string{"hook.system.svc:8443"}, dialled)

		hang = true
		begun := time.Now()
		require.Empty(t, planetest.Create(t, p.Admin(), configMap("b", nil)).Data)
		require.Equal(t, 3*time.Second, time.Since(begun))
	})
}
