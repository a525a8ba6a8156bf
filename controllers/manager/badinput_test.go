package manager_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// site is a custom resource.
type site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// badInput is a program with a mistake.
type badInput struct {
	name string
	// plural of the program's custom resource; empty if it has none.
	plural  string
	install bool // the definition of sites
	// connect returns the connection of the program; nil means as an administrator.
	connect func(t *testing.T, c *controllertest.Cluster) rest.Config
	opts    manager.Options
	// denied makes the reconciler write as a user without rights.
	denied bool
	// lines are parts of the lines that are logged at once, one each.
	lines []string
	// page is what readyz?verbose says, with the code.
	page []string
	code int
}

func asNobody(_ *testing.T, c *controllertest.Cluster) rest.Config {
	return c.Config(client.User{Name: "nobody"})
}

// byTLS returns the configuration of a connection by TLS, changed by edit.
func byTLS(edit func(t *testing.T, cfg *rest.Config)) func(*testing.T, *controllertest.Cluster) rest.Config {
	return func(t *testing.T, c *controllertest.Cluster) rest.Config {
		a := c.Access()
		cfg := rest.Config{Host: a.Host, Dial: a.Dial, TLS: rest.TLSConfig{CAData: a.CA, CertData: a.Cert, KeyData: a.Key}}
		edit(t, &cfg)
		return cfg
	}
}

func stranger(t *testing.T) *certs.Authority {
	ca, err := certs.NewAuthority("stranger")
	require.NoError(t, err)
	return ca
}

var badInputs = []badInput{
	{
		name: "a missing right to read", connect: asNobody, code: 500,
		lines: []string{"cannot watch resource \\\"configmaps\\\"", "cannot watch resource \\\"secrets\\\""},
		page:  []string{"[-]informers failed: configmaps, secrets: reason withheld", "[!]problems failed, not required: forbidden: watch configmaps; forbidden: watch secrets: "},
	},
	{
		name: "a missing right for the lease", code: 500, connect: asNobody,
		opts:  manager.Options{Lease: types.NamespacedName{Namespace: "default", Name: "operator"}},
		lines: []string{"cannot watch resource \\\"configmaps\\\"", "cannot watch resource \\\"secrets\\\"", "cannot get resource \\\"leases\\\""},
		page:  []string{"forbidden: get leases.coordination.k8s.io"},
	},
	{
		name: "a missing right to write", denied: true, code: 200,
		lines: []string{"cannot create resource \\\"secrets\\\""},
		page:  []string{"[+]informers ok", "[!]problems failed, not required: forbidden: create secrets: reason withheld"},
	},
	{
		name: "a missing definition", plural: "sites", code: 200,
		lines: []string{"the server could not find the requested resource (get sites.example.com)"},
		page:  []string{"[+]informers ok", "[!]resources failed, not required: sites.example.com: reason withheld", "[+]problems ok"},
	},
	{
		name: "a wrong plural", plural: "sitez", install: true, code: 200,
		lines: []string{"the server could not find the requested resource (get sitez.example.com)"},
		page:  []string{"[!]resources failed, not required: sitez.example.com: reason withheld"},
	},
	{
		name: "a namespace that does not exist", code: 200,
		opts:  manager.Options{Informers: informers.SetOptions{Cache: informers.Cache{Namespaces: []string{"nowhere", "default"}}}},
		lines: []string{"namespace=nowhere"},
		page:  []string{"[+]informers ok", "[!]problems failed, not required: no namespace nowhere: reason withheld"},
	},
	{
		name: "a namespace without rights", code: 500, connect: asNobody,
		opts:  manager.Options{Informers: informers.SetOptions{Cache: informers.Cache{Namespaces: []string{"default", "kube-system"}}}},
		lines: []string{"cannot watch resource \\\"configmaps\\\"", "cannot watch resource \\\"secrets\\\""},
		page:  []string{"forbidden: watch configmaps; forbidden: watch secrets: "},
	},
	{
		name: "a certificate authority of another cluster", code: 500,
		connect: byTLS(func(t *testing.T, cfg *rest.Config) { cfg.TLS.CAData = stranger(t).CertPEM() }),
		lines:   []string{"certificate signed by unknown authority"},
		page:    []string{"[-]informers failed: configmaps, secrets: ", "[!]problems failed, not required: certificate of the server: x509: certificate signed by unknown authority: "},
	},
	{
		name: "a certificate for another host", code: 500,
		connect: byTLS(func(_ *testing.T, cfg *rest.Config) { cfg.TLS.ServerName = "elsewhere.test" }),
		lines:   []string{"not elsewhere.test"},
		page:    []string{"[!]problems failed, not required: certificate of the server: x509: "},
	},
	{
		name: "a wrong token", code: 500,
		connect: byTLS(func(_ *testing.T, cfg *rest.Config) {
			cfg.TLS.CertData, cfg.TLS.KeyData, cfg.BearerToken = nil, nil, "guess"
		}),
		lines: []string{"Unauthorized"},
		page:  []string{"[!]problems failed, not required: unauthorized: "},
	},
	{
		name: "a client certificate of another authority", code: 500,
		connect: byTLS(func(t *testing.T, cfg *rest.Config) {
			pair, err := stranger(t).Client("admin", "system:masters")
			require.NoError(t, err)
			cfg.TLS.CertData, cfg.TLS.KeyData = pair.CertPEM(), pair.KeyPEM()
		}),
		lines: []string{"Unauthorized"},
		page:  []string{"[!]problems failed, not required: unauthorized: "},
	},
}

// start runs the program with the mistake, and returns what it logs by default and its pages.
func (b *badInput) start(t *testing.T, c *controllertest.Cluster, log *logged) *health.Server {
	cfg := c.Config()
	if b.connect != nil {
		cfg = b.connect(t, c)
	}
	sources := []controllers.Source{controllers.For[*corev1.ConfigMap](), controllers.Reads[*corev1.Secret]()}
	if b.plural != "" {
		cfg.Scheme = api.Scheme().Clone()
		require.NoError(t, scheme.Add[*site](cfg.Scheme, schema.GroupVersion{Group: "example.com", Version: "v1"}, scheme.Kind{Name: "Site", Resource: b.plural, Namespaced: true}))
		sources = append(sources, controllers.Reads[*site]())
	}
	if b.install {
		controllertest.Create(c, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: controllertest.Name("", "sites.example.com"), Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "sites", Kind: "Site"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}}}})
		c.Settle()
	}
	for _, name := range []string{"a", "b", "c"} {
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
	}
	conn, err := rest.New(cfg, rest.Options{})
	require.NoError(t, err)
	m := manager.New(conn, b.opts)
	pages := health.New(health.Options{Listener: pipenet.New()})
	m.AddHealth(pages)
	denied := client.For[*corev1.Secret](c.Conn(client.User{Name: "nobody"}))
	_, err = controllers.Add(m, "maps", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if !b.denied {
			return reconcile.Result{}, nil
		}
		_, err := denied.Create(ctx, &corev1.Secret{ObjectMeta: controllertest.Name(req.Namespace, req.Name)})
		return reconcile.Result{}, err
	}), controllers.Options{}, sources...)
	require.NoError(t, err)
	stop := c.Run(m)
	t.Cleanup(func() {
		stop()
		require.NoError(t, conn.Close())
	})
	return pages
}

// TestBadInput: a mistake is one line of the default log, repeated once a minute at most, and named by
// readyz?verbose.
func TestBadInput(t *testing.T) {
	for _, b := range badInputs {
		t.Run(b.name, func(t *testing.T) {
			var log logged
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
			defer slog.SetDefault(before)
			synctest.Test(t, func(t *testing.T) {
				c := controllertest.Start(t, controllertest.Options{})
				pages := b.start(t, c, &log)
				c.Sleep(50 * time.Second)
				lines := slices.Collect(strings.Lines(log.String()))
				require.Len(t, lines, len(b.lines), "%s", log.String())
				for _, part := range b.lines {
					require.Contains(t, log.String(), part)
				}
				w := httptest.NewRecorder()
				pages.ServeHTTP(w, httptest.NewRequest("GET", "/readyz?verbose", nil))
				require.Equal(t, b.code, w.Code, w.Body)
				for _, part := range b.page {
					require.Contains(t, w.Body.String(), part)
				}
				c.Sleep(10 * time.Minute)
				require.LessOrEqual(t, strings.Count(log.String(), "\n"), 11*len(b.lines))
				require.NotContains(t, log.String(), "level=DEBUG")
			})
		})
	}
}

// TestBadInputRepaired: the page is right again some minutes after the mistake, and the next mistake is
// logged at once.
func TestBadInputRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var log logged
		b := badInput{opts: manager.Options{
			Logger:    slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Informers: informers.SetOptions{Cache: informers.Cache{Namespaces: []string{"late"}}},
		}}
		pages := b.start(t, c, &log)
		c.Sleep(90 * time.Second)
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "late")})
		c.Sleep(10 * time.Minute)
		require.Equal(t, 2, strings.Count(log.String(), "namespace=late"))
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest("GET", "/readyz?verbose", nil))
		require.Contains(t, w.Body.String(), "[+]problems ok")
	})
}
