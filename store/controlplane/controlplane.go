// Package controlplane assembles an API server with the policy of a Kubernetes cluster: certificate, token
// and service account authentication, RBAC with the bootstrap policy, the usual admission plugins, and the
// objects every cluster has ([Bookkeeping]). examples/kube-apiserver, examples/cluster and controllertest are
// built on it; an embedder with its own policy uses store/apiserver directly.
package controlplane

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Options of a control plane. ServiceAccountKeys is required; the rest has defaults.
type Options struct {
	// Server configures the API server beneath. New refuses it if Authenticator, Authorizer, Secure, Tokens,
	// StartHook or WebhookDial is set: they follow from the other Options.
	Server apiserver.Options

	// Bookkeeping says what the server writes about itself; the zero value publishes Server.AdvertiseAddress
	// only.
	Bookkeeping BookkeepingOptions

	// Image is what another server has derived from the same content of its store, see [ControlPlane.Image].
	// The objects that every cluster has are then not looked up again. Nil means that they are created where
	// they are missing. New refuses it beside an Image of Server.
	Image *Image

	// ClientCAs returns the authorities of client certificates, and is called for every request; nil disables
	// client certificates.
	ClientCAs func() *x509.CertPool
	// ClientCAFile returns the text of ClientCAs, PEM, which is published for aggregated API servers as
	// client-ca-file in the ConfigMap kube-system/extension-apiserver-authentication, and is called every
	// minute. Nil publishes nothing.
	ClientCAFile func() []byte
	// RequestHeader accepts the users that trusted proxies report in headers, before other methods are tried;
	// nil disables it. What it says is published for aggregated API servers beside client-ca-file, with the
	// text that RequestHeaderCAFile returns.
	RequestHeader       *authn.RequestHeaderOptions
	RequestHeaderCAFile func() []byte
	// StaticTokens are further bearer tokens, see authn.TokenFile; nil means none.
	StaticTokens authn.TokenAuthenticator
	// TokenIssuers authenticates the tokens of OpenID Connect issuers, see authn.Issuers; nil disables it.
	TokenIssuers authn.TokenAuthenticator
	// TokenWebhook authenticates the bearer tokens that nothing else here accepts, see authn.Webhook; nil
	// disables it. It gets tokens that are meant for this server alone, so its server must be trusted.
	TokenWebhook authn.TokenAuthenticator
	// BootstrapTokens accepts the bootstrap tokens stored in kube-system, see [authn.BootstrapTokens]. A new,
	// changed or deleted one takes effect when the server's cache has received it, shortly afterwards.
	BootstrapTokens bool
	// Anonymous accepts requests without credentials as system:anonymous. With the authorization mode
	// AlwaysAllow and without AnonymousPaths it is disabled, with a warning in the log: such a server would
	// be open to everyone who can reach it.
	Anonymous bool
	// AnonymousPaths are the paths for which Anonymous holds, such as /livez; nil means all.
	AnonymousPaths []string
	// AuthorizationModes are tried in order: Node, RBAC, AlwaysAllow, AlwaysDeny, and the names of
	// Authorizers. Nil means RBAC. Members of system:masters may do everything without them.
	AuthorizationModes []string
	// Authorizers are further modes: an authorizer of one's own takes part where AuthorizationModes has its
	// name, before or after the built-in ones or instead of them. Those that are an [authz.RuleResolver] are
	// listed in SelfSubjectRulesReviews.
	Authorizers map[string]authz.Authorizer
	// Authenticator returns what identifies callers, given what these Options describe; anonymous requests
	// are those that it does not identify. Put a method of one's own before or after builtin with
	// authn.Union, or return it alone. Nil means builtin.
	Authenticator func(builtin authn.Authenticator) authn.Authenticator
	// Decided is called when one of AuthorizationModes has allowed or denied a request, also in checks made
	// for an authorization review or an admission plugin. It must be fast and safe for concurrent use. It may
	// be nil.
	Decided func(mode string, d authz.Decision)
	// NodeGraphChanged is authz.NodeGraph.Changed of the graph by which the mode Node decides. It may be nil.
	NodeGraphChanged func(change string, took time.Duration)

	// ServiceAccountIssuers name the server in tokens; nil means
	// https://kubernetes.default.svc.cluster.local.
	ServiceAccountIssuers []string
	// ServiceAccountKeys sign (the first) and verify tokens: RSA or ECDSA, see authn.ParseKeys.
	ServiceAccountKeys []any
	// MaxTokenExpiration bounds the life of requested tokens, which are then shorter than requested; from an
	// hour to 2^32 seconds, zero means no bound. NoExtendedTokens gives pods' tokens the hour they are
	// requested for, rather than a year for clients that do not read them again.
	MaxTokenExpiration time.Duration
	NoExtendedTokens   bool
	// TokenUsed is called when a service account token that is to be replaced some day is used. It must be
	// fast and safe for concurrent use. It may be nil.
	TokenUsed func(authn.TokenUse)
	// Audiences the server accepts; nil means the issuers.
	Audiences []string
	// JWKSURI is the URL of the keys in the discovery document at /.well-known/openid-configuration;
	// empty means /openid/v1/jwks at Server.AdvertiseAddress, or without one at the host the request was sent
	// to.
	JWKSURI string

	// EnableAdmission and DisableAdmission change which of admission.Factories run.
	EnableAdmission, DisableAdmission []string
	// AdmissionConfiguration is that of the plugins which have one.
	AdmissionConfiguration admission.Configuration
	// Plugins run after the built-in ones.
	Plugins []admission.Plugin
	// Admission returns the plugins that run, given those that these Options describe in their order; nil
	// means these. Those that keep users from granting more than they hold are among them.
	Admission func(builtin []admission.Plugin) []admission.Plugin
	// Aggregation says how requests for APIService objects with a service are passed on. Its Dial is
	// WebhookDial, and its Logger that of these Options, if nil.
	Aggregation aggregation.Options
	// WebhookDial opens the connections to admission and conversion webhooks, at the host and port of a URL
	// or at NAME.NAMESPACE.svc:PORT. Nil means the network, where a service is found at one of its endpoints
	// or its cluster IP.
	WebhookDial webhook.DialFunc

	// Logger receives what cannot be returned. Nil discards.
	Logger *slog.Logger
}

// DefaultIssuer is the service account issuer if none is configured.
const DefaultIssuer = "https://kubernetes.default.svc.cluster.local"

// ControlPlane is an API server with its policy. Serve it as an http.Handler while Run runs.
type ControlPlane struct {
	*apiserver.Server
	tokens        *authn.Tokens
	authorization *authorization
	bookkeeping   *bookkeeping
	aggregator    *aggregation.Aggregator
	trust         *trust // what is published for aggregated servers; nil if nothing is
	log           *slog.Logger
	close         []io.Closer // admission plugins with something to close
}

// New checks the options and creates the server. It starts nothing; see Run.
func New(o Options) (*ControlPlane, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	c := &ControlPlane{log: o.Logger}
	var err error
	if c.trust, err = newTrust(&o); err != nil {
		return nil, err
	}
	bound := &boundObjects{}
	c.tokens, err = authn.NewTokens(authn.TokensOptions{Issuers: o.ServiceAccountIssuers, Keys: o.ServiceAccountKeys, Audiences: o.Audiences, Lookup: bound.check, Used: o.TokenUsed})
	if err != nil {
		return nil, err
	}
	plugins, err := selectPlugins(o.EnableAdmission, o.DisableAdmission)
	if err != nil {
		return nil, err
	}
	so := o.Server
	c.bookkeeping = newBookkeeping(o.Bookkeeping, o.Image)
	so.WebhookDial, so.StartHook = o.WebhookDial, c.bookkeeping
	if v := c.bookkeeping.versions; v != nil {
		so.Writable = v.writable
		so.ReadyChecks = maps.Clone(so.ReadyChecks)
		if so.ReadyChecks == nil {
			so.ReadyChecks = map[string]func(context.Context) error{}
		}
		so.ReadyChecks["poststarthook/built-in-resources-storage-version-updater"] = v.ready
	}
	so.Secure = func(a registry.Access) (apiserver.Security, error) {
		bound.access = a
		return c.secure(&o, bound, plugins)
	}
	c.Server, err = apiserver.New(so)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// complete checks the options and sets defaults.
func (o *Options) complete() error {
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
	if o.Anonymous && len(o.AnonymousPaths) == 0 && slices.Contains(o.AuthorizationModes, "AlwaysAllow") {
		o.Logger.Warn("anonymous requests are disabled: the authorization mode AlwaysAllow would allow them everything")
		o.Anonymous = false
	}
	if s := &o.Server; s.Authenticator != nil || s.Authorizer != nil || s.Secure != nil || s.Tokens != nil || s.StartHook != nil || s.WebhookDial != nil {
		return errors.New("controlplane: Options.Server must not set Authenticator, Authorizer, Secure, Tokens, StartHook or WebhookDial: they follow from the other options")
	}
	if d := o.MaxTokenExpiration; d != 0 && (d < time.Hour || d > maxTokenSeconds*time.Second) {
		return errors.New("controlplane: Options.MaxTokenExpiration must be between an hour and 2^32 seconds")
	}
	if o.Image != nil {
		if o.Server.Image != nil {
			return errors.New("controlplane: Options.Server.Image must not be set beside Options.Image, which contains it")
		}
		o.Server.Image = o.Image.server
	}
	return nil
}

// secure returns what authenticates, authorizes and admits requests.
func (c *ControlPlane) secure(o *Options, bound *boundObjects, plugins []admission.Factory) (sec apiserver.Security, err error) {
	a := bound.access
	legacy := c.tokens.Legacy((&secretTokens{access: a, bound: bound, log: o.Logger}).check)
	tokens := tokenAuthenticator(o, authn.UnionTokens(c.tokens, legacy), a)
	sec.Authenticator = authenticator(o, tokens)
	authorizer, err := newAuthorization(o, a)
	if err != nil {
		return sec, err
	}
	c.authorization, sec.Authorizer, sec.Checks = authorizer, authorizer, authorizer.checks()
	if sec.Admission, err = c.admission(o, pluginAccess{a}, plugins); err != nil {
		return sec, err
	}
	sec.Tokens = &issuer{tokens: c.tokens, access: a, maxLifetime: o.MaxTokenExpiration, extend: !o.NoExtendedTokens}
	sec.Computed = reviews(c.tokens, tokens, authorizer)
	ao := o.Aggregation
	if ao.Dial == nil {
		ao.Dial = o.WebhookDial
	}
	if ao.Logger == nil {
		ao.Logger = o.Logger
	}
	if o.Image != nil && o.Image.local {
		ao.LocalAt = o.Image.revision
	}
	c.aggregator = aggregation.New(a, ao)
	sec.Aggregation = c.aggregator
	sec.Handlers, err = discoveryHandlers(c.tokens, o)
	return sec, err
}

// admission returns the plugins of the options in their order, and keeps those to close.
func (c *ControlPlane) admission(o *Options, access pluginAccess, factories []admission.Factory) ([]admission.Plugin, error) {
	var all []admission.Plugin
	for _, f := range factories {
		plugin, err := f.New(access, admission.Options{WebhookDial: o.WebhookDial, Loopback: (*loopback)(c), Authorize: authorizeExpressions(c.authorization), Configuration: o.AdmissionConfiguration, Metrics: o.Server.Metrics.Admission, Draw: o.Server.Registry.Draw, GroupPriority: o.Server.Builtin.GroupPriority})
		if err != nil {
			return nil, err
		}
		if closer, ok := plugin.(io.Closer); ok {
			c.close = append(c.close, closer)
		}
		all = append(all, plugin)
	}
	if rbac := c.authorization.rbac; rbac != nil {
		all = append(all, authz.NewEscalation(rbac, c.authorization))
	}
	all = append(all, authz.NewPolicyParams(access, c.authorization), admission.NewDeviceAdminAccess(access),
		admission.NewPodCertificateSigning(admission.Options{Authorize: authorizeExpressions(c.authorization)}))
	all = append(all, o.Plugins...)
	if o.Admission != nil {
		all = o.Admission(all)
	}
	return all, nil
}

// loopback is the transport to the server itself, which is made after its admission plugins.
type loopback ControlPlane

// RoundTrip implements http.RoundTripper.
func (l *loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	return l.Loopback().RoundTrip(r)
}

// tokenAuthenticator returns what identifies the bearers of tokens.
func tokenAuthenticator(o *Options, issued authn.TokenAuthenticator, a registry.Access) authn.TokenAuthenticator {
	tokens := issued
	if o.StaticTokens != nil {
		tokens = authn.UnionTokens(o.StaticTokens, issued)
	}
	if o.BootstrapTokens {
		tokens = authn.UnionTokens(tokens, authn.BootstrapTokens(secretReader(a)))
	}
	if o.TokenIssuers != nil {
		tokens = authn.UnionTokens(tokens, o.TokenIssuers)
	}
	if o.TokenWebhook != nil {
		tokens = authn.UnionTokens(tokens, o.TokenWebhook)
	}
	return tokens
}

// Tokens signs and verifies service account tokens.
func (c *ControlPlane) Tokens() *authn.Tokens { return c.tokens }

// Ready returns a channel that is closed when the bootstrap objects are stored and the authorizer has loaded
// the policy: from then on it decides by the complete policy.
func (c *ControlPlane) Ready() <-chan struct{} {
	if p := c.authorization.policy; p != nil {
		return p.loaded
	}
	return c.Server.Ready()
}

// Run runs the server's loops and updates the policy until ctx ends.
func (c *ControlPlane) Run(ctx context.Context) error {
	// The server still serves for a while when ctx has ended, with the last policy loaded.
	loops, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var tasks sync.WaitGroup
	c.authorization.run(loops, c.Server, tasks.Go)
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
	if o.RequestHeader != nil {
		as = append(as, authn.RequestHeaders(*o.RequestHeader))
	}
	if o.ClientCAs != nil {
		as = append(as, authn.ClientCertificates(o.ClientCAs))
	}
	as = append(as, authn.Bearer(tokens))
	all := authn.Union(as...)
	if o.Authenticator != nil {
		all = o.Authenticator(all)
	}
	if o.Anonymous {
		all = allowAnonymous(all, o.AnonymousPaths)
	}
	return authn.Authenticated(all)
}

// allowAnonymous accepts requests without credentials; a rejected credential stays an error.
func allowAnonymous(a authn.Authenticator, paths []string) authn.Authenticator {
	anonymous := authn.AllowAnonymous(paths...)
	return authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
		resp, ok, err := a.Authenticate(r)
		if ok || err != nil {
			return resp, ok, err
		}
		return anonymous.Authenticate(r)
	})
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
