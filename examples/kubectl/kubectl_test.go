package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// tool runs commands against a cluster with nodes that answer logs and exec.
type tool struct {
	t      *testing.T
	config string
}

func start(t *testing.T) *tool {
	var kubelet http.Handler
	nodes := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { kubelet.ServeHTTP(w, r) }))
	t.Cleanup(nodes.Close)
	_, port, err := net.SplitHostPort(nodes.Listener.Addr().String())
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	c := controllertest.Start(t, controllertest.Options{
		CRDs: os.DirFS("../operator/config/crd"),
		Server: apiserver.Options{Nodes: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}},
		Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
			func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
			func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error {
				kubelet = fakenode.NewServer(m)
				return fakenode.Add(m, fakenode.Options{Count: 2, Port: int32(n)})
			},
		},
	})
	return &tool{t, c.Kubeconfig()}
}

func (k *tool) try(stdin string, args ...string) (stdout, stderr string, code int) {
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Minute)
	defer cancel()
	var out, errOut bytes.Buffer
	code = run(ctx, append([]string{"--kubeconfig", k.config}, args...), strings.NewReader(stdin), &out, &errOut)
	return out.String(), errOut.String(), code
}

// ok runs a command that must succeed and whose output must contain want.
func (k *tool) ok(want, stdin string, args ...string) string {
	k.t.Helper()
	out, errOut, code := k.try(stdin, args...)
	require.Zero(k.t, code, "kubectl %s\n%s%s", strings.Join(args, " "), out, errOut)
	require.Contains(k.t, out+errOut, want, "kubectl %s", strings.Join(args, " "))
	return out
}

// fails runs a command that must fail with an error that contains want.
func (k *tool) fails(want string, args ...string) {
	k.t.Helper()
	out, errOut, code := k.try("", args...)
	require.Equal(k.t, 1, code, "kubectl %s\n%s", strings.Join(args, " "), out)
	require.Contains(k.t, errOut, want, "kubectl %s", strings.Join(args, " "))
}

const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "app:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

func TestWalk(t *testing.T) {
	k := start(t)
	k.ok("deployment.apps/web serverside-applied\nservice/web serverside-applied\n", web, "apply", "-f", "-")
	k.ok(`deployment "web" successfully rolled out`, "", "rollout", "status", "deployment/web", "--timeout=20s")
	out := k.ok("3/3", "", "get", "deploy")
	require.Regexp(t, `^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +3/3 +3 +3 `, out)
	require.Regexp(t, `^NAME .*CONTAINERS +IMAGES +SELECTOR\nweb .* c +app:1 +app=web\n$`, k.ok("", "", "get", "deployments.apps", "web", "-o", "wide"))
	all := k.ok("", "", "get", "all,ns")
	for _, want := range []string{"pod/web-", "service/kubernetes ", "deployment.apps/web ", "replicaset.apps/web-", "namespace/default "} {
		require.Contains(t, all, want)
	}
	require.Regexp(t, `(?m)^NAMESPACE +NAME .*\ndefault +web-`, k.ok("", "", "get", "pods", "-A", "-l", "app=web"))
	require.Regexp(t, `(?m)APP\nweb-.* web\n`, k.ok("", "", "get", "po", "-L", "app", "-n", "default"))
	require.Contains(t, k.ok("", "", "get", "po", "--show-labels", "--no-headers"), "app=web,pod-template-hash=")

	// Other forms.
	require.Equal(t, "deployment.apps/web\n", k.ok("", "", "get", "deploy", "-o", "name"))
	y := k.ok("", "", "get", "deploy/web", "-o", "yaml")
	require.True(t, strings.HasPrefix(y, "apiVersion: apps/v1\nkind: Deployment\n"), y)
	require.NotContains(t, y, "managedFields")
	require.Contains(t, k.ok("", "", "get", "deploy", "web", "-o", "json", "--show-managed-fields"), `"managedFields"`)
	require.Contains(t, k.ok("", "", "get", "svc,deploy", "-o", "json"), `"kind": "List"`)
	require.Equal(t, "3 app:1\n", k.ok("", "", "get", "deploy/web", "-o", `jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}{"\n"}`))
	pod := strings.Fields(k.ok("", "", "get", "pods", "-l", "app=web", "-o", `jsonpath={.items[*].metadata.name}`))[0]
	k.ok("No resources found in default namespace", "", "get", "cm", "-l", "no=thing")

	// Containers.
	k.ok("fake", "", "logs", pod)
	k.ok("fake", "", "logs", "deployment/web", "--tail=1")
	k.ok("", "", "exec", pod, "--", "echo", "hi")
	k.fails("put the command after --", "exec", pod, "echo")
	k.fails("container none not found", "logs", pod, "-c", "none")

	// Details.
	d := k.ok("Events:", "", "describe", "deployment", "web")
	for _, want := range []string{"Name:         web", "Namespace:    default", "Labels:       app=web", "Ready Replicas:", "ScalingReplicaSet"} {
		require.Contains(t, d, want)
	}

	// Changes.
	k.ok("deployment.apps/web scaled", "", "scale", "deploy", "web", "--replicas=1", "--current-replicas=3")
	k.fails("expected replicas to be 3, was 1", "scale", "deploy/web", "--replicas=2", "--current-replicas=3")
	k.ok("successfully rolled out", "", "rollout", "status", "deploy/web")
	require.Eventually(t, func() bool {
		left := strings.Fields(k.ok("", "", "get", "pods", "-l", "app=web", "-o", `jsonpath={.items[*].metadata.name}`))
		pod = left[0]
		return len(left) == 1
	}, time.Minute, 50*time.Millisecond, "two pods go")
	k.ok(`pod "`+pod+`" deleted`, "", "delete", "pod", pod, "--now")
	k.ok(`deployment.apps "web" deleted from default namespace`, web, "delete", "-f", "-")
	k.ok("", "", "get", "deploy", "web", "--ignore-not-found")
	k.fails(`Error from server (NotFound): deployments.apps "web" not found`, "get", "deploy", "web")
	require.Eventually(t, func() bool {
		_, errOut, _ := k.try("", "get", "pods", "-l", "app=web")
		return strings.Contains(errOut, "No resources found")
	}, time.Minute, 50*time.Millisecond, "the pods go too")
	require.Contains(t, k.ok("", "", "api-resources"), "websites")
	k.ok("Server Version: v1.", "", "version")
	k.ok("configmaps: 200", "", "get", "cm", "-v=6")
}

func TestCustomResourcesAndFiles(t *testing.T) {
	k := start(t)
	dir := t.TempDir()
	site := "apiVersion: demo.keelson.dev/v1\nkind: Website\nmetadata: {name: hello}\nspec: {image: 'web:1', replicas: 2}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "site.yaml"), []byte(site), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "below", "cm.json"), []byte(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"<b>"}}]}`), 0o600))
	require.Equal(t, "website.demo.keelson.dev/hello serverside-applied (server dry run)\n", k.ok("", "", "apply", "-f", dir, "--dry-run=server"))
	require.Equal(t, "configmap/c serverside-applied\nwebsite.demo.keelson.dev/hello serverside-applied\n", k.ok("", "", "apply", "-R", "-f", dir))
	require.Regexp(t, `NAME +IMAGE +HOST +REPLICAS +READY +AGE\nhello +web:1 +<none> +2 `, k.ok("", "", "get", "site"))
	require.Contains(t, k.ok("", "", "get", "cm/c", "-o", "json"), `"<b>"`)
	k.ok("website.demo.keelson.dev/hello scaled", "", "scale", "website/hello", "--replicas=5")
	require.Equal(t, "5", k.ok("", "", "get", "-f", filepath.Join(dir, "site.yaml"), "-o", "jsonpath={.spec.replicas}"))
	// The scaler owns the replicas now.
	k.fails("Error from server (Conflict)", "apply", "-f", filepath.Join(dir, "site.yaml"), "--field-manager=other")
	k.ok("applied", "", "apply", "-f", filepath.Join(dir, "site.yaml"), "--force-conflicts")
	k.ok("Image:", "", "describe", "website/hello")
	k.ok("website.demo.keelson.dev/hello\n", "", "delete", "websites", "--all", "-o", "name", "--dry-run=server", "--wait=false", "--cascade=orphan", "--grace-period=5", "--timeout=5s")
}

func TestWatch(t *testing.T) {
	k := start(t)
	ctx, stop := context.WithCancel(t.Context())
	out := &lines{}
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"--kubeconfig", k.config, "get", "cm", "-w", "-n", "default", "-l", "w=1"}, strings.NewReader(""), out, out)
	}()
	cm := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen, labels: {w: '1'}}\n"
	k.ok("applied", cm, "apply", "-f", "-")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "seen") }, time.Minute, 10*time.Millisecond)
	stop()
	<-done
	require.Regexp(t, `^NAME +DATA +AGE\nseen +0 `, out.String())
}

// lines is a buffer for two goroutines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *lines) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func TestMistakes(t *testing.T) {
	k := start(t)
	k.fails("unknown flag: --nonsense", "get", "pods", "--nonsense")
	k.fails("unknown command", "frobnicate")
	k.fails("doesn't have a resource type", "get", "gadgets")
	k.fails("unable to match a printer", "get", "pods", "-o", "xml")
	k.fails("across all namespaces", "get", "pods", "x", "-A")
	k.fails("must specify -f", "apply")
	k.fails("no name, label selector, or --all", "delete", "pods")
	k.fails("--replicas=N is required", "scale", "deploy/x")
	k.fails("(NotFound)", "rollout", "status", "deploy/none")
	k.fails("no such file", "apply", "-f", "/does/not/exist.yaml")
	k.fails("no mixing", "get", "pod/a", "b")
	out, errOut, code := k.try("kind: Pod\n", "apply", "-f", "-")
	require.Equal(t, 1, code)
	require.Contains(t, out+errOut, "no apiVersion")
	out, errOut, code = k.try("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndato: {}\n", "apply", "-f", "-")
	require.Equal(t, 1, code)
	require.Contains(t, out+errOut, "dato")

	for _, args := range [][]string{{"--help"}, {}, {"help"}, {"get", "--help"}, {"help", "apply"}, {"rollout", "-h"}} {
		out, errOut, code := k.try("", args...)
		require.Zero(t, code, "%v: %s", args, errOut)
		require.Contains(t, out, "Usage:", "%v", args)
	}
	// Every command has help, and its flags are explained.
	for _, c := range commands() {
		require.Contains(t, k.ok("", "", c.name, "--help"), "kubectl "+c.name)
	}
}

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{"creationTimestamp": "Creation Timestamp", "podIPs": "Pod IPs", "uid": "Uid", "hostIP": "Host IP", "app.kubernetes.io/name": "app.kubernetes.io/name"} {
		require.Equal(t, want, title(in))
	}
}
