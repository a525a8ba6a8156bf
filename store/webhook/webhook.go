// Package webhook calls the HTTPS servers that a cluster's objects name: admission webhooks and the
// converters of custom resources. It resolves and authenticates them (a URL, or a service of the cluster);
// the requests and responses are the caller's.
package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// DialFunc opens a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Options configure a Client. The zero value dials URLs and cannot reach services.
type Options struct {
	// Dial opens all connections; addr is the host and port of the URL, or NAME.NAMESPACE.svc:PORT for a
	// service. Nil uses the network and, for services, an address that Services finds.
	Dial DialFunc
	// Services resolves services for the default Dial.
	Services Services
	// Proxy returns the proxy for a request to a URL, as http.Transport.Proxy does. Nil means that of the
	// environment (HTTPS_PROXY and NO_PROXY) without Dial, and none with it. Services are reached directly.
	Proxy func(*http.Request) (*url.URL, error)
	// Loopback, if set, sends the requests to the API server itself, which are those to port 443 of the
	// service kubernetes in the namespace default, or of the host of a URL that is called
	// kubernetes.default.svc: without Dial, Credentials and the authorities of the target.
	Loopback http.RoundTripper
	// Credentials, if set, identify the caller to servers; nil sends none.
	Credentials CredentialFunc
	// Called, if set, is called after each call of a server, on the caller's goroutine. It must be quick and
	// safe for concurrent use.
	Called func(c Call)
}

// Call describes a completed call of a server.
type Call struct {
	// Method and Host, with its port, of the request.
	Method, Host string
	// Code is the status of the response; zero if there was none.
	Code int
	// Sent and Received are the sizes of the bodies, in bytes.
	Sent, Received int
	Elapsed        time.Duration
	// Deprecations are those of the server's certificate.
	Deprecations []Deprecation
	// Lookups are the resolutions of host names for the call.
	Lookups []Lookup
}

// Credential identifies the caller of a webhook.
type Credential struct {
	// Header is added to the requests, such as Authorization.
	Header http.Header
	// Certificate is sent to servers that request one; nil means none. A call with another certificate than
	// the last one makes a new connection.
	Certificate *tls.Certificate
}

// CredentialFunc returns the credential for a server, which is the host of a URL, with its port if it has
// one, or NAME.NAMESPACE.svc:PORT. rejected is not nil after the server has refused that credential (401);
// then the call is repeated once with what is returned. An error fails the call. It must be safe for
// concurrent use.
type CredentialFunc func(ctx context.Context, host string, rejected *Credential) (*Credential, error)

// Target is the address of a webhook: URL, or Service if that is not nil.
type Target struct {
	URL     string
	Service *Service
	// CABundle is the certificate authorities of the server, in PEM. Empty means those of the system.
	CABundle []byte
}

// Service is a port of a service of the cluster.
type Service struct {
	Namespace, Name string
	Path            string
	// Port of the service; zero means 443.
	Port int32
}

func (s *Service) host() string { return s.Name + "." + s.Namespace + ".svc" }

func (s *Service) port() int32 {
	if s.Port == 0 {
		return 443
	}
	return s.Port
}

// Client calls webhooks and keeps their connections. It is safe for concurrent use.
type Client struct {
	options Options

	mu      sync.Mutex
	clients map[identity]*http.Client
}

// identity is the key of a trusted server.
type identity struct {
	name string // of the service
	key  Service
	ca   [sha256.Size]byte
	// cert is of the caller's certificate; zero if it has none.
	cert [sha256.Size]byte
	// shared is true if the server gets several requests at a time over one connection, by HTTP/2. A host
	// that is not this machine may be several servers, among which only connections are distributed.
	shared bool
}

// New returns a Client. Close it when it is no longer used.
func New(o Options) *Client { return &Client{options: o, clients: map[identity]*http.Client{}} }

// Close closes idle connections. Calls may still be made, over new ones.
func (c *Client) Close() error {
	c.mu.Lock()
	clients := c.clients
	c.clients = map[identity]*http.Client{}
	c.mu.Unlock()
	for _, hc := range clients {
		hc.CloseIdleConnections()
	}
	return nil
}

const (
	// maxResponse bounds the size of a response, in bytes.
	maxResponse = 64 << 20
	// maxClients bounds the servers whose connections are kept: each rotation of a certificate adds one.
	maxClients = 128
	// self is the host of requests to the API server itself.
	self = "kubernetes.default.svc:443"
)

// Call posts request as JSON and decodes the JSON response into response. timeout, if not zero, bounds the
// call and is sent to the server in the query, as admission webhooks expect. A response with a status other
// than 2xx is an *apierrors.StatusError.
func (c *Client) Call(ctx context.Context, t Target, timeout time.Duration, request, response any) error {
	body, err := codec.Marshal(request)
	if err != nil {
		return err
	}
	address, err := t.address()
	if err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	// As upstream, because test environments install webhooks with two slashes in front, which servers
	// redirect.
	u.Path, u.RawPath = path.Join("/", u.Path), ""
	if timeout > 0 {
		q := u.Query()
		q.Set("timeout", timeout.String())
		u.RawQuery = q.Encode()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	data, err := c.authenticated(ctx, t, u, body)
	if err != nil {
		return err
	}
	return codec.Unmarshal(data, response)
}

// authenticated sends a request with the credential for its host, and again if that was rejected.
func (c *Client) authenticated(ctx context.Context, t Target, u *url.URL, body []byte) ([]byte, error) {
	if c.options.Loopback != nil && hostPort(u) == self {
		return c.post(ctx, &http.Client{Transport: c.options.Loopback, CheckRedirect: noRedirect}, u, http.Header{}, body)
	}
	credential, err := c.credential(ctx, u.Host, nil)
	if err != nil {
		return nil, err
	}
	data, err := c.postAs(ctx, t, u, credential, body)
	if c.options.Credentials != nil && apierrors.IsUnauthorized(err) {
		if credential, err = c.credential(ctx, u.Host, credential); err != nil {
			return nil, err
		}
		data, err = c.postAs(ctx, t, u, credential, body)
	}
	return data, err
}

// hostPort returns host and port of a URL, the port 443 if it names none.
func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return u.Host
}

// credential returns the credential for a host; it is never nil.
func (c *Client) credential(ctx context.Context, host string, rejected *Credential) (*Credential, error) {
	if c.options.Credentials == nil {
		return &Credential{}, nil
	}
	credential, err := c.options.Credentials(ctx, host, rejected)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the credential for %s: %w", host, err)
	case credential == nil:
		return &Credential{}, nil
	}
	return credential, nil
}

// postAs sends a request with a credential.
func (c *Client) postAs(ctx context.Context, t Target, u *url.URL, credential *Credential, body []byte) ([]byte, error) {
	client, err := c.client(t, u, credential.Certificate)
	if err != nil {
		return nil, err
	}
	return c.post(ctx, client, u, credential.Header, body)
}

// post sends a request and returns the body of the response.
func (c *Client) post(ctx context.Context, client *http.Client, u *url.URL, header http.Header, body []byte) ([]byte, error) {
	own := http.Client{Transport: Transport(ctx, client.Transport), CheckRedirect: client.CheckRedirect}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	r.Header.Set("User-Agent", "kube-apiserver-admission")
	call := Call{Method: r.Method, Host: r.URL.Host, Sent: len(body)}
	if c.options.Called != nil {
		var lookups Lookups
		r = r.WithContext(lookups.Trace(ctx))
		defer func(began time.Time) {
			call.Elapsed, call.Lookups = time.Since(began), lookups.All()
			c.options.Called(call)
		}(time.Now())
	}
	resp, err := own.Do(r)
	if err != nil {
		call.Deprecations = Deprecations(nil, err)
		return nil, err
	}
	defer resp.Body.Close()
	call.Deprecations = Deprecations(resp.TLS, nil)
	call.Code = resp.StatusCode
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, err
	}
	call.Received = len(data)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, apierrors.NewGenericServerResponse(resp.StatusCode, "POST", schema.GroupResource{}, "", string(data[:min(len(data), 2048)]), 0, true)
	}
	return data, nil
}

// Host returns the host of a target, without a port.
func (t *Target) Host() string {
	if t.Service != nil {
		return t.Service.host()
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// address returns the URL of a target.
func (t *Target) address() (string, error) {
	switch s := t.Service; {
	case s != nil:
		return "https://" + net.JoinHostPort(s.host(), strconv.Itoa(int(s.port()))) + s.Path, nil
	case t.URL == "":
		return "", errors.New("neither a URL nor a service is named")
	}
	return t.URL, nil
}

// client returns the HTTP client that sends a certificate, if that is not nil, to a target at a URL.
func (c *Client) client(t Target, u *url.URL, certificate *tls.Certificate) (*http.Client, error) {
	id := identity{ca: sha256.Sum256(t.CABundle), shared: t.Service == nil && isLocal(u.Hostname())}
	if s := t.Service; s != nil {
		id.name, id.key = s.host(), Service{Namespace: s.Namespace, Name: s.Name}
	}
	if certificate != nil && len(certificate.Certificate) > 0 {
		id.cert = sha256.Sum256(certificate.Certificate[0])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if hc := c.clients[id]; hc != nil {
		return hc, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: id.name}
	if len(t.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(t.CABundle) {
			return nil, errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	if certificate != nil {
		// A callback, unlike Certificates, sends it even if the server does not list its issuer.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	if !id.shared {
		config.NextProtos = []string{"http/1.1"}
	}
	hc := &http.Client{
		Transport: &http.Transport{Proxy: c.options.proxy(t.Service), DialContext: c.options.dialer(t.Service), TLSClientConfig: config,
			MaxIdleConnsPerHost: 25, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: id.shared},
		CheckRedirect: noRedirect,
	}
	if len(c.clients) >= maxClients {
		for old, hc := range c.clients {
			hc.CloseIdleConnections()
			delete(c.clients, old)
			break
		}
	}
	c.clients[id] = hc
	return hc, nil
}

// proxy returns the function that finds the proxies for the requests to a service, or to URLs if s is nil.
func (o *Options) proxy(s *Service) func(*http.Request) (*url.URL, error) {
	switch {
	case s != nil:
		return nil
	case o.Proxy == nil && o.Dial == nil:
		return http.ProxyFromEnvironment
	}
	return o.Proxy
}

// noRedirect makes a redirect the response.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// isLocal reports whether a host is this machine by its name or address.
func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
