package apiserver

import (
	"net/http"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/cache"
)

// metaKind is a kind of the meta group at the negotiated version.
func metaKind(version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "meta.k8s.io", Version: version, Kind: kind}
}

// partialOf returns the metadata of an object, as an object of a version of the meta group.
func partialOf(obj metav1.Object, version string) *metav1.PartialObjectMetadata {
	partial := &metav1.PartialObjectMetadata{ObjectMeta: *metav1.MetaOf(obj)}
	partial.SetGroupVersionKind(metaKind(version, "PartialObjectMetadata"))
	return partial
}

// sendCached sends one object of the cache.
func (r *request) sendCached(rt *route, out output, o *cache.Object) {
	var err error
	switch out.as {
	case asTable:
		err = r.sendTable(rt, out, &page{items: []*cache.Object{o}, revision: o.Revision})
	case asMetadata, asMetadataList:
		err = r.sendMetadata(rt, out, o)
	default:
		err = r.sendForm(rt, out, o)
	}
	if err != nil {
		r.fail(err)
	}
}

// sendForm sends the object itself, from its cached encodings.
func (r *request) sendForm(rt *route, out output, o *cache.Object) error {
	if out.media == mediaProto {
		if err := r.auditProto(rt, o); err != nil {
			return err
		}
		body, tail, err := rt.res.Proto(r.Context(), o)
		if err != nil {
			return err
		}
		r.sendBytes(http.StatusOK, mediaProto, envelope(rt.info.GVK, body, tail))
		return nil
	}
	body, err := rt.res.JSON(r.Context(), o)
	if err != nil {
		return err
	}
	head := rt.res.JSONHead()
	if len(head) > 0 {
		body = body[1:]
	}
	r.auditCached(head, body)
	if out.media == mediaJSON && !r.pretty() && len(head)+len(body) < compressAbove {
		h := r.w.Header()
		h["Content-Type"] = contentTypes[mediaJSON]
		h["Content-Length"] = []string{strconv.Itoa(len(head) + len(body) + 1)}
		r.sendWarnings()
		r.w.WriteHeader(http.StatusOK)
		_, _ = r.w.Write(head)
		_, _ = r.w.Write(body)
		_, _ = r.w.Write(lineFeed)
		return nil
	}
	whole := append(append(make([]byte, 0, len(head)+len(body)+1), head...), body...)
	if out.media == mediaJSON {
		whole = append(whole, '\n')
	} else if whole, err = out.media.fromJSON(whole); err != nil {
		return err
	}
	r.sendBytes(http.StatusOK, out.media, whole)
	return nil
}

var lineFeed = []byte{'\n'}

// envelope is the protobuf envelope of a body in two pieces.
func envelope(gvk schema.GroupVersionKind, body, tail []byte) []byte {
	apiVersion := gvk.GroupVersion().String()
	size := len(body) + len(tail)
	b := make([]byte, 0, codec.SizeEnvelope(apiVersion, gvk.Kind, size))
	b = codec.AppendEnvelopeHead(b, apiVersion, gvk.Kind, size)
	b = append(append(b, body...), tail...)
	return codec.AppendEnvelopeTail(b)
}

// sendWritten sends the stored object in response to an update, which may have created it.
func (r *request) sendWritten(rt *route, out output, obj metav1.Object, created bool) {
	code := http.StatusOK
	if created {
		code = http.StatusCreated
	}
	r.sendObject(rt, code, out, obj)
}

// sendObject sends the stored object in response to a write.
func (r *request) sendObject(rt *route, code int, out output, obj metav1.Object) {
	switch out.as {
	case asTable:
		r.sendTableOf(rt, code, out, obj)
	case asMetadata, asMetadataList:
		partial := partialOf(obj, out.version)
		r.send(code, out, partial.GroupVersionKind(), partial)
	default:
		r.send(code, out, rt.info.GVK, obj)
	}
}

func (r *request) sendMetadata(rt *route, out output, o *cache.Object) error {
	obj, err := rt.res.Decode(r.Context(), o)
	if err != nil {
		return err
	}
	out.as = asMetadata
	r.sendObject(rt, http.StatusOK, out, obj)
	return nil
}
