package certs_test

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
)

func TestServingAndClientVerify(t *testing.T) {
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	serving, err := ca.Serving("api", "localhost", "127.0.0.1")
	require.NoError(t, err)
	_, err = serving.Cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: "localhost"})
	require.NoError(t, err)
	_, err = serving.Cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: "elsewhere"})
	require.Error(t, err)
	client, err := ca.Client("ann", "dev", "ops")
	require.NoError(t, err)
	_, err = client.Cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	require.Equal(t, []string{"dev", "ops"}, client.Cert.Subject.Organization)
	other, err := certs.NewAuthority("other")
	require.NoError(t, err)
	_, err = client.Cert.Verify(x509.VerifyOptions{Roots: other.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.Error(t, err)
}

func TestLoadOrMakeKeepsAndProtects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	made := 0
	build := func() (*certs.Pair, error) {
		made++
		ca, err := certs.NewAuthority("test")
		if err != nil {
			return nil, err
		}
		return &ca.Pair, nil
	}
	first, err := certs.LoadOrMake(dir, "ca", build)
	require.NoError(t, err)
	second, err := certs.LoadOrMake(dir, "ca", build)
	require.NoError(t, err)
	require.Equal(t, 1, made)
	require.Equal(t, first.Cert.Raw, second.Cert.Raw)
	info, err := os.Stat(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("junk"), 0o600))
	_, err = certs.LoadOrMake(dir, "ca", build)
	require.ErrorContains(t, err, "ca.crt")
}

func Example() {
	ca, err := certs.NewAuthority("my cluster")
	if err != nil {
		panic(err)
	}
	admin, err := ca.Client("admin", "system:masters")
	if err != nil {
		panic(err)
	}
	fmt.Println(admin.Cert.Subject.CommonName, admin.Cert.Issuer.CommonName)
	// Output: admin my cluster
}
