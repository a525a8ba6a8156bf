package authenticationv1_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestTokenRequest(t *testing.T) {
	r := &authenticationv1.TokenRequest{}
	authenticationv1.DefaultTokenRequest(r)
	require.EqualValues(t, 3600, *r.Spec.ExpirationSeconds)
	for seconds, want := range map[int64][]string{
		599: {"spec.expirationSeconds FieldValueInvalid"}, 600: {}, 1 << 32: {}, 1<<32 + 1: {"spec.expirationSeconds FieldValueInvalid"},
	} {
		r.Spec.ExpirationSeconds = &seconds
		authenticationv1.DefaultTokenRequest(r)
		require.Equal(t, seconds, *r.Spec.ExpirationSeconds)
		require.Equal(t, want, apitest.Found(authenticationv1.ValidateTokenRequest(r)), "%d seconds", seconds)
	}
	r.Spec.ExpirationSeconds = nil
	require.Empty(t, authenticationv1.ValidateTokenRequest(r))
}

func TestCertificateUser(t *testing.T) {
	uid := func(value string) pkix.AttributeTypeAndValue {
		return pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: value}
	}
	certificate := func(subject pkix.Name) *x509.Certificate {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: subject}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		require.NoError(t, err)
		cert, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		return cert
	}
	cert := certificate(pkix.Name{CommonName: "ann", Organization: []string{"dev", "ops"}, ExtraNames: []pkix.AttributeTypeAndValue{uid("42")}})
	user, err := authenticationv1.CertificateUser(cert)
	require.NoError(t, err)
	require.Equal(t, &authenticationv1.UserInfo{Username: "ann", UID: "42", Groups: []string{"dev", "ops"},
		Extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/credential-id": {fmt.Sprintf("X509SHA256=%x", sha256.Sum256(cert.Raw))}}}, user)

	user, err = authenticationv1.CertificateUser(certificate(pkix.Name{Organization: []string{"dev"}}))
	require.NoError(t, err)
	require.Nil(t, user, "no common name, no user")

	_, err = authenticationv1.CertificateUser(certificate(pkix.Name{CommonName: "ann", ExtraNames: []pkix.AttributeTypeAndValue{uid("1"), uid("2")}}))
	require.EqualError(t, err, `client certificate of "ann" has no single uid`)
}
