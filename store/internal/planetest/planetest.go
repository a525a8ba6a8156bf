// Package planetest runs a control plane for tests of the packages below store: with its policy, over TLS, on
// an in-memory network, in real time or in a bubble.
package planetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// Plane is a running control plane, reached over TLS on an in-memory network.
type Plane struct {
	*controlplane.ControlPlane
	// CA issued the server's certificate, and is trusted for those of clients.
	CA *certs.Authority
	// Listener is the network address of the server.
	Listener *pipenet.Listener

	t testing.TB
}

const staticTokens = `
# token,user,uid,groups
masters-token,admin,1,"system:masters"
ann-token,ann,2,"dev,ops"
bob-token,bob,3
`

// SigningKey returns a new key for Options.ServiceAccountKeys. Two servers with the same one accept each
// other's tokens.
func SigningKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// Start runs a control plane until the test ends and waits until its policy is loaded. change may change its
// Options.
func Start(t testing.TB, change ...func(*controlplane.Options)) *Plane {
	t.Helper()
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	tokens, err := authn.TokenFile(strings.NewReader(staticTokens))
	require.NoError(t, err)
	pool := ca.Pool()
	o := controlplane.Options{ClientCAs: func() *x509.CertPool { return pool }, StaticTokens: tokens, Anonymous: true, ServiceAccountKeys: []any{SigningKey(t)}}
	for _, f := range change {
		f(&o)
	}
	cp, err := controlplane.New(o)
	require.NoError(t, err)
	serving, err := ca.Serving("api", "pipe", "kubernetes.default.svc")
	require.NoError(t, err)
	p := &Plane{ControlPlane: cp, t: t, CA: ca, Listener: pipenet.New()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- cp.Run(ctx) }()
	go func() {
		done <- cp.Serve(ctx, p.Listener, &tls.Config{Certificates: []tls.Certificate{serving.TLS()}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	<-cp.Ready()
	p.Eventually("the server is ready", func() bool { // its checks follow Ready
		_, err := p.Admin().Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/readyz"})
		return err == nil
	})
	return p
}

// Over makes the control plane keep its objects in s.
func Over(s store.Store) func(*controlplane.Options) {
	return func(o *controlplane.Options) { o.Server.Store = s }
}

// Conn returns a connection with cfg, whose address is set to the server's.
func (p *Plane) Conn(cfg rest.Config) *rest.Conn {
	p.t.Helper()
	cfg.Host, cfg.Dial = "https://pipe", p.Listener.Dial
	cfg.TLS.CAData = p.CA.CertPEM()
	c, err := rest.New(cfg, rest.Options{})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Token returns a connection with a bearer token. The static ones are ann-token, of ann in the groups dev and
// ops, and bob-token.
func (p *Plane) Token(token string) *rest.Conn { return p.Conn(rest.Config{BearerToken: token}) }

// Admin returns a connection of a member of system:masters.
func (p *Plane) Admin() *rest.Conn { return p.Token("masters-token") }

// As returns a connection of the administrator that impersonates a user.
func (p *Plane) As(name string, groups ...string) *rest.Conn {
	return p.Conn(rest.Config{BearerToken: "masters-token", Impersonate: &client.User{Name: name, Groups: groups}})
}

// Eventually repeats a condition that depends on a watch until it holds, for a minute at most.
func (p *Plane) Eventually(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("never: %s", what)
		}
	}
}

// Create creates obj and returns it as stored.
func Create[T metav1.Object](t testing.TB, c client.Conn, obj T) T {
	t.Helper()
	out, err := client.For[T](c).Create(t.Context(), obj)
	require.NoError(t, err)
	return out
}

// TryCreate returns the error of the create of obj.
func TryCreate[T metav1.Object](t testing.TB, c client.Conn, obj T) error {
	t.Helper()
	_, err := client.For[T](c).Create(t.Context(), obj)
	return err
}

// Meta returns metadata with a name; namespace may be empty.
func Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// Key returns the key of an object; namespace may be empty.
func Key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// Account creates a service account.
func (p *Plane) Account(namespace, name string) *corev1.ServiceAccount {
	p.t.Helper()
	return Create(p.t, p.Admin(), &corev1.ServiceAccount{ObjectMeta: Meta(namespace, name)})
}

// Pod returns a valid pod of the namespace default, changed by change.
func Pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: Meta("default", name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x", ImagePullPolicy: corev1.PullIfNotPresent}}}}
	for _, f := range change {
		f(p)
	}
	return p
}

// Post creates the objects of a YAML document.
func (p *Plane) Post(path, yaml string) {
	p.t.Helper()
	_, err := p.Admin().Do(p.t.Context(), &client.Request{Method: http.MethodPost, Path: path, ContentType: "application/yaml", Body: []byte(yaml)})
	require.NoError(p.t, err, yaml)
}

// StartForPods is Start with the service account that pods of the namespace default need.
func StartForPods(t testing.TB, change ...func(*controlplane.Options)) *Plane {
	p := Start(t, change...)
	p.Account("default", "default")
	return p
}
