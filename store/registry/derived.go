package registry

import (
	"cmp"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// derived is what resources compute from their definition alone.
type derived struct {
	of    *Definition // a copy of a definition does not use it
	shape shape

	hasStatus bool // spec and status are written apart
	protobuf  bool // objects have a protobuf form

	selected func() *codec.Part // of stored objects: what selectors need; nil where that is the whole
	spare    sync.Pool          // stored objects to read it into

	prefix        string
	storedVersion string // apiVersion in the stored envelope
	apiVersion    string // as served
	jsonHead      []byte // {"kind":"Pod","apiVersion":"v1",
}

// Prepare computes what resources derive from definitions, which must not be changed afterwards: registries
// that share the definitions share that, too. Others compute it in Add.
func Prepare(defs ...*Definition) {
	for _, d := range defs {
		d.derived = derive(d)
	}
}

func derive(d *Definition) *derived {
	if d.derived != nil && d.derived.of == d {
		return d.derived
	}
	stored := cmp.Or(d.Stored, d.Info)
	v := &derived{
		of: d, shape: shapeOf(d.Info.Type), prefix: cmp.Or(d.Prefix, "/"+stored.GVR.Resource+"/"),
		storedVersion: cmp.Or(d.StoredVersion, stored.GVK.GroupVersion().String()), apiVersion: d.Info.GVK.GroupVersion().String(),
	}
	_, v.hasStatus = d.Info.Subresource("status")
	v.protobuf = !d.Custom && (!d.JSON || hasProto(d))
	v.selected = sync.OnceValue(d.selectedPart)
	// Names need no escapes.
	v.jsonHead = []byte(`{"kind":"` + d.Info.GVK.Kind + `","apiVersion":"` + v.apiVersion + `",`)
	return v
}

func hasProto(d *Definition) bool {
	_, err := codec.SizeProto(d.Info.New())
	return err == nil
}

// selectedPart returns the part of objects stored as protobuf that attributes decodes, or nil for all.
func (d *Definition) selectedPart() *codec.Part {
	if d.JSON || d.Custom {
		return nil
	}
	paths := d.Fields.Paths
	if paths == nil {
		paths = d.Fields.Names
	}
	part, err := codec.PartOf(cmp.Or(d.Stored, d.Info).Type, append([]string{"metadata.uid", "metadata.labels"}, paths...)...)
	if err != nil {
		return nil // a type outside Kubernetes without these members
	}
	return part
}
