package interop

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"

	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// mediaTypes records the media types on the wire.
type mediaTypes struct {
	http.RoundTripper
	mu   sync.Mutex
	seen map[string]int // by direction and media type
}

func (m *mediaTypes) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := m.RoundTripper.RoundTrip(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen["sent "+r.Header.Get("Content-Type")]++
	if err == nil {
		m.seen["got "+resp.Header.Get("Content-Type")]++
	}
	return resp, err
}

func (m *mediaTypes) wrap(next http.RoundTripper) http.RoundTripper {
	m.RoundTripper = next
	return m
}

// client-go with CBOR on: its dynamic, metadata and typed clients and its informers work with a server that
// has it on, in CBOR, and with one that has it off, in JSON.
func TestClientGoInCBOR(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsAllowCBOR, true)
	for _, on := range []bool{true, false} {
		t.Run(map[bool]string{true: "on", false: "off"}[on], func(t *testing.T) {
			// With this on, client-go sends applies in CBOR only, even if the server has refused it before.
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsPreferCBOR, on)
			c := controllertest.Start(t, controllertest.Options{Server: apiserver.Options{CBOR: on}})
			traffic := &mediaTypes{seen: map[string]int{}}
			cfg := clientGo(c, "")
			cfg.Wrap(traffic.wrap)
			dyn, err := dynamic.NewForConfig(cfg)
			require.NoError(t, err)
			dynamicClient(t, cfg, dyn)
			typedInCBOR(t, c, traffic)
			traffic.mu.Lock()
			defer traffic.mu.Unlock()
			if !on {
				require.Zero(t, traffic.seen["got application/cbor"]+traffic.seen["got application/cbor-seq"])
				require.Positive(t, traffic.seen["sent application/json"])
				return
			}
			for _, want := range []string{"sent application/cbor", "sent application/apply-patch+cbor", "got application/cbor", "got application/cbor-seq"} {
				require.Positive(t, traffic.seen[want], "%s: %v", want, traffic.seen)
			}
			require.Zero(t, traffic.seen["sent application/json"], "%v", traffic.seen)
		})
	}
}

func typedInCBOR(t *testing.T, c *controllertest.Cluster, traffic *mediaTypes) {
	ctx := t.Context()
	cfg := clientGo(c, "application/cbor")
	cfg.AcceptContentTypes = "application/cbor,application/json;q=0.5"
	cfg.Wrap(traffic.wrap)
	secrets := clientset(t, cfg).CoreV1().Secrets("default")
	make := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"bin": {0, 255, 7}, "text": []byte("é")}}
	}
	made, err := secrets.Create(ctx, make("a"), metav1.CreateOptions{})
	if apierrors.IsUnsupportedMediaType(err) {
		made, err = secrets.Create(ctx, make("a"), metav1.CreateOptions{})
	}
	require.NoError(t, err)
	require.Equal(t, make("a").Data, made.Data)
	got, err := secrets.Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, made.Data, got.Data)
	require.Equal(t, made.ManagedFields, got.ManagedFields)
	require.True(t, made.CreationTimestamp.Equal(&got.CreationTimestamp))
	_, err = secrets.Create(ctx, make("a"), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	applied, err := secrets.Apply(ctx, applycorev1.Secret("a", "default").WithData(map[string][]byte{"more": {1}}), metav1.ApplyOptions{FieldManager: "m"})
	require.NoError(t, err)
	require.Len(t, applied.Data, 3)
	w, err := secrets.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	require.NoError(t, err)
	ev := <-w.ResultChan()
	require.Equal(t, watch.Modified, ev.Type)
	require.Equal(t, applied.Data, ev.Object.(*corev1.Secret).Data)
	w.Stop()
	list, err := secrets.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.NoError(t, secrets.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
}
