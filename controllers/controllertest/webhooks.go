package controllertest

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// Webhooks are answered inside the test: the API server calls them as it would in a cluster, over TLS and
// with certificates that verify, but through memory.
type Webhooks struct {
	// Config holds webhook configurations, as in the folder config/webhook of an operator, in files that end
	// in .yaml, .yml or .json; what else is in them is left out. Whatever service or URL a configuration
	// names, Handler answers; its caBundle is filled in, and so is that of conversion webhooks in
	// Options.CRDs.
	Config fs.FS
	// Handler answers all calls, by their path; usually a *webhook.Server.
	Handler http.Handler
}

// The kinds of Webhooks.Config.
const (
	mutating   = "MutatingWebhookConfiguration"
	validating = "ValidatingWebhookConfiguration"
)

// hooks is the server of Webhooks.Handler.
type hooks struct {
	net *pipenet.Listener

	mu    sync.Mutex
	certs map[string]*tls.Certificate // by the name of the server that was called
}

// serveWebhooks serves Webhooks.Handler until the cluster ends.
func (c *Cluster) serveWebhooks() {
	c.hooks = &hooks{net: pipenet.New(), certs: map[string]*tls.Certificate{}}
	server := webhook.New(webhook.Options{Listener: c.hooks.net, Certificate: c.webhookCertificate, Logger: c.opts.Logger})
	server.Handle("/", c.opts.Webhooks.Handler)
	c.background("webhooks", server.Run)
}

// dialWebhook is how the API server reaches webhooks: those of Options.Webhooks, or outside a bubble any
// there is.
func (c *Cluster) dialWebhook(ctx context.Context, network, address string) (net.Conn, error) {
	if c.hooks == nil && !c.bubble {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	if c.hooks == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("controllertest: Options.Webhooks.Handler is nil: nobody answers at " + address)}
	}
	return c.hooks.net.Dial(ctx, network, address)
}

// webhookCertificate makes the certificate of whatever server is called.
func (c *Cluster) webhookCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" { // an IP address is called
		name = "localhost"
	}
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	if cert := c.hooks.certs[name]; cert != nil {
		return cert, nil
	}
	pair, err := c.pki.ca.Serving(name, name, "127.0.0.1", "::1")
	if err != nil {
		return nil, err
	}
	cert := pair.TLS()
	c.hooks.certs[name] = &cert
	return &cert, nil
}

// trust makes a manifest accept the certificates of webhookCertificate.
func (c *Cluster) trust(obj *metav1.Unstructured) {
	if c.hooks == nil {
		return
	}
	switch obj.Kind {
	case mutating, validating:
		list, _ := obj.Fields["webhooks"].([]any)
		for _, hook := range list {
			c.trustIn(hook)
		}
	case "CustomResourceDefinition":
		hook, _ := obj.Nested("spec", "conversion", "webhook")
		c.trustIn(hook)
	}
}

// trustIn fills in the caBundle of a webhook's clientConfig.
func (c *Cluster) trustIn(hook any) {
	if m, ok := hook.(map[string]any); ok {
		if config, ok := m["clientConfig"].(map[string]any); ok {
			config["caBundle"] = base64.StdEncoding.EncodeToString(c.pki.ca.CertPEM())
		}
	}
}
