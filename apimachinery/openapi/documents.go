package openapi

import (
	"bytes"
	"cmp"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Options configure the documents of a server. The zero value works.
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

// Documents are the OpenAPI documents of a server, each made when it is first requested. Resources may be
// added and removed at run time. Safe for concurrent use.
type Documents struct {
	version string
	texts   Texts
	builtin func() map[schema.GroupVersion][]*Resource // made once; must not be changed

	mu       sync.Mutex
	custom   map[schema.GroupVersion]map[string]*Resource // by resource name
	v3       map[string]Document
	v3Proto  map[string]Document
	v2JSON   *Document
	v2Proto  *Document
	v3Listed *Document
	foreign  map[schema.GroupVersion]foreign
}

// New returns the documents of everything that is registered in s when the first one is requested, with
// custom resources to be added by [Documents.Set].
func New(s *scheme.Scheme, o Options) *Documents {
	d := &Documents{
		version: cmp.Or(o.Version, "unversioned"), texts: o.Texts,
		custom: map[schema.GroupVersion]map[string]*Resource{}, v3: map[string]Document{}, v3Proto: map[string]Document{},
		foreign: map[schema.GroupVersion]foreign{},
	}
	d.builtin = sync.OnceValue(func() map[schema.GroupVersion][]*Resource {
		out := map[schema.GroupVersion][]*Resource{}
		for _, info := range s.All() {
			gv := info.GVR.GroupVersion()
			out[gv] = append(out[gv], resourceOf(info))
		}
		return out
	})
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

// Remove removes a resource added by Set.
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
	for _, path := range []string{root(gv), root(schema.GroupVersion{Group: gv.Group})} {
		delete(d.v3, path)
		delete(d.v3Proto, path)
	}
	d.v2JSON, d.v2Proto, d.v3Listed = nil, nil, nil
}

// HasV3 reports whether V3 has a document at path.
func (d *Documents) HasV3(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.parts()[path]
	return ok
}

// V3 returns a v3 document by its path below /openapi/v3, such as api/v1 or apis/apps/v1, and whether there
// is one.
func (d *Documents) V3(path string) (Document, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lockedV3(path)
}

func (d *Documents) lockedV3(path string) (Document, bool) {
	if doc, ok := d.v3[path]; ok {
		return doc, true
	}
	tree, ok := d.treeV3(path)
	if !ok {
		return Document{}, false
	}
	doc := encode(tree)
	d.v3[path] = doc
	return doc, true
}

// V3Proto is V3 in the protobuf form of gnostic. Defaults that are lists or objects are not in it.
func (d *Documents) V3Proto(path string) (Document, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc, ok := d.v3Proto[path]; ok {
		return doc, true
	}
	tree, ok := d.treeV3(path)
	if !ok {
		return Document{}, false
	}
	doc := hashed(protoDocumentV3(tree))
	d.v3Proto[path] = doc
	return doc, true
}

// treeV3 makes a v3 document, and reports whether there is one at path.
func (d *Documents) treeV3(path string) (map[string]any, bool) {
	part, ok := d.parts()[path]
	if !ok {
		return nil, false
	}
	g := d.generator()
	ops := part(g)
	return g.treeV3(ops), true
}

// V3Index returns the list of v3 documents with their hashes, as served at /openapi/v3.
func (d *Documents) V3Index() Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.v3Listed == nil {
		paths := map[string]any{}
		for path := range d.parts() {
			doc, _ := d.lockedV3(path)
			paths[path] = map[string]any{"serverRelativeURL": "/openapi/v3/" + path + "?hash=" + doc.Hash}
		}
		for gv, f := range d.foreign {
			if f.v3 != "" {
				paths[root(gv)] = map[string]any{"serverRelativeURL": f.v3}
			}
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

// V2Proto returns the v2 document of the whole server in the protobuf form of gnostic, which kubectl
// requests.
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
	tree := g.treeV2(ops)
	for _, gv := range slices.SortedFunc(maps.Keys(d.foreign), compareVersions) {
		merge(tree, d.foreign[gv].v2)
	}
	return tree
}

// parts returns the documents of the server: for each path, the function that makes its operations.
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
	all := maps.Clone(d.builtin())
	for gv := range d.custom {
		all[gv] = nil
	}
	return slices.SortedFunc(maps.Keys(all), compareVersions)
}

func compareVersions(a, b schema.GroupVersion) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version))
}

func (d *Documents) resources(gv schema.GroupVersion) []*Resource {
	all := slices.Clone(d.builtin()[gv])
	for _, name := range slices.Sorted(maps.Keys(d.custom[gv])) {
		all = append(all, d.custom[gv][name])
	}
	return all
}

func (d *Documents) generator() *generator {
	known := map[string]schema.GroupVersionKind{}
	for _, resources := range d.builtin() {
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
