// Package rest connects to an API server over HTTP: TLS and HTTP/2, credentials that rotate, retries
// that honour Retry-After, adaptive concurrency, warnings. Its [Conn] implements client.Conn.
//
// What a Conn promises:
//
//   - It starts no goroutine of its own and shares nothing with other Conns: the connections it keeps
//     open belong to it and [Conn.Close] closes them. It works inside testing/synctest bubbles.
//   - A request is retried only after a 429 or 5xx with Retry-After, or
//     when a read failed on an established connection. All other retries are the caller's decision.
//   - There is no fixed rate limit. The number of requests in flight grows while the server replies and is
//     halved when it replies 429; leases and streams are exempt, so that load cannot cost a leader its lease.
//   - A dead HTTP/2 connection is detected within 9 seconds (a ping after 5 s without data, with a timeout of
//     4 s).
//   - Secrets never appear in an error or a log line.
package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
)

// Config is the address of a server and the identity of the client.
type Config struct {
	// Host is the server: "https://host:port", with a path if the API is below one. Without a
	// scheme it is https if any TLS field is set, else http.
	Host string
	// TLS configures how the server is verified and the client authenticates.
	TLS TLSConfig
	// BearerToken authenticates the client. BearerTokenFile has precedence and is read again
	// every 10 seconds and when the server responds with 401.
	BearerToken, BearerTokenFile string
	// Username and Password are for HTTP basic authentication.
	Username, Password string
	// Credentials, if not nil, returns the token or certificate of each request (exec plugins, OIDC).
	Credentials CredentialSource
	// Impersonate, if not nil, is the user every request acts as.
	Impersonate *client.User
	// UserAgent names the program; empty means made of the executable's name and the platform.
	UserAgent string
	// Dial makes connections; nil means TCP with 30 s timeout and keep-alive.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Proxy chooses a proxy (http, https, socks5); nil means the environment's, or none if Dial is set.
	Proxy func(*http.Request) (*url.URL, error)
	// Transport, if set, sends every request, streams and upgrades included, in place of connections to Host;
	// then TLS, Dial and Proxy must not be set. Closing the Conn does not close it.
	Transport http.RoundTripper
	// Wrap, if set, wraps the transport of every request, streams and upgrades included.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Compression accepts compressed replies. It costs CPU on both sides.
	Compression bool
	// Timeout limits every request except streams; 0 means no limit but the caller's context.
	Timeout time.Duration
	// Scheme of the connection; nil means api.Scheme(), the built-in kinds.
	Scheme *scheme.Scheme
}

// TLSConfig is the transport security of a Config. Files have precedence over data and are read again when
// they change.
type TLSConfig struct {
	// ServerName is the name to verify and to send; empty means the host's name.
	ServerName string
	// Insecure accepts any server certificate.
	Insecure bool
	// CAFile or CAData (PEM) hold the trusted roots; both empty means the system's.
	CAFile string
	CAData []byte
	// CertFile and KeyFile, or CertData and KeyData (PEM), are the client's certificate.
	CertFile, KeyFile string
	CertData, KeyData []byte
}

func (t *TLSConfig) used() bool {
	return t.ServerName != "" || t.Insecure || t.CAFile != "" || len(t.CAData) > 0 || t.CertFile != "" || len(t.CertData) > 0
}

// Credential is the result of a CredentialSource. At least one of its fields is set.
type Credential struct {
	// Token is a bearer token.
	Token string
	// Certificate is a client certificate.
	Certificate *tls.Certificate
}

// CredentialSource returns the credential of a request. It is called for every request, concurrently, and
// should cache its result, for which CacheCredentials is. rejected is not nil after the server has refused
// that credential (401): the source should not return it again.
type CredentialSource interface {
	Credential(ctx context.Context, rejected *Credential) (*Credential, error)
}

// Options configure a Conn. The zero value is usable.
type Options struct {
	// Logger logs warnings of the server if Warnings is nil; nil discards them.
	Logger *slog.Logger
	// Warnings is called with every warning of a reply; nil logs each text once.
	Warnings func(Warning)
	// MaxInFlight is the maximum number of requests in flight; 0 means 1024. The adaptive limit stays below
	// it.
	MaxInFlight int
	// QPS is an additional fixed limit of requests per second with bursts of Burst; 0 means none.
	QPS   float64
	Burst int
	// Retries is the maximum number of retries of a request; 0 means 10, negative none.
	Retries int
	// Metrics are called on events of the connection.
	Metrics Metrics
	// CBOR, if not nil, makes the Conn prefer CBOR (application/cbor) to JSON, for custom resources and all
	// other bodies that are not protobuf. The value is cbor.Transcoder{} of package apimachinery/cbor, so
	// that only programs that use it link it. It is an alpha feature of servers (CBORServingAndStorage); a
	// server without it replies in JSON. A body it refuses with 415 is sent again as JSON, as are all later
	// ones for the same group-version. JSON, merge and strategic merge patches have no CBOR form. Callers of
	// the Conn receive JSON.
	CBOR Transcoder
}

// Metrics are functions called by a Conn, possibly from several goroutines at once. Each may be nil. They
// must not block.
type Metrics struct {
	// Request is called after each exchange, retries included. code is the HTTP status, or 0 without a reply.
	Request func(t Target, code int, took time.Duration)
	// Retry is called before a request is retried, with the code as in Request.
	Retry func(t Target, code int)
	// Queued is called when a request had to wait because of Options.QPS or of the limit of requests in
	// flight.
	Queued func(t Target, waited time.Duration)
	// Limit is called with the adaptive limit of requests in flight, once by New and when it changes: by one
	// goroutine at a time, and the last call has the current limit.
	Limit func(inFlight int)
}

// Target is what a request is sent to, for metrics.
type Target struct {
	// Verb is the API verb, such as "list"; Method is the HTTP method, such as "GET".
	Verb, Method string
	// Host is the host and, if given, the port of the server, such as "10.0.0.1:6443".
	Host string
	// Resource is the plural name without its group, or "" for requests of a path.
	Resource string
}

// check refuses fields that would be ignored.
func (c *Config) check() error {
	if c.Username != "" && (c.BearerToken != "" || c.BearerTokenFile != "") {
		return errors.New("rest: basic authentication and a bearer token exclude each other")
	}
	if c.Transport != nil && (c.TLS.used() || c.Dial != nil || c.Proxy != nil) {
		return errors.New("rest: Config.Transport excludes TLS, Dial and Proxy, which configure the connections that it replaces")
	}
	return nil
}

// baseURL parses Host.
func (c *Config) baseURL() (*url.URL, error) {
	host := c.Host
	if host == "" {
		return nil, fmt.Errorf("rest: Config.Host is empty")
	}
	if !strings.Contains(host, "://") {
		if c.TLS.used() || strings.HasSuffix(host, ":443") {
			host = "https://" + host
		} else {
			host = "http://" + host
		}
	}
	u, err := url.Parse(host)
	if err != nil {
		return nil, fmt.Errorf("rest: Config.Host: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("rest: Config.Host %q is not an http or https address", c.Host)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return u, nil
}

// defaultAgent is "program/keelson (os/arch)".
func defaultAgent() string {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	return fmt.Sprintf("%s/keelson (%s/%s)", name, runtime.GOOS, runtime.GOARCH)
}
