package informers

import (
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// object is one version of one object in a cache. Everything but decoded is immutable. Its strings share
// memory with body.
type object[T metav1.Object] struct {
	body        string // encoded; empty if the decoded form is kept instead
	key         types.NamespacedName
	uid         types.UID
	version     string
	generation  int64
	labels      *client.Label // the first of labelCount; a slice would make the struct larger than 128 bytes
	decoded     atomic.Pointer[decoded[T]]
	indexed     atomic.Pointer[indexed[T]]
	reported    atomic.Bool // its decoding error has been reported
	read        atomic.Bool // see markRead
	finalizers  uint16
	form        client.Form
	terminating bool
	labelCount  uint32
}

// decoded refers to an object's decoded form while it is referenced elsewhere. There is one for each object
// of a cache, also when that form is gone, so what is rarely set is apart.
type decoded[T metav1.Object] struct {
	// shared points at the struct a T points at; T is a pointer, so that is all of it.
	shared weak.Pointer[byte]
	kept   *kept[T] // nil if there is nothing but shared
}

// kept is what a cache holds of an object besides its encoding.
type kept[T metav1.Object] struct {
	obj    T // the decoded form, in decoded mode
	always bool
	// err is why there is no decoded form.
	err error
	// checksum is the object's encoding when it was decoded, with DetectMutations.
	checksum string
}

func newObject[T metav1.Object](e client.Encoded) *object[T] {
	o := &object[T]{
		body: unsafe.String(unsafe.SliceData(e.Body), len(e.Body)), key: e.Key, uid: e.UID, version: e.ResourceVersion, generation: e.Generation,
		form: e.Form, terminating: e.Terminating, finalizers: uint16(min(e.Finalizers, 1<<16-1)),
	}
	o.setLabels(e.Labels)
	return o
}

// setLabels is for an object that no other goroutine reads yet.
func (o *object[T]) setLabels(labels []client.Label) {
	o.labels, o.labelCount = unsafe.SliceData(labels), uint32(len(labels))
}

// labelList returns the labels, which must not be changed.
func (o *object[T]) labelList() []client.Label {
	return unsafe.Slice(o.labels, o.labelCount)
}

// markRead notes that a reader has got the state, or may have: handlers must get it too. core.mu is held, at
// least for reading, so that the state is not replaced at the same time.
func (o *object[T]) markRead() {
	if !o.read.Load() { // most of what is read was read before
		o.read.Store(true)
	}
}

// failed marks o as an object that cannot be decoded, because of err.
func (o *object[T]) failed(err error) *object[T] {
	o.decoded.Store(&decoded[T]{kept: &kept[T]{err: err}})
	return o
}

// bytes returns body as bytes, which must not be changed.
func (o *object[T]) bytes() []byte {
	if o.body == "" {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(o.body), len(o.body))
}

// label returns the value of a label and whether it is set.
func (o *object[T]) label(key string) (string, bool) {
	for _, l := range o.labelList() {
		if l.Key == key {
			return l.Value, true
		}
	}
	return "", false
}

func (o *object[T]) labelMap() map[string]string {
	if o.labelCount == 0 {
		return nil
	}
	m := make(map[string]string, o.labelCount)
	for _, l := range o.labelList() {
		m[l.Key] = l.Value
	}
	return m
}

func (o *object[T]) encoded() client.Encoded {
	return client.Encoded{Form: o.form, Body: o.bytes(), Key: o.key, UID: o.uid, ResourceVersion: o.version, Generation: o.generation, Labels: o.labelList()}
}

// same reports whether both are the same version of the same incarnation.
func (o *object[T]) same(uid types.UID, version string) bool {
	return o.uid == uid && o.version == version && version != ""
}

// cached returns the decoded form if it is still in memory, or the error if decoding has failed before; ok is
// false for neither.
func (o *object[T]) cached() (obj T, err error, ok bool) {
	d := o.decoded.Load()
	if d == nil {
		return obj, nil, false
	}
	if k := d.kept; k != nil && (k.always || k.err != nil) {
		return k.obj, k.err, true
	}
	p := d.shared.Value()
	if p == nil {
		return obj, nil, false
	}
	return *(*T)(unsafe.Pointer(&p)), nil, true
}

// cache makes obj the decoded form. Two goroutines may do so at once; either result is valid.
func (o *object[T]) cache(obj T, keep bool, checksum string) {
	d := &decoded[T]{}
	if keep {
		d.kept = &kept[T]{obj: obj, always: true, checksum: checksum}
	} else {
		d.shared = weak.Make(*(**byte)(unsafe.Pointer(&obj)))
		if checksum != "" {
			d.kept = &kept[T]{checksum: checksum}
		}
	}
	o.decoded.Store(d)
}
