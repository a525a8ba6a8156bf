package component

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/store/certs"
)

// TLS says with which certificates a program serves. Certificates are read again when their files change.
type TLS struct {
	// CertDir has the pair of CertName, which is created if it is missing; empty keeps it in memory.
	CertDir, CertName string
	CertFile, KeyFile string
	MinVersion        string
	CipherSuites      []string
	SNIFiles          []string
	// Curves are numbers of crypto/tls.CurveID; empty means Go's choice.
	Curves []int32
}

// Flags registers the flags; the defaults are the values of t.
func (t *TLS) Flags(f *pflag.FlagSet) {
	if t.MinVersion == "" {
		t.MinVersion = "VersionTLS12"
	}
	f.StringVar(&t.CertDir, "cert-dir", t.CertDir, "folder of "+t.CertName+".crt and "+t.CertName+".key, which are created if missing (empty: kept in memory)")
	f.StringVar(&t.CertFile, "tls-cert-file", t.CertFile, "serving certificate, with intermediates")
	f.StringVar(&t.KeyFile, "tls-private-key-file", t.KeyFile, "key of --tls-cert-file")
	f.StringVar(&t.MinVersion, "tls-min-version", t.MinVersion, "least version of TLS: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13")
	f.StringSliceVar(&t.CipherSuites, "tls-cipher-suites", t.CipherSuites, "cipher suites up to TLS 1.2, by their names (empty: Go's choice)")
	f.Int32SliceVar(&t.Curves, "tls-curve-preferences", t.Curves, "numbers of the key exchanges that are allowed, as those of crypto/tls.CurveID in Go (empty: Go's choice)")
	f.StringArrayVar(&t.SNIFiles, "tls-sni-cert-key", t.SNIFiles, sniUsage)
}

const sniUsage = "CERTFILE,KEYFILE[:NAME,NAME]: a certificate for clients that request one of the names, by default those in the certificate; may be repeated"

// Validate checks the flags that belong together.
func (t *TLS) Validate() error {
	if (t.CertFile == "") != (t.KeyFile == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file belong together")
	}
	return nil
}

// Generate makes a serving certificate, with the chain that clients get.
type Generate func() (*certs.Pair, []byte, error)

// Generated returns a Generate of a certificate for hosts, by an authority that exists for it only.
func Generated(name string, hosts ...string) Generate {
	return func() (*certs.Pair, []byte, error) {
		ca, err := certs.NewAuthority(name + "-ca")
		if err != nil {
			return nil, nil, err
		}
		pair, err := ca.Serving(hosts[0], hosts...)
		if err != nil {
			return nil, nil, err
		}
		return pair, append(pair.CertPEM(), ca.CertPEM()...), nil
	}
}

// tlsVersions are the values of --tls-min-version.
var tlsVersions = map[string]uint16{"VersionTLS10": tls.VersionTLS10, "VersionTLS11": tls.VersionTLS11, "VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}

// Config returns the configuration for connections of clients. generate is called if there is no certificate.
func (t *TLS) Config(log *slog.Logger, generate Generate) (*tls.Config, error) {
	cfg := &tls.Config{ClientAuth: tls.RequestClientCert}
	var ok bool
	if cfg.MinVersion, ok = tlsVersions[t.MinVersion]; !ok {
		return nil, fmt.Errorf("--tls-min-version: %q is none of VersionTLS10, VersionTLS11, VersionTLS12 and VersionTLS13", t.MinVersion)
	}
	var err error
	if cfg.CipherSuites, err = cipherSuites(t.CipherSuites, cfg.MinVersion); err != nil {
		return nil, fmt.Errorf("--tls-cipher-suites: %w", err)
	}
	for _, id := range t.Curves {
		if id < 1 || id > math.MaxUint16 {
			return nil, fmt.Errorf("--tls-curve-preferences: %d is no number of a key exchange", id)
		}
		cfg.CurvePreferences = append(cfg.CurvePreferences, tls.CurveID(id))
	}
	names, err := loadNamed(log, t.SNIFiles)
	if err != nil {
		return nil, fmt.Errorf("--tls-sni-cert-key: %w", err)
	}
	other, err := t.certificate(log, generate)
	if err != nil {
		return nil, err
	}
	cfg.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if pair := names.find(hello.ServerName); pair != nil {
			return pair, nil
		}
		return other(hello)
	}
	return cfg, nil
}

// certificate returns the certificate to serve with: the given one, the one in CertDir, or one generated and
// stored there.
func (t *TLS) certificate(log *slog.Logger, generate Generate) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	certFile, keyFile := t.CertFile, t.KeyFile
	if certFile == "" {
		certFile, keyFile = filepath.Join(t.CertDir, t.CertName+".crt"), filepath.Join(t.CertDir, t.CertName+".key")
		if _, err := os.Stat(certFile); t.CertDir == "" || errors.Is(err, os.ErrNotExist) {
			pair, err := t.generate(generate, certFile, keyFile)
			if err != nil {
				return nil, err
			}
			return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair, nil }, nil
		}
	}
	pair, err := Reload(log, ReadPair, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil }, nil
}

// generate makes a certificate, and stores it in CertDir if there is one.
func (t *TLS) generate(generate Generate, certFile, keyFile string) (*tls.Certificate, error) {
	pair, chain, err := generate()
	if err != nil {
		return nil, err
	}
	if t.CertDir != "" {
		if err := errors.Join(atomicfile.WriteSync(keyFile, pair.KeyPEM()), atomicfile.WriteSync(certFile, chain)); err != nil {
			return nil, err
		}
	}
	out, err := tls.X509KeyPair(chain, pair.KeyPEM())
	return &out, err
}

// cipherSuites finds suites by their names; none means Go's choice. Those of TLS 1.3 cannot be
// chosen in Go; their names are accepted all the same.
func cipherSuites(names []string, least uint16) ([]uint16, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if least >= tls.VersionTLS13 {
		return nil, errors.New("the suites of TLS 1.3, the least version, cannot be chosen")
	}
	var ids []uint16
	known := slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites())
	for _, name := range names {
		i := slices.IndexFunc(known, func(s *tls.CipherSuite) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is not known", name)
		}
		ids = append(ids, known[i].ID)
	}
	return ids, nil
}

// namedCertificates are the certificates of --tls-sni-cert-key, by the names they are for.
type namedCertificates struct {
	given, own map[string]*Reloaded[*tls.Certificate]
}

// loadNamed reads pairs of the form CERTFILE,KEYFILE or CERTFILE,KEYFILE:NAME,NAME. Of several for one name
// the first is used, and explicit names take precedence over those in certificates.
func loadNamed(log *slog.Logger, flags []string) (namedCertificates, error) {
	n := namedCertificates{given: map[string]*Reloaded[*tls.Certificate]{}, own: map[string]*Reloaded[*tls.Certificate]{}}
	for _, text := range flags {
		files, list, given := strings.Cut(text, ":")
		certFile, keyFile, ok := strings.Cut(files, ",")
		if !ok || certFile == "" || keyFile == "" || given && list == "" {
			return n, fmt.Errorf("%q is not of the form CERTFILE,KEYFILE[:NAME,NAME]", text)
		}
		pair, err := Reload(log, ReadPair, certFile, keyFile)
		if err != nil {
			return n, err
		}
		leaf := pair.Get().Leaf
		into, names := n.own, slices.Clone(leaf.DNSNames)
		if len(names) == 0 && leaf.Subject.CommonName != "" {
			names = append(names, leaf.Subject.CommonName)
		}
		if given {
			into, names = n.given, strings.Split(list, ",")
		}
		if len(names) == 0 {
			return n, fmt.Errorf("%s is for no name: give some", certFile)
		}
		for _, name := range names {
			if name = strings.ToLower(name); into[name] == nil {
				into[name] = pair
			}
		}
	}
	return n, nil
}

// find returns the certificate for the name a client requested, nil if there is none: an exact match takes
// precedence over a wildcard.
func (n namedCertificates) find(name string) *tls.Certificate {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	keys := []string{name}
	if _, above, ok := strings.Cut(name, "."); ok {
		keys = append(keys, "*."+above)
	}
	for _, key := range keys {
		for _, from := range []map[string]*Reloaded[*tls.Certificate]{n.given, n.own} {
			if pair := from[key]; pair != nil {
				return pair.Get()
			}
		}
	}
	return nil
}
