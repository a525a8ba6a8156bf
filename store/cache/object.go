package cache

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store"
)

// Object is one stored object at one revision. It is immutable and shared.
type Object struct {
	Key             string // in the store
	Namespace, Name string // from the key; Namespace is empty for cluster-scoped objects
	// Revision of the last write. In a Deleted event it is the revision of the
	// deletion, or of the change by which the object left the selector.
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

// decoded is an object as one version has it.
type decoded struct {
	version string
	object  metav1.Object
}

// Decoded returns the object itself as version has it, made by decode when first asked for and shared from
// then on: it must not be changed. It is kept like a form, for the version asked for last, so this is for
// objects that are looked at with every other request and few in number. make may run more than once.
func (o *Object) Decoded(version string, make func(*Object) (metav1.Object, error)) (metav1.Object, error) {
	if d := o.decoded.Load(); d != nil && d.version == version {
		return d.object, nil
	}
	obj, err := make(o)
	if err == nil {
		o.decoded.Store(&decoded{version, obj})
	}
	return obj, err
}

// drop forgets what was made of the object; those that have it keep it.
func (o *Object) drop() {
	o.forms.drop()
	o.decoded.Store(nil)
}

// Attrs are what selectors and indexes need to know of an object, decoded once.
type Attrs struct {
	UID     string
	Labels  map[string]string
	Fields  map[string]string // the selectable fields
	Decoded any               // whatever else the cache's owner wants to keep
}

// share takes over what an earlier version has as well, so that the versions in the log keep it once.
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

// FormKey names a form of an object, such as its JSON of one version or its table row.
type FormKey struct {
	Version   string // API version
	MediaType string
	Kind      string // what is encoded: the object, a Table row, its metadata
}

// Form returns the encoded form named by key, made by make when first asked for. All
// callers share the bytes, which live as long as the object is current, and a little
// longer. An error is kept as well. make must not block and must not ask the same object for the same form.
func (o *Object) Form(key FormKey, make func(*Object) ([]byte, error)) ([]byte, error) {
	f := o.forms.get(formID{FormKey: key})
	if !f.made.Load() {
		f.once.Do(func() {
			f.bytes, f.err = make(o)
			f.made.Store(true)
		})
	}
	return f.bytes, f.err
}

// Made returns a form that has been made without an error.
func (o *Object) Made(key FormKey) ([]byte, bool) {
	for f := o.forms.head.Load(); f != nil; f = f.next {
		if f.id == (formID{FormKey: key}) && f.made.Load() && f.err == nil {
			return f.bytes, true
		}
	}
	return nil, false
}

// newObject splits the key into namespace and name: what follows the cache's prefix, cut at
// its last slash.
func newObject(prefix string, kv store.KV) *Object {
	o := &Object{Key: kv.Key, Revision: kv.Revision, CreateRevision: kv.CreateRevision, Value: kv.Value}
	o.Name = strings.TrimPrefix(strings.TrimPrefix(kv.Key, prefix), "/")
	if i := strings.LastIndexByte(o.Name, '/'); i >= 0 {
		o.Namespace, o.Name = o.Name[:i], o.Name[i+1:]
	}
	return o
}

// at returns the object's state as of a later revision, without the forms made so far:
// they may hold the revision.
func (o *Object) at(revision int64) *Object {
	return &Object{
		Key: o.Key, Namespace: o.Namespace, Name: o.Name,
		Revision: revision, CreateRevision: o.CreateRevision,
		Value: o.Value, Attrs: o.Attrs, Err: o.Err, labels: o.labels,
	}
}

// size estimates the bytes that only this object keeps alive.
func (o *Object) size() int { return len(o.Value) + len(o.Key) + 200 }

// formID tells apart the forms of an object and of the events about it.
type formID struct {
	FormKey
	event EventType
}

// forms is a small set of encoded forms that is only added to, without locks.
type forms struct{ head atomic.Pointer[form] }

type form struct {
	id    formID
	next  *form
	made  atomic.Bool
	once  sync.Once
	bytes []byte
	err   error
}

var errFormPanicked = errors.New("cache: encoding panicked")

func (f *forms) get(id formID) *form {
	var fresh *form
	for {
		head := f.head.Load()
		for e := head; e != nil; e = e.next {
			if e.id == id {
				return e
			}
		}
		if fresh == nil {
			fresh = &form{id: id, err: errFormPanicked}
		}
		fresh.next = head
		if f.head.CompareAndSwap(head, fresh) {
			return fresh
		}
	}
}

// drop forgets all forms; callers that hold one keep it.
func (f *forms) drop() { f.head.Store(nil) }
