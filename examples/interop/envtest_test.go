package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// startEnvtest starts controller-runtime's envtest, unmodified, with examples/kube-apiserver in place of the
// real binary and a real etcd.
func startEnvtest(t *testing.T) (*envtest.Environment, *rest.Config) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the API server and starts processes")
	}
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have etcd")
		t.Skip("etcd is not installed: envtest starts one")
	}
	binary := filepath.Join(t.TempDir(), "kube-apiserver")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/keelson-dev/keelson/examples/kube-apiserver").CombinedOutput()
	require.NoError(t, err, "%s", out)
	env := &envtest.Environment{}
	env.ControlPlane.GetAPIServer().Path = binary
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	env.CRDDirectoryPaths = []string{"../operator/config/crd"}
	env.ErrorIfCRDPathMissing = true
	cfg, err := env.Start()
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	require.NoError(t, err)
	cfg.QPS = -1
	return env, cfg
}

func TestEnvtestWithOurServer(t *testing.T) {
	env, cfg := startEnvtest(t)
	cs, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	_, err = cs.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	user, err := env.AddUser(envtest.User{Name: "reader"}, nil)
	require.NoError(t, err)
	limited, err := kubernetes.NewForConfig(user.Config())
	require.NoError(t, err)
	_, err = limited.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.Error(t, err, "it has no role")
	list, err := cs.Discovery().ServerResourcesForGroupVersion("demo.keelson.dev/v1")
	require.NoError(t, err)
	require.NotEmpty(t, list.APIResources)
}
