package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/certificate"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
)

// connection is the kubelet's to the API server.
type connection struct {
	*rest.Conn
	first *rest.Conn           // that requests the first certificate; nil without rotation
	certs *certificate.Manager // nil without rotation
}

// connect opens the connection. With rotateCertificates or a bootstrap kubeconfig the client certificate is
// requested from the API server and renewed before it expires; until there is one, the credentials of the
// kubeconfig serve, or else those of the bootstrap kubeconfig request it.
func connect(o *flags, c *kubeletconfig.Configuration, node string, tracer *tracer, log *slog.Logger) (*connection, error) {
	path := o.kubeconfig
	_, err := os.Stat(path)
	bootstrap := o.bootstrap != "" && errors.Is(err, fs.ErrNotExist)
	if bootstrap {
		path = o.bootstrap
	}
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: path, NoInCluster: true})
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = "kubelet"
	if tracer != nil {
		cfg.Wrap = tracer.Transport
	}
	opts := rest.Options{Logger: log, QPS: float64(*c.KubeAPIQPS), Burst: int(c.KubeAPIBurst)}
	first, err := rest.New(cfg, opts)
	if err != nil || !c.RotateCertificates && !bootstrap {
		return &connection{Conn: first}, err
	}
	if err := os.MkdirAll(o.certDir, 0o700); err != nil {
		return nil, errors.Join(err, first.Close())
	}
	file := filepath.Join(o.certDir, "kubelet-client-current.pem")
	source := &rotated{}
	if !bootstrap {
		if source.own, err = ownCredential(&cfg); err != nil {
			return nil, errors.Join(err, first.Close())
		}
	}
	mine := cfg
	mine.TLS.CertFile, mine.TLS.KeyFile, mine.TLS.CertData, mine.TLS.KeyData, mine.BearerToken, mine.BearerTokenFile = "", "", nil, nil, "", ""
	mine.Credentials = source
	conn, err := rest.New(mine, opts)
	if err != nil {
		return nil, errors.Join(err, first.Close())
	}
	source.Manager, err = certificate.New(certificate.Options{
		Conn: first, Use: func() client.Conn { return conn }, Signer: "kubernetes.io/kube-apiserver-client-kubelet", File: file, Logger: log,
		Request: func() *x509.CertificateRequest {
			return &x509.CertificateRequest{Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + node}}
		},
	})
	if err == nil && bootstrap {
		err = writeKubeconfig(o.kubeconfig, &cfg, file)
	}
	if err != nil {
		return nil, errors.Join(err, first.Close(), conn.Close())
	}
	return &connection{Conn: conn, first: first, certs: source.Manager}, nil
}

// use is the connection as others use it; nil without an API server.
func (c *connection) use() client.Conn {
	if c == nil {
		return nil
	}
	return c.Conn
}

// close ends the connection.
func (c *connection) close() {
	_ = c.Close()
	if c.first != nil {
		_ = c.first.Close()
	}
}

// rotated uses the newest certificate, and the kubeconfig's own credentials before there is one.
type rotated struct {
	*certificate.Manager
	own *rest.Credential
}

// Credential implements rest.CredentialSource.
func (r *rotated) Credential(ctx context.Context, rejected *rest.Credential) (*rest.Credential, error) {
	if r.own != nil && rejected != r.own && r.Current() == nil {
		return r.own, nil
	}
	return r.Manager.Credential(ctx, rejected)
}

// ownCredential is the certificate or token of a kubeconfig; nil if it has neither.
func ownCredential(cfg *rest.Config) (*rest.Credential, error) {
	var pair tls.Certificate
	var err error
	switch {
	case len(cfg.TLS.CertData) > 0:
		pair, err = tls.X509KeyPair(cfg.TLS.CertData, cfg.TLS.KeyData)
	case cfg.TLS.CertFile != "":
		if pair, err = tls.LoadX509KeyPair(cfg.TLS.CertFile, cfg.TLS.KeyFile); errors.Is(err, fs.ErrNotExist) {
			return nil, nil // the manager requests it
		}
	case cfg.BearerToken != "":
		return &rest.Credential{Token: cfg.BearerToken}, nil
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("client certificate of the kubeconfig: %w", err)
	}
	return &rest.Credential{Certificate: &pair}, nil
}

// writeKubeconfig writes the kubeconfig that a later start uses, with the certificate in a file.
func writeKubeconfig(path string, cfg *rest.Config, cert string) error {
	cluster := map[string]any{"server": cfg.Host}
	switch {
	case len(cfg.TLS.CAData) > 0:
		cluster["certificate-authority-data"] = cfg.TLS.CAData
	case cfg.TLS.CAFile != "":
		cluster["certificate-authority"] = cfg.TLS.CAFile
	}
	b, err := codec.MarshalYAML(map[string]any{"apiVersion": "v1", "kind": "Config", "current-context": "default-context",
		"clusters": []any{map[string]any{"name": "default-cluster", "cluster": cluster}},
		"users":    []any{map[string]any{"name": "default-auth", "user": map[string]any{"client-certificate": cert, "client-key": cert}}},
		"contexts": []any{map[string]any{"name": "default-context", "context": map[string]any{"cluster": "default-cluster", "user": "default-auth", "namespace": "default"}}},
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// runWith calls run, and renews the certificate meanwhile.
func (c *connection) runWith(ctx context.Context, run func(context.Context) error) error {
	if c == nil || c.certs == nil {
		return run(ctx)
	}
	renewing, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.certs.Run(renewing) }()
	err := run(ctx)
	stop()
	return errors.Join(err, <-done)
}
