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

// Webhooks are served inside the test: the API server calls them as in a cluster, over TLS with verified
// certificates, but through an in-memory network.
type Webhooks struct {
	// Config contains webhook configurations in files that end in .yaml, .yml or .json, as in the directory
	// config/webhook of an operator; other objects are ignored. Calls go to Handler whatever service or URL a
	// configuration names. The caBundle is filled in, also for the conversion webhooks of Options.CRDs.
	Config fs.FS
	// Handler serves all calls; usually a *webhook.Server.
	Handler http.Handler
}

const ( // the kinds in Webhooks.Config
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
func (c *cluster) serveWebhooks() {
	c.hooks = &hooks{net: pipenet.New(), certs: map[string]*tls.Certificate{}}
	server := webhook.New(webhook.Options{Listener: c.hooks.net, Certificate: c.webhookCertificate, Logger: c.opts.Logger})
	server.Handle("/", c.gate.interceptWebhook(c.opts.Webhooks.Handler))
	c.background("webhooks", server.Run)
}

// dialWebhook connects the API server to Options.Webhooks or, outside a bubble without those, to the network.
func (c *cluster) dialWebhook(ctx context.Context, network, address string) (net.Conn, error) {
	if c.hooks == nil && !c.bubble {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	if c.hooks == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("controllertest: Options.Webhooks.Handler is nil: no server at " + address)}
	}
	return c.hooks.net.Dial(ctx, network, address)
}

// webhookCertificate returns a certificate for the server name that is called.
func (c *cluster) webhookCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" { // an IP address is called
		name = "localhost"
	}
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	if cert := c.hooks.certs[name]; cert != nil {
		return cert, nil
	}
	ca, err := c.pki.ca()
	if err != nil {
		return nil, err
	}
	pair, err := ca.Serving(name, name, "127.0.0.1", "::1")
	if err != nil {
		return nil, err
	}
	cert := pair.TLS()
	c.hooks.certs[name] = &cert
	return &cert, nil
}

// trust adds the cluster's certificate authority to the webhooks of a manifest.
func (c *cluster) trust(obj *metav1.Unstructured) error {
	if c.hooks == nil {
		return nil
	}
	ca, err := c.pki.ca()
	if err != nil {
		return err
	}
	bundle := base64.StdEncoding.EncodeToString(ca.CertPEM())
	switch obj.Kind {
	case mutating, validating:
		list, _ := obj.Fields["webhooks"].([]any)
		for _, hook := range list {
			trustIn(hook, bundle)
		}
	case "CustomResourceDefinition":
		hook, _ := obj.Nested("spec", "conversion", "webhook")
		trustIn(hook, bundle)
	}
	return nil
}

// trustIn sets the caBundle of a webhook's clientConfig.
func trustIn(hook any, bundle string) {
	if m, ok := hook.(map[string]any); ok {
		if config, ok := m["clientConfig"].(map[string]any); ok {
			config["caBundle"] = bundle
		}
	}
}
