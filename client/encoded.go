package client

import (
	"bytes"
	"fmt"
	"mime"
	"reflect"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/internal/scan"
)

// Media types of the API.
const (
	MediaJSON     = "application/json"
	MediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// Form is the encoding of an object.
type Form uint8

const (
	// JSON is the object's JSON text.
	JSON Form = iota
	// Protobuf is the object's message, without the envelope.
	Protobuf
)

// formOf returns the form of a reply of a media type.
func formOf(contentType string) (Form, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = strings.TrimSpace(contentType)
	}
	switch media {
	case MediaProtobuf:
		return Protobuf, nil
	case MediaJSON, "":
		return JSON, nil
	}
	return JSON, fmt.Errorf("unexpected content type %q: the reply may not come from an API server", contentType)
}

// Label is one label of an object.
type Label = scan.Pair

// Encoded is one object as it was received, with the most used metadata parsed. It is immutable: its strings
// share memory with Body, so a string that is kept longer than the object should be cloned.
type Encoded struct {
	// Form of Body.
	Form Form
	// Body is the object in Form.
	Body []byte
	// Key, UID, ResourceVersion, Generation and Labels are those of the object's metadata.
	Key             types.NamespacedName
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Labels          []Label
	// Terminating is true if metadata.deletionTimestamp is set.
	Terminating bool
	// Finalizers is the number of finalizers of the object.
	Finalizers int
	// InitialEventsEnd is true on the bookmark that ends a watch's initial events.
	InitialEventsEnd bool
	// kind and apiVersion, if the body or its envelope had them.
	kind, apiVersion string
}

// Label returns a label's value and whether it is set.
func (e *Encoded) Label(key string) (string, bool) {
	for i := range e.Labels {
		if e.Labels[i].Key == key {
			return e.Labels[i].Value, true
		}
	}
	return "", false
}

// Controller returns the owner reference with controller=true, read from the bytes without decoding the
// object, and whether there is one. Its strings share memory with Body.
func (e *Encoded) Controller() (metav1.OwnerReference, bool) {
	read := scan.JSONController
	if e.Form == Protobuf {
		read = scan.ProtoController
	}
	o, ok := read(e.Body)
	if !ok {
		return metav1.OwnerReference{}, false
	}
	ref := metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: types.UID(o.UID), Controller: new(true)}
	if o.BlockDeletion {
		ref.BlockOwnerDeletion = new(true)
	}
	return ref, true
}

// WithoutManagedFields returns a copy without metadata.managedFields, in memory of its own.
func (e *Encoded) WithoutManagedFields() (Encoded, error) {
	return scanEncoded(e.Form, copyBody(e.Form, e.Body, true))
}

// scanEncoded parses the metadata of body, which must not be changed afterwards.
func scanEncoded(form Form, body []byte) (Encoded, error) {
	var m scan.Meta
	var err error
	if form == Protobuf {
		m, err = scan.ProtoMeta(body)
	} else {
		m, err = scan.JSONMeta(body)
	}
	return Encoded{
		Form: form, Body: body,
		Key: types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, UID: types.UID(m.UID),
		ResourceVersion: m.ResourceVersion, Generation: m.Generation, Labels: m.Labels,
		Terminating: m.Terminating, Finalizers: m.Finalizers, InitialEventsEnd: m.InitialEventsEnd,
		kind: m.Kind, apiVersion: m.APIVersion,
	}, err
}

// copyBody copies an object's bytes from a reply into memory of exactly their size.
func copyBody(form Form, raw []byte, dropManaged bool) []byte {
	switch {
	case !dropManaged:
		return bytes.Clone(raw)
	case form == Protobuf:
		return scan.ProtoWithoutManaged(raw)
	default:
		return scan.JSONWithoutManaged(raw)
	}
}

// ScanEncoded parses the metadata of an encoded object. body must not be changed afterwards.
func ScanEncoded(form Form, body []byte) (Encoded, error) { return scanEncoded(form, body) }

// EncodeObject encodes obj as a server would send it, without its managed fields if
// dropManaged is set. Form Protobuf falls back to JSON for types without a protobuf form.
func EncodeObject(obj any, form Form, dropManaged bool) (Encoded, error) {
	var body []byte
	var err error
	if form == Protobuf {
		if body, err = codec.MarshalProto(obj); err != nil {
			form = JSON
		}
	}
	if form == JSON {
		if body, err = codec.Marshal(obj); err != nil {
			return Encoded{}, err
		}
	}
	if dropManaged {
		body = copyBody(form, body, true)
	}
	return scanEncoded(form, body)
}

// DecodeError reports that a reply, or an object in it, cannot be decoded.
type DecodeError struct {
	// Resource that was requested.
	Resource schema.GroupVersionResource
	// Key of the object, as far as known.
	Key types.NamespacedName
	// Err is the reason.
	Err error
}

// Error names the resource, the object and the reason.
func (e *DecodeError) Error() string {
	if e.Key.Name == "" {
		return fmt.Sprintf("client: cannot decode %s: %v", e.Resource.GroupResource(), e.Err)
	}
	return fmt.Sprintf("client: cannot decode %s %s: %v", e.Resource.GroupResource(), e.Key, e.Err)
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// hasProto reports whether objects of a type, a pointer to a struct, are sent as protobuf: all fields of the
// type have a protobuf number. A field without one would be lost silently, so such types are sent as JSON.
func hasProto(t reflect.Type) bool {
	s := t.Elem()
	for i := range s.NumField() {
		f := s.Field(i)
		if f.Name == "TypeMeta" || !f.IsExported() {
			continue
		}
		if f.Tag.Get("protobuf") == "" {
			return false
		}
	}
	_, err := codec.MarshalProto(reflect.New(s).Interface())
	return err == nil
}
