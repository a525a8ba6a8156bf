package controllertest

import (
	"fmt"
	"io/fs"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// served says which kinds a cluster serves beyond the built-in ones, as far as its options do.
type served struct {
	crds        fs.FS             // Options.CRDs
	definitions map[string]string // its content, by name
	kinds       map[schema.GroupVersionResource]bool
}

// schemaOf returns what the options of a cluster that continues from another one say. Files are not read if
// they are those of before.
func schemaOf(o *Options, before served) (s served, err error) {
	s = served{crds: before.crds, definitions: before.definitions, kinds: map[schema.GroupVersionResource]bool{}}
	for i := range o.Server.Kinds {
		s.kinds[o.Server.Kinds[i].Info.GVR] = true
	}
	if o.CRDs == nil || sameFiles(o.CRDs, before.crds) {
		return s, nil
	}
	list, err := read("CRDs", o.CRDs)
	if err == nil {
		s.crds = o.CRDs
		s.definitions, err = definitionsOf(list)
	}
	return s, err
}

// definitionsOf returns the texts of definitions by their names.
func definitionsOf(list []*metav1.Unstructured) (map[string]string, error) {
	definitions := map[string]string{}
	for _, obj := range list {
		text, err := codec.Marshal(obj)
		if err != nil {
			return nil, fmt.Errorf("Options.CRDs: %s: %w", obj.GetName(), err)
		}
		definitions[obj.GetName()] = string(text)
	}
	return definitions, nil
}

// sameFiles reports whether both are certainly the same file system.
func sameFiles(a, b fs.FS) bool {
	return b != nil && reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

// accepts returns why a cluster with these options cannot continue from a snapshot.
func (s served) accepts(snapshot served) error {
	for gvr := range snapshot.kinds {
		if !s.kinds[gvr] {
			return fmt.Errorf("the snapshot has another schema: Options.Server.Kinds lacks %s", gvr)
		}
	}
	for name, text := range s.definitions {
		switch was, ok := snapshot.definitions[name]; {
		case !ok && snapshot.definitions != nil:
			return fmt.Errorf("the snapshot has another schema: Options.CRDs has %s, which the cluster of the snapshot was started without", name)
		case ok && was != text:
			return fmt.Errorf("the snapshot has another schema: %s in Options.CRDs differs from that of the snapshot", name)
		}
	}
	return nil
}

// setSchema finds out what the cluster serves, and refuses a snapshot of another schema. That of a new
// cluster is completed by [cluster.load].
func (c *cluster) setSchema(from *Snapshot, created bool) (err error) {
	o := c.opts
	if created {
		o.CRDs = nil
	}
	if c.schema, err = schemaOf(&o, from.schema); err != nil || created {
		return err
	}
	if len(c.schema.kinds) > 0 {
		from.image = nil // its objects may have been read by other definitions
	}
	return c.schema.accepts(from.schema)
}
