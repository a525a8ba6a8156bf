package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// CertificateOptions of Certificates.
type CertificateOptions struct {
	// Secret keeps the certificate and its key for all replicas. Required. It is created, so that a replica
	// needs the rights to get, create and update secrets, and to get and update the configurations below.
	Secret types.NamespacedName
	// Service is the name in the clientConfig of the webhooks. Required unless Hosts are given.
	Service types.NamespacedName
	// Hosts are further host names and IP addresses by which servers are called.
	Hosts []string
	// Mutating, Validating and Definitions are the names of the MutatingWebhookConfigurations,
	// ValidatingWebhookConfigurations and CustomResourceDefinitions whose caBundles are kept. What does not
	// exist yet is completed when it does.
	Mutating, Validating, Definitions []string
	// Validity of a certificate; 0 means 90 days, and it is at least an hour. It is replaced after two thirds
	// of it.
	Validity time.Duration
	// Overlap is how long all configurations must have contained a new certificate before it is served, so
	// that every API server has seen them; 0 means a tenth of Validity, but at most an hour.
	Overlap time.Duration
	// Interval is the time between checks, which read the Secret and the configurations by name; 0 means
	// a minute. After a failure it is at most 10 s.
	Interval time.Duration
	// Logger receives what was done and what failed. Nil discards.
	Logger *slog.Logger
}

// Certificates are the self-signed serving certificates of an operator's webhooks, shared by its replicas.
// They are kept in a Secret and in the caBundles of the configurations, and replaced in time:
//
//	certificates := webhook.NewCertificates(m.Conn(), webhook.CertificateOptions{
//		Secret:   types.NamespacedName{Namespace: "shop", Name: "webhook-certificate"},
//		Service:  types.NamespacedName{Namespace: "shop", Name: "webhook-service"},
//		Mutating: []string{"shop"},
//	})
//	server := webhook.New(webhook.Options{Certificate: certificates.Get})
//	m.AddWithoutLeaderElection("certificates", certificates)
//
// No request fails when a certificate is replaced: the next certificate is made first, then added to all
// configurations, and served once they have had it for Options.Overlap. The previous one stays in them until
// it expires, for replicas that have not read the Secret since. Every replica does whatever is to be done
// next, so a replica may end or stall at any point; the versions of the objects decide between two that do
// the same.
type Certificates struct {
	opts    CertificateOptions
	log     *slog.Logger
	secrets *client.Client[*corev1.Secret]
	bundles []bundle

	served atomic.Pointer[tls.Certificate]
	err    atomic.Pointer[error] // of the last check
}

// NewCertificates returns certificates that Run keeps.
func NewCertificates(conn client.Conn, opts CertificateOptions) *Certificates {
	opts.Validity = max(cmp.Or(opts.Validity, 90*24*time.Hour), time.Hour)
	opts.Overlap = cmp.Or(opts.Overlap, min(opts.Validity/10, time.Hour))
	opts.Interval = cmp.Or(opts.Interval, time.Minute)
	if opts.Service.Name != "" {
		host := opts.Service.Name + "." + opts.Service.Namespace
		opts.Hosts = append([]string{host + ".svc", host + ".svc.cluster.local"}, opts.Hosts...)
	}
	c := &Certificates{opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), secrets: client.For[*corev1.Secret](conn)}
	c.bundles = bundlesOf(conn, opts)
	return c
}

// Get returns the certificate to serve, for Options.Certificate of a Server. It is an error until Run has
// read or made one.
func (c *Certificates) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := c.served.Load(); cert != nil {
		return cert, nil
	}
	return nil, c.Healthy()
}

// Healthy returns the error of the last check, for a readiness check; nil after one that succeeded.
func (c *Certificates) Healthy() error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	if c.served.Load() == nil {
		return errors.New("webhook: there is no certificate yet")
	}
	return nil
}

// Run keeps the certificates until ctx ends and returns nil.
func (c *Certificates) Run(ctx context.Context) error {
	if c.opts.Secret.Name == "" || len(c.opts.Hosts) == 0 {
		return errors.New("webhook: CertificateOptions need Secret, and Service or Hosts")
	}
	var last string // the failure that was logged
	for {
		err := c.check(ctx)
		if ctx.Err() != nil {
			return nil
		}
		wait := c.opts.Interval
		switch {
		case apierrors.IsConflict(err):
			// Another replica has written the Secret.
			wait = time.Second
		case err != nil:
			err = fmt.Errorf("webhook: certificate in secret %s: %w", c.opts.Secret, err)
			wait = min(wait, 10*time.Second)
			if last != err.Error() {
				last = err.Error()
				c.log.Warn("check webhook certificate failed", "namespace", c.opts.Secret.Namespace, "name", c.opts.Secret.Name, "err", err)
			}
			c.err.Store(&err)
		default:
			last = ""
			c.err.Store(nil)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// The keys in the data of the Secret, and the annotation that says since when all configurations contain the
// next certificate.
const (
	nextCertKey    = "next.crt"
	nextKeyKey     = "next.key"
	trustedSinceAt = "webhook.keelson.dev/next-trusted-since"
)

// check does what is to be done next and reads the certificate to serve.
func (c *Certificates) check(ctx context.Context) error {
	secret, err := c.secrets.Get(ctx, c.opts.Secret)
	if apierrors.IsNotFound(err) {
		secret, err = c.create(ctx)
	}
	if err != nil {
		return err
	}
	current, err := c.usable(secret, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	if err != nil {
		c.log.Warn("replace unusable webhook certificate", "namespace", secret.Namespace, "name", secret.Name, "err", err)
		if secret, current, err = c.renew(ctx, secret); err != nil {
			return err
		}
	}
	next, err := c.usable(secret, nextCertKey, nextKeyKey)
	if due := current.due(); err != nil && (due || !current.covers(c.opts.Hosts)) {
		if secret, next, err = c.prepare(ctx, secret); err != nil {
			return err
		}
	} else if err != nil {
		next = nil
	}
	changed, err := c.trust(ctx, current, next)
	if err != nil {
		c.served.CompareAndSwap(nil, current.tls)
		return err
	}
	if next != nil {
		if current, err = c.promote(ctx, secret, current, next, changed); err != nil {
			c.served.CompareAndSwap(nil, current.tls)
			return err
		}
	}
	c.served.Store(current.tls)
	return nil
}

// usable returns a pair of the Secret that has not expired.
func (c *Certificates) usable(s *corev1.Secret, certKey, keyKey string) (*pair, error) {
	p, err := parsePair(s.Data[certKey], s.Data[keyKey])
	if err == nil && !time.Now().Before(p.leaf.NotAfter) {
		err = fmt.Errorf("it expired at %s", p.leaf.NotAfter.Format(time.RFC3339))
	}
	return p, err
}

// create creates the Secret with a first certificate, or reads the one that another replica has created.
func (c *Certificates) create(ctx context.Context) (*corev1.Secret, error) {
	p, err := newPair(c.opts.Hosts, c.opts.Validity)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.opts.Secret.Namespace, Name: c.opts.Secret.Name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: p.cert, corev1.TLSPrivateKeyKey: p.key},
	}
	created, err := c.secrets.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		return c.secrets.Get(ctx, c.opts.Secret)
	}
	if err == nil {
		c.log.Info("created webhook certificate", "namespace", secret.Namespace, "name", secret.Name, "notAfter", p.leaf.NotAfter)
	}
	return created, err
}

// renew replaces a certificate that cannot be served, by the next one if there is one.
func (c *Certificates) renew(ctx context.Context, s *corev1.Secret) (*corev1.Secret, *pair, error) {
	p, err := c.usable(s, nextCertKey, nextKeyKey)
	if err != nil {
		if p, err = newPair(c.opts.Hosts, c.opts.Validity); err != nil {
			return nil, nil, err
		}
	}
	s.Data = map[string][]byte{corev1.TLSCertKey: p.cert, corev1.TLSPrivateKeyKey: p.key}
	delete(s.Annotations, trustedSinceAt)
	s, err = c.secrets.Update(ctx, s)
	return s, p, err
}

// prepare adds the next certificate to the Secret.
func (c *Certificates) prepare(ctx context.Context, s *corev1.Secret) (*corev1.Secret, *pair, error) {
	p, err := newPair(c.opts.Hosts, c.opts.Validity)
	if err != nil {
		return nil, nil, err
	}
	s.Data[nextCertKey], s.Data[nextKeyKey] = p.cert, p.key
	delete(s.Annotations, trustedSinceAt)
	if s, err = c.secrets.Update(ctx, s); err == nil {
		c.log.Info("made next webhook certificate", "namespace", s.Namespace, "name", s.Name, "notAfter", p.leaf.NotAfter)
	}
	return s, p, err
}

// trust adds the certificates to the configurations. It returns whether one of them lacked one.
func (c *Certificates) trust(ctx context.Context, pairs ...*pair) (changed bool, err error) {
	for _, b := range c.bundles {
		did, updateErr := b.update(ctx, func(old []byte) []byte { return merged(old, pairs) })
		changed = changed || did
		err = errors.Join(err, updateErr)
	}
	return changed, err
}

// promote makes the next certificate the current one, if all configurations have had it for long enough. It
// returns the one to serve.
func (c *Certificates) promote(ctx context.Context, s *corev1.Secret, current, next *pair, changed bool) (*pair, error) {
	since, err := time.Parse(time.RFC3339, s.Annotations[trustedSinceAt])
	switch {
	case err != nil || changed || time.Until(since) > c.opts.Overlap:
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[trustedSinceAt] = time.Now().UTC().Format(time.RFC3339)
	case time.Since(since) < c.opts.Overlap:
		return current, nil
	default:
		s.Data = map[string][]byte{corev1.TLSCertKey: next.cert, corev1.TLSPrivateKeyKey: next.key}
		delete(s.Annotations, trustedSinceAt)
		current = next
	}
	if _, err := c.secrets.Update(ctx, s); err != nil {
		return current, err
	}
	if current == next {
		c.log.Info("serving next webhook certificate", "namespace", s.Namespace, "name", s.Name, "notAfter", next.leaf.NotAfter)
	}
	return current, nil
}

// bundle is a configuration with caBundles.
type bundle struct {
	// update applies change to every caBundle and writes the configuration if one has changed. What does not
	// exist is left alone.
	update func(ctx context.Context, change func([]byte) []byte) (changed bool, err error)
}

func bundlesOf(conn client.Conn, opts CertificateOptions) (out []bundle) {
	for _, name := range opts.Mutating {
		out = append(out, bundleIn(client.For[*admissionregistrationv1.MutatingWebhookConfiguration](conn), name, func(c *admissionregistrationv1.MutatingWebhookConfiguration) (at []*[]byte) {
			for i := range c.Webhooks {
				at = append(at, &c.Webhooks[i].ClientConfig.CABundle)
			}
			return at
		}))
	}
	for _, name := range opts.Validating {
		out = append(out, bundleIn(client.For[*admissionregistrationv1.ValidatingWebhookConfiguration](conn), name, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) (at []*[]byte) {
			for i := range c.Webhooks {
				at = append(at, &c.Webhooks[i].ClientConfig.CABundle)
			}
			return at
		}))
	}
	for _, name := range opts.Definitions {
		out = append(out, bundleIn(client.For[*apiextensionsv1.CustomResourceDefinition](conn), name, func(d *apiextensionsv1.CustomResourceDefinition) []*[]byte {
			if c := d.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil {
				return []*[]byte{&c.Webhook.ClientConfig.CABundle}
			}
			return nil
		}))
	}
	return out
}

// bundleIn returns the configuration with a name, whose caBundles are at the places that at returns.
func bundleIn[T metav1.Object](c *client.Client[T], name string, at func(T) []*[]byte) bundle {
	return bundle{update: func(ctx context.Context, change func([]byte) []byte) (changed bool, err error) {
		_, err = client.Update(ctx, c, types.NamespacedName{Name: name}, func(obj T) error {
			changed = false
			for _, b := range at(obj) {
				after := change(*b)
				changed = changed || !bytes.Equal(*b, after)
				*b = slices.Clone(after)
			}
			return nil
		})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return changed, err
	}}
}
