package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

const (
	jsonType  = runtime.ContentTypeJSON
	protoType = runtime.ContentTypeProtobuf
)

// clientGo is a client-go configuration for the cluster, over its network in memory; without client-side
// limits.
func clientGo(c *controllertest.Cluster, contentType string, user ...client.User) *rest.Config {
	a := c.Access(user...)
	return &rest.Config{
		Host: a.Host, Dial: a.Dial, QPS: -1, WarningHandler: rest.NoWarnings{},
		ContentConfig:   rest.ContentConfig{ContentType: contentType},
		TLSClientConfig: rest.TLSClientConfig{CAData: a.CA, CertData: a.Cert, KeyData: a.Key},
	}
}

// overTCP is a client-go configuration from a kubeconfig file, over a real socket.
func overTCP(t testing.TB, c *controllertest.Cluster) *rest.Config {
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	require.NoError(t, err)
	cfg.QPS = -1
	return cfg
}

func clientset(t testing.TB, cfg *rest.Config) *kubernetes.Clientset {
	cs, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return cs
}

// bothTypes runs a test once with JSON and once with protobuf on the wire.
func bothTypes(t *testing.T, f func(t *testing.T, contentType string)) {
	t.Run("json", func(t *testing.T) { f(t, jsonType) })
	t.Run("protobuf", func(t *testing.T) { f(t, protoType) })
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, 5*time.Millisecond, what)
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "app:1"}}}}
}
