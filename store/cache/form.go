package cache

import (
	"errors"
	"sync"
	"sync/atomic"
)

// FormKey names a form of an object, such as its JSON of one version or its table row.
type FormKey struct {
	Version   string // API version
	MediaType string
	Kind      string // what is encoded: the object, a Table row, its metadata
}

// Form returns the encoded form named by key, which make produces when it is first needed. All callers share
// the bytes, which are kept as long as the object is current, and a little longer. An error is kept as well.
// make must not block and must not request the same form of the same object.
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

// Made returns a form that exists already; ok is false if it does not, or if making it failed.
func (o *Object) Made(key FormKey) (form []byte, ok bool) {
	for f := o.forms.head.Load(); f != nil; f = f.next {
		if f.id == (formID{FormKey: key}) && f.made.Load() && f.err == nil {
			return f.bytes, true
		}
	}
	return nil, false
}

// formID distinguishes the forms of an object and those of its events.
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

// drop releases all forms; callers that hold one keep it.
func (f *forms) drop() { f.head.Store(nil) }
