package controlplane_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"runtime"
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

// plane is a running control plane, reached over TLS on an in-memory network.
type plane struct {
	*controlplane.ControlPlane
	t        testing.TB
	ca       *certs.Authority
	listener *pipenet.Listener
}

const staticTokens = `
# token,user,uid,groups
masters-token,admin,1,"system:masters"
ann-token,ann,2,"dev,ops"
bob-token,bob,3
`

// signingKey is shared, so that two servers of one test accept each other's tokens.
func signingKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// start runs a control plane until the test ends and waits until its policy is loaded.
func start(t testing.TB, change ...func(*controlplane.Options)) *plane {
	t.Helper()
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	tokens, err := authn.TokenFile(strings.NewReader(staticTokens))
	require.NoError(t, err)
	pool := ca.Pool()
	o := controlplane.Options{ClientCAs: func() *x509.CertPool { return pool }, StaticTokens: tokens, Anonymous: true, ServiceAccountKeys: []any{signingKey(t)}}
	for _, f := range change {
		f(&o)
	}
	cp, err := controlplane.New(o)
	require.NoError(t, err)
	serving, err := ca.Serving("api", "pipe")
	require.NoError(t, err)
	p := &plane{ControlPlane: cp, t: t, ca: ca, listener: pipenet.New()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- cp.Run(ctx) }()
	go func() {
		done <- cp.Serve(ctx, p.listener, &tls.Config{Certificates: []tls.Certificate{serving.TLS()}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	<-cp.Ready()
	_, err = p.admin().Do(t.Context(), &client.Request{Method: http.MethodGet, Path: "/readyz"})
	require.NoError(t, err)
	return p
}

func over(s store.Store) func(*controlplane.Options) {
	return func(o *controlplane.Options) { o.Server.Store = s }
}

// conn connects as cfg says, with the server's address filled in.
func (p *plane) conn(cfg rest.Config) *rest.Conn {
	p.t.Helper()
	cfg.Host, cfg.Dial = "https://pipe", p.listener.Dial
	cfg.TLS.CAData = p.ca.CertPEM()
	c, err := rest.New(cfg, rest.Options{})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (p *plane) token(token string) *rest.Conn { return p.conn(rest.Config{BearerToken: token}) }
func (p *plane) admin() *rest.Conn             { return p.token("masters-token") }

// as is the administrator acting as somebody else.
func (p *plane) as(name string, groups ...string) *rest.Conn {
	return p.conn(rest.Config{BearerToken: "masters-token", Impersonate: &client.User{Name: name, Groups: groups}})
}

// eventually repeats a condition that depends on a watch until it holds, for a minute at most.
func (p *plane) eventually(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			p.t.Fatalf("never: %s", what)
		}
	}
}

func create[T metav1.Object](t testing.TB, c client.Conn, obj T) T {
	t.Helper()
	out, err := client.For[T](c).Create(t.Context(), obj)
	require.NoError(t, err)
	return out
}

func tryCreate[T metav1.Object](t testing.TB, c client.Conn, obj T) error {
	t.Helper()
	_, err := client.For[T](c).Create(t.Context(), obj)
	return err
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// account makes the service account that pods of the namespace need.
func (p *plane) account(namespace, name string) *corev1.ServiceAccount {
	p.t.Helper()
	return create(p.t, p.admin(), &corev1.ServiceAccount{ObjectMeta: meta(namespace, name)})
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta("default", name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x", ImagePullPolicy: corev1.PullIfNotPresent}}}}
	for _, f := range change {
		f(p)
	}
	return p
}
