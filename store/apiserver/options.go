package apiserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/encryption"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Options configure a Server. The zero value serves the built-in kinds from a new memory store to every
// caller.
type Options struct {
	// Store keeps the objects; nil means a new memory store, which Run closes at its end.
	Store store.Store
	// Encryption encrypts objects in the Store; nil stores them as they are.
	Encryption *encryption.Providers
	// Scheme holds the kinds to serve, with their rules. Nil means api.Scheme() with the rules of the
	// built-in kinds.
	Scheme *scheme.Scheme
	// Kinds define kinds of Scheme for which registry.Define is not enough, or in place of their built-in
	// definitions: with a strategy, field selectors, a prefix or printer columns of their own.
	Kinds []registry.Definition
	// Registry configures storage and caches. Its Admission must be nil: see Admission and Secure below.
	Registry registry.Options
	// Image is what another server derived from the same content of its store. Nil means that the server
	// reads the store.
	Image *Image
	// Builtin configures the built-in kinds; its Logger is that of Options if nil.
	Builtin builtin.Options

	// Authenticator identifies callers; nil makes everyone a member of system:masters. A request it does not
	// recognize gets 401; a union that ends in authn.AllowAnonymous lets such requests through.
	Authenticator authn.Authenticator
	// Authorizer decides what callers may do; nil allows everything.
	Authorizer authz.Authorizer
	// Admission is the chain of plugins, in order.
	Admission []admission.Plugin
	// Secure is called by New with the access that parts of the server have, for an authorizer or a plugin
	// that reads API objects; it must not be used before New has returned. What Secure returns is added to
	// these Options; New returns its error. Nil adds nothing.
	Secure func(a registry.Access) (Security, error)
	// Audit says which requests are recorded, and where; the zero value records none. Requests that are not
	// authenticated are recorded too.
	Audit audit.Options
	// Intercept, if set, gets every request whose caller is known, in place of next: to record requests, to
	// delay or to fail them. The context has the caller, after impersonation, as authn.UserFrom returns it.
	// Intercept may call next once, before it returns, with a ResponseWriter and a request of its own; the
	// request must have the same URL and method, the writer an Unwrap for http.ResponseController. It may
	// panic with http.ErrAbortHandler to break the connection.
	Intercept func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc)
	// WebhookDial opens the connections to the conversion webhooks of custom resources; nil means the
	// network, see webhook.Options.
	WebhookDial webhook.DialFunc
	// Nodes reaches the servers of kubelets for logs, exec, attach, port-forward and node proxies: a
	// transport that dials the request's host over TLS with the server's client certificate, HTTP/1.1 only.
	// Nil responds with 503.
	Nodes http.RoundTripper
	// NodesUnverified is as Nodes, and accepts any certificate of a kubelet: logs that are read with
	// insecureSkipTLSVerifyBackend come over it. Nil means Nodes.
	NodesUnverified http.RoundTripper
	// NodeAddressTypes are the types of the addresses of nodes at which Nodes finds kubelets: the first that
	// a node has is used. Nil means InternalIP, ExternalIP, InternalDNS, ExternalDNS and Hostname.
	NodeAddressTypes []corev1.NodeAddressType
	// Backends reaches pods for the proxy subresources of pods and services. Nil means a transport as
	// http.DefaultTransport, but without a proxy.
	Backends http.RoundTripper
	// Local says that nodes and pods may be on this machine's loopback addresses. It is true if
	// AdvertiseAddress is empty or a loopback one. Otherwise requests are passed on to global unicast
	// addresses only, and never to this server itself.
	Local bool
	// Tokens serves the token subresource of service accounts. Nil responds with 404.
	Tokens TokenIssuer
	// Computed are resources that are not stored.
	Computed []Computed
	// Handlers serve further paths, such as /metrics or /debug/; a path that ends in a slash serves
	// everything below it. Requests pass authentication and authorization first.
	Handlers map[string]http.Handler
	// Aggregation knows the API versions that other servers serve; nil means that there are none.
	Aggregation Aggregation
	// Peers are the servers over the same store that serve what this one does not; nil means that requests
	// are passed on to none.
	Peers Peers
	// Checks are further health checks by name, beside ping, etcd and informer-sync.
	Checks map[string]func(ctx context.Context) error
	// ReadyChecks are health checks that /livez leaves out, because what they report does not end with a
	// restart: an external service that is down.
	ReadyChecks map[string]func(ctx context.Context) error

	// AdvertiseAddress is the IP address by which others reach the server, and which StartHook may publish.
	// Empty means unknown.
	AdvertiseAddress string
	// AdvertisePort is the port beside it; zero means 6443.
	AdvertisePort int
	// Writable, if set, is called before each request that writes a resource; while it returns an error the
	// request is refused with it, as unavailable. It must not block, and may be called concurrently. Storage
	// versions, the leases in kube-system and namespaces that a server creates are always writable, because
	// what Writable waits for may need them.
	Writable func(schema.GroupResource) error
	// StartHook is work beside serving requests, such as keeping the objects every cluster has, see
	// controlplane.Bookkeeping. Nil means none.
	StartHook StartHook

	// MaxInFlight and MaxMutatingInFlight bound the requests being served at a time, watches and other long
	// ones not counted: their sum is what priority and fairness shares out; without it they bound reads and
	// writes apart. Zero means 400 and 200; a negative value means no limit, and disables priority and
	// fairness.
	MaxInFlight, MaxMutatingInFlight int
	// NoPriorityAndFairness serves requests in the order of their arrival: FlowSchema and
	// PriorityLevelConfiguration objects have no effect.
	NoPriorityAndFairness bool
	// RequestTimeout bounds requests that are not long-running. Zero means a minute.
	RequestTimeout time.Duration
	// NoCompression sends large responses uncompressed, also to clients that accept gzip.
	NoCompression bool
	// NoWatchList refuses watches that begin with all objects (sendInitialEvents); clients list first
	// instead.
	NoWatchList bool
	// UnsafeDelete lets users with the verb unsafe-delete-ignore-read-errors on a resource delete objects
	// that cannot be decoded, with the delete option ignoreStoreReadErrorWithClusterBreakingPotential;
	// without it the option is ignored. What such an object reserved, such as the cluster IP of a service, is
	// released by repair or never.
	UnsafeDelete bool
	// CBOR serves and accepts application/cbor beside JSON, watches as application/cbor-seq and applies as
	// application/apply-patch+cbor, and stores custom resources in it: the alpha feature
	// CBORServingAndStorage. Stored objects are read in either form, with it or without. Table responses are
	// not available in CBOR.
	CBOR bool
	// CompactInterval is how often old revisions are dropped: after one to two intervals continue tokens
	// and lists at an exact resourceVersion are answered with 410, whatever is still in memory, and a store
	// that does not compact by itself is compacted. Zero means 5 minutes, negative never.
	CompactInterval time.Duration
	// MinWatch is the shortest time after which a watch without timeoutSeconds is ended; it lasts up to twice
	// as long. Zero means 30 minutes.
	MinWatch time.Duration
	// BookmarkInterval is the time between bookmarks of a watch that allows them. Zero means a minute, or
	// less, down to 3 seconds, if the client sends the header Keelson-Bookmark-Seconds.
	BookmarkInterval time.Duration

	// ShutdownDelay is how long the server continues to serve, but reports not ready, after Run's context has
	// ended, so that load balancers stop sending clients to it. Zero means no delay.
	ShutdownDelay time.Duration
	// ShutdownSendRetryAfter keeps listening after ShutdownDelay while requests are being served, and answers
	// new ones, except health checks and metrics, with 429 and Retry-After. Otherwise new connections are
	// refused from then on.
	ShutdownSendRetryAfter bool
	// GoawayChance is the share of HTTP/2 requests, 0 to 0.02, whose clients get a GOAWAY frame and
	// reconnect, so that clients behind a load balancer spread over several servers. Watches are not
	// interrupted.
	GoawayChance float64
	// MaxStreams bounds the requests at a time of an HTTP/2 connection of Serve; zero means 1000.
	MaxStreams int
	// CORSOrigins are regular expressions of the origins whose pages may use the API from a browser. Each
	// begins with ^ or // and ends with $, a colon or a port, so that no longer host matches. Nil means none.
	CORSOrigins []string
	// HSTS are the directives of the header Strict-Transport-Security, such as max-age=31536000; empty sends
	// none.
	HSTS []string

	// Version is the response of /version; empty fields are filled from the build.
	Version VersionInfo
	// Metrics are called as things happen. Nil functions are skipped.
	Metrics Metrics
	// Logger receives what cannot be returned: panics, failed loops. Nil discards.
	Logger *slog.Logger
}

// Security is what Options.Secure adds to the Options. Authenticator, Authorizer, Tokens and Aggregation must
// be nil if those of the Options are set. Admission and Computed follow those of the Options; Handlers and
// Checks replace those of the same path or name.
type Security struct {
	Authenticator authn.Authenticator
	Authorizer    authz.Authorizer
	Tokens        TokenIssuer
	Admission     []admission.Plugin
	Computed      []Computed
	Aggregation   Aggregation
	Handlers      map[string]http.Handler
	Checks        map[string]func(ctx context.Context) error
}

// newRegistry returns the registry over s, with the admission chain of the Options and of Secure, whose other
// results it adds to the Options.
func (o *Options) newRegistry(s store.Store) (*registry.Registry, error) {
	ro := o.Registry
	if ro.Admission != nil {
		return nil, errors.New("apiserver: Options.Registry.Admission must be nil: plugins are Options.Admission and what Options.Secure returns")
	}
	if o.Image.fits(o) {
		ro.Image = o.Image.objects
	}
	ro.AdmissionMetrics = o.Metrics.Admission
	ro.Admission = func(a registry.Access) ([]admission.Plugin, error) {
		err := o.secure(a)
		return o.Admission, err
	}
	return registry.New(s, ro)
}

// secure calls Secure and adds what it returns.
func (o *Options) secure(a registry.Access) error {
	if o.Secure == nil {
		return nil
	}
	add, err := o.Secure(a)
	if err != nil {
		return fmt.Errorf("apiserver: Options.Secure: %w", err)
	}
	for _, twice := range []struct {
		name string
		is   bool
	}{
		{"Authenticator", o.Authenticator != nil && add.Authenticator != nil},
		{"Authorizer", o.Authorizer != nil && add.Authorizer != nil},
		{"Tokens", o.Tokens != nil && add.Tokens != nil},
		{"Aggregation", o.Aggregation != nil && add.Aggregation != nil},
	} {
		if twice.is {
			return fmt.Errorf("apiserver: Options.%s is set, and Options.Secure returned another", twice.name)
		}
	}
	if add.Authenticator != nil {
		o.Authenticator = add.Authenticator
	}
	if add.Authorizer != nil {
		o.Authorizer = add.Authorizer
	}
	if add.Tokens != nil {
		o.Tokens = add.Tokens
	}
	if add.Aggregation != nil {
		o.Aggregation = add.Aggregation
	}
	o.Admission = slices.Concat(o.Admission, add.Admission)
	o.Computed = slices.Concat(o.Computed, add.Computed)
	o.Handlers = mergeMaps(o.Handlers, add.Handlers)
	o.Checks = mergeMaps(o.Checks, add.Checks)
	return nil
}

// mergeMaps returns a new map of both; the entries of b win.
func mergeMaps[V any](a, b map[string]V) map[string]V {
	out := make(map[string]V, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// VersionInfo is the body of /version.
type VersionInfo struct {
	Major string `json:"major"`
	Minor string `json:"minor"`
	// The emulated version and the oldest version that can be emulated, as upstream's servers report them.
	EmulationMajor        string `json:"emulationMajor,omitempty"`
	EmulationMinor        string `json:"emulationMinor,omitempty"`
	MinCompatibilityMajor string `json:"minCompatibilityMajor,omitempty"`
	MinCompatibilityMinor string `json:"minCompatibilityMinor,omitempty"`
	GitVersion            string `json:"gitVersion"`
	GitCommit             string `json:"gitCommit"`
	GitTreeState          string `json:"gitTreeState"`
	BuildDate             string `json:"buildDate"`
	GoVersion             string `json:"goVersion"`
	Compiler              string `json:"compiler"`
	Platform              string `json:"platform"`
}

// TokenIssuer serves POST serviceaccounts/NAME/token.
type TokenIssuer interface {
	// IssueToken fills the status of request, an *authenticationv1.TokenRequest, for the account, and returns
	// the id of the credential, which its user has as authentication.kubernetes.io/credential-id.
	IssueToken(ctx context.Context, account metav1.Object, request metav1.Object) (credentialID string, err error)
}

func (o Options) withDefaults() Options {
	setInt := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	setTime := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	setInt(&o.MaxInFlight, 400)
	setInt(&o.MaxMutatingInFlight, 200)
	setInt(&o.AdvertisePort, 6443)
	setInt(&o.MaxStreams, 1000)
	setTime(&o.RequestTimeout, time.Minute)
	setTime(&o.MinWatch, 30*time.Minute)
	setTime(&o.CompactInterval, 5*time.Minute)
	if o.NodeAddressTypes == nil {
		o.NodeAddressTypes = []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP, corev1.NodeInternalDNS, corev1.NodeExternalDNS, corev1.NodeHostName}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if ip, err := netip.ParseAddr(o.AdvertiseAddress); o.AdvertiseAddress == "" || err == nil && ip.IsLoopback() {
		o.Local = true
	}
	o.Registry.CBOR = o.Registry.CBOR || o.CBOR
	if o.Registry.Logger == nil {
		o.Registry.Logger = o.Logger
	}
	if o.Builtin.Logger == nil {
		o.Builtin.Logger = o.Logger
	}
	o.Version = o.Version.withBuildInfo()
	return o
}
