// Package discovery queries what a server serves, and maps kinds, resources and the names that users type to
// each other.
//
//	d := discovery.New(conn, discovery.Options{})
//	r, err := d.ForKind(ctx, schema.GroupKind{Group: "example.com", Kind: "Website"})
//	sites := client.ForResource[*metav1.Unstructured](conn, r.Client())
//
// Built-in and registered types do not need it: client.For takes their resources from the scheme.
//
// A cold catalog costs two requests on servers with aggregated discovery, and one per group-version on older
// ones. Within Options.TTL it costs none; after that two, to which the server replies with 304 and no body if
// nothing has changed. If a kind or resource is not in the catalog it is read again, at most once per
// second, so a new CustomResourceDefinition is found without waiting.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// Options configure a Client. The zero value is usable.
type Options struct {
	// TTL is how long a catalog is used without a request; 0 means 10 minutes.
	TTL time.Duration
	// CacheDir, if set, stores catalogs across runs of the program, one file per CacheKey. A file that cannot
	// be read or written is ignored.
	CacheDir, CacheKey string
}

// Client discovers what one server serves. Its methods may be called from many goroutines; only one of them
// queries the server at a time.
type Client struct {
	conn client.Conn
	opts Options

	mu      sync.Mutex
	catalog *Catalog
	read    time.Time
	// fetching is closed when the request in progress has ended.
	fetching chan struct{}
}

// New returns a client; it queries the server on first use.
func New(conn client.Conn, opts Options) *Client {
	if opts.TTL <= 0 {
		opts.TTL = 10 * time.Minute
	}
	return &Client{conn: conn, opts: opts}
}

// minRefresh is the minimum time between two reads caused by a kind or resource that was not found.
const minRefresh = time.Second

// NoMatchError reports that a server does not serve the requested kind or resource.
type NoMatchError struct {
	// What was requested: a kind, a resource or a name.
	What string
	// Stale are group-versions whose server did not reply, and which may contain it.
	Stale []schema.GroupVersion
}

// Error names what was requested.
func (e *NoMatchError) Error() string {
	s := "discovery: the server serves no " + e.What
	if len(e.Stale) > 0 {
		s += fmt.Sprintf(" (though %v did not answer)", e.Stale)
	}
	return s
}

// IsNoMatch reports whether err is or wraps a *NoMatchError.
func IsNoMatch(err error) bool {
	_, ok := errors.AsType[*NoMatchError](err)
	return ok
}

// Catalog returns what the server serves, from memory if that is younger than Options.TTL.
func (c *Client) Catalog(ctx context.Context) (*Catalog, error) { return c.get(ctx, c.opts.TTL) }

// Refresh queries the server.
func (c *Client) Refresh(ctx context.Context) (*Catalog, error) { return c.get(ctx, 0) }

// ForKind returns the resource of a kind; without versions in the group's preferred one.
func (c *Client) ForKind(ctx context.Context, gk schema.GroupKind, versions ...string) (*Resource, error) {
	return findResource(ctx, c, "kind "+gk.String(), func(cat *Catalog) *Resource { return cat.ByKind(gk, versions...) })
}

// ForResource returns a resource by its full name.
func (c *Client) ForResource(ctx context.Context, gvr schema.GroupVersionResource) (*Resource, error) {
	return findResource(ctx, c, "resource "+gvr.String(), func(cat *Catalog) *Resource { return cat.ByResource(gvr) })
}

// Find returns the resource that best matches a name; see Catalog.Find.
func (c *Client) Find(ctx context.Context, arg string) (*Resource, error) {
	return findResource(ctx, c, "resource "+arg, func(cat *Catalog) *Resource {
		if rs := cat.Find(arg); len(rs) > 0 {
			return &rs[0]
		}
		return nil
	})
}

func findResource(ctx context.Context, c *Client, what string, in func(*Catalog) *Resource) (*Resource, error) {
	cat, err := c.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	if r := in(cat); r != nil {
		return r, nil
	}
	if cat, err = c.get(ctx, minRefresh); err != nil {
		return nil, err
	}
	if r := in(cat); r != nil {
		return r, nil
	}
	return nil, &NoMatchError{What: what, Stale: cat.Stale}
}

// get returns a catalog that is at most age old.
func (c *Client) get(ctx context.Context, age time.Duration) (*Catalog, error) {
	for first := true; ; first = false {
		c.mu.Lock()
		if c.catalog != nil && (age > 0 || !first) && time.Since(c.read) < max(age, time.Nanosecond) {
			cat := c.catalog
			c.mu.Unlock()
			return cat, nil
		}
		if wait := c.fetching; wait != nil {
			c.mu.Unlock()
			select {
			case <-wait:
				age = max(age, minRefresh)
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		done := make(chan struct{})
		c.fetching = done
		old := c.catalog
		c.mu.Unlock()
		if old == nil {
			old = c.load()
		}
		cat, err := c.fetch(ctx, old)
		c.mu.Lock()
		if err == nil {
			c.catalog, c.read = cat, time.Now()
		}
		c.fetching = nil
		c.mu.Unlock()
		close(done)
		if err == nil && cat != old {
			c.save(cat)
		}
		return cat, err
	}
}
