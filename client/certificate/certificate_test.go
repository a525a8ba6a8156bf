package certificate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/certificate"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

// signer answers requests: the first with a denial, the others with a certificate for an hour.
func signer(t *testing.T, ctx context.Context, c client.Conn) { answer(t, ctx, c, 1) }

// approver answers all requests with a certificate for an hour.
func approver(t *testing.T, ctx context.Context, c client.Conn) { answer(t, ctx, c, 0) }

// unsigned is a name that is not put into certificates.
const unsigned = "refused.test"

// answer denies the first requests and signs the others.
func answer(t *testing.T, ctx context.Context, c client.Conn, denials int) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(1e6 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	csrs := client.For[*certificatesv1.CertificateSigningRequest](c)
	n := 0
	for ev, err := range csrs.Watch(ctx, client.WatchOptions{}) {
		require.NoError(t, err)
		if ev.Type != client.Added {
			continue
		}
		csr := ev.Object
		cond := certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved, Status: "True", Reason: "Test"}
		if n++; n <= denials {
			cond.Type = certificatesv1.CertificateDenied
		}
		csr.Status.Conditions = append(csr.Status.Conditions, cond)
		csr, err = client.Subresource[*certificatesv1.CertificateSigningRequest](csrs, "approval").Update(ctx, metav1.KeyOf(csr), csr)
		require.NoError(t, err)
		if n <= denials {
			continue
		}
		block, _ := pem.Decode(csr.Spec.Request)
		req, err := x509.ParseCertificateRequest(block.Bytes)
		require.NoError(t, err)
		require.NoError(t, req.CheckSignature())
		der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(int64(n)), Subject: req.Subject, DNSNames: slices.DeleteFunc(req.DNSNames, func(s string) bool { return s == unsigned }), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, ca, req.PublicKey, key)
		require.NoError(t, err)
		csr.Status.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		_, err = csrs.UpdateStatus(ctx, csr)
		require.NoError(t, err)
	}
}

// A certificate that the server refuses is replaced, using the credentials from before it, at most once a
// minute.
func TestManagerReplacesARefusedCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		conn := s.Conn(t, rest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		signed := make(chan struct{})
		go func() { defer close(signed); signer(t, ctx, conn) }()
		used, made := 0, 0
		m, err := certificate.New(certificate.Options{
			Conn: conn, Use: func() client.Conn { used++; return conn }, Signer: certificatesv1.KubeAPIServerClientSignerName, Lifetime: time.Hour,
			Request: func() *x509.CertificateRequest {
				return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "agent"}}
			},
			OnChange: func(*tls.Certificate) { made++ },
		})
		require.NoError(t, err)
		done := make(chan struct{})
		go func() { defer close(done); _ = m.Run(ctx) }()
		cred, err := m.Credential(ctx, nil)
		require.NoError(t, err)
		synctest.Wait() // OnChange is called after others have the certificate
		for range 3 {
			began := made
			_, err = m.Credential(ctx, cred)
			require.ErrorIs(t, err, certificate.ErrRefused)
			same, err := m.Credential(ctx, nil)
			require.NoError(t, err)
			require.Same(t, cred, same, "it may have been a mistake")
			time.Sleep(50 * time.Second)
			synctest.Wait()
			require.Equal(t, began, made)
			time.Sleep(11 * time.Second)
			synctest.Wait()
			require.Equal(t, began+1, made)
			next, err := m.Credential(ctx, cred)
			require.NoError(t, err)
			require.NotSame(t, cred, next)
			cred = next
		}
		require.Zero(t, used, "a refused certificate does not ask for its successor")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 1, used, "an accepted certificate is not replaced")
		cancel()
		<-done
		<-signed
	})
}

// A program that ends while its request is pending continues the same request, with the same key, when it
// runs again, and uses another key for the next one.
func TestPendingRequestsAreContinued(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.pem")
	synctest.Test(t, func(t *testing.T) {
		conn := clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		csrs := client.For[*certificatesv1.CertificateSigningRequest](conn)
		run := func(ctx context.Context) (m *certificate.Manager, stop func()) {
			m, err := certificate.New(certificate.Options{
				Conn: conn, Signer: certificatesv1.KubeAPIServerClientSignerName, File: file, Lifetime: time.Hour,
				Request: func() *x509.CertificateRequest {
					return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "agent"}, DNSNames: []string{"agent.test"}}
				},
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(ctx)
			done := make(chan struct{})
			go func() { defer close(done); _ = m.Run(ctx) }()
			return m, func() { cancel(); <-done }
		}
		requests := func() []*certificatesv1.CertificateSigningRequest {
			list, err := csrs.List(t.Context(), client.ListOptions{})
			require.NoError(t, err)
			return list.Items
		}
		for range 3 { // two of them end before there is a result
			_, stop := run(t.Context())
			time.Sleep(time.Minute)
			stop()
		}
		require.Len(t, requests(), 1)
		_, stop := run(t.Context())
		time.Sleep(time.Hour) // longer than one attempt waits
		require.Len(t, requests(), 1)
		first := requests()[0].Name
		stop()

		// A denied request is not continued.
		denied := requests()[0]
		denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: "True", Reason: "Test"}}
		_, err := client.Subresource[*certificatesv1.CertificateSigningRequest](csrs, "approval").Update(t.Context(), metav1.KeyOf(denied), denied)
		require.NoError(t, err)
		_, stop = run(t.Context())
		time.Sleep(time.Minute)
		stop()
		require.Len(t, requests(), 2)

		require.NoError(t, csrs.Delete(t.Context(), metav1.KeyOf(denied)))
		second := requests()[0].Name
		require.NotEqual(t, first, second)
		ctx, cancel := context.WithCancel(t.Context())
		signed := make(chan struct{})
		go func() { defer close(signed); approver(t, ctx, conn) }()
		m, stop := run(t.Context())
		time.Sleep(time.Minute)
		require.NotNil(t, m.Current())
		require.Len(t, requests(), 1)
		old := m.Current()
		time.Sleep(time.Hour)
		require.Greater(t, len(requests()), 1, "the successor has a request")
		require.NotEqual(t, old.PrivateKey, m.Current().PrivateKey)
		stop()
		require.NoFileExists(t, file+".pending")
		cancel()
		<-signed
	})
}

func TestManagerGetsAndReplacesACertificate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.pem")
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		conn := s.Conn(t, rest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		signed := make(chan struct{})
		go func() { defer close(signed); signer(t, ctx, conn) }()
		var serials []int64
		o := certificate.Options{
			Conn: conn, Signer: certificatesv1.KubeAPIServerClientSignerName, File: file, Lifetime: time.Hour,
			Request: func() *x509.CertificateRequest {
				return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "agent"}}
			},
			OnChange: func(c *tls.Certificate) { serials = append(serials, c.Leaf.SerialNumber.Int64()) },
		}
		m, err := certificate.New(o)
		require.NoError(t, err)
		require.Nil(t, m.Current())
		done := make(chan struct{})
		go func() { defer close(done); _ = m.Run(ctx) }()
		wait, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		cred, err := m.Credential(wait, nil)
		require.NoError(t, err)
		require.Equal(t, "agent", cred.Certificate.Leaf.Subject.CommonName)
		require.EqualValues(t, 2, cred.Certificate.Leaf.SerialNumber.Int64(), "the first request was denied")
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		require.GreaterOrEqual(t, len(serials), 4)
		require.NotNil(t, m.Current(), "never without one")
		again, err := certificate.New(o)
		require.NoError(t, err)
		require.Equal(t, m.Current().Certificate, again.Current().Certificate, "kept in the file")
		cancel()
		<-done
		<-signed
	})
}

// A certificate that lacks what is requested is replaced at once, one that has more is not. If the signer
// leaves something out, there is a minute between attempts.
func TestCertificatesFollowTheirRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		signed := make(chan struct{})
		go func() { defer close(signed); approver(t, ctx, conn) }()
		given := func(names ...string) *tls.Certificate {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			require.NoError(t, err)
			leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent"}, DNSNames: names, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
			der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
			require.NoError(t, err)
			leaf, err = x509.ParseCertificate(der)
			require.NoError(t, err)
			return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
		}
		run := func(initial *tls.Certificate, names ...string) (made int) {
			m, err := certificate.New(certificate.Options{Conn: conn, Signer: certificatesv1.KubeAPIServerClientSignerName, Initial: initial, Lifetime: time.Hour,
				Request: func() *x509.CertificateRequest {
					return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "agent"}, DNSNames: names}
				},
				OnChange: func(*tls.Certificate) { made++ }})
			require.NoError(t, err)
			require.Same(t, initial, m.Current())
			ctx, cancel := context.WithTimeout(ctx, 150*time.Second)
			defer cancel()
			require.NoError(t, m.Run(ctx))
			return made
		}
		require.Zero(t, run(given("a", "b"), "a"))
		require.Equal(t, 3, run(given("a", "b"), "a", unsigned), "at once and after each minute")
		cancel()
		<-signed
	})
}

// Nothing is requested while there is nothing to request. What is to be requested is looked at again when
// Check is called.
func TestNothingToRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		signed, ran := make(chan struct{}), make(chan error, 1)
		go func() { defer close(signed); approver(t, ctx, conn) }()
		var want atomic.Pointer[x509.CertificateRequest]
		m, err := certificate.New(certificate.Options{Conn: conn, Signer: certificatesv1.KubeAPIServerClientSignerName, Lifetime: time.Hour, Request: want.Load})
		require.NoError(t, err)
		go func() { ran <- m.Run(ctx) }()
		time.Sleep(24 * time.Hour)
		require.Nil(t, m.Current())
		failed, _ := m.Failures()
		require.Zero(t, failed)
		for _, name := range []string{"a", "b"} {
			want.Store(&x509.CertificateRequest{Subject: pkix.Name{CommonName: "agent"}, DNSNames: []string{name}})
			m.Check()
			time.Sleep(2 * time.Minute)
			require.Equal(t, []string{name}, m.Current().Leaf.DNSNames)
		}
		want.Store(nil)
		m.Check()
		time.Sleep(24 * time.Hour)
		require.Nil(t, m.Current(), "it has expired")
		cancel()
		require.NoError(t, <-ran)
		<-signed
	})
}

// A file whose name ends with -current.pem is a link, as client-go's file store makes it, also in the place
// of a file and of a link of that store.
func TestLinkedFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agent-current.pem")
	synctest.Test(t, func(t *testing.T) {
		conn := clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		signed := make(chan struct{})
		go func() { defer close(signed); approver(t, ctx, conn) }()
		var targets []string
		for range 3 {
			m, err := certificate.New(certificate.Options{Conn: conn, Signer: certificatesv1.KubeAPIServerClientSignerName, File: file, Lifetime: time.Hour,
				Request: func() *x509.CertificateRequest {
					return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "agent"}}
				}})
			require.NoError(t, err)
			short, cancel := context.WithTimeout(ctx, time.Minute)
			require.NoError(t, m.Run(short))
			cancel()
			target, err := filepath.EvalSymlinks(file)
			require.NoError(t, err)
			require.Regexp(t, `/agent-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.pem$`, target)
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
			targets = append(targets, target)
			if len(targets) == 2 {
				require.NoError(t, os.Remove(file))
				require.NoError(t, os.WriteFile(file, []byte("no certificate"), 0o600))
			}
		}
		require.Equal(t, targets[0], targets[1], "it is used as long as it is valid")
		require.NotEqual(t, targets[0], targets[2])
		cancel()
		<-signed
	})
}
