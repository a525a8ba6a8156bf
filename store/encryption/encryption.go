// Package encryption encrypts objects before they are stored, in the form in which kube-apiserver stores
// them.
//
// A [Configuration] says which resources are encrypted, by which providers and keys. [Providers] are such a
// configuration in force, and can be replaced while a server runs. [Store] applies them to a store.Store:
// reads and watches return what was written, so caches and everything above work as without it, and a value
// that is not stored as it would be now is marked as stale, so that writing the object again, as a storage
// migration does, brings it up to date.
package encryption

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// DefaultPrefix is the prefix of keys in etcd.
const DefaultPrefix = "/registry"

// Options configure Providers.
type Options struct {
	// Prefix is what precedes keys in etcd. It is authenticated together with the key, so that a value cannot
	// be moved to another one. Empty means DefaultPrefix.
	Prefix string
	// Metrics are called when key management services are used.
	Metrics Metrics
}

// Metrics receive what is done with values and with key management services, by the name of the provider.
// Each may be nil, and must be fast and safe for concurrent use.
type Metrics struct {
	// Transformed is called after each attempt to encrypt or decrypt a value.
	Transformed func(t Transformation)
	// SeedMissing is called when a value is read whose seed is not in memory, so that the key management
	// service must decrypt it.
	SeedMissing func()
	// SeedMade is called when a new seed has been generated.
	SeedMade func(took time.Duration)
	// Called is called after each call of a method, such as Encrypt.
	Called func(provider, method string, err error, took time.Duration)
	// KeyUsed is called when a value has been written to the store, or read from it, by the key with that ID.
	KeyUsed func(provider, keyID string, written bool)
	// KeyReported is called when the service has reported its key. The ID is empty or longer than 1024 bytes
	// if it cannot be used.
	KeyReported func(provider, keyID string)
	// Seeds is called with the number of decrypted seeds that are kept in memory.
	Seeds func(provider string, n int)
}

// Transformation is an attempt to encrypt or decrypt a value.
type Transformation struct {
	Resource schema.GroupResource
	// Prefix of the values of the provider, such as k8s:enc:aesgcm:v1:, or of its key, such as key1:, which
	// is within that and reported too. It is identity for a value that is read unencrypted, empty for one
	// that is written so, and unknown for one whose prefix belongs to no provider.
	Prefix  string
	Written bool
	Elapsed time.Duration
	Err     error
}

// Providers are a configuration in force. They are safe for concurrent use.
type Providers struct {
	prefix  string
	metrics Metrics
	current atomic.Pointer[state]
	mu      sync.Mutex // held by Set, and guards what follows
	plugins map[pluginID]*plugin
}

// pluginID identifies a plugin, whose state outlives a change of the configuration.
type pluginID struct{ name, endpoint, timeout string }

// state is one configuration. changed is closed when it is replaced.
type state struct {
	byResource map[schema.GroupResource]providers
	changed    chan struct{}
}

// New returns the providers of a configuration that ParseConfiguration has returned.
func New(c *Configuration, opts Options) (*Providers, error) {
	p := &Providers{prefix: cmp.Or(opts.Prefix, DefaultPrefix), metrics: opts.Metrics, plugins: map[pluginID]*plugin{}}
	return p, p.Set(c)
}

// plugin returns the plugin of a configuration. p.mu is held.
func (p *Providers) plugin(k *KMSConfiguration) (*plugin, error) {
	id := pluginID{name: k.Name, endpoint: k.Endpoint}
	if k.Timeout != nil {
		id.timeout = k.Timeout.Duration.String()
	}
	if have := p.plugins[id]; have != nil {
		return have, nil
	}
	client, err := newKMSClient(k)
	if err != nil {
		return nil, err
	}
	client.metrics = p.metrics
	made := &plugin{name: k.Name, prefix: mark + "kms:v2:" + k.Name + ":", client: client, read: map[[sha256.Size]byte][]byte{}}
	p.plugins[id] = made
	return made, nil
}

// Health returns why a key management service of the configuration cannot be used; nil if all can, or there
// is none. It may be called often: results of the last seconds are used again.
func (p *Providers) Health(ctx context.Context) error {
	var errs []error
	seen := map[*plugin]bool{}
	for _, all := range p.current.Load().byResource {
		for _, one := range all {
			if one.kms == nil || seen[one.kms] {
				continue
			}
			seen[one.kms] = true
			if err := one.kms.health(ctx); err != nil {
				errs = append(errs, fmt.Errorf("the key management service %s cannot be used: %w", one.kms.name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// UsesPlugins reports whether the configuration names a key management service.
func (p *Providers) UsesPlugins() bool {
	for _, all := range p.current.Load().byResource {
		if slices.ContainsFunc(all, func(one provider) bool { return one.kms != nil }) {
			return true
		}
	}
	return false
}

// Close closes the connections to the plugins of all configurations there were. Values that they encrypted
// can no longer be read or written then.
func (p *Providers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.plugins {
		_ = one.client.conn.Close() // nothing is buffered
	}
}

// Set replaces the configuration. After an error the previous one stays in force. Values written while it
// runs may be encrypted by either.
func (p *Providers) Set(c *Configuration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := &state{byResource: map[schema.GroupResource]providers{}, changed: make(chan struct{})}
	for _, r := range c.Resources {
		ps, err := newProviders(r.Providers, p.plugin)
		if err != nil {
			return err
		}
		for _, text := range r.Resources {
			gr := parseResource(text)
			next.byResource[gr] = append(next.byResource[gr], ps...)
		}
	}
	if previous := p.current.Swap(next); previous != nil {
		close(previous.changed)
	}
	return nil
}

// of returns the providers of a resource.
func (s *state) of(gr schema.GroupResource) providers {
	for _, entry := range []schema.GroupResource{gr, {Group: gr.Group, Resource: "*"}, anything} {
		if ps, ok := s.byResource[entry]; ok {
			return ps
		}
	}
	return identity
}
