package openapi

import (
	"bytes"
	"cmp"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Options adjust the documents of a server.
type Options struct {
	// Texts describes types and fields; nil leaves descriptions out.
	Texts Texts
	// Version of the server, such as v1.36.3; empty means "unversioned".
	Version string
}

// Document is one encoded document.
type Document struct {
	// Body is the document's bytes. Do not modify.
	Body []byte
	// Hash is the upper-case hex SHA-512 of Body: the ETag, and the hash parameter in the v3 index.
	Hash string
}

// Documents are the OpenAPI documents of a server, each made when it is first asked for. Resources may
// be added and removed at run time. Safe for concurrent use.
type Documents struct {
	version string
	texts   Texts

	mu       sync.Mutex
	builtin  map[schema.GroupVersion][]*Resource
	custom   map[schema.GroupVersion]map[string]*Resource // by resource name
	v3       map[string]Document
	v2JSON   *Document
	v2Proto  *Document
	v3Listed *Document
}

// New returns the documents of everything registered in s, with custom resources to be added by [Documents.Set].
func New(s *scheme.Scheme, o Options) *Documents {
	d := &Documents{
		version: cmp.Or(o.Version, "unversioned"), texts: o.Texts,
		builtin: map[schema.GroupVersion][]*Resource{}, custom: map[schema.GroupVersion]map[string]*Resource{}, v3: map[string]Document{},
	}
	for _, info := range s.All() {
		gv := info.GVR.GroupVersion()
		d.builtin[gv] = append(d.builtin[gv], resourceOf(info))
	}
	return d
}

// Set adds a resource, or replaces the one of the same name.
func (d *Documents) Set(r Resource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gv := r.GVR.GroupVersion()
	if d.custom[gv] == nil {
		d.custom[gv] = map[string]*Resource{}
	}
	d.custom[gv][r.GVR.Resource] = &r
	d.forget(gv)
}

// Remove takes a resource added by Set out again.
func (d *Documents) Remove(gvr schema.GroupVersionResource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gv := gvr.GroupVersion()
	delete(d.custom[gv], gvr.Resource)
	if len(d.custom[gv]) == 0 {
		delete(d.custom, gv)
	}
	d.forget(gv)
}

func (d *Documents) forget(gv schema.GroupVersion) {
	delete(d.v3, root(gv))
	delete(d.v3, root(schema.GroupVersion{Group: gv.Group}))
	d.v2JSON, d.v2Proto, d.v3Listed = nil, nil, nil
}

// V3 returns a v3 document by its path below /openapi/v3, such as api/v1 or apis/apps/v1, and whether there is one.
func (d *Documents) V3(path string) (Document, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lockedV3(path)
}

func (d *Documents) lockedV3(path string) (Document, bool) {
	if doc, ok := d.v3[path]; ok {
		return doc, true
	}
	part, ok := d.parts()[path]
	if !ok {
		return Document{}, false
	}
	g := d.generator()
	ops := part(g)
	doc := encode(g.treeV3(ops))
	d.v3[path] = doc
	return doc, true
}

// V3Index returns the list of v3 documents with their hashes, which /openapi/v3 answers.
func (d *Documents) V3Index() Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.v3Listed == nil {
		paths := map[string]any{}
		for path := range d.parts() {
			doc, _ := d.lockedV3(path)
			paths[path] = map[string]any{"serverRelativeURL": "/openapi/v3/" + path + "?hash=" + doc.Hash}
		}
		doc := encode(map[string]any{"paths": paths})
		d.v3Listed = &doc
	}
	return *d.v3Listed
}

// V2JSON returns the v2 document of the whole server as JSON.
func (d *Documents) V2JSON() Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.v2JSON == nil {
		doc := encode(d.treeV2())
		d.v2JSON = &doc
	}
	return *d.v2JSON
}

// V2Proto returns the v2 document of the whole server in the protobuf form of gnostic, which kubectl asks for.
func (d *Documents) V2Proto() Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.v2Proto == nil {
		doc := hashed(protoDocument(d.treeV2()))
		d.v2Proto = &doc
	}
	return *d.v2Proto
}

func (d *Documents) treeV2() map[string]any {
	g := d.generator()
	var ops []operation
	parts := d.parts()
	for _, path := range slices.Sorted(maps.Keys(parts)) {
		ops = append(ops, parts[path](g)...)
	}
	return g.treeV2(ops)
}

// parts are the documents of the server: for each path, what makes its operations.
func (d *Documents) parts() map[string]func(*generator) []operation {
	parts := map[string]func(*generator) []operation{
		"api":                              (*generator).coreVersions,
		"apis":                             (*generator).groups,
		"version":                          (*generator).version,
		".well-known/openid-configuration": func(*generator) []operation { return issuerOps[:1] },
		"openid/v1/jwks":                   func(*generator) []operation { return issuerOps[1:] },
	}
	for _, gv := range d.versions() {
		resources := d.resources(gv)
		parts[root(gv)] = func(g *generator) []operation { return g.groupVersion(gv, resources) }
		if gv.Group != "" {
			parts["apis/"+gv.Group] = func(g *generator) []operation { return g.group(gv.Group) }
		}
	}
	return parts
}

func (d *Documents) versions() []schema.GroupVersion {
	all := maps.Clone(d.builtin)
	for gv := range d.custom {
		all[gv] = nil
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b schema.GroupVersion) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version))
	})
}

func (d *Documents) resources(gv schema.GroupVersion) []*Resource {
	all := slices.Clone(d.builtin[gv])
	for _, name := range slices.Sorted(maps.Keys(d.custom[gv])) {
		all = append(all, d.custom[gv][name])
	}
	return all
}

func (d *Documents) generator() *generator {
	known := map[string]schema.GroupVersionKind{}
	for _, resources := range d.builtin {
		for _, r := range resources {
			known[typefacts.Name(r.Type)] = r.GVK
		}
	}
	return &generator{
		serverVersion: d.version, known: known,
		types: typeSchemas{schemas: map[string]*Schema{}, texts: d.texts},
		kinds: map[string][]schema.GroupVersionKind{},
	}
}

func encode(tree map[string]any) Document {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(tree); err != nil {
		panic("openapi: " + err.Error()) // the tree holds JSON values only
	}
	return hashed(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func hashed(body []byte) Document {
	sum := sha512.Sum512(body)
	return Document{Body: body, Hash: strings.ToUpper(hex.EncodeToString(sum[:]))}
}

// generator collects the schemas one document needs.
type generator struct {
	serverVersion string
	types         typeSchemas
	known         map[string]schema.GroupVersionKind   // registered kinds by schema name
	kinds         map[string][]schema.GroupVersionKind // kinds of this document by schema name
}

func (g *generator) kind(name string, gvks ...schema.GroupVersionKind) string {
	for _, gvk := range gvks {
		if !slices.Contains(g.kinds[name], gvk) {
			g.kinds[name] = append(g.kinds[name], gvk)
		}
	}
	return name
}

func metaKind[T any](g *generator, also ...schema.GroupVersion) string {
	t := reflect.TypeFor[T]()
	name := g.types.add(t)
	for _, gv := range append([]schema.GroupVersion{{Version: "v1"}}, also...) {
		g.kind(name, gv.WithKind(t.Name()))
	}
	return name
}

func (g *generator) groupVersion(gv schema.GroupVersion, resources []*Resource) []operation {
	ops := []operation{{
		method: "GET", path: "/" + root(gv) + "/", id: "get" + groupTitle(gv.Group) + title(gv.Version) + "APIResources", tag: tag(gv),
		description: "get the available resources", result: metaKind[metav1.APIResourceList](g), codes: []string{"200"}, produces: objectTypes,
	}}
	for _, r := range resources {
		object, list := g.names(r)
		made := operationsOf(r, object, list, func(t reflect.Type) string { return g.types.add(t) })
		for i := range made {
			g.mention(gv, &made[i])
		}
		ops = append(ops, made...)
	}
	return ops
}

// names makes the schemas of a resource's objects and lists.
func (g *generator) names(r *Resource) (object, list string) {
	listKind := r.GVK.GroupVersion().WithKind(r.GVK.Kind + "List")
	if r.Type != nil {
		object, list = g.types.add(r.Type), typefacts.Name(r.ListType)
		if r.has("list") {
			g.kind(g.types.add(r.ListType), listKind)
		}
		return g.kind(object, r.GVK), list
	}
	object = FriendlyName(r.GVK.Group, r.GVK.Version, r.GVK.Kind)
	list = object + "List"
	g.types.schemas[object] = g.customObject(r.Schema)
	g.types.schemas[list] = &Schema{
		Type: "object", Description: r.GVK.Kind + "List is a list of " + r.GVK.Kind, Required: []string{"items"},
		Properties: map[string]*Schema{
			"apiVersion": {Type: "string"}, "kind": {Type: "string"},
			"items":    {Type: "array", Items: &Schema{Ref: object}, Description: "Objects of the list."},
			"metadata": {Ref: g.types.add(reflect.TypeFor[metav1.ListMeta]()), Description: "Standard list metadata."},
		},
	}
	return g.kind(object, r.GVK), g.kind(list, listKind)
}

// customObject fills in what every object has.
func (g *generator) customObject(s *Schema) *Schema {
	if s == nil {
		s = &Schema{Type: "object", Extensions: map[string]any{"x-kubernetes-preserve-unknown-fields": true}}
	}
	out := *s
	out.Extensions = maps.Clone(s.Extensions)
	out.Properties = maps.Clone(s.Properties)
	if out.Properties == nil {
		out.Properties = map[string]*Schema{}
	}
	meta := reflect.TypeFor[metav1.ObjectMeta]()
	out.Properties["metadata"] = &Schema{Ref: g.types.add(meta), Description: "Standard object metadata."}
	out.Properties["apiVersion"] = &Schema{Type: "string", Description: "Group and version of the object's schema."}
	out.Properties["kind"] = &Schema{Type: "string", Description: "Kind of the object."}
	return &out
}

// mention makes the schemas an operation refers to beside the resource's own.
func (g *generator) mention(gv schema.GroupVersion, o *operation) {
	for _, name := range []string{o.body, o.result} {
		switch name {
		case "", "string":
		case patchName:
			g.types.schemas[patchName] = &Schema{Type: "object", Description: "Patch is a change of an object in one of the patch formats."}
		case deleteName:
			metaKind[metav1.DeleteOptions](g, gv)
		case eventName:
			metaKind[metav1.WatchEvent](g, gv)
		case statusName:
			metaKind[metav1.Status](g)
		default:
			if o.gvk.Kind != "" && strings.HasSuffix(name, "."+o.gvk.Kind) {
				g.kind(name, o.gvk)
			}
		}
	}
}

func (g *generator) coreVersions() []operation {
	return []operation{{
		method: "GET", path: "/api/", id: "getCoreAPIVersions", tag: "core", description: "get available API versions",
		result: metaKind[metav1.APIVersions](g), codes: []string{"200"}, produces: objectTypes,
	}}
}

func (g *generator) groups() []operation {
	metaKind[metav1.APIGroup](g)
	return []operation{{
		method: "GET", path: "/apis/", id: "getAPIVersions", tag: "apis", description: "get available API versions",
		result: metaKind[metav1.APIGroupList](g), codes: []string{"200"}, produces: objectTypes,
	}}
}

func (g *generator) group(group string) []operation {
	return []operation{{
		method: "GET", path: "/apis/" + group + "/", id: "get" + groupTitle(group) + "APIGroup", tag: tag(schema.GroupVersion{Group: group}),
		description: "get information of a group", result: metaKind[metav1.APIGroup](g), codes: []string{"200"}, produces: objectTypes,
	}}
}

const versionName = "io.k8s.apimachinery.pkg.version.Info"

func (g *generator) version() []operation {
	s := &Schema{Type: "object", Description: "Info is the version of the server.", Properties: map[string]*Schema{
		"emulationMajor": {Type: "string"}, "emulationMinor": {Type: "string"},
		"minCompatibilityMajor": {Type: "string"}, "minCompatibilityMinor": {Type: "string"},
	}, Required: []string{"major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"}}
	for _, name := range s.Required {
		s.Properties[name] = &Schema{Type: "string", Default: ""}
	}
	g.types.schemas[versionName] = s
	return []operation{{
		method: "GET", path: "/version/", id: "getCodeVersion", tag: "version", description: "get the version of this server",
		result: versionName, codes: []string{"200"}, produces: jsonOnly,
	}}
}

var issuerOps = []operation{
	{
		method: "GET", path: "/.well-known/openid-configuration/", id: "getServiceAccountIssuerOpenIDConfiguration", tag: "WellKnown",
		description: "get the service account issuer's OpenID configuration", result: "string", codes: []string{"200"}, produces: jsonOnly,
	},
	{
		method: "GET", path: "/openid/v1/jwks/", id: "getServiceAccountIssuerOpenIDKeyset", tag: "openid",
		description: "get the service account issuer's keys", result: "string", codes: []string{"200"}, produces: []string{"application/jwk-set+json"},
	},
}

func gvkTree(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}

// finish adds the kinds to their schemas, also to kinds that occur inside others only.
func (g *generator) finish() {
	for name, gvk := range g.known {
		if g.types.schemas[name] != nil {
			g.kind(name, gvk)
		}
	}
	for name, gvks := range g.kinds {
		list := make([]any, len(gvks))
		for i, gvk := range gvks {
			list[i] = gvkTree(gvk)
		}
		if s := g.types.schemas[name]; s != nil {
			s.extend("x-kubernetes-group-version-kind", list)
		}
	}
}

func (g *generator) info() map[string]any {
	return map[string]any{"title": "Kubernetes", "version": g.serverVersion}
}

func (g *generator) treeV3(ops []operation) map[string]any {
	g.finish()
	schemas := map[string]any{}
	for name, s := range g.types.schemas {
		schemas[name] = s.treeV3()
	}
	return map[string]any{
		"openapi": "3.0.0", "info": g.info(), "paths": pathsTree(ops, (*operation).treeV3, pathParameterV3),
		"components": map[string]any{"schemas": schemas, "securitySchemes": map[string]any{"BearerToken": bearer()}},
	}
}

func (g *generator) treeV2(ops []operation) map[string]any {
	g.finish()
	definitions := map[string]any{}
	for name, s := range g.types.schemas {
		definitions[name] = s.treeV2()
	}
	return map[string]any{
		"swagger": "2.0", "info": g.info(), "paths": pathsTree(ops, (*operation).treeV2, pathParameterV2), "definitions": definitions,
		"securityDefinitions": map[string]any{"BearerToken": bearer()},
		"security":            []any{map[string]any{"BearerToken": []any{}}},
	}
}

func bearer() map[string]any {
	return map[string]any{"type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer Token authentication"}
}
