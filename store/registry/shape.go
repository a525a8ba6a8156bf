package registry

import (
	"reflect"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// shape gives access to the parts of an object of one Go type that every kind treats alike.
type shape struct {
	typ          reflect.Type
	status       int // field index of Status, -1 if there is none
	typeMeta     int
	meta         int
	unstructured bool
}

func shapeOf(t reflect.Type) shape {
	if s, ok := shapes.Load(t); ok {
		return s.(shape)
	}
	s := newShape(t)
	shapes.Store(t, s)
	return s
}

var shapes sync.Map // of Go types

func newShape(t reflect.Type) shape {
	s := shape{typ: t, status: -1, typeMeta: -1, meta: -1, unstructured: t == reflect.TypeFor[metav1.Unstructured]()}
	for i := range t.NumField() {
		switch t.Field(i).Name {
		case "Status":
			s.status = i
		case "TypeMeta":
			s.typeMeta = i
		case "ObjectMeta":
			s.meta = i
		}
	}
	return s
}

func (s shape) value(obj metav1.Object) reflect.Value { return reflect.ValueOf(obj).Elem() }

// clearStatus removes the status.
func (s shape) clearStatus(obj metav1.Object) {
	switch {
	case s.unstructured:
		delete(obj.(*metav1.Unstructured).Fields, "status")
	case s.status >= 0:
		s.value(obj).Field(s.status).SetZero()
	}
}

// hasSetStatus reports whether the object's status is not empty.
func (s shape) hasSetStatus(obj metav1.Object) bool {
	return !s.unstructured && s.status >= 0 && !s.value(obj).Field(s.status).IsZero()
}

// copyStatus gives dst the status of src. The two share memory afterwards.
func (s shape) copyStatus(dst, src metav1.Object) {
	switch {
	case s.unstructured:
		d, from := dst.(*metav1.Unstructured), src.(*metav1.Unstructured)
		if v, ok := from.Fields["status"]; ok {
			if d.Fields == nil {
				d.Fields = map[string]any{}
			}
			d.Fields["status"] = v
		} else {
			delete(d.Fields, "status")
		}
	case s.status >= 0:
		s.value(dst).Field(s.status).Set(s.value(src).Field(s.status))
	}
}

// restoreExceptStatus copies all of src but metadata and status to dst, for a write to the status
// subresource.
func (s shape) restoreExceptStatus(dst, src metav1.Object) {
	if s.unstructured {
		d, from := dst.(*metav1.Unstructured), src.(*metav1.Unstructured)
		status, ok := d.Fields["status"]
		d.Fields = make(map[string]any, len(from.Fields))
		for k, v := range from.Fields {
			if k != "status" {
				d.Fields[k] = v
			}
		}
		if ok {
			d.Fields["status"] = status
		}
		return
	}
	d, from := s.value(dst), s.value(src)
	for i := range d.NumField() {
		if i != s.status && i != s.meta && i != s.typeMeta {
			d.Field(i).Set(from.Field(i))
		}
	}
}

// sameDesired reports whether a and b differ in metadata and status only, or with keepStatus in metadata
// only.
func (s shape) sameDesired(a, b metav1.Object, keepStatus bool) bool {
	if s.unstructured {
		fa, fb := a.(*metav1.Unstructured).Fields, b.(*metav1.Unstructured).Fields
		return sameMembers(fa, fb, keepStatus) && sameMembers(fb, fa, keepStatus)
	}
	ca, cb := reflect.New(s.typ), reflect.New(s.typ)
	ca.Elem().Set(s.value(a))
	cb.Elem().Set(s.value(b))
	for _, v := range [...]reflect.Value{ca.Elem(), cb.Elem()} {
		v.Field(s.meta).SetZero()
		if s.typeMeta >= 0 {
			v.Field(s.typeMeta).SetZero()
		}
		if s.status >= 0 && !keepStatus {
			v.Field(s.status).SetZero()
		}
	}
	return codec.Equal(ca.Interface(), cb.Interface())
}

func sameMembers(a, b map[string]any, keepStatus bool) bool {
	for k, v := range a {
		if k == "status" && !keepStatus {
			continue
		}
		w, ok := b[k]
		if !ok || !codec.Equal(v, w) {
			return false
		}
	}
	return true
}

// kindSetter is every type that embeds TypeMeta, ours and k8s.io's.
type kindSetter interface {
	SetGroupVersionKind(gvk schema.GroupVersionKind)
}

// setTypeMeta sets apiVersion and kind; the zero kind clears them.
func setTypeMeta(obj metav1.Object, gvk schema.GroupVersionKind) {
	if k, ok := obj.(kindSetter); ok {
		k.SetGroupVersionKind(gvk)
		return
	}
	v := reflect.ValueOf(obj).Elem().FieldByName("TypeMeta")
	if !v.IsValid() {
		return
	}
	apiVersion := gvk.GroupVersion().String()
	v.FieldByName("Kind").SetString(gvk.Kind)
	v.FieldByName("APIVersion").SetString(apiVersion)
}

var noKind schema.GroupVersionKind

// typeOf is the struct type of an object.
func typeOf(obj metav1.Object) reflect.Type { return reflect.TypeOf(obj).Elem() }
