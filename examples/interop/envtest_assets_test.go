package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// assets returns a folder for KUBEBUILDER_ASSETS with our server in place of upstream's.
func assets(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the API server and starts processes")
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "kube-apiserver"), "github.com/keelson-dev/keelson/examples/kube-apiserver").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"etcd", "kubectl"} {
		path, err := exec.LookPath(name)
		if err != nil {
			require.NotEqual(t, "true", os.Getenv("CI"), "CI must have %s", name)
			t.Skipf("%s is not installed: it belongs to envtest's assets", name)
		}
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}

// A typical test suite, in which only the folder of the binaries is changed: definitions and webhooks are
// installed, work, and are removed with the environment. With two flags the same server needs no etcd; our
// etcd-facade can also replace etcd's binary.
func TestEnvtestAssets(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", assets(t))
	for _, backend := range []string{"etcd", "facade", "memory"} {
		t.Run(backend, func(t *testing.T) {
			if backend == "facade" {
				replaceEtcd(t, os.Getenv("KUBEBUILDER_ASSETS"))
			}
			fail, path, none := admissionregistrationv1.Fail, "/mutate", admissionregistrationv1.SideEffectClassNone
			env := &envtest.Environment{
				CRDDirectoryPaths: []string{"../operator/config/crd"}, ErrorIfCRDPathMissing: true,
				WebhookInstallOptions: envtest.WebhookInstallOptions{MutatingWebhooks: []*admissionregistrationv1.MutatingWebhookConfiguration{{
					ObjectMeta: metav1.ObjectMeta{Name: "colours"},
					Webhooks: []admissionregistrationv1.MutatingWebhook{{
						Name: "mutate.colours.test", FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
						ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hooks", Path: &path}},
						Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
							Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
					}},
				}}},
			}
			args := env.ControlPlane.GetAPIServer().Configure()
			args.Append("runtime-config", "api/all=true").Set("request-timeout", "30s").Append("feature-gates", "WatchList=true").Enable("profiling")
			if backend == "memory" {
				args.Set("storage-backend", "memory").Disable("etcd-servers")
			}
			useEnvtest(t, env)
		})
	}
}

// replaceEtcd installs etcd-facade as the etcd binary that envtest starts.
func replaceEtcd(t *testing.T, dir string) {
	t.Helper()
	binary := filepath.Join(dir, "etcd")
	require.NoError(t, os.Remove(binary))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/keelson-dev/keelson/examples/etcd-facade").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// useEnvtest starts an environment, uses it as suites do, and stops it.
func useEnvtest(t *testing.T, env *envtest.Environment) {
	cfg, err := env.Start()
	stopped := false
	defer func() {
		if !stopped {
			_ = env.Stop()
		}
	}()
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	o := env.WebhookInstallOptions
	hooks := webhook.NewServer(webhook.Options{Host: o.LocalServingHost, Port: o.LocalServingPort, CertDir: o.LocalServingCertDir})
	hooks.Register("/mutate", admission.WithDefaulter[*corev1.ConfigMap](scheme, colours{}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- hooks.Start(ctx) }()
	require.Eventually(t, func() bool { return hooks.StartedChecker()(nil) == nil }, 2*time.Minute, 10*time.Millisecond)

	cs, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	made, err := cs.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "blue", made.Data["colour"], "the webhook was asked")
	dyn, err := dynamic.NewForConfig(cfg)
	require.NoError(t, err)
	crds := dyn.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	list, err := crds.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, list.Items)
	for _, crd := range list.Items {
		resource := schema.GroupVersionResource{Group: textAt(t, crd, "spec", "group"), Version: "v1", Resource: textAt(t, crd, "spec", "names", "plural")}
		_, err = dyn.Resource(resource).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "%v is served once Start has returned", resource)
	}
	user, err := env.AddUser(envtest.User{Name: "reader"}, nil)
	require.NoError(t, err)
	kubectl, err := user.Kubectl()
	require.NoError(t, err)
	out, _, err := kubectl.Run("auth", "can-i", "list", "configmaps")
	require.Error(t, err, "it has no role")
	require.NotNil(t, out)
	limited, err := kubernetes.NewForConfig(user.Config())
	require.NoError(t, err)
	_, err = limited.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)

	cancel()
	require.NoError(t, <-served)
	stopped = true
	require.NoError(t, env.Stop())
	_, err = cs.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
	require.Error(t, err, "nothing serves any more")
	require.False(t, apierrors.IsNotFound(err), "%v", err)
}

func textAt(t *testing.T, o unstructured.Unstructured, path ...string) string {
	text, ok, err := unstructured.NestedString(o.Object, path...)
	require.NoError(t, err)
	require.True(t, ok)
	return text
}
