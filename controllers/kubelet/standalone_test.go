package kubelet_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// read returns what the kubelet's read-only server answers, decoded into T.
func read[T any](r *rig, path string) *T {
	w := httptest.NewRecorder()
	r.k.ReadOnly().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(r.t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
	v := new(T)
	require.NoError(r.t, codec.Unmarshal(w.Body.Bytes(), v))
	return v
}

// A kubelet without an API server runs the pods of its manifests and shows them.
func TestStandalone(t *testing.T) {
	var warnings strings.Builder
	bubble(t, func(r *rig) {
		r.opts.Logger = slog.New(slog.NewTextHandler(&warnings, &slog.HandlerOptions{Level: slog.LevelWarn}))
		r.alone, r.opts.StopPods = true, false
		r.opts.StaticPodDir = filepath.Join(filepath.Dir(r.opts.RootDir), "manifests")
		require.NoError(r.t, os.Mkdir(r.opts.StaticPodDir, 0o755))
	}, func(r *rig) {
		write := func(name, text string) {
			require.NoError(t, os.WriteFile(filepath.Join(r.opts.StaticPodDir, name), []byte(text), 0o600))
		}
		write("static.yaml", manifest("a"))
		write("refers.yaml", `apiVersion: v1
kind: Pod
metadata: {name: refers}
spec:
  containers: [{name: main, image: img, imagePullPolicy: IfNotPresent}]
  volumes: [{name: s, secret: {secretName: s}}]
`)
		time.Sleep(5 * time.Second)
		require.Equal(t, one, r.rt.Running())
		pods := read[metav1.List[*corev1.Pod]](r, "/pods").Items
		require.Len(t, pods, 1)
		require.Equal(t, "static-n1", pods[0].Name)
		require.True(t, ready(pods[0]))
		require.NotEmpty(t, pods[0].Status.PodIP)
		require.NoError(t, r.k.Healthy())

		r.rt.Kill("static-n1", "main", 1)
		time.Sleep(15 * time.Second)
		require.Equal(t, one, r.rt.Running(), "it is started again")
		r.stop()
		r.start()
		time.Sleep(5 * time.Minute)
		require.Equal(t, one, r.rt.Running())
		started := r.rt.Calls("StartContainer")
		require.Equal(t, 2, started, "a restart of the kubelet starts nothing")

		// An orphan of before goes, and a manifest that is removed.
		require.NoError(t, os.Remove(filepath.Join(r.opts.StaticPodDir, "static.yaml")))
		time.Sleep(30 * time.Second)
		require.Empty(t, r.rt.Running())
		sandboxes, containers := r.rt.Counts()
		require.Zero(t, sandboxes+containers)
	})
	require.NotContains(t, warnings.String(), "record event failed")
	require.NotContains(t, warnings.String(), "informer failed", "its watches do not end")
}

func TestStandaloneNeedsAccess(t *testing.T) {
	_, err := kubelet.New(nil, kubelet.Options{NodeName: "n1", Listener: pipenet.New(), TLS: &tls.Config{}})
	require.EqualError(t, err, "kubelet: Options.Listener without an API server needs Authenticate and Authorize")
}
