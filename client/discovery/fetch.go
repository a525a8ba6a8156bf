package discovery

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// acceptAggregated accepts the aggregated form, newest first, and the legacy one.
const acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// fetch reads the catalog from the server; it returns old if that is still current.
func (c *Client) fetch(ctx context.Context, old *Catalog) (*Catalog, error) {
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
			return c.fetch(ctx, nil)
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
		return c.fetch(ctx, nil)
	}
	if legacy[0] != nil || legacy[1] != nil {
		if err := c.fetchLegacy(ctx, cat, legacy); err != nil {
			return nil, err
		}
		cat.etags = [2]string{}
	}
	for i := range groups {
		cat.add(&groups[i])
	}
	return cat, nil
}

// add adds a group of the aggregated form.
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
	// An empty version means the resource's own group-version.
	if k.Version == "" {
		return gv.WithKind(k.Kind)
	}
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// fetchLegacy reads the unaggregated documents, one per group-version.
func (c *Client) fetchLegacy(ctx context.Context, cat *Catalog, roots [2][]byte) error {
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
			// A failing server of one group must not hide the others.
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
