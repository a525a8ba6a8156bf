package admission

import (
	"context"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// forms are the objects of one request in the forms that webhooks and policies ask for, each made once.
type forms struct {
	a         *Attributes
	now, old  map[schema.GroupVersionKind]*objectForm
	requests  map[Served]any // the variable request of expressions
	namespace map[string]any // the variable namespaceObject
}

// objectForm is an object in one of its kinds.
type objectForm struct {
	object metav1.Object
	json   []byte
	value  map[string]any
}

func newForms(a *Attributes) *forms {
	return &forms{a: a, now: map[schema.GroupVersionKind]*objectForm{}, old: map[schema.GroupVersionKind]*objectForm{}}
}

// changed forgets the forms of the object, which is another one now.
func (f *forms) changed() { clear(f.now) }

// object returns the new state in a kind; nil without one.
func (f *forms) object(ctx context.Context, kind schema.GroupVersionKind) (*objectForm, error) {
	if f.a.Object == nil && f.a.Body != nil {
		return f.body()
	}
	return f.form(ctx, f.now, f.a.Object, kind)
}

// oldObject returns the stored state in a kind; nil without one.
func (f *forms) oldObject(ctx context.Context, kind schema.GroupVersionKind) (*objectForm, error) {
	return f.form(ctx, f.old, f.a.Old, kind)
}

func (f *forms) form(ctx context.Context, known map[schema.GroupVersionKind]*objectForm, obj metav1.Object, kind schema.GroupVersionKind) (*objectForm, error) {
	if obj == nil {
		return &objectForm{}, nil
	}
	if made := known[kind]; made != nil {
		return made, nil
	}
	made := &objectForm{object: obj}
	var err error
	if kind != f.a.Kind && f.a.Versions != nil {
		if made.object, err = f.a.Versions.Convert(ctx, obj, f.a.Kind, kind); err != nil {
			return nil, err
		}
	}
	if made.json, err = codec.Marshal(made.object); err != nil {
		return nil, err
	}
	known[kind] = made
	return made, nil
}

// body is the form of a connection's options, which are no object.
func (f *forms) body() (*objectForm, error) {
	if made := f.now[f.a.Kind]; made != nil {
		return made, nil
	}
	data, err := codec.Marshal(f.a.Body)
	if err != nil {
		return nil, err
	}
	made := &objectForm{json: data}
	f.now[f.a.Kind] = made
	return made, nil
}

// tree returns the form as JSON values; nil without an object.
func (f *objectForm) tree() (map[string]any, error) {
	if f.value == nil && f.json != nil {
		if err := codec.Unmarshal(f.json, &f.value); err != nil {
			return nil, err
		}
	}
	return f.value, nil
}

// replace puts what a plugin made of the object, in a form of its own, in the object's place.
func (f *forms) replace(ctx context.Context, obj metav1.Object, kind schema.GroupVersionKind) error {
	if kind != f.a.Kind && f.a.Versions != nil {
		var err error
		if obj, err = f.a.Versions.Convert(ctx, obj, kind, f.a.Kind); err != nil {
			return err
		}
	}
	// Whoever called admission holds on to the object, so it is changed in place.
	reflect.ValueOf(f.a.Object).Elem().Set(reflect.ValueOf(obj).Elem())
	f.changed()
	return nil
}

// decode reads an object in a kind of the request.
func (f *forms) decode(data []byte, kind schema.GroupVersionKind) (metav1.Object, error) {
	if f.a.Versions != nil && !f.a.ownKind() {
		return f.a.Versions.Decode(data, kind)
	}
	obj, ok := reflect.New(reflect.TypeOf(f.a.Object).Elem()).Interface().(metav1.Object)
	if !ok {
		return nil, errNoObject
	}
	return obj, codec.Unmarshal(data, obj)
}
