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
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
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
	// once is true if the certificate is requested, but not renewed.
	once bool
}

// connect opens the connection. With rotateCertificates or a bootstrap kubeconfig the client certificate is
// requested from the API server and renewed before it expires; until there is one, the credentials of the
// kubeconfig serve, or else those of the bootstrap kubeconfig request it.
func connect(o *flags, c *kubeletconfig.Configuration, node string, tracer *tracer, measured rest.Metrics, log *slog.Logger) (*connection, error) {
	path := o.kubeconfig
	bootstrap := false
	if o.bootstrap != "" {
		why := unusable(path)
		if bootstrap = why != nil; bootstrap {
			log.Info("the bootstrap kubeconfig is used", "because", why)
			path = o.bootstrap
		}
	}
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: path, NoInCluster: true})
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = "kubelet"
	if tracer != nil {
		cfg.Wrap = tracer.Transport
	}
	opts := rest.Options{Logger: log, Metrics: measured, QPS: float64(*c.KubeAPIQPS), Burst: int(c.KubeAPIBurst)}
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
	return &connection{Conn: conn, first: first, certs: source.Manager, once: !c.RotateCertificates}, nil
}

// unusable says why a kubeconfig cannot be used: it is missing or invalid, or its client certificate is or
// has expired. One without a client certificate is not usable either, as in
// k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap, v1.36.3.
func unusable(path string) error {
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: path, NoInCluster: true})
	if err != nil {
		return err
	}
	pair, err := certificateOf(&cfg)
	if err != nil {
		return err
	}
	if pair == nil {
		return fmt.Errorf("%s has no client certificate", path)
	}
	if end := pair.Leaf.NotAfter; time.Now().After(end) {
		return fmt.Errorf("the client certificate of %s has expired at %v", path, end)
	}
	return nil
}

// certificateOf is the client certificate of a kubeconfig; nil if it has none.
func certificateOf(cfg *rest.Config) (*tls.Certificate, error) {
	var pair tls.Certificate
	var err error
	switch {
	case len(cfg.TLS.CertData) > 0:
		pair, err = tls.X509KeyPair(cfg.TLS.CertData, cfg.TLS.KeyData)
	case cfg.TLS.CertFile != "":
		pair, err = tls.LoadX509KeyPair(cfg.TLS.CertFile, cfg.TLS.KeyFile)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("client certificate of the kubeconfig: %w", err)
	}
	return &pair, nil
}

// manager renews the client certificate; nil if nothing does.
func (c *connection) manager() *certificate.Manager {
	if c == nil {
		return nil
	}
	return c.certs
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
	pair, err := certificateOf(cfg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // the manager requests it
	case err != nil:
		return nil, err
	case pair != nil:
		return &rest.Credential{Certificate: pair}, nil
	case cfg.BearerToken != "":
		return &rest.Credential{Token: cfg.BearerToken}, nil
	}
	return nil, nil
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
	return atomicfile.WriteSync(path, b)
}

// uncertified is how long the kubelet runs without a valid client certificate while the API server refuses to
// issue one, and certificatePoll how often it looks.
const (
	uncertified     = 5 * time.Minute
	certificatePoll = 10 * time.Second
)

// runWith calls run, and renews the certificate meanwhile.
func (c *connection) runWith(ctx context.Context, run func(context.Context) error) error {
	if c == nil || c.certs == nil {
		return run(ctx)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	renewing, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { _ = c.certs.Run(renewing) }) // ends with renewing
	work.Go(func() {
		if c.once {
			if _, err := c.certs.Credential(renewing, nil); err == nil {
				stop()
			}
			return
		}
		fail(watchCertificate(renewing, c.certs))
	})
	err := run(ctx)
	stop()
	work.Wait()
	if err == nil {
		if cause, lost := errors.AsType[*lostCertificate](context.Cause(ctx)); lost {
			err = cause
		}
	}
	return err
}

// lostCertificate ends a kubelet whose client certificate is not renewed any more. The next start may use the
// bootstrap kubeconfig.
type lostCertificate struct{ cause error }

// Error says what the server answers.
func (e *lostCertificate) Error() string {
	return "there is no valid client certificate, and the API server issues none: " + e.cause.Error()
}

// watchCertificate returns when there has been no valid certificate for some time though the API server
// answers, or when ctx ends.
func watchCertificate(ctx context.Context, m *certificate.Manager) error {
	last := time.Now()
	for {
		if m.Current() != nil {
			last = time.Now()
		}
		if _, err := m.Failures(); time.Since(last) > uncertified && answered(err) {
			return &lostCertificate{err}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(certificatePoll):
		}
	}
}

// answered reports whether an error is an answer of the API server that another attempt does not change.
func answered(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
}
