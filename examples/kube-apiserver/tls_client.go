package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
)

// clientTLS are the files that secure connections this server makes: to etcd and to kubelets. New connections
// use what the files hold then.
type clientTLS struct {
	authorities *reloaded[*x509.CertPool]   // nil: the system's
	pair        *reloaded[*tls.Certificate] // nil: none is shown
}

// newClientTLS reads the files; caFile, or certFile and keyFile, may be empty.
func newClientTLS(log *slog.Logger, caFile, certFile, keyFile string) (*clientTLS, error) {
	var c clientTLS
	var err error
	if caFile != "" {
		if c.authorities, err = newReloaded(log, readPool, caFile); err != nil {
			return nil, err
		}
	}
	if certFile != "" {
		if c.pair, err = newReloaded(log, readPair, certFile, keyFile); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// config is the configuration of a new connection.
func (c *clientTLS) config() *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.authorities != nil {
		cfg.RootCAs = c.authorities.get()
	}
	if c.pair != nil {
		cfg.Certificates = []tls.Certificate{*c.pair.get()}
	}
	return cfg
}

// readPool reads the certificates of authorities.
func readPool(contents [][]byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(contents[0]) {
		return nil, errors.New("there is no certificate in it")
	}
	return pool, nil
}
