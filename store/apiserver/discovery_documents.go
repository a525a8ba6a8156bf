package apiserver

import (
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

type gvr = schema.GroupVersionResource

// discovery lists what the server serves: groups in their order, versions by preference, resources by
// name. The aggregated documents are encoded on first use.
type discovery struct {
	groups []groupEntry
	docs   [2]aggregated // of /apis and of /api
}

type groupEntry struct {
	name     string
	priority int32
	versions []versionEntry
}

type versionEntry struct {
	version  string
	priority int32
	routes   []*route
	foreign  *AggregatedVersion // of another server, in the place of routes
}

// newDiscovery returns the discovery of the routes and of what other servers serve, which may be nil.
func newDiscovery(rt *routes, a *Aggregated) *discovery {
	byGroup := map[string]map[string][]*route{}
	for r := range rt.all() {
		key := r.info.GVR
		if byGroup[key.Group] == nil {
			byGroup[key.Group] = map[string][]*route{}
		}
		byGroup[key.Group][key.Version] = append(byGroup[key.Group][key.Version], r)
	}
	d := &discovery{}
	for name, versions := range byGroup {
		g := groupEntry{name: name}
		for v, routes := range versions {
			slices.SortFunc(routes, func(a, b *route) int { return cmp.Compare(a.info.Resource, b.info.Resource) })
			entry := versionEntry{version: v, routes: routes}
			g.priority, entry.priority, _ = Priorities(schema.GroupVersion{Group: name, Version: v})
			g.versions = append(g.versions, entry)
		}
		d.groups = append(d.groups, g)
	}
	if a != nil {
		d.add(a)
	}
	for _, g := range d.groups {
		slices.SortFunc(g.versions, func(a, b versionEntry) int {
			return cmp.Or(cmp.Compare(b.priority, a.priority), -schema.CompareVersions(a.version, b.version))
		})
	}
	slices.SortFunc(d.groups, func(a, b groupEntry) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.name, b.name))
	})
	return d
}

// add adds what other servers serve, in the place of what this one serves of it.
func (d *discovery) add(a *Aggregated) {
	for i := range a.Versions {
		v := &a.Versions[i]
		entry := versionEntry{version: v.GroupVersion.Version, priority: v.VersionPriority, foreign: v}
		g := d.group(v.GroupVersion.Group)
		if g == nil {
			d.groups = append(d.groups, groupEntry{name: v.GroupVersion.Group})
			g = &d.groups[len(d.groups)-1]
		}
		g.priority = max(g.priority, v.GroupPriority)
		if at := slices.IndexFunc(g.versions, func(e versionEntry) bool { return e.version == entry.version }); at >= 0 {
			g.versions[at] = entry
		} else {
			g.versions = append(g.versions, entry)
		}
	}
}

func (d *discovery) group(name string) *groupEntry {
	for i := range d.groups {
		if d.groups[i].name == name {
			return &d.groups[i]
		}
	}
	return nil
}

// apiGroup is the group in the older form.
func (g *groupEntry) apiGroup() metav1.APIGroup {
	out := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		gv := schema.GroupVersion{Group: g.name, Version: v.version}
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v.version})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

// groupList is the body of /apis in the older form.
func (d *discovery) groupList() *metav1.APIGroupList {
	out := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for i := range d.groups {
		if d.groups[i].name != "" {
			out.Groups = append(out.Groups, d.groups[i].apiGroup())
		}
	}
	return out
}

// resourceList is the body of /apis/GROUP/VERSION in the older form; nil if there is no such version.
func (d *discovery) resourceList(gv schema.GroupVersion) *metav1.APIResourceList {
	g := d.group(gv.Group)
	if g == nil {
		return nil
	}
	for _, v := range g.versions {
		if v.version != gv.Version {
			continue
		}
		out := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(),
			APIResources: []metav1.APIResource{}}
		if gv.Group == "" {
			out.APIVersion = "" // as upstream for the core group
		}
		for _, r := range v.routes {
			out.APIResources = append(out.APIResources, r.apiResources()...)
		}
		return out
	}
	return nil
}

func (rt *route) apiResources() []metav1.APIResource {
	i := rt.info
	out := []metav1.APIResource{{
		Name: i.Resource, SingularName: i.Singular, Namespaced: i.Namespaced, Kind: i.GVK.Kind,
		Verbs: rt.verbs(), ShortNames: i.ShortNames, Categories: i.Categories, StorageVersionHash: rt.storageHash(),
	}}
	for _, sub := range sortedSubs(i) {
		out = append(out, metav1.APIResource{Name: i.Resource + "/" + sub.Name, Namespaced: i.Namespaced,
			Group: sub.Group, Version: sub.Version, Kind: sub.Kind, Verbs: sub.Verbs})
	}
	return out
}

// verbs are those that discovery lists. A resource that is being removed still accepts changes, which
// finalizers need, but is not advertised for new use.
func (rt *route) verbs() []string {
	if rt.res == nil || !rt.res.Definition().Terminating {
		return rt.info.Verbs
	}
	return []string{"delete", "deletecollection", "get", "list", "watch"}
}

func sortedSubs(i *scheme.Info) []scheme.Subresource {
	return slices.SortedFunc(slices.Values(i.Subresources), func(a, b scheme.Subresource) int { return cmp.Compare(a.Name, b.Name) })
}

// aggregatedList is the newer form of /api (core) or /apis.
func (d *discovery) aggregatedList(core bool) *apidiscoveryv2.APIGroupDiscoveryList {
	out := &apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items:    []apidiscoveryv2.APIGroupDiscovery{},
	}
	for _, g := range d.groups {
		if (g.name == "") != core {
			continue
		}
		item := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		for _, v := range g.versions {
			if v.foreign != nil {
				item.Versions = append(item.Versions, v.foreign.Discovery)
				continue
			}
			entry := apidiscoveryv2.APIVersionDiscovery{Version: v.version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
			for _, r := range v.routes {
				entry.Resources = append(entry.Resources, r.aggregated())
			}
			item.Versions = append(item.Versions, entry)
		}
		out.Items = append(out.Items, item)
	}
	return out
}

func (rt *route) aggregated() apidiscoveryv2.APIResourceDiscovery {
	i := rt.info
	scope := apidiscoveryv2.ScopeCluster
	if i.Namespaced {
		scope = apidiscoveryv2.ScopeNamespace
	}
	out := apidiscoveryv2.APIResourceDiscovery{
		Resource: i.Resource, ResponseKind: rt.responseKind("", "", i.GVK.Kind), Scope: scope, SingularResource: i.Singular,
		Verbs: rt.verbs(), ShortNames: i.ShortNames, Categories: i.Categories,
	}
	for _, sub := range sortedSubs(i) {
		out.Subresources = append(out.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: sub.Name, ResponseKind: rt.responseKind(sub.Group, sub.Version, sub.Kind), Verbs: sub.Verbs})
	}
	return out
}

// responseKind leaves group and version empty where they are the resource's own, as upstream does for
// built-in kinds; custom resources name theirs.
func (rt *route) responseKind(group, version, kind string) *metav1.GroupVersionKind {
	if version == "" && rt.res != nil && rt.res.Definition().Custom {
		group, version = rt.info.GVK.Group, rt.info.GVK.Version
	}
	return &metav1.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// hashedVersions are the stored versions that Kubernetes hashes where ours differ.
var hashedVersions = map[schema.GroupResource]string{
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}:               "v1beta1",
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicies"}:       "v1beta1",
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"}: "v1beta1",
}

// storageHash changes when the stored version of a resource does.
func (rt *route) storageHash() string {
	if rt.res == nil {
		return ""
	}
	d := rt.res.Definition()
	kind := d.Info.GVK
	if d.Stored != nil {
		kind = d.Stored.GVK
	}
	if v := hashedVersions[d.Info.GVR.GroupResource()]; v != "" && !d.Custom {
		kind.Version = v
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{kind.Group, kind.Version, kind.Kind}, "/")))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// aggregated is one root in the aggregated form, encoded once.
type aggregated struct {
	once sync.Once
	json []byte
	etag string
	err  error
}

func (a *aggregated) encoded(list func() *apidiscoveryv2.APIGroupDiscoveryList) (body []byte, etag string, err error) {
	a.once.Do(func() {
		var b []byte
		if b, a.err = codec.Marshal(list()); a.err != nil {
			return
		}
		sum := sha512.Sum512(b)
		a.json, a.etag = append(b, '\n'), `"`+strings.ToUpper(hex.EncodeToString(sum[:]))+`"`
	})
	return a.json, a.etag, a.err
}
