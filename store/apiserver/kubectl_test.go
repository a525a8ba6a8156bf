package apiserver_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// kubectl runs the stock tool against a server.
type kubectl struct {
	t      *testing.T
	binary string
	server string
	home   string
}

func (k *kubectl) try(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, k.binary, append([]string{"--server=" + k.server, "--cache-dir=" + k.home}, args...)...)
	c.Env = append(os.Environ(), "HOME="+k.home, "KUBECONFIG="+filepath.Join(k.home, "none"))
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}

// run checks that a command succeeds and that its output holds want.
func (k *kubectl) run(want string, args ...string) string {
	k.t.Helper()
	return k.feed("", want, args...)
}

func (k *kubectl) feed(stdin, want string, args ...string) string {
	k.t.Helper()
	out, err := k.try(stdin, args...)
	require.NoError(k.t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	require.Contains(k.t, out, want, "kubectl %s", strings.Join(args, " "))
	return out
}

func TestKubectl(t *testing.T) {
	k := startKubectl(t)
	k.part("the objects of every cluster", (*kubectl).everyCluster)
	k.part("a computed resource", (*kubectl).computed)
	k.part("discovery", (*kubectl).discovery)
	k.run("namespace/foo created", "create", "namespace", "foo")
	k.part("a deployment", (*kubectl).deployment)
	k.part("apply", (*kubectl).apply)
	k.part("a pod", (*kubectl).pod)
	k.part("a node", (*kubectl).node)
	k.part("other kinds", (*kubectl).otherKinds)
	k.run("deleted", "delete", "namespace", "foo", "--wait=false")
	k.run("Terminating", "get", "namespace", "foo")
	k.part("a derived definition", (*kubectl).derived)
	lines := strings.Split(strings.TrimSpace(k.run("kube-system", "get", "namespaces", "--chunk-size=2", "--no-headers")), "\n")
	require.Len(t, lines, 5)
}

// startKubectl starts a server for the tool. Without the tool it skips the test, but not in CI.
func startKubectl(t *testing.T) *kubectl {
	binary, err := exec.LookPath("kubectl")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have kubectl")
		t.Skip("kubectl is not installed: the commands people use are not tried")
	}
	if testing.Short() {
		t.Skip("kubectl takes a few seconds")
	}
	kinds, sites := computedSites(t)
	s, err := apiserver.New(apiserver.Options{Scheme: kinds, Computed: []apiserver.Computed{sites}, AdvertiseAddress: "10.9.9.9", StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{})})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		_ = s.Run(ctx)
		close(done)
	}()
	front := httptest.NewServer(s)
	t.Cleanup(func() {
		cancel()
		<-done
		front.Close()
	})
	return &kubectl{t: t, binary: binary, server: front.URL, home: t.TempDir()}
}

// part runs a subtest against the same server.
func (k *kubectl) part(name string, run func(k *kubectl)) {
	k.t.Run(name, func(t *testing.T) {
		part := *k
		part.t = t
		run(&part)
	})
}

func (k *kubectl) everyCluster() {
	k.run("service/kubernetes   ClusterIP   10.96.0.1", "get", "svc,endpointslices", "-n", "default")
	k.run("10.9.9.9", "get", "svc,endpointslices", "-n", "default")
}

func (k *kubectl) computed() {
	k.run("demo.test/v1   true         Website", "api-resources", "--api-group=demo.test")
	k.run("b ", "get", "websites")
	k.run("kind: Website", "get", "website", "a", "-o", "yaml")
	seen, _ := k.try("", "get", "websites", "--watch-only", "--request-timeout=2s") // which ends the watch
	require.Regexp(k.t, `(?m)^a +`, seen)
}

func (k *kubectl) discovery() {
	k.run("Server Version: v1.36", "version")
	resources := k.run("deployments", "api-resources")
	require.Contains(k.t, resources, "flowschemas")
	k.run("FIELD: hostNetwork <boolean>", "explain", "pod.spec.hostNetwork")
	k.run("readyz check passed", "get", "--raw", "/readyz?verbose")
}

func (k *kubectl) deployment() {
	k.run("deployment.apps/web created", "create", "deployment", "web", "--image=x", "--replicas=3", "-n", "foo")
	k.run("0/3", "get", "deployment", "web", "-n", "foo", "-o", "wide")
	k.run("deployment.apps/web scaled", "scale", "deployment", "web", "--replicas=5", "-n", "foo")
	k.run("deployment.apps/web image updated", "set", "image", "deployment/web", "x=y:2", "-n", "foo")
	k.run("y:2", "get", "deployment", "web", "-n", "foo", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	k.run("service/web exposed", "expose", "deployment", "web", "--port=80", "-n", "foo")
	k.run("ClusterIP", "get", "service", "web", "-n", "foo")
	k.run("deployment.apps/web labeled", "label", "deployment", "web", "a=b", "-n", "foo")
	k.run("deployment.apps/web annotated", "annotate", "deployment", "web", "a=b", "-n", "foo")
	k.run("patched", "patch", "deployment", "web", "-n", "foo", "--type=json", "-p", `[{"op":"replace","path":"/spec/replicas","value":1}]`)
	k.run("patched", "patch", "deployment", "web", "-n", "foo", "--type=merge", "--subresource=status", "-p", `{"status":{"replicas":1}}`)
	k.run("Replicas:", "describe", "deployment", "web", "-n", "foo")
}

func (k *kubectl) apply() {
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z, namespace: foo}\ndata: {a: b}\n"
	k.feed(manifest, "configmap/z created", "apply", "-f", "-")
	k.feed(manifest, "configmap/z unchanged", "apply", "-f", "-")
	k.feed(strings.Replace(manifest, "a: b", "a: c", 1), "configmap/z configured", "apply", "-f", "-")
	k.feed(strings.Replace(manifest, "z,", "ssa,", 1), "configmap/ssa serverside-applied", "apply", "--server-side", "-f", "-")
	out, err := k.try(strings.Replace(strings.Replace(manifest, "z,", "ssa,", 1), "a: b", "a: d", 1), "apply", "--server-side", "--field-manager=other", "-f", "-")
	require.Error(k.t, err)
	require.Contains(k.t, out, ".data.a")
	out, err = k.try(strings.Replace(manifest, "\ndata:", "\nzap: 1\ndata:", 1), "apply", "-f", "-")
	require.Error(k.t, err)
	require.Contains(k.t, out, `unknown field "zap"`)
	out, _ = k.try(strings.Replace(manifest, "a: b", "a: e", 1), "diff", "-f", "-")
	require.Contains(k.t, out, "+  a: e")
	k.run("deleted", "delete", "configmap", "--all", "-n", "foo")
}

func (k *kubectl) pod() {
	k.run("pod/p created", "run", "p", "--image=x", "-n", "foo")
	k.run("Pending", "get", "pods", "-n", "foo")
	k.run("pod/p", "get", "pods", "-n", "foo", "-o", "name", "--field-selector=status.phase=Pending")
	k.run("condition met", "wait", "pod/p", "-n", "foo", "--for=jsonpath={.status.phase}=Pending", "--timeout=5s")
	k.run(`pod "p" deleted`, "delete", "pod", "p", "-n", "foo")
}

func (k *kubectl) node() {
	k.run("node/n1 created", "create", "-f", k.file("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"))
	k.run("cordoned", "cordon", "n1")
	k.run("uncordoned", "uncordon", "n1")
	k.run("tainted", "taint", "node", "n1", "a=b:NoSchedule")
}

func (k *kubectl) otherKinds() {
	k.run("job.batch/j created", "create", "job", "j", "--image=x", "-n", "foo")
	k.run("cronjob.batch/c created", "create", "cronjob", "c", "--image=x", "--schedule=* * * * *", "-n", "foo")
	k.run("role.rbac.authorization.k8s.io/r created", "create", "role", "r", "--verb=get", "--resource=pods", "-n", "foo")
	k.run("secret/s created", "create", "secret", "generic", "s", "--from-literal=a=b", "-n", "foo")
	k.run("replaced", "replace", "-n", "foo", "-f", k.file("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: c}\n"))
	k.run("c", "get", "secret", "s", "-n", "foo", "-o", "go-template={{.data.a | base64decode}}")
}

func (k *kubectl) file(text string) string {
	path := filepath.Join(k.t.TempDir(), "f.yaml")
	require.NoError(k.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Buoy is a custom resource whose definition comes from this type alone.
type Buoy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BuoySpec   `json:"spec"`
	Status            BuoyStatus `json:"status,omitempty"`
}

type BuoySpec struct {
	Color string `json:"color" openapi:"enum=red|green" column:"Color" selectable:"true" rule:"self == oldSelf" message:"paint stays"`
	Depth int64  `json:"depth,omitempty" default:"3" openapi:"minimum=1"`
}

type BuoyStatus struct {
	Lit bool `json:"lit,omitempty"`
}

// derived tests a definition that is derived from a Go type: kubectl applies it, explains it and uses its
// resource.
func (k *kubectl) derived() {
	texts := func(_, field string) string {
		return map[string]string{"": "A buoy marks a channel.", "depth": "Metres below the buoy.", "color": "The side of the channel."}[field]
	}
	d, err := openapi.Derive[*Buoy](schema.GroupVersion{Group: "sea.example.com", Version: "v1"}, scheme.Kind{Resource: "buoys", ShortNames: []string{"bo"}}, openapi.DeriveOptions{Texts: texts})
	require.NoError(k.t, err)
	b, err := codec.Marshal(d)
	require.NoError(k.t, err)
	k.feed(string(b), "customresourcedefinition.apiextensions.k8s.io/buoys.sea.example.com created", "apply", "-f", "-")
	k.run("condition met", "wait", "--for=condition=Established", "crd/buoys.sea.example.com", "--timeout=10s")
	k.run("A buoy marks a channel.", "explain", "buoys")
	depth := k.run("FIELD: depth <integer>", "explain", "buoys.spec.depth")
	require.Contains(k.t, depth, "Metres below the buoy.")
	color := k.run("FIELD: color <string>", "explain", "buoys.spec.color")
	require.Contains(k.t, color, "The side of the channel.")
	k.feed("apiVersion: sea.example.com/v1\nkind: Buoy\nmetadata: {name: b}\nspec: {color: red}\n", "buoy.sea.example.com/b created", "apply", "-f", "-")
	k.run("3", "get", "bo", "b", "-o", "jsonpath={.spec.depth}")
	k.run("COLOR", "get", "bo", "--field-selector=spec.color=red")
	out, err := k.try("", "patch", "bo", "b", "--type=merge", "-p", `{"spec":{"color":"green"}}`)
	require.Error(k.t, err)
	require.Contains(k.t, out, "paint stays")
	out, err = k.try("", "patch", "bo", "b", "--type=merge", "-p", `{"spec":{"depth":0}}`)
	require.Error(k.t, err)
	require.Contains(k.t, out, "spec.depth")
}
