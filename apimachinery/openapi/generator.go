package openapi

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// generator collects the schemas that one document needs.
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
	if r.Schema != nil {
		if fields, ok := r.Schema.Extensions[selectableExtension]; ok {
			g.types.schemas[list].extend(selectableExtension, fields)
		}
	}
	return g.kind(object, r.GVK), g.kind(list, listKind)
}

const selectableExtension = "x-kubernetes-selectable-fields"

// Selectable makes the schema name the fields that selectors can use, such as spec.color.
func (s *Schema) Selectable(fields ...string) {
	list := make([]any, len(fields))
	for i, name := range fields {
		list[i] = map[string]any{"fieldPath": name}
	}
	if len(list) > 0 {
		s.extend(selectableExtension, list)
	}
}

// customObject adds the properties that every object has.
func (g *generator) customObject(s *Schema) *Schema {
	if s == nil {
		s = &Schema{Type: "object", Extensions: map[string]any{"x-kubernetes-preserve-unknown-fields": true}}
	}
	out := *s
	out.root = true
	out.Extensions = maps.Clone(s.Extensions)
	out.Properties = maps.Clone(s.Properties)
	if out.Properties == nil {
		out.Properties = map[string]*Schema{}
	}
	meta := reflect.TypeFor[metav1.ObjectMeta]()
	out.Properties["metadata"] = &Schema{Ref: g.types.add(meta), Description: metadataText}
	out.Properties["apiVersion"] = &Schema{Type: "string", Description: apiVersionText}
	out.Properties["kind"] = &Schema{Type: "string", Description: kindText}
	return &out
}

// The descriptions of what every custom resource has. Upstream's conformance suite looks for the first words
// of the first and the last, as it does for those of metadata.creationTimestamp.
const (
	apiVersionText = "APIVersion defines the group and version of the schema that this object is written in."
	kindText       = "Kind is the name of the type of this object, in CamelCase. It cannot be changed."
	metadataText   = "Standard object's metadata."
)

// mention adds the schemas that an operation refers to besides the resource's own.
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

// finish adds the kinds to their schemas, including those of kinds that occur only inside others.
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
