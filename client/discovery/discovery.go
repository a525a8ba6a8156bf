// Package discovery asks a server what it serves, and maps kinds, resources and the words users type to
// each other.
//
//	d := discovery.New(conn, discovery.Options{})
//	r, err := d.ForKind(ctx, schema.GroupKind{Group: "example.com", Kind: "Website"})
//	sites := client.ForResource[*metav1.Unstructured](conn, r.Client())
//
// Built-in and registered types need none of this: client.For knows their resources.
//
// A cold catalog costs two requests on servers with aggregated discovery, and one per group-version on
// older ones. Within Options.TTL it costs none; after that two, which the server answers with 304 and no body
// if nothing has changed. A kind or resource that is not in the catalog makes it be read again, at most once per second, so a
// new CustomResourceDefinition is found without waiting.
package discovery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// Options tune a Client. The zero value is good.
type Options struct {
	// TTL is how long a catalog is used without asking; 0 means 10 minutes.
	TTL time.Duration
	// CacheDir, if set, keeps catalogs across runs of the program, one file per CacheKey. A file that cannot be
	// read or written is ignored.
	CacheDir, CacheKey string
}

// Client discovers what one server serves. Its methods may be called from many goroutines; those that ask the
// server do so one at a time.
type Client struct {
	conn client.Conn
	o    Options

	mu      sync.Mutex
	catalog *Catalog
	read    time.Time
	// asking is closed when the request under way has ended.
	asking chan struct{}
}

// New returns a client; it asks the server on first use.
func New(conn client.Conn, o Options) *Client {
	if o.TTL <= 0 {
		o.TTL = 10 * time.Minute
	}
	return &Client{conn: conn, o: o}
}

// minRefresh is the least time between two readings caused by something that was not found.
const minRefresh = time.Second

// NoMatchError says that a server does not serve what was asked for.
type NoMatchError struct {
	// What was asked for: a kind, a resource or a word.
	What string
	// Stale are group-versions whose server did not answer, where it may be.
	Stale []schema.GroupVersion
}

// Error names what was asked for.
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

// Catalog returns what the server serves, from memory if that is fresh.
func (c *Client) Catalog(ctx context.Context) (*Catalog, error) { return c.get(ctx, c.o.TTL) }

// Refresh asks the server now.
func (c *Client) Refresh(ctx context.Context) (*Catalog, error) { return c.get(ctx, 0) }

// ForKind returns the resource of a kind; without versions in the group's preferred one.
func (c *Client) ForKind(ctx context.Context, gk schema.GroupKind, versions ...string) (*Resource, error) {
	return find(ctx, c, "kind "+gk.String(), func(cat *Catalog) *Resource { return cat.ByKind(gk, versions...) })
}

// ForResource returns a resource by its full name.
func (c *Client) ForResource(ctx context.Context, gvr schema.GroupVersionResource) (*Resource, error) {
	return find(ctx, c, "resource "+gvr.String(), func(cat *Catalog) *Resource { return cat.ByResource(gvr) })
}

// Find returns the resource a word given by a user means best; see Catalog.Find.
func (c *Client) Find(ctx context.Context, arg string) (*Resource, error) {
	return find(ctx, c, "resource "+arg, func(cat *Catalog) *Resource {
		if rs := cat.Find(arg); len(rs) > 0 {
			return &rs[0]
		}
		return nil
	})
}

func find(ctx context.Context, c *Client, what string, in func(*Catalog) *Resource) (*Resource, error) {
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
		if wait := c.asking; wait != nil {
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
		c.asking = done
		old := c.catalog
		c.mu.Unlock()
		if old == nil {
			old = c.load()
		}
		cat, err := c.ask(ctx, old)
		c.mu.Lock()
		if err == nil {
			c.catalog, c.read = cat, time.Now()
		}
		c.asking = nil
		c.mu.Unlock()
		close(done)
		if err == nil && cat != old {
			c.save(cat)
		}
		return cat, err
	}
}

// acceptAggregated asks for the aggregated form, newest first, then for the old one.
const acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// ask reads the catalog from the server; old is returned if it is still right.
func (c *Client) ask(ctx context.Context, old *Catalog) (*Catalog, error) {
	cat := &Catalog{}
	unchanged := 0
	var groups []apidiscoveryv2.APIGroupDiscovery
	var legacy [2][]byte
	for i, path := range []string{"/api", "/apis"} {
		r := &client.Request{Path: path, Accept: acceptAggregated}
		if old != nil && old.etags[i] != "" {
			r.Header = map[string]string{"If-None-Match": old.etags[i]}
		}
		resp, err := c.conn.Do(ctx, r)
		if apierrors.IsNotFound(err) {
			// A server may serve only one of the two.
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("discovery: %w", err)
		}
		if resp.Code == http.StatusNotModified {
			if unchanged++; unchanged == 2 {
				return old, nil
			}
			cat.etags[i] = old.etags[i]
			continue
		}
		if unchanged > 0 {
			// The first half has not changed and the second has: read both.
			return c.ask(ctx, nil)
		}
		cat.etags[i] = resp.Header["Etag"]
		if !strings.Contains(resp.ContentType, "as=APIGroupDiscoveryList") {
			legacy[i] = resp.Body
			continue
		}
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := codec.Unmarshal(resp.Body, &list); err != nil {
			return nil, fmt.Errorf("discovery: %s: %w", path, err)
		}
		groups = append(groups, list.Items...)
	}
	if unchanged > 0 {
		return c.ask(ctx, nil)
	}
	if legacy[0] != nil || legacy[1] != nil {
		if err := c.askLegacy(ctx, cat, legacy); err != nil {
			return nil, err
		}
		cat.etags = [2]string{}
	}
	for i := range groups {
		cat.add(&groups[i])
	}
	return cat, nil
}

// add takes over a group of the aggregated form.
func (c *Catalog) add(g *apidiscoveryv2.APIGroupDiscovery) {
	for _, v := range g.Versions {
		gv := schema.GroupVersion{Group: g.Name, Version: v.Version}
		c.Versions = append(c.Versions, gv)
		if v.Freshness == apidiscoveryv2.DiscoveryFreshnessStale {
			c.Stale = append(c.Stale, gv)
		}
		for _, d := range v.Resources {
			r := Resource{
				GVR: gv.WithResource(d.Resource), GVK: kindOf(d.ResponseKind, gv), Namespaced: d.Scope == apidiscoveryv2.ScopeNamespace,
				Singular: d.SingularResource, ShortNames: d.ShortNames, Categories: d.Categories, Verbs: d.Verbs,
			}
			for _, s := range d.Subresources {
				r.Subresources = append(r.Subresources, Subresource{Name: s.Subresource, GVK: kindOf(s.ResponseKind, gv), Verbs: s.Verbs})
			}
			c.Resources = append(c.Resources, r)
		}
	}
}

func kindOf(k *metav1.GroupVersionKind, gv schema.GroupVersion) schema.GroupVersionKind {
	if k == nil {
		return schema.GroupVersionKind{}
	}
	// An empty version stands for the resource's own group-version.
	if k.Version == "" {
		return gv.WithKind(k.Kind)
	}
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// askLegacy reads the unaggregated documents, one per group-version.
func (c *Client) askLegacy(ctx context.Context, cat *Catalog, roots [2][]byte) error {
	var versions metav1.APIVersions
	if roots[0] != nil {
		if err := codec.Unmarshal(roots[0], &versions); err != nil {
			return fmt.Errorf("discovery: /api: %w", err)
		}
	}
	var list metav1.APIGroupList
	if roots[1] != nil {
		if err := codec.Unmarshal(roots[1], &list); err != nil {
			return fmt.Errorf("discovery: /apis: %w", err)
		}
	}
	var gvs []schema.GroupVersion
	for _, v := range versions.Versions {
		gvs = append(gvs, schema.GroupVersion{Version: v})
	}
	for _, g := range list.Groups {
		gvs = append(gvs, schema.GroupVersion{Group: g.Name, Version: g.PreferredVersion.Version})
		for _, v := range g.Versions {
			if v.Version != g.PreferredVersion.Version {
				gvs = append(gvs, schema.GroupVersion{Group: g.Name, Version: v.Version})
			}
		}
	}
	for _, gv := range gvs {
		path := "/apis/" + gv.String()
		if gv.Group == "" {
			path = "/api/" + gv.Version
		}
		resp, err := c.conn.Do(ctx, &client.Request{Path: path})
		if err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("discovery: %w", err)
			}
			// One group's server being down must not hide the others.
			cat.Versions, cat.Stale = append(cat.Versions, gv), append(cat.Stale, gv)
			continue
		}
		var rl metav1.APIResourceList
		if err := codec.Unmarshal(resp.Body, &rl); err != nil {
			return fmt.Errorf("discovery: %s: %w", path, err)
		}
		cat.Versions = append(cat.Versions, gv)
		cat.addLegacy(gv, rl.APIResources)
	}
	return nil
}

func (c *Catalog) addLegacy(gv schema.GroupVersion, list []metav1.APIResource) {
	start := len(c.Resources)
	for _, d := range list {
		gvk := gv.WithKind(d.Kind)
		if d.Version != "" {
			gvk.Group, gvk.Version = d.Group, d.Version
		}
		name, sub, isSub := strings.Cut(d.Name, "/")
		if !isSub {
			c.Resources = append(c.Resources, Resource{
				GVR: gv.WithResource(d.Name), GVK: gvk, Namespaced: d.Namespaced, Singular: d.SingularName,
				ShortNames: d.ShortNames, Categories: d.Categories, Verbs: d.Verbs,
			})
			continue
		}
		for i := start; i < len(c.Resources); i++ {
			if c.Resources[i].GVR.Resource == name {
				c.Resources[i].Subresources = append(c.Resources[i].Subresources, Subresource{Name: sub, GVK: gvk, Verbs: d.Verbs})
			}
		}
	}
}

// kept is the form of a catalog on disk.
type kept struct {
	Catalog
	Etags [2]string
}

func (c *Client) file() string {
	sum := sha256.Sum256([]byte(c.o.CacheKey))
	return filepath.Join(c.o.CacheDir, hex.EncodeToString(sum[:8])+".json")
}

// load returns the catalog on disk if the server can be asked whether it is still right.
func (c *Client) load() *Catalog {
	if c.o.CacheDir == "" {
		return nil
	}
	b, err := os.ReadFile(c.file())
	if err != nil {
		return nil
	}
	var k kept
	if json.Unmarshal(b, &k) != nil || k.Etags[1] == "" {
		return nil
	}
	k.etags = k.Etags
	return &k.Catalog
}

func (c *Client) save(cat *Catalog) {
	if c.o.CacheDir == "" || cat.etags[1] == "" {
		return
	}
	b, err := json.Marshal(kept{*cat, cat.etags})
	if err != nil || os.MkdirAll(c.o.CacheDir, 0o750) != nil {
		return
	}
	// A reader must never meet half a file.
	f, err := os.CreateTemp(c.o.CacheDir, "catalog-*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.file())
	}
	if err != nil {
		os.Remove(f.Name())
	}
}
