package cache

import (
	"maps"
	"strings"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store"
)

// Object is one stored object at one revision. It is immutable and shared.
type Object struct {
	Key             string // in the store
	Namespace, Name string // from the key; Namespace is empty for cluster-scoped objects
	// Revision of the last write. In a Deleted event it is the revision of the deletion, or of the change
	// after which the selector no longer matched.
	Revision       int64
	CreateRevision int64
	Value          []byte // the stored bytes
	Attrs          Attrs
	// Err is why Options.Attributes could not read Value; Attrs is empty then.
	Err error

	labels  LabelSet
	forms   forms
	decoded atomic.Pointer[decoded]
}

// decoded is an object decoded as one version.
type decoded struct {
	version string
	object  metav1.Object
}

// Decoded returns the object decoded as version. decode is called when the version is first needed, and may
// run more than once; the result is shared and must not be modified. Only the version requested last is kept,
// as long as a form is, so this is for objects that are few and read often.
func (o *Object) Decoded(version string, decode func(*Object) (metav1.Object, error)) (metav1.Object, error) {
	if d := o.decoded.Load(); d != nil && d.version == version {
		return d.object, nil
	}
	obj, err := decode(o)
	if err == nil {
		o.decoded.Store(&decoded{version, obj})
	}
	return obj, err
}

// dropForms releases what was derived from the object; callers that hold it keep it.
func (o *Object) dropForms() {
	o.forms.drop()
	o.decoded.Store(nil)
}

// Attrs are the parts of an object that selectors and indexes read, decoded once.
type Attrs struct {
	UID    string
	Labels map[string]string
	Fields map[string]string // the selectable fields
}

// share takes equal parts from an earlier revision, so that the revisions in the log hold them once.
func (a *Attrs) share(with *Attrs) {
	if a.UID == with.UID {
		a.UID = with.UID
	}
	if maps.Equal(a.Labels, with.Labels) {
		a.Labels = with.Labels
	}
	if maps.Equal(a.Fields, with.Fields) {
		a.Fields = with.Fields
	}
}

// newObject splits the key into namespace and name: what follows the cache's prefix, cut at its last slash.
func newObject(prefix string, kv store.KV) *Object {
	o := &Object{Key: kv.Key, Revision: kv.Revision, CreateRevision: kv.CreateRevision, Value: kv.Value}
	o.Name = strings.TrimPrefix(strings.TrimPrefix(kv.Key, prefix), "/")
	if i := strings.LastIndexByte(o.Name, '/'); i >= 0 {
		o.Namespace, o.Name = o.Name[:i], o.Name[i+1:]
	}
	return o
}

// at returns the object's state as of a later revision, without its forms, which may contain the revision.
func (o *Object) at(revision int64) *Object {
	return &Object{
		Key: o.Key, Namespace: o.Namespace, Name: o.Name,
		Revision: revision, CreateRevision: o.CreateRevision,
		Value: o.Value, Attrs: o.Attrs, Err: o.Err, labels: o.labels,
	}
}

// size estimates the bytes that only this object retains.
func (o *Object) size() int { return len(o.Value) + len(o.Key) + 200 }
