package apiserver

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire" // finds the metadata without decoding the rest

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// eventStream writes watch events.
type eventStream struct {
	*request
	rt        *route
	out       output
	include   metav1.IncludeObjectPolicy
	form      cache.FormKey
	bookmarks bool
	explicit  bool // the client set sendInitialEvents and gets a bookmark at their end
	headers   bool // a table's columns have been sent
	control   *http.ResponseController
	sent      func(bytes int) // nil if it is not measured
}

// formOf names the encoded events that all watches of one kind share.
func formOf(rt *route, out output) cache.FormKey {
	return cache.FormKey{Version: rt.formVersion(), MediaType: out.media.contentType(), Kind: "event" + strconv.Itoa(int(out.as)) + out.version}
}

func (rt *route) formVersion() string {
	if rt.res == nil {
		return ""
	}
	return rt.res.FormVersion()
}

func (e *eventStream) begin() {
	if hook := e.server.opts.Metrics.WatchEvents; hook != nil {
		e.sent = hook(e.rt.info.GVR)
	}
	h := e.w.Header()
	switch e.out.media {
	case mediaProto:
		h["Content-Type"] = []string{typeProto + ";stream=watch"}
	case mediaCBOR:
		h["Content-Type"] = []string{cbor.SequenceMediaType}
	default:
		h["Content-Type"] = contentTypes[mediaJSON]
	}
	e.sendWarnings()
	e.w.WriteHeader(http.StatusOK)
	_ = e.control.Flush()
}

// abandon makes a blocked write fail, because the client does not read. The cache calls it from a goroutine
// of its own.
func (e *eventStream) abandon() {
	e.whileServed(func() { _ = e.control.SetWriteDeadline(time.Unix(1, 0)) })
}

// maxBatch is how many bytes of events are written at a time. Every write is a frame, which costs more than
// the bytes in it.
const maxBatch = 32 << 10

// deliver writes events and sends them off.
func (e *eventStream) deliver(events []cache.Event) error {
	wrote := 0
	var batch []byte
	if e.rt.res != nil && e.rt.res.Converts() {
		e.convert(events)
		if e.Context().Err() != nil {
			return errDisconnected
		}
	}
	for i := range events {
		if events[i].InitialEnd {
			defer e.seat.Release()
		}
		b, err := e.encode(&events[i])
		if err != nil {
			return errors.Join(e.write(batch), err)
		}
		if b == nil {
			continue
		}
		wrote++
		if e.sent != nil {
			e.sent(len(b))
		}
		if left := len(events) - i; left > 1 && batch == nil {
			batch = make([]byte, 0, min(maxBatch, left*(len(b)+len(b)/8)))
		}
		if len(batch)+len(b) <= cap(batch) {
			batch = append(batch, b...)
			continue
		}
		if err := e.write(batch); err != nil {
			return err
		}
		if batch = batch[:0]; len(b) < cap(batch) {
			batch = append(batch, b...)
		} else if err := e.write(b); err != nil {
			return err
		}
	}
	if err := e.write(batch); err != nil || wrote == 0 {
		return err
	}
	if err := e.control.Flush(); err != nil {
		return err
	}
	if hook := e.server.opts.Metrics.WatchListed; hook != nil && e.explicit && events[len(events)-1].InitialEnd {
		m := e.measurement()
		m.Elapsed = time.Since(e.begun)
		hook(m)
	}
	return nil
}

// convert converts the objects of many events in one call. If that fails, each event is converted by itself,
// and those before the first failure are sent.
func (e *eventStream) convert(events []cache.Event) {
	objs := make([]*cache.Object, 0, len(events))
	for i := range events {
		if o := events[i].Object; o != nil {
			objs = append(objs, o)
		}
	}
	_ = e.rt.res.Convert(e.Context(), objs...)
}

func (e *eventStream) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if _, err := e.w.Write(b); err != nil {
		return errDisconnected
	}
	return nil
}

var errDisconnected = errors.New("the client has disconnected")

func (e *eventStream) encode(ev *cache.Event) ([]byte, error) {
	switch {
	case ev.Type == cache.Bookmark:
		return e.bookmark(ev)
	case e.out.as == asTable:
		t, err := watchTable(e.Context(), e.rt, ev.Object, e.out, e.include, !e.headers)
		if err != nil {
			return nil, err
		}
		e.headers = true
		return e.frameJSON(ev.Type.String(), t)
	}
	return ev.Form(e.form, e.frame)
}

// frame is an encoded event, shared by all watches of the same form.
func (e *eventStream) frame(ev *cache.Event) ([]byte, error) {
	o := ev.Object
	name := ev.Type.String()
	ctx := context.WithoutCancel(e.Context()) // the frame, or the error, is kept for other watches
	if e.out.as == asMetadata || e.out.as == asMetadataList {
		return e.metadataFrame(ctx, name, o)
	}
	if e.out.media == mediaProto {
		body, tail, err := e.rt.res.Proto(ctx, o)
		if err != nil {
			return nil, err
		}
		apiVersion, kind := e.rt.info.GVK.ToAPIVersionAndKind()
		return protoFrame(name, apiVersion, kind, body, tail), nil
	}
	body, err := e.rt.res.JSON(ctx, o)
	if err != nil {
		return nil, err
	}
	head := e.rt.res.JSONHead()
	if len(head) > 0 {
		body = body[1:]
	}
	b := codec.AppendEventJSONHead(make([]byte, 0, len(head)+len(body)+40), name)
	return e.out.media.fromJSON(append(append(append(b, head...), body...), '}', '\n'))
}

// metadataFrame is an event with the metadata of an object. In protobuf that is a field of the object, which
// is not decoded for it.
func (e *eventStream) metadataFrame(ctx context.Context, name string, o *cache.Object) ([]byte, error) {
	if e.out.media == mediaProto && e.rt.res.Protobuf() {
		body, tail, err := e.rt.res.Proto(ctx, o)
		if err != nil {
			return nil, err
		}
		if body, err = metadataField(body); err != nil {
			return nil, apierrors.NewStoreReadError(e.rt.res.GroupResource(), o.Name, err)
		}
		apiVersion, kind := metaKind(e.out.version, "PartialObjectMetadata").ToAPIVersionAndKind()
		return protoFrame(name, apiVersion, kind, body, tail), nil
	}
	obj, err := e.rt.res.Decode(ctx, o)
	if err != nil {
		return nil, err
	}
	partial := partialOf(obj, e.out.version)
	return e.newFrame(name, partial.GroupVersionKind(), partial)
}

// protoFrame is an event about a message in two pieces.
func protoFrame(name, apiVersion, kind string, body, tail []byte) []byte {
	size := codec.SizeEnvelope(apiVersion, kind, len(body)+len(tail))
	b := codec.AppendEventProtoHead(make([]byte, 0, size+48), name, size)
	b = codec.AppendEnvelopeHead(b, apiVersion, kind, len(body)+len(tail))
	return codec.AppendEnvelopeTail(append(append(b, body...), tail...))
}

// metadataField returns the metadata of a message, field 1 of every kind, with its tag.
func metadataField(message []byte) ([]byte, error) {
	var field []byte
	for len(message) > 0 {
		number, _, n := protowire.ConsumeField(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		switch {
		case number == 1 && field == nil:
			field = message[:n:n]
		case number == 1: // pieces of one message, see the encoding's rules for fields that occur twice
			field = append(field, message[:n]...)
		}
		message = message[n:]
	}
	return field, nil
}

// newFrame is an event about an object of a kind, in the encoding of the stream.
func (e *eventStream) newFrame(eventType string, gvk schema.GroupVersionKind, obj any) ([]byte, error) {
	if e.out.media != mediaProto {
		return e.frameJSON(eventType, obj)
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	b, err := codec.MarshalEnvelope(apiVersion, kind, obj)
	return codec.AppendEventProto(nil, eventType, b), err
}

// frameJSON is an event in an encoding converted from JSON.
func (e *eventStream) frameJSON(name string, shown any) ([]byte, error) {
	b, err := codec.Marshal(shown)
	if err != nil {
		return nil, err
	}
	return e.out.media.fromJSON(codec.AppendEventJSON(nil, name, b))
}

// bookmark is an object of the watched kind with nothing but a version.
func (e *eventStream) bookmark(ev *cache.Event) ([]byte, error) {
	if ev.InitialEnd && !(e.explicit && e.bookmarks) || !ev.InitialEnd && !e.bookmarks {
		return nil, nil
	}
	obj := e.rt.info.New()
	obj.SetResourceVersion(strconv.FormatInt(ev.Revision, 10))
	if ev.InitialEnd {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	gvk := e.rt.info.GVK
	var shown any = obj
	switch e.out.as {
	case asMetadata, asMetadataList:
		partial := partialOf(obj, e.out.version)
		gvk, shown = partial.GroupVersionKind(), partial
	case asTable:
		t := newTable(e.rt, e.out)
		t.ColumnDefinitions = nil
		t.ResourceVersion = obj.GetResourceVersion()
		row := metav1.TableRow{Cells: e.rt.table.Cells(obj, time.Now())}
		if ev.InitialEnd {
			b, err := codec.Marshal(partialOf(obj, e.out.version))
			if err != nil {
				return nil, err
			}
			row.Object.Raw = b
		}
		t.Rows = append(t.Rows, row)
		shown = t
	default:
		registry.SetKind(obj, gvk)
	}
	return e.newFrame("BOOKMARK", gvk, shown)
}

// end sends the error that ended a watch, unless its time was up or the client has disconnected.
func (e *eventStream) end(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, cache.ErrStopped) || errors.Is(err, errDisconnected) {
		return
	}
	if _, ok := errors.AsType[*cache.SlowError](err); ok {
		return // the client resumes from its last resourceVersion
	}
	if _, ok := errors.AsType[*store.ExpiredError](err); ok {
		err = apierrors.NewResourceExpired("too old resource version: the events after it are not available any more")
	}
	status := apierrors.ToStatus(err)
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	var b []byte
	if e.out.media == mediaProto {
		body, err := codec.MarshalEnvelope("v1", "Status", &status)
		if err != nil {
			return
		}
		b = codec.AppendEventProto(nil, "ERROR", body)
	} else if b, err = e.frameJSON("ERROR", &status); err != nil {
		return
	}
	_, _ = e.w.Write(b)
	_ = e.control.Flush()
}
