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
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
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
				if p.Name() == "ValidatingAdmissionWebhook" || p.Name() == "MutatingAdmissionWebhook" {
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
	opts.Secret, opts.Service = certificateSecret, webhookService
	opts.Mutating, opts.Validating, opts.Definitions = []string{"defaults"}, []string{"hooks"}, []string{"clocks.example.com"}
	c := webhook.NewCertificates(client.Intercept(h.conn(), around), opts)
	s := webhook.New(webhook.Options{Listener: r.net, Certificate: c.Get})
	s.Handle("/validate", webhook.Validating(func(_ context.Context, _ *webhook.Request, cm *corev1.ConfigMap) error {
		if cm.Data["bad"] != "" {
			return errors.New("it is bad")
		}
		return nil
	}))
	s.Handle("/mutate", webhook.Mutating(func(_ context.Context, _ *webhook.Request, cm *corev1.ConfigMap) error {
		cm.Labels = map[string]string{"seen": "yes"}
		return nil
	}))
	s.Handle("/convert", webhook.ConversionByHub(schema.GroupVersion{Group: "example.com", Version: "v2"},
		webhook.SpokeOf(schema.GroupVersion{Group: "example.com", Version: "v1"}, (*ClockV1).ConvertTo, (*ClockV1).ConvertFrom)))
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

// configure creates the configurations of the webhooks, with the caBundle of generated manifests.
func (h *hooked) configure(ctx context.Context, conn client.Conn) {
	called := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: []byte("\n"), Service: &admissionregistrationv1.ServiceReference{
			Namespace: webhookService.Namespace, Name: webhookService.Name, Path: new(path)}}
	}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	none := new(admissionregistrationv1.SideEffectClassNone)
	_, err := client.For[*admissionregistrationv1.ValidatingWebhookConfiguration](conn).Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "a.example.com", SideEffects: none, AdmissionReviewVersions: []string{"v1"}, ClientConfig: called("/validate"), Rules: rules}},
	})
	require.NoError(h.t, err)
	_, err = client.For[*admissionregistrationv1.MutatingWebhookConfiguration](conn).Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "defaults"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "b.example.com", SideEffects: none, AdmissionReviewVersions: []string{"v1"}, ClientConfig: called("/mutate"), Rules: rules}},
	})
	require.NoError(h.t, err)
	open := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}
	_, err = client.For[*apiextensionsv1.CustomResourceDefinition](conn).Create(ctx, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "clocks.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "clocks", Kind: "Clock"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Schema: open}, {Name: "v2", Served: true, Storage: true, Schema: open}},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("\n"), Service: &apiextensionsv1.ServiceReference{
					Namespace: webhookService.Namespace, Name: webhookService.Name, Path: new("/convert")}}}},
		},
	})
	require.NoError(h.t, err)
}

// rotation is how long certificates are kept and replaced, and how often webhooks are called.
type rotation struct {
	opts      webhook.CertificateOptions
	lasts     time.Duration
	pause     time.Duration // between calls; the longest
	least     int           // certificates that are served
	restarted int           // after one call of so many a replica is replaced
}

// No request is refused while certificates are replaced as often as in two years with those of 90 days,
// although replicas restart, and their requests and the replies get lost.
func TestCertificatesRotate(t *testing.T) {
	for _, seed := range seeds.Of(t, 1) {
		synctest.Test(t, func(t *testing.T) {
			rotate(t, rand.New(rand.NewPCG(seed, 0)), rotation{
				opts:  webhook.CertificateOptions{Validity: 2 * time.Hour, Overlap: 10 * time.Minute, Interval: 5 * time.Minute},
				lasts: 16 * time.Hour, pause: 20 * time.Minute, least: 9, restarted: 20,
			})
		})
	}
}

// TestCertificatesOfTwoYears is the same for two years with certificates of 90 days.
func TestCertificatesOfTwoYears(t *testing.T) {
	if os.Getenv("KEELSON_FRESH") == "" {
		t.Skip("the server's own work of two years takes minutes: .ci/explore runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		rotate(t, rand.New(rand.NewPCG(1, 2)), rotation{
			opts: webhook.CertificateOptions{Interval: time.Hour}, lasts: 2 * 365 * 24 * time.Hour, pause: 24 * time.Hour, least: 12, restarted: 30,
		})
	})
}

func rotate(t *testing.T, rng *rand.Rand, of rotation) {
	h := serve(t, rand.New(rand.NewPCG(rng.Uint64(), 0))) // a dial that outlives its request draws too
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
	opts := of.opts
	h.join(h.start(opts, direct))
	h.join(h.start(opts, direct))
	h.configure(ctx, conn)
	time.Sleep(opts.Interval + time.Minute) // the first check after the configurations were created
	maps := client.For[*corev1.ConfigMap](conn)
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"bad": "1"}})
	require.ErrorContains(t, err, "it is bad", "the webhook is called")
	clock := client.Resource{GVR: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "clocks"}, Namespaced: true}
	clocks := client.ForResource[*metav1.Unstructured](conn, clock)
	_, err = clocks.Create(ctx, &metav1.Unstructured{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Clock"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Fields: map[string]any{"time": "11:59"}})
	require.NoError(t, err, "the conversion is called")
	served := map[string]bool{}
	for begin := time.Now(); time.Since(begin) < of.lasts; {
		time.Sleep(of.pause * time.Duration(1+rng.IntN(20)) / 20)
		_, _, err := client.CreateOrUpdate(ctx, maps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}, func(cm *corev1.ConfigMap) error {
			cm.Data = map[string]string{"now": time.Now().String()}
			return nil
		})
		require.NoError(t, err, "at %v", time.Now())
		cm, err := maps.Get(ctx, types.NamespacedName{Namespace: "default", Name: "a"})
		require.NoError(t, err)
		require.Equal(t, "yes", cm.Labels["seen"], "at %v", time.Now())
		read, err := clocks.Get(ctx, types.NamespacedName{Namespace: "default", Name: "a"})
		require.NoError(t, err, "at %v", time.Now())
		require.Equal(t, "11:59", read.Fields["time"])
		if rng.IntN(of.restarted) == 0 {
			h.join(h.start(opts, faulty))
			h.end()
		}
		s, err := client.For[*corev1.Secret](conn).Get(ctx, certificateSecret)
		require.NoError(t, err)
		served[string(s.Data[corev1.TLSCertKey])] = true
	}
	require.GreaterOrEqual(t, len(served), of.least, "certificates were replaced")
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
