package webhook_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// hooked is an API server that calls the webhooks of replicas, in a bubble.
type hooked struct {
	t        *testing.T
	listener *pipenet.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	rng      *rand.Rand
	replicas []*replica
}

// replica is an operator's process with a webhook.
type replica struct {
	net  *pipenet.Listener
	stop context.CancelFunc
}

var (
	certificateSecret = types.NamespacedName{Namespace: "default", Name: "webhook"}
	webhookService    = types.NamespacedName{Namespace: "default", Name: "hooks"}
)

func serve(t *testing.T, rng *rand.Rand) *hooked {
	ctx, stop := context.WithCancel(context.Background())
	h := &hooked{t: t, rng: rng, listener: pipenet.New()}
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	require.NoError(t, err)
	cp, err := controlplane.New(controlplane.Options{
		ServiceAccountKeys: []any{key},
		AuthorizationModes: []string{"AlwaysAllow"}, WebhookDial: h.dial,
		Authenticator: func(authn.Authenticator) authn.Authenticator {
			return authn.Func(func(*http.Request) (*authn.Response, bool, error) {
				return &authn.Response{User: &authn.User{Name: "admin", Groups: []string{"system:masters"}}}, true, nil
			})
		},
		Admission: func(builtin []admission.Plugin) (out []admission.Plugin) {
			for _, p := range builtin {
				if p.Name() == "ValidatingAdmissionWebhook" {
					out = append(out, p)
				}
			}
			return out
		},
	})
	require.NoError(t, err)
	h.running.Go(func() { _ = cp.Run(ctx) })
	h.running.Go(func() { _ = cp.Serve(ctx, h.listener, nil) })
	<-cp.Ready()
	t.Cleanup(func() { stop(); h.running.Wait() })
	return h
}

// dial connects the server to one of the replicas.
func (h *hooked) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	h.mu.Lock()
	r := h.replicas[h.rng.IntN(len(h.replicas))]
	h.mu.Unlock()
	return r.net.Dial(ctx, network, addr)
}

func (h *hooked) conn() client.Conn {
	conn, err := rest.New(rest.Config{Host: "http://pipe", Dial: h.listener.Dial}, rest.Options{})
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// start starts a replica, whose requests fail as around says.
func (h *hooked) start(opts webhook.CertificateOptions, around func(context.Context, client.Call, func(context.Context) error) error) (*replica, *webhook.Certificates) {
	ctx, stop := context.WithCancel(context.Background())
	r := &replica{net: pipenet.New(), stop: stop}
	opts.Secret, opts.Service, opts.Validating = certificateSecret, webhookService, []string{"hooks"}
	c := webhook.NewCertificates(client.Intercept(h.conn(), around), opts)
	s := webhook.New(webhook.Options{Listener: r.net, Certificate: c.Get})
	s.Handle("/validate", webhook.Validating(func(_ context.Context, _ *webhook.Request, cm *corev1.ConfigMap) error {
		if cm.Data["bad"] != "" {
			return errors.New("it is bad")
		}
		return nil
	}))
	h.t.Cleanup(stop)
	h.running.Go(func() { require.NoError(h.t, c.Run(ctx)) })
	h.running.Go(func() { require.NoError(h.t, s.Run(ctx)) })
	return r, c
}

// join makes a replica one that is called when it is ready.
func (h *hooked) join(r *replica, c *webhook.Certificates) {
	for c.Healthy() != nil {
		time.Sleep(time.Second)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replicas = append(h.replicas, r)
}

// end ends the oldest replica: no new connections, then those in progress.
func (h *hooked) end() {
	h.mu.Lock()
	r := h.replicas[0]
	h.replicas = h.replicas[1:]
	h.mu.Unlock()
	r.stop()
}

func direct(ctx context.Context, _ client.Call, send func(context.Context) error) error {
	return send(ctx)
}

// configure creates the configuration of the webhook, with the caBundle of generated manifests.
func (h *hooked) configure(ctx context.Context, conn client.Conn) {
	_, err := client.For[*admissionregistrationv1.ValidatingWebhookConfiguration](conn).Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "a.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte("\n"), Service: &admissionregistrationv1.ServiceReference{
				Namespace: webhookService.Namespace, Name: webhookService.Name, Path: new("/validate")}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	})
	require.NoError(h.t, err)
}

// No request is refused while certificates are replaced as often as in two years with those of 90 days,
// although replicas restart, and their requests and the replies get lost.
func TestCertificatesRotate(t *testing.T) {
	for _, seed := range seeds.Of(t, 1) {
		synctest.Test(t, func(t *testing.T) { rotate(t, seeds.Rand(seed)) })
	}
}

func rotate(t *testing.T, rng *rand.Rand) {
	h := serve(t, rng)
	conn, ctx := h.conn(), t.Context()
	var mu sync.Mutex
	faults := rand.New(rand.NewPCG(rng.Uint64(), 1)) // replicas draw from it; mu guards it
	faulty := func(ctx context.Context, _ client.Call, send func(context.Context) error) error {
		mu.Lock()
		fault := faults.IntN(6)
		mu.Unlock()
		if fault == 0 {
			return errors.New("the request is lost")
		}
		err := send(ctx)
		if fault == 1 && err == nil {
			err = errors.New("the reply is lost")
		}
		return err
	}
	opts := webhook.CertificateOptions{Validity: 2 * time.Hour, Overlap: 10 * time.Minute, Interval: 5 * time.Minute}
	h.join(h.start(opts, direct))
	h.join(h.start(opts, direct))
	h.configure(ctx, conn)
	time.Sleep(6 * time.Minute) // the first check after the configuration was created
	maps := client.For[*corev1.ConfigMap](conn)
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"bad": "1"}})
	require.ErrorContains(t, err, "it is bad", "the webhook is called")
	served := map[string]bool{}
	for begin := time.Now(); time.Since(begin) < 16*time.Hour; {
		time.Sleep(time.Duration(1+rng.IntN(20)) * time.Minute)
		_, _, err := client.CreateOrUpdate(ctx, maps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}, func(cm *corev1.ConfigMap) error {
			cm.Data = map[string]string{"now": time.Now().String()}
			return nil
		})
		require.NoError(t, err, "at %v", time.Now())
		if rng.IntN(20) == 0 {
			h.join(h.start(opts, faulty))
			h.end()
		}
		s, err := client.For[*corev1.Secret](conn).Get(ctx, certificateSecret)
		require.NoError(t, err)
		served[string(s.Data[corev1.TLSCertKey])] = true
	}
	require.Greater(t, len(served), 8, "certificates were replaced")
	config, err := client.For[*admissionregistrationv1.ValidatingWebhookConfiguration](conn).Get(ctx, types.NamespacedName{Name: "hooks"})
	require.NoError(t, err)
	var kept int
	for block, rest := pem.Decode(config.Webhooks[0].ClientConfig.CABundle); block != nil; block, rest = pem.Decode(rest) {
		kept++
		_, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, kept, 3, "expired certificates are removed from bundles")
}

// What is wrong is in the readiness of the replica, and repaired when it can be.
func TestCertificatesRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, rand.New(rand.NewPCG(1, 1)))
		conn, ctx := h.conn(), t.Context()
		var mu sync.Mutex
		forbidden := true
		r, c := h.start(webhook.CertificateOptions{Hosts: []string{"10.0.0.1"}}, func(ctx context.Context, call client.Call, send func(context.Context) error) error {
			mu.Lock()
			defer mu.Unlock()
			if forbidden {
				return apierrors.NewForbidden(call.Resource.GroupResource(), call.Key.Name, errors.New("no right"))
			}
			return send(ctx)
		})
		time.Sleep(time.Minute)
		require.ErrorContains(t, c.Healthy(), `webhook: certificate in secret default/webhook: secrets "webhook" is forbidden: no right`)
		_, err := c.Get(nil)
		require.ErrorContains(t, err, "no right")
		mu.Lock()
		forbidden = false
		mu.Unlock()
		time.Sleep(time.Minute)
		h.join(r, c)
		first, err := c.Get(nil)
		require.NoError(t, err)
		require.NoError(t, first.Leaf.VerifyHostname("hooks.default.svc"))
		require.NoError(t, first.Leaf.VerifyHostname("10.0.0.1"))
		_, err = client.Update(ctx, client.For[*corev1.Secret](conn), certificateSecret, func(s *corev1.Secret) error {
			s.Data[corev1.TLSCertKey] = []byte("spoiled")
			return nil
		})
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		second, err := c.Get(nil)
		require.NoError(t, err)
		require.NotEqual(t, first.Leaf.Raw, second.Leaf.Raw)
	})
}

func TestCertificatesNeedNames(t *testing.T) {
	conn, err := rest.New(rest.Config{Host: "http://pipe"}, rest.Options{})
	require.NoError(t, err)
	require.ErrorContains(t, webhook.NewCertificates(conn, webhook.CertificateOptions{}).Run(t.Context()), "CertificateOptions need Secret, and Service or Hosts")
}
