package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// linked ends the names of files that are links to dated ones.
const linked = "-current.pem"

// save writes certificate and key to one file, so that no reader finds one without the other.
func save(path string, chain, key []byte) error {
	base, dated := strings.CutSuffix(path, linked)
	if !dated {
		return atomicfile.WriteSync(path, slices.Concat(chain, key))
	}
	// A certificate issued within the same second replaces the one before.
	target := base + "-" + time.Now().Format("2006-01-02-15-04-05") + ".pem"
	if err := atomicfile.WriteSync(target, slices.Concat(chain, key)); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".link-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	link := filepath.Join(dir, filepath.Base(path))
	if err := os.Symlink(filepath.Base(target), link); err != nil {
		return err
	}
	return os.Rename(link, path)
}
