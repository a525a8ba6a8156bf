// Package controlplane puts an API server together the way a Kubernetes cluster has it: certificate, token
// and service account authentication, RBAC with the bootstrap policy, and the usual admission plugins.
// examples/kube-apiserver, examples/cluster and controllertest are built on it; an embedder with a policy of
// its own uses store/apiserver directly.
package controlplane

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Options of a control plane. ServiceAccountKeys is required; the rest has defaults.
type Options struct {
	// Server configures the API server beneath. New refuses it if Authenticator, Authorizer, Secure, Tokens
	// or WebhookDial is set: they follow from the other Options.
	Server apiserver.Options

	// ClientCAs returns the authorities of client certificates, and is called for every request; nil disables
	// client certificates.
	ClientCAs func() *x509.CertPool
	// ClientCAFile returns the text of ClientCAs, PEM, which is published for aggregated API servers as
	// client-ca-file in the ConfigMap kube-system/extension-apiserver-authentication, and is called every
	// minute. Nil publishes nothing.
	ClientCAFile func() []byte
	// StaticTokens are further bearer tokens, see authn.TokenFile; nil means none.
	StaticTokens authn.TokenAuthenticator
	// BootstrapTokens accepts the bootstrap tokens stored in kube-system, see [authn.BootstrapTokens]. A new,
	// changed or deleted one counts as soon as the server's cache has seen it, a moment later.
	BootstrapTokens bool
	// Anonymous accepts requests without credentials as system:anonymous. With the authorization mode
	// AlwaysAllow it is disabled, with a warning in the log: such a server would be open to everyone who can
	// reach it.
	Anonymous bool
	// AuthorizationModes are tried in order: RBAC, AlwaysAllow, AlwaysDeny. Nil means RBAC.
	AuthorizationModes []string
	// Decided is called when one of AuthorizationModes has allowed or denied: also in checks made for an
	// authorization review or an admission plugin. It must be quick and safe for concurrent use. Nil is
	// skipped.
	Decided func(mode string, d authz.Decision)

	// ServiceAccountIssuers name the server in tokens; nil means
	// https://kubernetes.default.svc.cluster.local.
	ServiceAccountIssuers []string
	// ServiceAccountKeys sign (the first) and verify tokens: RSA or ECDSA, see authn.ParseKeys.
	ServiceAccountKeys []any
	// Audiences the server accepts; nil means the issuers.
	Audiences []string
	// JWKSURI is the URL of the keys in the discovery document at /.well-known/openid-configuration;
	// empty means /openid/v1/jwks at Server.AdvertiseAddress, or without one at the host the request was sent
	// to.
	JWKSURI string

	// EnableAdmission and DisableAdmission change which of admission.Factories run.
	EnableAdmission, DisableAdmission []string
	// Plugins run after the built-in ones.
	Plugins []admission.Plugin
	// WebhookDial opens the connections to admission and conversion webhooks, at the host and port of a URL
	// or at NAME.NAMESPACE.svc:PORT. Nil means the network, where a service is found at one of its endpoints
	// or its cluster IP.
	WebhookDial webhook.DialFunc

	// Logger receives what cannot be returned. Nil discards.
	Logger *slog.Logger
}

// DefaultIssuer is the service account issuer of clusters that name none.
const DefaultIssuer = "https://kubernetes.default.svc.cluster.local"

// ControlPlane is an API server with its policy. Serve it as an http.Handler while Run runs.
type ControlPlane struct {
	*apiserver.Server
	tokens *authn.Tokens
	policy *policy
	rbac   bool
	trust  func() []byte // what aggregated servers may trust clients by; nil if nothing is published
	log    *slog.Logger
	close  []io.Closer // admission plugins with something to close
}

// New checks the options and makes the server. Nothing runs yet.
func New(o Options) (*ControlPlane, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Server.Logger == nil {
		o.Server.Logger = o.Logger
	}
	if o.ServiceAccountIssuers == nil {
		o.ServiceAccountIssuers = []string{DefaultIssuer}
	}
	if o.AuthorizationModes == nil {
		o.AuthorizationModes = []string{"RBAC"}
	}
	if o.Anonymous && slices.Contains(o.AuthorizationModes, "AlwaysAllow") {
		o.Logger.Warn("anonymous requests are disabled: the authorization mode AlwaysAllow would allow them everything")
		o.Anonymous = false
	}
	if s := &o.Server; s.Authenticator != nil || s.Authorizer != nil || s.Secure != nil || s.Tokens != nil || s.WebhookDial != nil {
		return nil, errors.New("controlplane: Options.Server must not set Authenticator, Authorizer, Secure, Tokens or WebhookDial: they follow from the other options")
	}
	c := &ControlPlane{log: o.Logger, rbac: slices.Contains(o.AuthorizationModes, "RBAC")}
	c.trust = o.ClientCAFile
	lookup := &lookup{}
	var err error
	c.tokens, err = authn.NewTokens(authn.TokensOptions{Issuers: o.ServiceAccountIssuers, Keys: o.ServiceAccountKeys, Audiences: o.Audiences, Lookup: lookup.check})
	if err != nil {
		return nil, err
	}
	plugins, err := selectPlugins(o.EnableAdmission, o.DisableAdmission)
	if err != nil {
		return nil, err
	}
	so := o.Server
	so.WebhookDial = o.WebhookDial
	so.Secure = func(a registry.Access) (sec apiserver.Security, err error) {
		lookup.access = a
		tokens := authn.TokenAuthenticator(c.tokens)
		if o.StaticTokens != nil {
			tokens = authn.UnionTokens(o.StaticTokens, c.tokens)
		}
		if o.BootstrapTokens {
			tokens = authn.UnionTokens(tokens, authn.BootstrapTokens(secrets(a)))
		}
		sec.Authenticator = authenticator(&o, tokens)
		c.policy = newPolicy(a, servesMigrations(o.Server.Scheme), o.Logger)
		rbac := authz.NewRBAC(c.policy)
		authorizer, err := authorizer(o.AuthorizationModes, rbac, o.Decided)
		if err != nil {
			return sec, err
		}
		sec.Authorizer = authorizer
		access := pluginAccess{a}
		for _, f := range plugins {
			plugin := f.New(access, admission.Options{WebhookDial: o.WebhookDial, Authorize: answers(authorizer), Metrics: o.Server.Metrics.Admission})
			if closer, ok := plugin.(io.Closer); ok {
				c.close = append(c.close, closer)
			}
			sec.Admission = append(sec.Admission, plugin)
		}
		if c.rbac {
			sec.Admission = append(sec.Admission, authz.NewEscalation(rbac, authorizer))
		}
		sec.Admission = append(sec.Admission, authz.NewPolicyParams(access, authorizer), admission.NewDeviceAdminAccess(access))
		sec.Admission = append(sec.Admission, o.Plugins...)
		sec.Tokens = &issuer{tokens: c.tokens, access: a}
		if c.rbac {
			sec.Checks = map[string]func(context.Context) error{"poststarthook/rbac/bootstrap-roles": c.policy.ready}
		}
		sec.Computed = reviews(c.tokens, tokens, authorizer)
		sec.Handlers, err = discovery(c.tokens, &o)
		return sec, err
	}
	c.Server, err = apiserver.New(so)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Tokens signs and verifies service account tokens.
func (c *ControlPlane) Tokens() *authn.Tokens { return c.tokens }

// Ready returns a channel that is closed when the objects every cluster has are stored and the authorizer has
// loaded the policy: from then on requests are decided by it.
func (c *ControlPlane) Ready() <-chan struct{} {
	if c.rbac {
		return c.policy.loaded
	}
	return c.Server.Ready()
}

// Run runs the server's loops and keeps the policy current until ctx ends.
func (c *ControlPlane) Run(ctx context.Context) error {
	// The server still serves for a while when ctx has ended, with the last policy loaded.
	loops, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var tasks sync.WaitGroup
	if c.rbac {
		tasks.Go(func() { _ = c.policy.run(loops, c.Server.Ready()) }) // ends with loops
	}
	if c.trust != nil && c.Server.Registry().Resource(corev1.GroupVersion.WithResource("configmaps")) != nil {
		tasks.Go(func() { c.publishTrust(loops, c.Server.Ready()) })
	}
	err := c.Server.Run(ctx)
	stop()
	tasks.Wait()
	for _, closer := range c.close {
		_ = closer.Close() // only idle connections
	}
	return err
}

func authenticator(o *Options, tokens authn.TokenAuthenticator) authn.Authenticator {
	var as []authn.Authenticator
	if o.ClientCAs != nil {
		as = append(as, authn.ClientCertificates(o.ClientCAs))
	}
	as = append(as, authn.Bearer(tokens))
	all := authn.Union(as...)
	if o.Anonymous {
		all = orAnonymous(all)
	}
	return authn.Authenticated(all)
}

// orAnonymous accepts requests without credentials; a rejected credential stays an error.
func orAnonymous(a authn.Authenticator) authn.Authenticator {
	anonymous := authn.AllowAnonymous()
	return authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
		resp, ok, err := a.Authenticate(r)
		if ok || err != nil {
			return resp, ok, err
		}
		return anonymous.Authenticate(r)
	})
}

// modes are the authorization modes that New supports.
var modes = []string{"RBAC", "AlwaysAllow", "AlwaysDeny"}

func authorizer(names []string, rbac *authz.RBAC, decided func(string, authz.Decision)) (authz.Authorizer, error) {
	all := []authz.Authorizer{authz.Masters()}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("controlplane: authorization mode %s is given twice", name)
		}
		switch name {
		case "RBAC":
			all = append(all, rbac)
		case "AlwaysAllow":
			all = append(all, authz.AlwaysAllow())
		case "AlwaysDeny":
			all = append(all, authz.AlwaysDeny())
		default:
			return nil, fmt.Errorf("controlplane: unknown authorization mode %q; known are %s", name, strings.Join(modes, ", "))
		}
		if decided != nil {
			last := &all[len(all)-1]
			*last = &observed{*last, name, decided}
		}
	}
	return authz.Union(all...), nil
}

// selectPlugins resolves the enabled and disabled names against the built-in plugins.
func selectPlugins(enable, disable []string) ([]admission.Factory, error) {
	all := admission.Factories()
	for _, name := range slices.Concat(enable, disable) {
		if !slices.ContainsFunc(all, func(f admission.Factory) bool { return f.Name == name }) {
			known := make([]string, len(all))
			for i, f := range all {
				known[i] = f.Name
			}
			return nil, fmt.Errorf("controlplane: unknown admission plugin %q; known are %s", name, strings.Join(known, ", "))
		}
		if slices.Contains(enable, name) && slices.Contains(disable, name) {
			return nil, fmt.Errorf("controlplane: admission plugin %s is both enabled and disabled", name)
		}
	}
	return slices.DeleteFunc(all, func(f admission.Factory) bool {
		return slices.Contains(disable, f.Name) || !f.Default && !slices.Contains(enable, f.Name)
	}), nil
}

// servesMigrations reports whether a server of the scheme, which may be nil, serves storage version
// migrations.
func servesMigrations(s *scheme.Scheme) bool {
	return s != nil && s.ForKind(storagemigrationv1beta1.GroupVersion.WithKind("StorageVersionMigration")) != nil
}
