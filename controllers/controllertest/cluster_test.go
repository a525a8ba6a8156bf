package controllertest_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func addReplicaSets(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) }

func replicaSet(name string, replicas int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", name)}
	rs.Spec.Replicas = &replicas
	rs.Spec.Selector = selector("app", name)
	rs.Spec.Template.Labels = map[string]string{"app": name}
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	return rs
}

func TestStartIsQuickAndLeavesNothing(t *testing.T) {
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{addReplicaSets}})
			c.Settle()
			require.Zero(t, time.Since(began), "Start and Settle take no time")
			controllertest.Create(c, replicaSet("web", 3))
			c.Settle()
			require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 3)
			require.Zero(t, time.Since(began))
			require.Equal(t, int32(3), controllertest.Get[*appsv1.ReplicaSet](c, "default", "web").Status.Replicas)
		})
	}
}

func TestAnEmptyClusterStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		require.True(t, controllertest.Exists[*corev1.Namespace](c, "", "kube-system"))
		require.False(t, controllertest.Exists[*corev1.Namespace](c, "", "nowhere"))
	})
}

// A test that runs the controller as its own account detects a role that lacks a verb.
func TestControllersActAsTheGivenUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := client.User{Name: "system:serviceaccount:default:robot"}
		c := controllertest.Start(t, controllertest.Options{As: as})
		pods := client.For[*corev1.Pod](c.Conn(as))
		_, err := pods.List(t.Context(), client.ListOptions{Namespace: "default"})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(t, err, `User "system:serviceaccount:default:robot" cannot list resource "pods"`)
		controllertest.Create(c, &rbacv1.Role{ObjectMeta: controllertest.Name("default", "reader"),
			Rules: []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}}}})
		controllertest.Create(c, &rbacv1.RoleBinding{ObjectMeta: controllertest.Name("default", "reader"),
			RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "system:serviceaccounts:default"}}})
		c.Settle()
		_, err = pods.List(t.Context(), client.ListOptions{Namespace: "default"})
		require.NoError(t, err)
	})
}

func TestSnapshotsGoOnInOtherBubbles(t *testing.T) {
	var snap controllertest.Snapshot
	var uid types.UID
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{addReplicaSets}})
		uid = controllertest.Create(c, replicaSet("web", 2)).UID
		c.Sleep(time.Hour)
		snap = c.Snapshot()
	})
	for _, replicas := range []int32{0, 5} {
		t.Run("", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := controllertest.StartFrom(t, snap, controllertest.Options{Controllers: []controllertest.Adder{addReplicaSets}})
				require.Equal(t, snap.Time(), time.Now().Round(0))
				rs := controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
				require.Equal(t, uid, rs.UID)
				c.Settle()
				require.Len(t, controllertest.List[*corev1.Pod](c, "default"), int(replicas))
				require.Greater(t, c.Snapshot().Revision(), snap.Revision())
			})
		})
	}
}

func TestWatchSeesEverythingBySettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var seen []string
		controllertest.Watch(c, "default", func(e client.Event[*corev1.ConfigMap]) { seen = append(seen, string(e.Type)+" "+e.Object.Name) })
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		controllertest.Update(c, "default", "a", func(m *corev1.ConfigMap) { m.Data = map[string]string{"k": "v"} })
		controllertest.Delete[*corev1.ConfigMap](c, "default", "a")
		c.Settle()
		require.Equal(t, []string{"ADDED a", "MODIFIED a", "DELETED a"}, seen)
	})
}

func TestServersStopWithTheirManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		stop := c.Run(c.Manager("one", addReplicaSets))
		c.Settle()
		stop()
		controllertest.Create(c, replicaSet("web", 1))
		c.Sleep(time.Minute)
		require.Empty(t, controllertest.List[*corev1.Pod](c, "default"))
		c.Run(c.Manager("two", addReplicaSets))
		c.Settle()
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 1)
	})
}

func TestATransportReachesTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		req, err := httpGet(t.Context(), controllertest.Host+"/version")
		require.NoError(t, err)
		resp, err := c.Transport().RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 200, resp.StatusCode)
	})
}

// fatal runs f with a test that records how it fails.
func fatal(t *testing.T, f func(t testing.TB)) string {
	r := &recorder{TB: t}
	return r.fatal(func() { f(r) })
}

func TestKubeconfigWorksOutsideABubbleOnly(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: c.Kubeconfig()})
	require.NoError(t, err)
	conn, err := rest.New(cfg, rest.Options{})
	require.NoError(t, err)
	defer conn.Close()
	list, err := client.For[*corev1.Namespace](conn).List(context.Background(), client.ListOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, list.Items)
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		out, err := exec.Command(kubectl, "--kubeconfig", c.Kubeconfig(), "get", "namespaces").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "kube-system")
	}
	require.Contains(t, fatal(t, func(t testing.TB) {
		c := controllertest.Start(t, controllertest.Options{})
		c.Settle()
	}), "synctest bubble only")
	synctest.Test(t, func(t *testing.T) {
		require.Contains(t, fatal(t, func(t testing.TB) { controllertest.Start(t, controllertest.Options{}).Kubeconfig() }), "does not work in a testing/synctest bubble")
	})
}

// tunnel is a proxy that supports only CONNECT and counts the tunnels to each address.
type tunnel struct {
	mu  sync.Mutex
	dug map[string]int
}

func (p *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
		return
	}
	p.mu.Lock()
	p.dug[r.Host]++
	p.mu.Unlock()
	far, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(near, far); near.Close() })
	_, _ = io.Copy(far, near)
	far.Close()
	wg.Wait()
}

func (p *tunnel) to(host string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dug[host]
}

func TestKubeconfigThroughAProxy(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	p := &tunnel{dug: map[string]int{}}
	front := httptest.NewServer(p)
	defer front.Close()
	file, err := kubeconfig.LoadFile(c.Kubeconfig())
	require.NoError(t, err)
	server, err := url.Parse(file.Clusters[0].Cluster.Server)
	require.NoError(t, err)
	file.Clusters[0].Cluster.ProxyURL = front.URL
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, file.WriteFile(path))

	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: path})
	require.NoError(t, err)
	conn, err := rest.New(cfg, rest.Options{})
	require.NoError(t, err)
	defer conn.Close()
	list, err := client.For[*corev1.Namespace](conn).List(t.Context(), client.ListOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, list.Items)
	ours := p.to(server.Host)
	require.Positive(t, ours)

	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have kubectl")
		t.Skip("kubectl is not installed: only our client went through the proxy")
	}
	out, err := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", path, "--cache-dir", t.TempDir(), "get", "namespaces").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "kube-system")
	require.Greater(t, p.to(server.Host), ours)
}
