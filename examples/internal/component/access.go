package component

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/authn"
)

// Access says who may read the pages of a program's own port: users are identified and authorized by the API
// server of a kubeconfig. Without one, only members of system:masters by a client certificate may, and
// everyone who can reach a loopback address.
type Access struct {
	AuthenticationKubeconfig, AuthorizationKubeconfig string
	ClientCAFile                                      string
	Proxies                                           authn.RequestHeaderOptions
	ProxyCAFile                                       string
	SkipLookup, TolerateLookup                        bool
	TokenTTL, AllowedTTL, DeniedTTL                   time.Duration
	AllowedPaths                                      []string
}

// Flags registers the flags with upstream's names and defaults.
func (a *Access) Flags(f *pflag.FlagSet) {
	f.StringVar(&a.AuthenticationKubeconfig, "authentication-kubeconfig", a.AuthenticationKubeconfig, "kubeconfig file of the API server that reviews the tokens of callers (empty: no tokens)")
	f.StringVar(&a.AuthorizationKubeconfig, "authorization-kubeconfig", a.AuthorizationKubeconfig, "kubeconfig file of the API server that decides what callers may read (empty: members of system:masters everything, others --authorization-always-allow-paths)")
	f.StringVar(&a.ClientCAFile, "client-ca-file", a.ClientCAFile, "authorities of client certificates (empty: those in the config map extension-apiserver-authentication)")
	f.StringVar(&a.ProxyCAFile, "requestheader-client-ca-file", a.ProxyCAFile, "authorities of the client certificates of proxies that report users in headers (empty: those in the config map extension-apiserver-authentication)")
	f.StringSliceVar(&a.Proxies.AllowedNames, "requestheader-allowed-names", nil, "common names of certificates that may report users in headers (empty: all of --requestheader-client-ca-file)")
	f.StringSliceVar(&a.Proxies.UsernameHeaders, "requestheader-username-headers", []string{"x-remote-user"}, "headers with the user's name; the first with a value counts")
	f.StringSliceVar(&a.Proxies.UIDHeaders, "requestheader-uid-headers", nil, "headers with the user's UID; the first with a value counts")
	f.StringSliceVar(&a.Proxies.GroupHeaders, "requestheader-group-headers", []string{"x-remote-group"}, "headers with the user's groups")
	f.StringSliceVar(&a.Proxies.ExtraPrefixes, "requestheader-extra-headers-prefix", []string{"x-remote-extra-"}, "prefixes of headers with the user's extra fields")
	f.BoolVar(&a.SkipLookup, "authentication-skip-lookup", false, "do not read the config map extension-apiserver-authentication")
	f.BoolVar(&a.TolerateLookup, "authentication-tolerate-lookup-failure", true, "start without the config map extension-apiserver-authentication if it cannot be read; it is tried again")
	f.DurationVar(&a.TokenTTL, "authentication-token-webhook-cache-ttl", 10*time.Second, "how long the review of a token is valid")
	f.DurationVar(&a.AllowedTTL, "authorization-webhook-cache-authorized-ttl", 10*time.Second, "how long a permission is valid")
	f.DurationVar(&a.DeniedTTL, "authorization-webhook-cache-unauthorized-ttl", 10*time.Second, "how long a refusal is valid")
	f.StringSliceVar(&a.AllowedPaths, "authorization-always-allow-paths", []string{"/healthz", "/readyz", "/livez"}, "paths that everyone may read; one that ends in /* includes all below it")
}

// Gate decides on requests. Run keeps it up to date.
type Gate struct {
	access  *Access
	log     *slog.Logger
	reviews *rest.Conn // of AuthenticationKubeconfig; nil without
	rights  *rest.Conn // of AuthorizationKubeconfig; nil without
	gate    delegated.Gate

	clients, proxies *Reloaded[Authorities]         // of files; nil without
	published        atomic.Pointer[publishedTrust] // of the config map
}

// publishedTrust is what extension-apiserver-authentication says.
type publishedTrust struct {
	clients *x509.CertPool
	proxies authn.RequestHeaderOptions
}

// Open connects to the API servers. Run or Close the gate.
func (a *Access) Open(ctx context.Context, name string, log *slog.Logger) (*Gate, error) {
	g := &Gate{access: a, log: log}
	g.published.Store(&publishedTrust{})
	var err error
	if a.ClientCAFile != "" {
		if g.clients, err = Reload(log, ReadAuthorities, a.ClientCAFile); err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
	}
	if a.ProxyCAFile != "" {
		if g.proxies, err = Reload(log, ReadAuthorities, a.ProxyCAFile); err != nil {
			return nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
	}
	if g.reviews, err = connection(a.AuthenticationKubeconfig, name); err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	if g.rights, err = connection(a.AuthorizationKubeconfig, name); err != nil {
		g.Close()
		return nil, fmt.Errorf("--authorization-kubeconfig: %w", err)
	}
	if err := g.look(ctx); err != nil && !a.TolerateLookup {
		g.Close()
		return nil, fmt.Errorf("read config map extension-apiserver-authentication failed: %w", err)
	}
	g.build()
	return g, nil
}

// connection connects to the server of a kubeconfig; nil without a file.
func connection(file, name string) (*rest.Conn, error) {
	if file == "" {
		return nil, nil
	}
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: file, NoInCluster: true})
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = name
	return rest.New(cfg, rest.Options{Warnings: rest.NoWarnings})
}

// Close closes the connections.
func (g *Gate) Close() {
	for _, c := range []*rest.Conn{g.reviews, g.rights} {
		if c != nil {
			c.Close()
		}
	}
}

// lookEvery is the time between reads of the config map with authorities.
const lookEvery = time.Minute

// Run reads the config map with authorities again until ctx ends, and then closes the gate.
func (g *Gate) Run(ctx context.Context) error {
	defer g.Close()
	if g.access.SkipLookup || g.reviews == nil {
		<-ctx.Done()
		return nil
	}
	failed := ""
	_ = backoff.Poll(ctx, lookEvery, func(ctx context.Context) (bool, error) { // ends with ctx
		text := ""
		if err := g.look(ctx); err != nil {
			text = err.Error()
		}
		if text != "" && text != failed {
			g.log.Error("read config map extension-apiserver-authentication failed", "err", text)
		}
		failed = text
		return false, nil
	})
	return nil
}

// look reads the config map with the authorities that the API server publishes.
func (g *Gate) look(ctx context.Context) error {
	if g.access.SkipLookup || g.reviews == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	m, err := client.For[*corev1.ConfigMap](g.reviews).Get(ctx, types.NamespacedName{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, client.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // the server publishes none
	} else if err != nil {
		return err
	}
	p, err := readPublished(m.Data)
	if err == nil {
		g.published.Store(p)
	}
	return err
}

func readPublished(data map[string]string) (*publishedTrust, error) {
	p := &publishedTrust{}
	pool := func(key string) (*x509.CertPool, error) {
		if data[key] == "" {
			return nil, nil
		}
		pool, err := ReadPool([][]byte{[]byte(data[key])})
		if err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
		return pool, err
	}
	var errs [2]error
	var proxies *x509.CertPool
	p.clients, errs[0] = pool("client-ca-file")
	proxies, errs[1] = pool("requestheader-client-ca-file")
	p.proxies.ClientCAs = func() *x509.CertPool { return proxies }
	err := errors.Join(errs[:]...)
	for key, into := range map[string]*[]string{"requestheader-allowed-names": &p.proxies.AllowedNames, "requestheader-username-headers": &p.proxies.UsernameHeaders,
		"requestheader-uid-headers": &p.proxies.UIDHeaders, "requestheader-group-headers": &p.proxies.GroupHeaders, "requestheader-extra-headers-prefix": &p.proxies.ExtraPrefixes} {
		if text := data[key]; text != "" {
			if e := codec.Unmarshal([]byte(text), into); e != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", key, e))
			}
		}
	}
	return p, err
}

// clientPool are the authorities of client certificates; nil if there are none.
func (g *Gate) clientPool() *x509.CertPool {
	if g.clients != nil {
		return g.clients.Get().Pool
	}
	return g.published.Load().clients
}

// trustedProxies are the proxies that report users.
func (g *Gate) trustedProxies() authn.RequestHeaderOptions {
	if g.proxies == nil {
		return g.published.Load().proxies
	}
	o := g.access.Proxies
	o.ClientCAs = func() *x509.CertPool { return g.proxies.Get().Pool }
	return o
}

// build makes the authenticator and the gate.
func (g *Gate) build() {
	a := g.access
	g.gate = delegated.Gate{Logger: g.log, Authorize: mastersOnly, Attributes: delegated.ByPath, Authenticate: g.identify(authn.Authenticated(authn.ClientCertificates(g.clientPool)), a.TokenTTL)}
	if g.rights == nil {
		return
	}
	decide := delegated.NewAuthorizer(g.rights, delegated.AuthorizerOptions{AllowedTTL: a.AllowedTTL, DeniedTTL: a.DeniedTTL})
	g.gate.Authorize = func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, string, error) {
		if ok, why, err := mastersOnly(ctx, spec); ok {
			return ok, why, err
		}
		return decide.Authorize(ctx, spec)
	}
}

// identify returns the function that identifies the user of a request: by the headers of a proxy, a client
// certificate or a token, in this order. Without any the user is anonymous.
func (g *Gate) identify(certificates authn.Authenticator, ttl time.Duration) func(*http.Request) (*authenticationv1.UserInfo, bool, error) {
	var tokens *delegated.Authenticator
	if g.reviews != nil {
		tokens = delegated.NewAuthenticator(g.reviews, delegated.AuthenticatorOptions{TTL: ttl})
	}
	return func(r *http.Request) (*authenticationv1.UserInfo, bool, error) {
		if o := g.trustedProxies(); o.ClientCAs != nil && o.ClientCAs() != nil {
			if resp, ok, _ := authn.Authenticated(authn.RequestHeaders(o)).Authenticate(r); ok {
				return userInfo(resp.User), true, nil
			}
		}
		resp, ok, err := certificates.Authenticate(r)
		if ok {
			return userInfo(resp.User), true, nil
		}
		if tokens != nil {
			if u, ok, tokenErr := tokens.Authenticate(r); ok || tokenErr != nil {
				return u, ok, tokenErr
			}
		} else if r.Header.Get("Authorization") != "" {
			return nil, false, errors.New("there is no API server that reviews tokens")
		}
		if err != nil {
			return nil, false, err
		}
		return &authenticationv1.UserInfo{Username: authn.Anonymous, Groups: []string{authn.GroupUnauthenticated}}, true, nil
	}
}

func userInfo(u *authn.User) *authenticationv1.UserInfo {
	out := &authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups, Extra: map[string]authenticationv1.ExtraValue{}}
	for k, v := range u.Extra {
		out.Extra[k] = v
	}
	return out
}

func mastersOnly(_ context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, string, error) {
	return slices.Contains(spec.Groups, authn.GroupMasters), "", nil
}

// Wrap returns a handler that calls next for the requests that are allowed.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	checked := g.gate.Wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.access.allows(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// allows reports whether everyone may read a path.
func (a *Access) allows(path string) bool {
	return slices.ContainsFunc(a.AllowedPaths, func(allowed string) bool {
		if prefix, ok := strings.CutSuffix(allowed, "*"); ok {
			return strings.HasPrefix(path, prefix)
		}
		return path == allowed
	})
}
