package interop

import (
	"encoding/base64"
	stdjson "encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// What our server stores in etcd, read with etcd's and Kubernetes' own tools.
func TestStorageAsUpstream(t *testing.T) {
	if _, err := exec.LookPath("etcdctl"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have etcdctl")
		t.Skip("etcdctl is not installed")
	}
	env, cfg := startEnvtest(t)
	cs := clientset(t, cfg)
	maps := cs.CoreV1().ConfigMaps("default")
	etcdctl := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "etcdctl", append([]string{"--endpoints=" + env.ControlPlane.Etcd.URL.String()}, args...)...)
		cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
		out, err := cmd.Output()
		require.NoError(t, err, "etcdctl %v", args)
		return string(out)
	}
	stored := func(key string) []byte {
		var got struct{ Kvs []struct{ Value string } }
		require.NoError(t, stdjson.Unmarshal([]byte(etcdctl("get", key, "-w", "json")), &got))
		require.Len(t, got.Kvs, 1, key)
		value, err := base64.StdEncoding.DecodeString(got.Kvs[0].Value)
		require.NoError(t, err)
		return value
	}

	t.Run("keys and encoding", func(t *testing.T) {
		_, err := maps.Create(t.Context(), configMap("stored", map[string]string{"k": "v"}), metav1.CreateOptions{})
		require.NoError(t, err)
		websites := schema.GroupVersionResource{Group: "demo.keelson.dev", Version: "v1", Resource: "websites"}
		_, err = dynamic.NewForConfigOrDie(cfg).Resource(websites).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "demo.keelson.dev/v1", "kind": "Website", "metadata": map[string]any{"name": "site"}, "spec": map[string]any{"image": "web:1"}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		keys := strings.Split(etcdctl("get", "/registry", "--prefix", "--keys-only"), "\n")
		for _, want := range []string{"/registry/configmaps/default/stored", "/registry/demo.keelson.dev/websites/default/site", "/registry/services/specs/default/kubernetes",
			"/registry/apiextensions.k8s.io/customresourcedefinitions/websites.demo.keelson.dev", "/registry/ipaddresses/10.0.0.1", "/registry/namespaces/kube-system"} {
			require.Contains(t, keys, want)
		}
		value := stored("/registry/configmaps/default/stored")
		require.True(t, strings.HasPrefix(string(value), "k8s\x00"))
		obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
		require.NoError(t, err)
		require.Equal(t, "/v1, Kind=ConfigMap", gvk.String())
		require.Equal(t, map[string]string{"k": "v"}, obj.(*corev1.ConfigMap).Data)
		var custom unstructured.Unstructured
		require.NoError(t, custom.UnmarshalJSON(stored("/registry/demo.keelson.dev/websites/default/site")))
		require.Equal(t, "site", custom.GetName())
		require.Empty(t, custom.GetResourceVersion(), "the version is the key's revision")
	})

	t.Run("every update counts once", func(t *testing.T) { testStoredCounter(t, maps) })
	t.Run("compaction", func(t *testing.T) {
		testStoredCompaction(t, cs, func(version string) { etcdctl("compact", version) })
	})
}

// testStoredCounter increments one counter from 50 clients and requires that no increment is lost.
func testStoredCounter(t *testing.T, maps typedcorev1.ConfigMapInterface) {
	_, err := maps.Create(t.Context(), configMap("counter", map[string]string{"n": "0"}), metav1.CreateOptions{})
	require.NoError(t, err)
	var wg sync.WaitGroup
	var mu sync.Mutex
	versions := map[string]bool{}
	failed := make(chan error, 50)
	for range 50 {
		wg.Go(func() {
			failed <- func() error {
				for {
					m, err := maps.Get(t.Context(), "counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					n, err := strconv.Atoi(m.Data["n"])
					if err != nil {
						return err
					}
					m.Data["n"] = strconv.Itoa(n + 1)
					m, err = maps.Update(t.Context(), m, metav1.UpdateOptions{})
					if apierrors.IsConflict(err) {
						continue
					}
					if err == nil {
						mu.Lock()
						versions[m.ResourceVersion] = true
						mu.Unlock()
					}
					return err
				}
			}()
		})
	}
	wg.Wait()
	for range 50 {
		require.NoError(t, <-failed)
	}
	require.Len(t, versions, 50)
	m, err := maps.Get(t.Context(), "counter", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "50", m.Data["n"])
}

// testStoredCompaction requires that lists and informers continue after compact has removed the history up to
// a version.
func testStoredCompaction(t *testing.T, cs kubernetes.Interface, compact func(version string)) {
	maps := cs.CoreV1().ConfigMaps("default")
	factory := informers.NewSharedInformerFactoryWithOptions(cs, 0, informers.WithNamespace("default"))
	lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps("default")
	informer := factory.Core().V1().ConfigMaps().Informer()
	stop := make(chan struct{})
	factory.Start(stop)
	defer factory.Shutdown()
	defer close(stop)
	eventually(t, "synced", informer.HasSynced)
	old, err := maps.List(t.Context(), metav1.ListOptions{Limit: 1})
	require.NoError(t, err)
	for i := range 20 {
		_, err := maps.Create(t.Context(), configMap(fmt.Sprintf("c%02d", i), nil), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	last, err := maps.Get(t.Context(), "c19", metav1.GetOptions{})
	require.NoError(t, err)
	compact(last.ResourceVersion)
	// A page from before the compaction is either still available, or expired with a token to continue
	// with.
	page, err := maps.List(t.Context(), metav1.ListOptions{Limit: 500, Continue: old.Continue})
	if err == nil {
		require.NotContains(t, names(page.Items), "c00")
	} else {
		require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	}
	require.NoError(t, maps.Delete(t.Context(), "c00", metav1.DeleteOptions{}))
	eventually(t, "the informer has what the server has", func() bool {
		have, err := lister.List(labels.Everything())
		require.NoError(t, err)
		want, err := maps.List(t.Context(), metav1.ListOptions{})
		return err == nil && len(have) == len(want.Items)
	})
}

func names(items []corev1.ConfigMap) []string {
	var out []string
	for _, m := range items {
		out = append(out, m.Name)
	}
	return out
}
