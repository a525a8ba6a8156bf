package kubelet_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// port is a kubelet's port and the authority of its clients.
type port struct {
	*pipenet.Listener
	t      *testing.T
	ca     *certs.Authority
	broken atomic.Bool // no answer comes from the API server
}

// open makes the port, in the bubble, and lets the rig's kubelet serve it.
func (p *port) open(r *rig) {
	var err error
	p.t, p.Listener = r.t, pipenet.New()
	p.ca, err = certs.NewAuthority("clients")
	require.NoError(r.t, err)
	serving, err := p.ca.Serving("n1", "n1")
	require.NoError(r.t, err)
	r.opts.Listener, r.opts.TLS = p, &tls.Config{Certificates: []tls.Certificate{serving.TLS()}, ClientCAs: p.ca.Pool()}
	r.wrap = func(c client.Conn) client.Conn { return &breakable{c, &p.broken} }
}

type breakable struct {
	client.Conn
	broken *atomic.Bool
}

func (b *breakable) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if b.broken.Load() && strings.HasSuffix(r.Resource.Resource, "reviews") {
		return nil, errors.New("no route to host")
	}
	return b.Conn.Do(ctx, r)
}

// caller is a client of the kubelet's port.
type caller struct {
	t     *testing.T
	http  *http.Client
	token string
}

// as returns a caller with a client certificate, if not nil, and a token, if not empty.
func (p *port) as(pair *certs.Pair, token string) *caller {
	config := &tls.Config{RootCAs: p.ca.Pool(), ServerName: "n1"}
	if pair != nil {
		config.Certificates = []tls.Certificate{pair.TLS()}
	}
	tr := &http.Transport{DialContext: p.Dial, TLSClientConfig: config, DisableKeepAlives: true}
	return &caller{p.t, &http.Client{Transport: tr}, token}
}

// user returns a caller with a certificate of the port's own authority.
func (p *port) user(name string, groups ...string) *caller {
	pair, err := p.ca.Client(name, groups...)
	require.NoError(p.t, err)
	return p.as(pair, "")
}

func (c *caller) do(method, path string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, "https://n1"+path, nil)
	require.NoError(c.t, err)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(r)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return resp.StatusCode, string(b)
}

// allow binds verbs on resources to a user.
func (r *rig) allow(user string, verbs []string, resources ...string) {
	role := &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "for-"+user), Rules: []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: resources}}}
	role.Name = strings.ReplaceAll(role.Name, ":", "-")
	controllertest.Create(r.c, role)
	controllertest.Create(r.c, &rbacv1.ClusterRoleBinding{ObjectMeta: controllertest.Name("", role.Name), Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role.Name}})
	r.c.Settle() // the authorizer knows the binding
}

// token makes a token of a new service account.
func (r *rig) token(name string) string {
	controllertest.Create(r.c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", name)})
	seconds := int64(3600)
	req := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	issued, err := client.Subresource[*authenticationv1.TokenRequest](client.For[*corev1.ServiceAccount](r.c.Admin()), "token").
		Create(r.t.Context(), types.NamespacedName{Namespace: "default", Name: name}, req)
	require.NoError(r.t, err)
	return issued.Status.Token
}

// A client certificate of the cluster's authority alone grants nothing: every request is authorized.
func TestWhoMayUseTheKubeletAPI(t *testing.T) {
	var p port
	bubble(t, p.open, func(r *rig) {
		r.pod("web", nil, "a")
		r.allow("metrics", []string{"get"}, "nodes/metrics")
		r.allow("lister", []string{"get"}, "nodes/pods")
		r.allow("health", []string{"get"}, "nodes/healthz")
		r.allow("reader", []string{"get"}, "nodes/proxy")
		r.allow("stats", []string{"get"}, "nodes/stats")
		r.allow("api-server", []string{"*"}, "nodes/proxy")
		r.allow("system:serviceaccount:default:scraper", []string{"get"}, "nodes/metrics")
		time.Sleep(3 * time.Second)

		foreign, err := certs.NewAuthority("other")
		require.NoError(t, err)
		stranger, err := foreign.Client("admin", "system:masters")
		require.NoError(t, err)
		serving, err := p.ca.Serving("admin", "n1")
		require.NoError(t, err)

		const run, shell, logs = "/run/default/web/a?cmd=id", "/exec/default/web/a?command=id&output=1", "/containerLogs/default/web/a"
		const letIn = 0 // whatever the runtime makes of it
		for _, c := range []struct {
			who          string
			caller       *caller
			method, path string
			want         int
		}{
			{"no credential", p.as(nil, ""), "GET", "/pods", 401},
			{"no credential", p.as(nil, ""), "GET", "/healthz", 401},
			{"no credential", p.as(nil, ""), "POST", run, 401},
			{"another authority", p.as(stranger, ""), "GET", "/pods", 401},
			{"a serving certificate", p.as(serving, ""), "GET", "/pods", 401},
			{"a bad token", p.as(nil, "nope"), "GET", "/pods", 401},
			{"a user without rights", p.user("dev"), "POST", run, 403},
			{"a user without rights", p.user("dev"), "POST", shell, 403},
			{"a user without rights", p.user("dev"), "GET", shell, 403},
			{"a user without rights", p.user("dev"), "GET", logs, 403},
			{"a user without rights", p.user("dev"), "POST", "/portForward/default/web", 403},
			{"a user without rights", p.user("dev"), "GET", "/pods", 403},
			{"a user without rights", p.user("dev"), "GET", "/no/such/path", 403},
			{"a user without rights", p.user("dev"), "TRACE", "/pods", 403},
			{"another node", p.user("system:node:n2", "system:nodes"), "POST", run, 403},
			{"another node", p.user("system:node:n2", "system:nodes"), "GET", "/pods", 403},
			{"the proxy", p.user("system:kube-proxy"), "GET", "/pods", 403},
			{"an administrator", p.user("root", "system:masters"), "GET", "/pods", 200},
			{"metrics", p.user("metrics"), "GET", "/metrics/resource", letIn},
			{"metrics", p.user("metrics"), "GET", "/stats/summary", 403},
			{"metrics", p.user("metrics"), "GET", "/pods", 403},
			{"stats", p.user("stats"), "GET", "/stats/summary", letIn},
			{"stats", p.user("stats"), "GET", "/metrics/resource", 403},
			{"pods", p.user("lister"), "GET", "/pods", 200},
			{"pods", p.user("lister"), "GET", "/runningpods/", 200},
			{"pods", p.user("lister"), "GET", logs, 403},
			{"pods", p.user("lister"), "GET", "/pods/../exec/default/web/a?command=id", 403},
			{"pods", p.user("lister"), "GET", "/pods%2f..%2fexec/default/web/a?command=id", 403},
			{"who may get", p.user("reader"), "GET", "/%65xec/default/web/a?command=id&output=1", 403},
			{"healthz", p.user("health"), "GET", "/healthz", 200},
			{"healthz", p.user("health"), "GET", "/pods", 403},
			{"who may get", p.user("reader"), "GET", "/pods", 200},
			{"who may get", p.user("reader"), "GET", logs, letIn},
			{"who may get", p.user("reader"), "GET", shell, 403},
			{"who may get", p.user("reader"), "GET", "/portForward/default/web", 403},
			{"who may get", p.user("reader"), "POST", run, 403},
			{"the API server", p.user("api-server"), "GET", logs, letIn},
			{"the API server", p.user("api-server"), "POST", shell, 400}, // it is no upgrade
			{"a token", p.as(nil, r.token("scraper")), "GET", "/metrics/resource", letIn},
			{"a token", p.as(nil, r.token("scraper2")), "GET", "/metrics/resource", 403},
			{"a token beside a foreign certificate", p.as(stranger, r.token("scraper3")), "GET", "/metrics/resource", 403},
		} {
			code, body := c.caller.do(c.method, c.path)
			if c.want == letIn {
				require.NotContains(t, []int{401, 403}, code, "%s: %s %s: %s", c.who, c.method, c.path, body)
				continue
			}
			require.Equal(t, c.want, code, "%s: %s %s: %s", c.who, c.method, c.path, body)
			if c.want == 401 {
				require.Equal(t, "Unauthorized", body)
			}
		}
		_, body := p.user("dev").do("GET", "/pods")
		require.Equal(t, "Forbidden (user=dev, verb=get, resource=nodes, subresource(s)=[pods proxy])", body)
	})
}

// While the API server is down, cached answers admit the users they are about until they expire; other users
// are refused.
func TestKubeletAPIWithoutAPIServer(t *testing.T) {
	var p port
	bubble(t, p.open, func(r *rig) {
		r.allow("lister", []string{"get"}, "nodes/pods")
		r.allow("system:serviceaccount:default:scraper", []string{"get"}, "nodes/pods")
		time.Sleep(time.Second)
		lister, scraper, late := p.user("lister"), p.as(nil, r.token("scraper")), p.as(nil, r.token("late"))
		is := func(c *caller, path string, want int) {
			t.Helper()
			code, body := c.do("GET", path)
			require.Equal(t, want, code, body)
		}
		is(lister, "/pods", 200)
		is(scraper, "/pods", 200)
		p.broken.Store(true)
		is(lister, "/pods", 200)
		is(scraper, "/pods", 200)
		is(late, "/pods", 401)
		is(lister, "/stats/summary", 500)
		is(p.user("root", "system:masters"), "/pods", 500)
		time.Sleep(2*time.Minute + time.Second)
		is(lister, "/pods", 200)
		is(scraper, "/pods", 401)
		time.Sleep(3 * time.Minute)
		is(lister, "/pods", 500)
		p.broken.Store(false)
		is(lister, "/pods", 200)
		is(scraper, "/pods", 200)

		// What is withdrawn ends with the answer that was kept.
		controllertest.Delete[*rbacv1.ClusterRoleBinding](r.c, "", "for-lister")
		is(lister, "/pods", 200)
		time.Sleep(5*time.Minute + time.Second)
		is(lister, "/pods", 403)
		r.allow("second", []string{"get"}, "nodes/pods")
		controllertest.Create(r.c, &rbacv1.ClusterRoleBinding{ObjectMeta: controllertest.Name("", "again"), Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "lister"}},
			RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "for-second"}})
		is(lister, "/pods", 403)
		time.Sleep(31 * time.Second)
		is(lister, "/pods", 200)
	})
}
