package discovery

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// Resource is one resource in one version.
type Resource struct {
	// GVR and GVK name the resource and the kind of its objects.
	GVR schema.GroupVersionResource
	GVK schema.GroupVersionKind
	// Namespaced is true when its objects live in a namespace.
	Namespaced bool
	// Singular is its singular name.
	Singular string
	// ShortNames and Categories are further names kubectl accepts.
	ShortNames, Categories []string
	// Verbs it serves.
	Verbs []string
	// Subresources it has, by name.
	Subresources []Subresource
}

// Subresource is a path below the objects of a resource.
type Subresource struct {
	// Name is the last path element.
	Name string
	// GVK of its body.
	GVK schema.GroupVersionKind
	// Verbs it serves.
	Verbs []string
}

// HasVerb reports whether the resource serves verb.
func (r *Resource) HasVerb(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Subresource returns a subresource by name, or nil.
func (r *Resource) Subresource(name string) *Subresource {
	for i := range r.Subresources {
		if r.Subresources[i].Name == name {
			return &r.Subresources[i]
		}
	}
	return nil
}

// Client returns the resource for client.ForResource and informers.ForResource.
func (r *Resource) Client() client.Resource {
	return client.Resource{GVR: r.GVR, GVK: r.GVK, Namespaced: r.Namespaced}
}

// Catalog lists what a server serves, at one moment. It is immutable.
type Catalog struct {
	// Versions of each group in the server's order of preference, groups in the server's order.
	Versions []schema.GroupVersion
	// Stale are group-versions whose server did not reply; their resources are missing or outdated.
	Stale []schema.GroupVersion
	// Resources of all versions, in the order of Versions.
	Resources []Resource
	// etag identifies this version of the catalog, if the server supports that.
	etags [2]string
}

// ByResource returns a resource by its full name, or nil.
func (c *Catalog) ByResource(gvr schema.GroupVersionResource) *Resource {
	for i := range c.Resources {
		if c.Resources[i].GVR == gvr {
			return &c.Resources[i]
		}
	}
	return nil
}

// ByKind returns the resource of a kind: in the given versions, the first that has it, or without versions
// in the group's preferred one. It is nil if there is none.
func (c *Catalog) ByKind(gk schema.GroupKind, versions ...string) *Resource {
	var found *Resource
	for i := range c.Resources {
		r := &c.Resources[i]
		if r.GVK.GroupKind() != gk {
			continue
		}
		if len(versions) == 0 {
			return r
		}
		at := slices.Index(versions, r.GVR.Version)
		if at >= 0 && (found == nil || at < slices.Index(versions, found.GVR.Version)) {
			found = r
		}
	}
	return found
}

// Preferred returns each resource in the preferred version of its group that has it.
func (c *Catalog) Preferred() []Resource {
	seen := map[schema.GroupResource]bool{}
	var out []Resource
	for _, r := range c.Resources {
		if gr := r.GVR.GroupResource(); !seen[gr] {
			seen[gr] = true
			out = append(out, r)
		}
	}
	return out
}

// Find returns the resources that a name typed by a user may mean, best first: "pods", "po", "pod", "Pod",
// "deployments.apps", "deployments.v1.apps". A group may be abbreviated ("deployments.app"). Each resource is
// returned in its preferred version.
func (c *Catalog) Find(arg string) []Resource {
	name, rest, _ := strings.Cut(arg, ".")
	lower := strings.ToLower(name)
	type match struct {
		rank int
		r    Resource
	}
	var found []match
	seen := map[schema.GroupResource]bool{}
	for _, r := range c.Resources {
		rank := 0
		switch {
		case r.GVR.Resource == lower:
			rank = 1
		case r.Singular == lower:
			rank = 2
		case r.GVK.Kind == name:
			rank = 3
		case slices.Contains(r.ShortNames, lower):
			rank = 4
		case strings.EqualFold(r.GVK.Kind, name):
			rank = 5
		default:
			continue
		}
		if rest != "" {
			version, group, _ := strings.Cut(rest, ".")
			exact := rest == r.GVR.Group || version == r.GVR.Version && group == r.GVR.Group
			if !exact && !(strings.HasPrefix(r.GVR.Group, rest) && rest != "") {
				continue
			}
			if !exact {
				rank += 10
			}
		}
		gr := r.GVR.GroupResource()
		if seen[gr] {
			continue
		}
		seen[gr] = true
		found = append(found, match{rank, r})
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(a.rank, b.rank) })
	out := make([]Resource, len(found))
	for i, m := range found {
		out[i] = m.r
	}
	return out
}

// Category returns the resources of a category such as "all", in their preferred versions.
func (c *Catalog) Category(name string) []Resource {
	return slices.DeleteFunc(c.Preferred(), func(r Resource) bool { return !slices.Contains(r.Categories, name) })
}
