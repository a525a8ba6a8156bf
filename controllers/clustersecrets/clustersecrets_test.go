package clustersecrets_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/clustersecrets"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// One controller has the ConfigMaps of all clusters whose kubeconfigs are in Secrets of the namespace fleet.
func Example() {
	start := func(ctx context.Context, conn client.Conn) error {
		m := manager.New(conn, manager.Options{})
		fleet := controllers.NewClusters(m, controllers.ClustersOptions{})
		members, err := clustersecrets.Add(m, fleet, "fleet", clustersecrets.Options{})
		if err != nil {
			return err
		}
		h := health.New(health.Options{})
		h.Report("members", members.Check)
		m.AddWithoutLeaderElection("health", h)
		r := fleet.Reconciler(func(_ context.Context, c *controllers.Cluster, req reconcile.Request) (reconcile.Result, error) {
			config, err := controllers.ListerIn[*corev1.ConfigMap](c).Get(req)
			if err == nil {
				fmt.Println(c.Name(), config.Name)
			}
			return reconcile.Result{}, err
		})
		if _, err := controllers.Add(m, "configs", r, controllers.Options{}, controllers.InClusters(fleet, controllers.For[*corev1.ConfigMap]())); err != nil {
			return err
		}
		return m.Run(ctx)
	}
	_ = start
	fmt.Println(clustersecrets.DefaultLabel)
	// Output: sigs.k8s.io/multicluster-runtime-kubeconfig
}

// log collects the lines of a logger.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) lines(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// fleet is a program over the clusters of Secrets, and the clusters that kubeconfigs may name.
type fleet struct {
	t        *testing.T
	hub      *controllertest.Cluster
	clusters *controllers.Clusters
	members  map[string]*controllertest.Cluster
	metrics  *metrics.Metrics
	health   *health.Server
	log      log

	mu      sync.Mutex
	users   []string // of the connections made, in order
	closed  int
	seen    map[string]string // the value of the ConfigMap a
	running map[string]int    // reconciles in progress, by cluster
}

// closing is a connection that counts how often it is closed.
type closing struct {
	client.Conn
	f *fleet
}

func (c closing) Close() error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.closed++
	return nil
}

// connect connects to the member that cfg names, with its credentials.
func (f *fleet) connect(cluster string, cfg rest.Config) (client.Conn, error) {
	member, ok := strings.CutPrefix(cfg.Host, "https://")
	c := f.members[member]
	if !ok || c == nil {
		return nil, fmt.Errorf("there is no server %s", cfg.Host)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users = append(f.users, cluster+" as "+cfg.BearerToken)
	return closing{c.Conn(client.User{Name: cfg.BearerToken, Groups: []string{"system:masters"}}), f}, nil
}

func (f *fleet) reconcile(_ context.Context, c *controllers.Cluster, req reconcile.Request) (reconcile.Result, error) {
	config, err := controllers.ListerIn[*corev1.ConfigMap](c).Get(req)
	if err != nil {
		return reconcile.Result{}, err
	}
	if req.Name != "a" {
		return reconcile.Result{}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[c.Name()] = config.Data["v"]
	return reconcile.Result{}, nil
}

func start(t *testing.T, members ...string) *fleet {
	hub := controllertest.Start(t, controllertest.Options{})
	f := &fleet{t: t, hub: hub, members: map[string]*controllertest.Cluster{}, metrics: metrics.New(), health: health.New(health.Options{}), seen: map[string]string{}}
	for _, name := range members {
		f.members[name] = controllertest.StartFrom(t, hub.Snapshot(), controllertest.Options{})
		controllertest.Create(f.members[name], &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a"), Data: map[string]string{"v": name}})
	}
	controllertest.Create(hub, &corev1.Namespace{ObjectMeta: controllertest.Name("", "fleet")})
	// Rights in one namespace are enough.
	controllertest.Create(hub, &rbacv1.Role{ObjectMeta: controllertest.Name("fleet", "members"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}})
	controllertest.Create(hub, &rbacv1.RoleBinding{ObjectMeta: controllertest.Name("fleet", "members"),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "Role", Name: "members"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "operator"}}})
	m := manager.New(hub.Conn(client.User{Name: "operator"}), manager.Options{Monitor: f.metrics, Logger: slog.New(slog.NewTextHandler(&f.log, nil))})
	f.clusters = controllers.NewClusters(m, controllers.ClustersOptions{})
	provider, err := clustersecrets.Add(m, f.clusters, "fleet", clustersecrets.Options{Connect: f.connect})
	require.NoError(t, err)
	f.health.Report("members", provider.Check)
	_, err = controllers.Add(m, "configs", f.clusters.Reconciler(f.reconcile), controllers.Options{}, controllers.InClusters(f.clusters, controllers.For[*corev1.ConfigMap]()))
	require.NoError(t, err)
	hub.Run(m)
	return f
}

// config is a kubeconfig for a server and a user; more is added to the user.
func config(server, user, more string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://%s"}}]
users: [{name: u, user: {token: "%s"%s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server, user, more)
}

func (f *fleet) add(name, kubeconfig string) {
	meta := controllertest.Name("fleet", name)
	meta.Labels = map[string]string{clustersecrets.DefaultLabel: "true"}
	controllertest.Create(f.hub, &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"kubeconfig": []byte(kubeconfig)}})
}

func (f *fleet) change(name, kubeconfig string) {
	controllertest.Update(f.hub, "fleet", name, func(s *corev1.Secret) { s.Data["kubeconfig"] = []byte(kubeconfig) })
	f.hub.Sleep(time.Second)
}

// got returns and forgets what the controller has seen.
func (f *fleet) got() map[string]string {
	f.hub.Sleep(time.Second)
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.seen
	f.seen = map[string]string{}
	return seen
}

func (f *fleet) page(path string) (int, string) {
	w := httptest.NewRecorder()
	f.health.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

func (f *fleet) series(part string) bool {
	w := httptest.NewRecorder()
	f.metrics.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return strings.Contains(w.Body.String(), part)
}

// TestSecrets: clusters come, change and go with their Secrets.
func TestSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, "east", "west")
		f.add("one", config("east", "alice", ""))
		f.add("two", config("west", "bob", ""))
		controllertest.Create(f.hub, &corev1.Secret{ObjectMeta: controllertest.Name("fleet", "other"), Data: map[string][]byte{"kubeconfig": []byte(config("west", "eve", ""))}})
		require.Equal(t, map[string]string{"one": "east", "two": "west"}, f.got())
		require.ElementsMatch(t, []string{"one as alice", "two as bob"}, f.users)
		require.True(t, f.series(`informer_objects{cluster="one",name="configmaps"} `))
		require.True(t, f.series(`reflector_lists_total{cluster="two",name="configmaps"} 1`))
		require.True(t, f.series(`informer_objects{cluster="",name="secrets"} 2`))
		code, text := f.page("/readyz?verbose")
		require.Equal(t, 200, code)
		require.Contains(t, text, "[+]members ok")

		// Another change of the Secret changes nothing; a new token engages the cluster again with it.
		controllertest.Update(f.hub, "fleet", "one", func(s *corev1.Secret) { s.Annotations = map[string]string{"seen": "yes"} })
		require.Empty(t, f.got())
		before, _ := f.clusters.Get("one")
		f.change("one", config("east", "carol", ""))
		require.Equal(t, map[string]string{"one": "east"}, f.got())
		<-before.Done()
		require.Equal(t, "one as carol", f.users[2])
		require.Equal(t, 1, f.closed, "the connection with the old token")
		require.Equal(t, []string{"one", "two"}, f.clusters.Names())

		// Another server under the same name.
		f.change("two", config("east", "bob", ""))
		require.Equal(t, map[string]string{"two": "east"}, f.got())

		// The label is taken away, and the Secret deleted.
		controllertest.Update(f.hub, "fleet", "two", func(s *corev1.Secret) { s.Labels = nil })
		f.hub.Sleep(time.Second)
		require.Equal(t, []string{"one"}, f.clusters.Names())
		controllertest.Delete[*corev1.Secret](f.hub, "fleet", "one")
		f.hub.Sleep(time.Second)
		require.Empty(t, f.clusters.Names())
		controllertest.Update(f.members["east"], "default", "a", func(m *corev1.ConfigMap) { m.Data["v"] = "later" })
		require.Empty(t, f.got())
		require.Equal(t, 4, f.closed)
		require.False(t, f.series(`cluster="one"`))
		require.False(t, f.series(`cluster="two"`))
		require.Zero(t, f.log.lines("level=WARN"))
	})
}

// TestBadKubeconfigs: each costs its own cluster, one warning, one event and an entry of the readiness page,
// until it is repaired.
func TestBadKubeconfigs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, "east")
		f.add("good", config("east", "alice", ""))
		b64 := base64.StdEncoding.EncodeToString([]byte("x"))
		bad := []struct{ kubeconfig, problem string }{
			{"{", "not a kubeconfig"},
			{"", "no context is chosen"},
			{config("north", "a", ""), "there is no server https://north"},
			{strings.Replace(config("east", "a", ""), "cluster: c,", "cluster: d,", 1), `there is no cluster "d"`},
			{config("east", "a", ", tokenFile: /etc/passwd"), "tokenFile is a path, which a kubeconfig in a Secret must not have: use token"},
			{config("east", "a", ", client-key: /etc/shadow, client-certificate-data: "+b64), "client-key is a path"},
			{strings.Replace(config("east", "a", ""), `"https://east"`, `"https://east", certificate-authority: ca.crt`, 1), "certificate-authority is a path"},
			{config("east", "a", ", exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}"), "exec runs a program"},
			{config("east", "a", ", auth-provider: {name: oidc, config: {}}"), "auth-provider refreshes tokens"},
		}
		for i, c := range bad {
			name := fmt.Sprintf("bad%d", i)
			f.add(name, c.kubeconfig)
			f.hub.Sleep(time.Minute)
			require.Equal(t, []string{"good"}, f.clusters.Names(), c.problem)
			require.Equal(t, 1, f.log.lines("cluster="+name), c.problem)
			require.Equal(t, 1, f.log.lines("level=WARN"), c.problem)
			code, text := f.page("/readyz")
			require.Equal(t, 200, code, text)
			code, text = f.page("/readyz?verbose")
			require.Equal(t, 200, code, text)
			require.Contains(t, text, "[!]members failed, not required: "+name+": reason withheld\n")
			events := controllertest.List[*corev1.Event](f.hub, "fleet")
			require.Len(t, events, i+1)
			found := false
			for _, e := range events {
				if e.InvolvedObject.Name == name {
					found = true
					require.Equal(t, "InvalidKubeconfig", e.Reason)
					require.Contains(t, e.Message, c.problem)
				}
			}
			require.True(t, found, c.problem)
			f.change(name, config("east", "bob", ""))
			require.Equal(t, []string{name, "good"}, f.clusters.Names())
			controllertest.Delete[*corev1.Secret](f.hub, "fleet", name)
			f.hub.Sleep(time.Second)
			f.log.text.Reset()
		}
		_, text := f.page("/readyz?verbose")
		require.Contains(t, text, "[+]members ok")

		// A cluster whose new kubeconfig is bad is not reached with the old one.
		f.change("good", "{")
		require.Empty(t, f.clusters.Names())
		require.Equal(t, 1, f.log.lines("level=WARN"))
		f.got()
		f.change("good", config("east", "alice", ""))
		require.Equal(t, map[string]string{"good": "east"}, f.got())
	})
}

// TestBadMembers: a cluster that does not respond is named and holds up no other; one whose manager fails is
// engaged again later, and later still when it fails again.
func TestBadMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, "east", "west")
		held := f.members["west"].Hold(controllertest.Requests{})
		f.add("one", config("west", "bob", ""))
		f.add("two", config("east", "alice", ""))
		require.Equal(t, map[string]string{"two": "east"}, f.got())
		code, text := f.page("/readyz?verbose")
		require.Equal(t, 200, code)
		require.Contains(t, text, "[!]members failed, not required: one: reason withheld\n")
		held.Release()
		f.hub.Sleep(time.Minute)
		require.Equal(t, map[string]string{"one": "west"}, f.got())

		var waits []time.Duration
		for range 4 {
			c, ok := f.clusters.Get("two")
			require.True(t, ok)
			c.Manager().AddWithoutLeaderElection("broken", manager.Func(func(context.Context) error { return errors.New("broken") }))
			<-c.Done()
			began := time.Now()
			for {
				if _, ok := f.clusters.Get("two"); ok {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			waits = append(waits, time.Since(began))
		}
		for i, wait := range waits {
			least := time.Second << i
			require.GreaterOrEqual(t, wait, least)
			require.Less(t, wait, 2*least)
		}
		require.Equal(t, map[string]string{"two": "east"}, f.got())
	})
}

// TestBadOptions: a namespace is required.
func TestBadOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := controllertest.Start(t, controllertest.Options{})
		m := manager.New(hub.Conn(), manager.Options{})
		fleet := controllers.NewClusters(m, controllers.ClustersOptions{})
		_, err := clustersecrets.Add(m, fleet, "", clustersecrets.Options{})
		require.ErrorContains(t, err, "the namespace of the Secrets must not be empty")
	})
}
