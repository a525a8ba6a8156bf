package apiserver

import (
	"iter"
	"net/http"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/cache"
)

// sendPage sends a list.
func (r *request) sendPage(rt *route, out output, p *page) {
	var err error
	switch out.as {
	case asTable:
		err = r.sendTable(rt, out, p)
	case asMetadata, asMetadataList:
		err = r.sendList(rt, out, p, metaKind(out.version, "PartialObjectMetadataList"), true)
	default:
		err = r.sendList(rt, out, p, rt.info.ListKind(), false)
	}
	if err != nil {
		if named := p.unreadableError(rt); named != nil {
			err = named
		}
		r.fail(err)
	}
}

// sendList sends a list of the cached encodings of all items.
func (r *request) sendList(rt *route, out output, p *page, kind schema.GroupVersionKind, meta bool) error {
	h := codec.ListHeader{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind,
		ResourceVersion: strconv.FormatInt(p.revision, 10), Continue: p.next, RemainingItemCount: p.remaining}
	// Every form is made before the first byte is sent: an object that cannot be encoded must fail the whole
	// list.
	items, size, err := r.listItems(rt, out, p, meta)
	if err != nil {
		return err
	}
	if err := r.auditList(rt, h, p, meta); err != nil {
		return err
	}
	header := r.w.Header()
	header["Content-Type"] = contentTypes[out.media]
	r.sendWarnings()
	switch out.media {
	case mediaProto:
		w, end := r.writer(http.StatusOK, size)
		err = codec.WriteListProto(w, h, items)
		end()
	case mediaYAML:
		return r.sendYAMLList(h, items)
	case mediaCBOR:
		w, end := r.writer(http.StatusOK, size)
		err = cbor.WriteList(w, h, len(p.items), withErrors(items))
		end()
	default:
		if r.pretty() {
			var b bytesWriter
			if err := codec.WriteListJSON(&b, h, withErrors(items)); err != nil {
				return err
			}
			r.sendBytes(http.StatusOK, mediaJSON, b)
			return nil
		}
		w, end := r.writer(http.StatusOK, size)
		err = codec.WriteListJSON(w, h, withErrors(items))
		end()
	}
	_ = err // the connection is broken, and the status has been sent
	return nil
}

func withErrors(items iter.Seq[codec.Item]) iter.Seq2[codec.Item, error] {
	return func(yield func(codec.Item, error) bool) {
		for i := range items {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (r *request) sendYAMLList(h codec.ListHeader, items iter.Seq[codec.Item]) error {
	var b bytesWriter
	if err := codec.WriteListJSON(&b, h, withErrors(items)); err != nil {
		return err
	}
	text, err := codec.JSONToYAML(b)
	if err != nil {
		return err
	}
	r.sendBytes(http.StatusOK, mediaYAML, text)
	return nil
}

type bytesWriter []byte

func (b *bytesWriter) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// listItems returns the encoded items and about how many bytes they are.
func (r *request) listItems(rt *route, out output, p *page, meta bool) (iter.Seq[codec.Item], int, error) {
	list := make([]codec.Item, len(p.items))
	size := 0
	for i, o := range p.items {
		var err error
		switch {
		case meta:
			list[i], err = r.metadataItem(rt, out, o)
		case out.media == mediaProto:
			list[i].Body, list[i].Tail, err = rt.res.Proto(r.Context(), o)
		default:
			list[i].Body, err = rt.res.JSON(r.Context(), o)
		}
		if err != nil {
			return nil, 0, err
		}
		size += list[i].Len()
	}
	return func(yield func(codec.Item) bool) {
		for _, i := range list {
			if !yield(i) {
				return
			}
		}
	}, size, nil
}

// metadataHeads begin the items of a list of metadata, at v1 and at v1beta1.
var metadataHeads = [2][]byte{
	[]byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`),
	[]byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1",`),
}

func (r *request) metadataItem(rt *route, out output, o *cache.Object) (codec.Item, error) {
	if out.media != mediaProto {
		b, err := rt.res.Metadata(r.Context(), o)
		if err != nil {
			return codec.Item{}, err
		}
		head := metadataHeads[0]
		if out.version != "v1" {
			head = metadataHeads[1]
		}
		return codec.Item{Head: head, Body: b[1:]}, nil
	}
	obj, err := rt.res.Decode(r.Context(), o)
	if err != nil {
		return codec.Item{}, err
	}
	b, err := codec.MarshalProto(&metav1.PartialObjectMetadata{ObjectMeta: *metav1.MetaOf(obj)})
	return codec.Item{Body: b}, err
}
