package main

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/objects"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

var update = flag.Bool("update", false, "rewrite the files of config from the source")

// The variants of an installation in config: for all namespaces, and for one.
func variant(watched ...string) installation {
	return (&flags{namespace: defaultNamespace, image: defaultImage, domain: "websites.example", watched: watched}).installation()
}

// TestConfig: the files of config are what is generated, and there are no others but the samples.
//
//	go test ./examples/operator -run TestConfig -update
func TestConfig(t *testing.T) {
	all, some := variant(), variant("websites")
	want := map[string]func() ([]metav1.Object, error){
		"namespace.yaml":            func() ([]metav1.Object, error) { return []metav1.Object{all.home()}, nil },
		"crd/websites.yaml":         all.definition,
		"webhook/webhooks.yaml":     all.webhooks,
		"rbac/cluster-wide.yaml":    all.rights,
		"rbac/namespaced.yaml":      some.rights,
		"manager/cluster-wide.yaml": all.workload,
		"manager/namespaced.yaml":   some.workload,
	}
	for name, objects := range want {
		objs, err := objects()
		require.NoError(t, err)
		var text bytes.Buffer
		require.NoError(t, manifest.Write(&text, objs...))
		file := filepath.Join("config", filepath.FromSlash(name))
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
			continue
		}
		committed, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text.String(), strings.ReplaceAll(string(committed), "\r\n", "\n"), "%s: run this test with -update", file)
	}
	require.NoError(t, fs.WalkDir(os.DirFS("config"), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Dir(name) != "samples" {
			require.Contains(t, want, name, "config has a file that nothing generates")
		}
		return err
	}))
}

// TestManifestsAreComplete: the command prints all of it, with its flags, and a server accepts it twice.
func TestManifestsAreComplete(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"manifests", "--namespace=shop-system", "--image=registry.example/operator:7", "--watch-namespaces=a,b", "--domain=shop.example"}, &text))
	objs, err := manifest.Read(&text, "manifests")
	require.NoError(t, err)
	for _, u := range objs {
		require.NotEqual(t, "ClusterRole", u.Kind, "an operator of some namespaces has Roles only")
		require.Contains(t, []string{"", "shop-system", "a", "b"}, u.Namespace)
	}
	c := controllertest.Start(t, controllertest.Options{})
	kinds := objects.New(c.Admin(), objects.Options{})
	for _, name := range []string{"a", "b"} {
		objs = slices.Insert(objs, 0, namespace(t, name))
	}
	for range 2 {
		_, err = kinds.ApplyAll(t.Context(), objects.List(objs), client.ApplyOptions{FieldManager: "test"})
		require.NoError(t, err)
	}
	pod := controllertest.Get[*appsv1.Deployment](c, "shop-system", operatorName).Spec.Template.Spec
	require.Equal(t, "registry.example/operator:7", pod.Containers[0].Image)
	require.Equal(t, []string{"--health-address=:8081", "--domain=shop.example", "--watch-namespaces=a,b", "--webhook-cert-dir=/certificates", "--metrics=false"}, pod.Containers[0].Args)
	_, err = parse(pod.Containers[0].Args)
	require.NoError(t, err)
}

func namespace(t *testing.T, name string) *metav1.Unstructured {
	n := variant().home()
	n.Name = name
	u, err := manifest.FromObject(api.Scheme(), n)
	require.NoError(t, err)
	return u
}

// TestDockerfile: the image runs the program as the Deployment expects it.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	pod := variant().pod()
	for _, want := range []string{
		"ENTRYPOINT [\"/operator\"]\n", "CGO_ENABLED=0", "./examples/operator\n", "USER 65532:65532\n",
	} {
		require.Contains(t, string(text), want)
	}
	require.Empty(t, pod.Containers[0].Command, "the image's entrypoint is used")
	require.EqualValues(t, 65532, *pod.SecurityContext.RunAsUser)
}
