package openapi

import (
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// operation is one method of one path.
type operation struct {
	method, path string
	id, action   string
	tag          string
	description  string
	gvk          schema.GroupVersionKind // empty for paths outside resources
	query        []string                // parameter names
	body         string                  // schema name, empty for none
	bodyRequired bool
	bodyTypes    []string
	result       string // schema name, or "string"
	codes        []string
	produces     []string
}

var (
	anyType      = []string{"*/*"}
	jsonOnly     = []string{"application/json"}
	objectTypes  = []string{"application/json", "application/vnd.kubernetes.protobuf", "application/yaml"}
	listTypes    = []string{"application/json", "application/json;stream=watch", "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch", "application/yaml"}
	logTypes     = []string{"application/json", "application/vnd.kubernetes.protobuf", "application/yaml", "text/plain"}
	patchTypes   = []string{"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"}
	customPatch  = []string{"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"}
	customTypes  = []string{"application/json", "application/yaml"}
	readQuery    = []string{"pretty"}
	createQuery  = []string{"dryRun", "fieldManager", "fieldValidation", "pretty"}
	patchQuery   = []string{"dryRun", "fieldManager", "fieldValidation", "force", "pretty"}
	deleteQuery  = []string{"dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents", "pretty", "propagationPolicy"}
	listQuery    = []string{"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "pretty", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch"}
	collectQuery = []string{"continue", "dryRun", "fieldSelector", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "labelSelector", "limit", "orphanDependents", "pretty", "propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds"}
)

const (
	metaName   = "io.k8s.apimachinery.pkg.apis.meta.v1."
	patchName  = metaName + "Patch"
	statusName = metaName + "Status"
	eventName  = metaName + "WatchEvent"
	deleteName = metaName + "DeleteOptions"
)

// operationsOf returns the operations of a resource. object and list are the schema names of its objects and
// lists.
func operationsOf(r *Resource, object, list string, bodyName func(reflect.Type) string) []operation {
	b := opBuilder{r: r, object: object, list: list, bodyName: bodyName}
	gv := r.GVK.GroupVersion()
	b.prefix = groupTitle(gv.Group) + title(gv.Version)
	base := "/" + root(gv)
	collection := base + "/" + r.GVR.Resource
	if r.Namespaced {
		collection = base + "/namespaces/{namespace}/" + r.GVR.Resource
		b.scoped = "Namespaced"
	}
	b.collection(collection)
	if r.Namespaced && r.has("list") {
		b.add("GET", base+"/"+r.GVR.Resource, "list"+b.prefix+r.GVK.Kind+"ForAllNamespaces", "list")
		b.last().listing(list, b.listTypes())
	}
	b.item(collection + "/{name}")
	b.watches(base)
	for _, s := range r.Subresources {
		b.subresource(collection+"/{name}/"+s.Name, s.Name, s.Kind, schema.GroupVersionKind{Group: s.Group, Version: s.Version, Kind: s.Kind}, s.Verbs)
	}
	return b.ops
}

type opBuilder struct {
	r              *Resource
	object, list   string
	prefix, scoped string
	bodyName       func(reflect.Type) string
	ops            []operation
}

func (b *opBuilder) add(method, path, id, action string) *operation {
	b.ops = append(b.ops, operation{
		method: method, path: path, id: id, action: action, tag: tag(b.r.GVK.GroupVersion()), gvk: b.r.GVK,
		produces: b.objectTypes(), codes: []string{"200"}, description: actionText(action, b.r.GVK.Kind),
	})
	return b.last()
}

func (b *opBuilder) last() *operation { return &b.ops[len(b.ops)-1] }

func (b *opBuilder) custom() bool { return b.r.Type == nil }

func (b *opBuilder) objectTypes() []string {
	if b.custom() {
		return customTypes
	}
	return objectTypes
}

func (b *opBuilder) listTypes() []string {
	if b.custom() {
		return customTypes
	}
	return listTypes
}

func (b *opBuilder) patchTypes() []string {
	if b.custom() {
		return customPatch
	}
	return patchTypes
}

func (o *operation) listing(result string, produces []string) {
	o.query, o.result, o.produces = listQuery, result, produces
}

func (b *opBuilder) collection(path string) {
	kind := b.scoped + b.r.GVK.Kind
	if b.r.has("list") {
		b.add("GET", path, "list"+b.prefix+kind, "list").listing(b.list, b.listTypes())
	}
	if b.r.has("create") {
		b.create(path, "create"+b.prefix+kind, b.object)
	}
	if b.r.has("deletecollection") {
		o := b.add("DELETE", path, "delete"+b.prefix+"Collection"+kind, "deletecollection")
		o.query, o.body, o.bodyTypes, o.result = collectQuery, deleteName, anyType, statusName
	}
}

func (b *opBuilder) create(path, id, object string) {
	o := b.add("POST", path, id, "post")
	o.query, o.body, o.bodyRequired, o.bodyTypes, o.result = createQuery, object, true, anyType, object
	o.codes = []string{"200", "201", "202"}
}

func (b *opBuilder) item(path string) {
	kind := b.scoped + b.r.GVK.Kind
	b.readWrite(path, kind, b.object, b.r.Verbs)
	if b.r.has("delete") {
		o := b.add("DELETE", path, "delete"+b.prefix+kind, "delete")
		o.query, o.body, o.bodyTypes, o.result = deleteQuery, deleteName, anyType, statusName
		if deleteReturnsObject(b.r.GVR) {
			o.result = b.object
		}
		o.codes = []string{"200", "202"}
	}
}

// readWrite adds get, put and patch.
func (b *opBuilder) readWrite(path, suffix, object string, verbs []string) {
	if slices.Contains(verbs, "get") {
		o := b.add("GET", path, "read"+b.prefix+suffix, "get")
		o.query, o.result = readQuery, object
	}
	if slices.Contains(verbs, "update") {
		o := b.add("PUT", path, "replace"+b.prefix+suffix, "put")
		o.query, o.body, o.bodyRequired, o.bodyTypes, o.result = createQuery, object, true, anyType, object
		o.codes = []string{"200", "201"}
	}
	if slices.Contains(verbs, "patch") {
		o := b.add("PATCH", path, "patch"+b.prefix+suffix, "patch")
		o.query, o.body, o.bodyRequired, o.bodyTypes, o.result = patchQuery, patchName, true, b.patchTypes(), object
		o.codes = []string{"200", "201"}
	}
}

// watches adds the deprecated watch paths, which custom resources do not have.
func (b *opBuilder) watches(base string) {
	if !b.r.has("watch") || b.custom() {
		return
	}
	kind, name := b.r.GVK.Kind, b.r.GVR.Resource
	everywhere := base + "/watch/" + name
	scoped := everywhere
	if b.r.Namespaced {
		scoped = base + "/watch/namespaces/{namespace}/" + name
		b.add("GET", everywhere, "watch"+b.prefix+kind+"ListForAllNamespaces", "watchlist").listing(eventName, listTypes)
	}
	b.add("GET", scoped, "watch"+b.prefix+b.scoped+kind+"List", "watchlist").listing(eventName, listTypes)
	b.add("GET", scoped+"/{name}", "watch"+b.prefix+b.scoped+kind, "watch").listing(eventName, listTypes)
}

func (b *opBuilder) subresource(path, name, kind string, gvk schema.GroupVersionKind, verbs []string) {
	suffix := b.scoped + b.r.GVK.Kind + title(name)
	if gvk.Version == "" {
		gvk.Group, gvk.Version = b.r.GVK.Group, b.r.GVK.Version
	}
	start := len(b.ops)
	switch options, connects := connectOptions[kind]; {
	case connects:
		b.connect(path, suffix, fieldNames(options), verbs)
	case name == "log":
		o := b.add("GET", path, "read"+b.prefix+suffix, "get")
		o.query, o.result, o.produces = append(fieldNames(reflect.TypeFor[corev1.PodLogOptions]()), "pretty"), "string", logTypes
		slices.Sort(o.query)
	default:
		object := b.object
		if t, ok := bodyTypes[kind]; ok && kind != b.r.GVK.Kind {
			object = b.bodyName(t)
		}
		b.readWrite(path, suffix, object, verbs)
		if slices.Contains(verbs, "create") {
			b.create(path, "create"+b.prefix+suffix, object)
		}
	}
	for i := start; i < len(b.ops); i++ {
		b.ops[i].gvk = gvk
		b.ops[i].description = actionText(b.ops[i].action, b.r.GVK.Kind) + ", " + name + " subresource"
	}
}

func (b *opBuilder) connect(path, suffix string, query, verbs []string) {
	methods := []string{"GET", "POST"}
	proxies := slices.Contains(verbs, "delete")
	if proxies {
		methods = []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
	}
	for _, m := range methods {
		id := "connect" + b.prefix + m[:1] + strings.ToLower(m[1:]) + suffix
		o := b.add(m, path, id, "connect")
		o.query, o.result, o.produces = query, "string", anyType
		if proxies {
			o = b.add(m, path+"/{path}", id+"WithPath", "connect")
			o.query, o.result, o.produces = query, "string", anyType
		}
	}
}

// fieldNames are the JSON names of a struct's own fields that fit into a query parameter.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			continue
		}
		if tag := parseJSONTag(f); !tag.skip && !tag.inline {
			names = append(names, tag.name)
		}
	}
	slices.Sort(names)
	return names
}

func actionText(action, kind string) string {
	switch action {
	case "get":
		return "read the specified " + kind
	case "list":
		return "list or watch objects of kind " + kind
	case "post":
		return "create a " + kind
	case "put":
		return "replace the specified " + kind
	case "patch":
		return "partially update the specified " + kind
	case "delete":
		return "delete a " + kind
	case "deletecollection":
		return "delete a collection of " + kind
	case "watch", "watchlist":
		return "watch changes of " + kind + "; deprecated, use the watch parameter of a list"
	}
	return action + " requests to " + kind
}
