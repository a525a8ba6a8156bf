package aggregation

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/internal/frontproxy"
	"github.com/keelson-dev/keelson/store/webhook"
)

// backend is the server of one APIService.
type backend struct {
	aggregator *Aggregator
	name       string // of the object
	uid        types.UID
	gv         schema.GroupVersion
	service    webhook.Service
	ca         []byte
	insecure   bool
	host       string // NAME.NAMESPACE.svc:PORT
	broken     error  // why it cannot be used at all, such as a caBundle without a certificate; nil if it can

	cancel  context.CancelFunc // ends the checks
	client  *frontproxy.Client
	suspect chan struct{} // requests a check

	mu        sync.Mutex // guards what follows
	available bool
	group     int32 // priorities
	order     int32
	resources []apidiscoveryv2.APIResourceDiscovery
	v2        []byte
	v2Tag     string
	v3        string
	hasV3     bool
}

func newBackend(g *Aggregator, o *apiregistrationv1.APIService) *backend {
	s := o.Spec.Service
	b := &backend{aggregator: g, name: o.Name, uid: o.UID, gv: schema.GroupVersion{Group: o.Spec.Group, Version: o.Spec.Version},
		service: webhook.Service{Namespace: s.Namespace, Name: s.Name, Port: port(s)}, ca: o.Spec.CABundle, insecure: o.Spec.InsecureSkipTLSVerify,
		suspect: make(chan struct{}, 1), group: o.Spec.GroupPriorityMinimum, order: o.Spec.VersionPriority}
	name := s.Name + "." + s.Namespace + ".svc"
	b.host = net.JoinHostPort(name, strconv.Itoa(int(b.service.Port)))
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, InsecureSkipVerify: b.insecure} //nolint:gosec // the object says so
	if len(b.ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(b.ca) {
			b.broken = errors.New("there is no certificate in caBundle")
		}
	}
	b.client = frontproxy.New(frontproxy.Options{TLS: config, Certificate: g.opts.Certificate, Dial: b.dial})
	return b
}

func port(s *apiregistrationv1.ServiceReference) int32 {
	if s.Port == nil || *s.Port == 0 {
		return 443
	}
	return *s.Port
}

// sameServer reports whether the object still describes this server.
func (b *backend) sameServer(spec *apiregistrationv1.APIServiceSpec) bool {
	return b.service == webhook.Service{Namespace: spec.Service.Namespace, Name: spec.Service.Name, Port: port(spec.Service)} &&
		b.insecure == spec.InsecureSkipTLSVerify && bytes.Equal(b.ca, spec.CABundle)
}

// priorities takes over the priorities of the object, and reports whether they changed.
func (b *backend) priorities(spec *apiregistrationv1.APIServiceSpec) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := b.group != spec.GroupPriorityMinimum || b.order != spec.VersionPriority
	b.group, b.order = spec.GroupPriorityMinimum, spec.VersionPriority
	return changed
}

// version is what discovery and OpenAPI show.
func (b *backend) version() apiserver.AggregatedVersion {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := apiserver.AggregatedVersion{GroupVersion: b.gv, GroupPriority: b.group, VersionPriority: b.order, OpenAPIV2: b.v2, OpenAPIV3: b.v3, HasOpenAPIV3: b.hasV3,
		Discovery: apidiscoveryv2.APIVersionDiscovery{Version: b.gv.Version, Resources: b.resources, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}}
	if !b.available {
		v.Discovery.Freshness = apidiscoveryv2.DiscoveryFreshnessStale
	}
	return v
}

// inherit takes over what is known of the server of the same object before it changed, as it is still the
// object's status: until the first check has ended it is as available as before.
func (b *backend) inherit(old *backend) {
	old.mu.Lock()
	defer old.mu.Unlock()
	b.available, b.resources = old.available, old.resources
	b.v2, b.v2Tag, b.v3, b.hasV3 = old.v2, old.v2Tag, old.v3, old.hasV3
}

func (b *backend) isAvailable() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.available
}

// RoundTrip passes on a request of a caller.
func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	u := authn.UserFrom(r.Context())
	if u == nil {
		return nil, apierrors.NewInternalError(errors.New("the request has no user"))
	}
	if !b.isAvailable() {
		return nil, apierrors.NewServiceUnavailable("service unavailable")
	}
	next, err := b.resolve(r)
	if err != nil {
		b.suspected()
		b.aggregator.opts.Logger.Warn("no address of an aggregated server is known", "name", b.name, "err", err)
		return nil, apierrors.NewServiceUnavailable("service unavailable")
	}
	resp, err := b.send(r, u, next)
	if err != nil {
		if r.Context().Err() == nil {
			b.suspected()
		}
		return nil, err
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "" && !b.aggregator.opts.AllowRedirects {
		_ = resp.Body.Close()
		return nil, apierrors.New(http.StatusBadGateway, "", "the backend attempted to redirect this request, which is not permitted")
	}
	return resp, nil
}

// suspected requests a check.
func (b *backend) suspected() {
	select {
	case b.suspect <- struct{}{}:
	default:
	}
}

// resolve sends the request to an endpoint of the service, whose address becomes its host, and returns a
// function that returns the others. With Options.Dial the host is the name of the service.
func (b *backend) resolve(r *http.Request) (next func() (string, error), err error) {
	var others []string
	if b.aggregator.opts.Dial == nil {
		s := b.service
		if others, err = webhook.ResolveAll(r.Context(), b.aggregator.access, s.Namespace, s.Name, s.Port); err != nil {
			return nil, err
		}
		first := *r.URL
		first.Host, others = others[0], others[1:]
		r.URL, r.Host = &first, first.Host
	}
	return func() (string, error) {
		if len(others) == 0 {
			return "", errors.New("there is no other endpoint")
		}
		host := others[0]
		others = others[1:]
		return host, nil
	}, nil
}

// dial connects to the service by its name, for checks, or to an address.
func (b *backend) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if address != b.host {
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	}
	return webhook.Dialer(b.service, webhook.Options{Dial: b.aggregator.opts.Dial, Services: b.aggregator.access})(ctx, network, address)
}

// dialTimeout bounds an attempt to connect to an endpoint.
const dialTimeout = 5 * time.Second

// send sends a request on behalf of a user.
func (b *backend) send(r *http.Request, u *authn.User, next func() (string, error)) (*http.Response, error) {
	if b.broken != nil {
		return nil, b.broken
	}
	resp, err := b.client.SendToAny(r, u, next)
	if deprecated := b.aggregator.opts.Metrics.Deprecated; deprecated != nil {
		var state *tls.ConnectionState
		if resp != nil {
			state = resp.TLS
		}
		for _, d := range webhook.Deprecations(state, err) {
			deprecated(b.name, d)
		}
	}
	return resp, err
}
