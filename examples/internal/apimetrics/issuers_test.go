package apimetrics_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
)

// The keys of an issuer that were fetched last have a series, and none when the issuer is removed.
func TestKeysOfIssuers(t *testing.T) {
	m := apimetrics.New()
	m.Identify("server")
	p := startMeasured(t, m)
	hash := func(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }
	const fetched = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_"
	keys := func(set string) string {
		return fmt.Sprintf(fetched+"key_set_info{apiserver_id_hash=%q,hash=%q,jwt_issuer_hash=%q} 1", hash("server"), hash(set), hash("https://a.test"))
	}
	m.KeysFetched("https://a.test", []byte("one"), nil)
	p.has(keys("one"))
	m.KeysFetched("https://a.test", nil, errors.New("gone"))
	p.has(keys("one"))
	m.KeysFetched("https://a.test", []byte("two"), nil)
	require.Len(t, p.has(keys("two"))[fetched+"key_set_info"].Series, 1)
	m.KeysFetched("https://b.test", []byte("two"), nil)
	m.IssuerRemoved("https://a.test")
	all := p.has()
	for _, name := range []string{"key_set_info", "timestamp_seconds"} {
		require.Len(t, all[fetched+name].Series, 1)
		require.Contains(t, all[fetched+name].Lines[0], hash("https://b.test"))
	}
}

// Certificates that are issued for requests with a life are counted by signer, also those that are valid for
// about as long.
func TestLivesOfCertificates(t *testing.T) {
	p := startPlane(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	text := func(kind string, der []byte, err error) string {
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, key)
	request := text("CERTIFICATE REQUEST", der, err)
	const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	issue := func(name, signer, expiration, query string, life time.Duration) {
		t.Helper()
		if query == "" {
			p.do("root", "POST", requests, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"signerName":%q,%s"usages":["client auth"],"request":%q}}`, name, signer, expiration, request), 201)
		}
		of := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(0, 0).Add(life)}
		der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
		p.do("root", "PATCH", requests+"/"+name+"/status"+query, fmt.Sprintf(`{"status":{"certificate":%q}}`, text("CERTIFICATE", der, err)), 200)
	}
	const hour = `"expirationSeconds":3600,`
	issue("none", "a.test/s", "", "", time.Hour)
	issue("honored", "a.test/s", hour, "", time.Hour+7*time.Minute)
	issue("longer", "b.test/s", hour, "", time.Hour+9*time.Minute)
	issue("shorter", "a.test/s", hour, "", 50*time.Minute)
	p.do("root", "PATCH", requests+"/honored/status", `{"metadata":{"labels":{"a":"b"}}}`, 200) // not again
	p.do("root", "POST", requests, fmt.Sprintf(`{"metadata":{"name":"dry"},"spec":{"signerName":"a.test/s",%s"usages":["client auth"],"request":%q}}`, hour, request), 201)
	issue("dry", "a.test/s", hour, "?dryRun=All", time.Hour)
	const registry = "apiserver_certificates_registry_csr_"
	all := p.has(registry+`requested_duration_total{signerName="other"} 3`, registry+`honored_duration_total{signerName="other"} 1`)
	require.Len(t, all[registry+"requested_duration_total"].Series, 1)
	issue("client", "kubernetes.io/kube-apiserver-client", hour, "", time.Hour)
	p.has(registry + `honored_duration_total{signerName="kubernetes.io/kube-apiserver-client"} 1`)
	require.NotContains(t, strings.Join(p.has()[registry+"honored_duration_total"].Lines, " "), "a.test")
}
