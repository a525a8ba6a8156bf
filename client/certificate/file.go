package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
)

// pair parses a certificate and its key from PEM and checks that it is valid now.
func pair(chain, key []byte) (*tls.Certificate, error) {
	cert, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, err
	}
	if cert.Leaf == nil {
		if cert.Leaf, err = x509.ParseCertificate(cert.Certificate[0]); err != nil {
			return nil, err
		}
	}
	if !time.Now().Before(cert.Leaf.NotAfter) {
		return nil, errors.New("it has expired")
	}
	return &cert, nil
}

// load reads a file that holds a certificate and its key.
func load(path string) (*tls.Certificate, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return pair(b, b)
}

// save writes certificate and key to one file, so that no reader finds one without the other.
func save(path string, chain, key []byte) error {
	return atomicfile.WriteSync(path, slices.Concat(chain, key))
}
