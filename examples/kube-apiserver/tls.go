package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// tlsVersions are the values of --tls-min-version.
var tlsVersions = map[string]uint16{"VersionTLS10": tls.VersionTLS10, "VersionTLS11": tls.VersionTLS11, "VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}

// servingConfig is how connections of clients are secured.
func (o *options) servingConfig(log *slog.Logger) (*tls.Config, error) {
	cfg := &tls.Config{ClientAuth: tls.RequestClientCert}
	var ok bool
	if cfg.MinVersion, ok = tlsVersions[o.tlsMinVersion]; !ok {
		return nil, fmt.Errorf("--tls-min-version: %q is none of VersionTLS10, VersionTLS11, VersionTLS12 and VersionTLS13", o.tlsMinVersion)
	}
	var err error
	if cfg.CipherSuites, err = cipherSuites(o.tlsCipherSuites, cfg.MinVersion); err != nil {
		return nil, fmt.Errorf("--tls-cipher-suites: %w", err)
	}
	names, err := loadNamed(log, o.sniCertFiles)
	if err != nil {
		return nil, fmt.Errorf("--tls-sni-cert-key-file: %w", err)
	}
	other, err := o.servingCertificate(log)
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

// namedCertificates are the certificates of --tls-sni-cert-key-file, by the names they are for.
type namedCertificates struct {
	given, own map[string]*reloaded[*tls.Certificate]
}

// loadNamed reads pairs of the form CERTFILE,KEYFILE or CERTFILE,KEYFILE:NAME,NAME. Of several for one name
// the first counts, and names that are given count before those in certificates.
func loadNamed(log *slog.Logger, flags []string) (namedCertificates, error) {
	n := namedCertificates{given: map[string]*reloaded[*tls.Certificate]{}, own: map[string]*reloaded[*tls.Certificate]{}}
	for _, text := range flags {
		files, list, given := strings.Cut(text, ":")
		certFile, keyFile, ok := strings.Cut(files, ",")
		if !ok || certFile == "" || keyFile == "" || given && list == "" {
			return n, fmt.Errorf("%q is not of the form CERTFILE,KEYFILE[:NAME,NAME]", text)
		}
		pair, err := newReloaded(log, readPair, certFile, keyFile)
		if err != nil {
			return n, err
		}
		leaf := pair.get().Leaf
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

// find returns the certificate for the name a client asked for, nil if there is none: one for that very name
// before one for all names beside it.
func (n namedCertificates) find(name string) *tls.Certificate {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	keys := []string{name}
	if _, above, ok := strings.Cut(name, "."); ok {
		keys = append(keys, "*."+above)
	}
	for _, key := range keys {
		for _, from := range []map[string]*reloaded[*tls.Certificate]{n.given, n.own} {
			if pair := from[key]; pair != nil {
				return pair.get()
			}
		}
	}
	return nil
}
