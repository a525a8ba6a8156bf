package admission

import (
	"context"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// forms are the objects of one request in the versions that webhooks and policies match, each converted once.
type forms struct {
	a         *Attributes
	now, old  map[schema.GroupVersionKind]*objectForm
	requests  map[Served]any // the variable request of expressions
	namespace map[string]any // the variable namespaceObject
}

// objectForm is an object in one of its versions.
type objectForm struct {
	object metav1.Object
	json   []byte
	value  map[string]any
}

func newForms(a *Attributes) *forms {
	return &forms{a: a, now: map[schema.GroupVersionKind]*objectForm{}, old: map[schema.GroupVersionKind]*objectForm{}}
}

// changed drops the forms of the object after a change of it.
func (f *forms) changed() { clear(f.now) }

// object returns the new state as a kind; without one its object is nil.
func (f *forms) object(ctx context.Context, kind schema.GroupVersionKind) (*objectForm, error) {
	if f.a.Object == nil && f.a.Body != nil {
		return f.body()
	}
	return f.form(ctx, f.now, f.a.Object, kind)
}

// oldObject returns the stored state as a kind; without one its object is nil.
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

// body returns the form of the options of a connection, which are not an object.
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

// replace sets the object of the request to obj, which is of that kind.
func (f *forms) replace(ctx context.Context, obj metav1.Object, kind schema.GroupVersionKind) error {
	if kind != f.a.Kind && f.a.Versions != nil {
		var err error
		if obj, err = f.a.Versions.Convert(ctx, obj, kind, f.a.Kind); err != nil {
			return err
		}
	}
	// The caller of admission keeps a pointer to the object, so it is changed in place.
	reflect.ValueOf(f.a.Object).Elem().Set(reflect.ValueOf(obj).Elem())
	f.changed()
	return nil
}

// decode decodes an object of a kind of the request.
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
