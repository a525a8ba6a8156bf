package apiserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/columns"
	"github.com/keelson-dev/keelson/store/registry"
)

// Computed is a resource whose objects are computed for each request. Its Info.Verbs name what it serves, out
// of get, list, watch and create; the functions for other verbs are not called and may be nil. The user is in
// ctx (authn.UserFrom).
type Computed struct {
	Info *scheme.Info
	// Table has the printer columns; the zero value means those of columns.Default.
	Table columns.Table
	// Deprecated is the warning with every response about the resource; empty for none.
	Deprecated string
	// Get returns one object; apierrors.NewNotFound if there is none.
	Get func(ctx context.Context, key types.NamespacedName) (metav1.Object, error)
	// List returns the objects of a namespace, empty for all. The server applies selectors.
	List func(ctx context.Context, namespace string) ([]metav1.Object, error)
	// Watch sends changes until ctx ends. send blocks while the client does not read, and fails when the
	// client has disconnected.
	Watch func(ctx context.Context, namespace string, send func(eventType string, obj metav1.Object) error) error
	// Create handles a create, such as a review, after admission. It must change nothing if DryRun(ctx).
	// Writes through the server's registry with ctx are fenced as the request is.
	Create func(ctx context.Context, namespace string, obj metav1.Object) (metav1.Object, error)
}

type dryRunKey struct{}

// DryRun reports whether the create for which Computed.Create was called is a dry run.
func DryRun(ctx context.Context) bool { return ctx.Value(dryRunKey{}) != nil }

func hasProto(info *scheme.Info) bool {
	has, known := protoTypes.Load(info.Type)
	if !known {
		_, err := codec.SizeProto(info.New())
		has = err == nil
		protoTypes.Store(info.Type, has)
	}
	return has.(bool)
}

var protoTypes sync.Map // of Go types: whether they have a protobuf form

func (s *Server) serveComputed(rt *route, r *request) {
	o := rt.offers(r.info.Verb == "watch")
	if r.info.Verb == "create" {
		o.table = false // there is no table of objects that are not stored
	}
	out, err := r.accepts(o)
	if err != nil {
		r.fail(err)
		return
	}
	c := rt.computed
	switch {
	case r.info.Verb == "get" && c.Get != nil:
		obj, err := c.Get(r.Context(), r.key(rt.info.Namespaced))
		r.respond(rt, http.StatusOK, out, obj, err)
	case r.info.Verb == "create" && c.Create != nil:
		wo, err := r.writeOptions("CreateOptions")
		if err != nil {
			r.fail(err)
			return
		}
		obj := rt.info.New()
		if err := r.decode(obj, rt.info.GVK); err != nil {
			r.fail(err)
			return
		}
		if err := r.place(rt, obj); err != nil {
			r.fail(err)
			return
		}
		if rt.info.Rules.Default != nil {
			rt.info.Rules.Default(obj)
		}
		if err := trackComputed(rt, obj, wo.fieldManager); err != nil {
			r.fail(err)
			return
		}
		if rt.info.Rules.Validate != nil {
			if errs := rt.info.Rules.Validate(obj); len(errs) > 0 {
				r.fail(apierrors.NewInvalid(rt.info.GVK.GroupKind(), obj.GetName(), errs))
				return
			}
		}
		ctx, err := s.fenceContext(r)
		if err == nil {
			err = s.registry.AdmitUnstored(ctx, rt.info, types.NamespacedName{Namespace: r.info.Namespace, Name: obj.GetName()}, obj, r.write(wo, createOptions(r, wo)))
		}
		if err != nil {
			r.fail(err)
			return
		}
		if wo.dryRun {
			ctx = context.WithValue(ctx, dryRunKey{}, true)
		}
		made, err := c.Create(ctx, r.info.Namespace, obj)
		r.respond(rt, http.StatusCreated, out, made, err)
	case r.info.Verb == "list" && c.List != nil:
		r.listComputed(rt, out)
	case r.info.Verb == "watch" && c.Watch != nil:
		r.watchComputed(rt, out)
	default:
		r.fail(apierrors.NewMethodNotSupported(rt.info.GVR.GroupResource(), r.info.Verb))
	}
}

// place sets the namespace of the request in an object to be computed, and clears the fields that only a
// server sets.
func (r *request) place(rt *route, obj metav1.Object) error {
	m := metav1.MetaOf(obj)
	m.UID, m.CreationTimestamp, m.SelfLink = "", metav1.Time{}, ""
	m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil
	if rt.info.Namespaced && m.Namespace != "" && m.Namespace != r.info.Namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	m.Namespace = r.info.Namespace
	return nil
}

// trackComputed sets the managed fields as for a stored object.
func trackComputed(rt *route, obj metav1.Object, manager string) error {
	t, err := managedfields.ForType(rt.info.Type)
	if err == nil {
		err = t.Update(nil, obj, managedfields.Write{Manager: manager, APIVersion: rt.info.GVK.GroupVersion().String()})
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

func (r *request) respond(rt *route, code int, out output, obj metav1.Object, err error) {
	if err != nil {
		r.fail(err)
		return
	}
	registry.SetKind(obj, rt.info.GVK)
	r.sendObject(rt, code, out, obj)
}

// selected applies selectors to computed objects.
func (o *listOptions) selected(obj metav1.Object) bool {
	for _, req := range o.fields.Requirements() {
		v := obj.GetName()
		if req.Field == "metadata.namespace" {
			v = obj.GetNamespace()
		}
		if !req.Matches(v) {
			return false
		}
	}
	return !o.fields.SelectsNothing() && o.labels.Matches(obj.GetLabels())
}

func (r *request) listComputed(rt *route, out output) {
	o, err := r.listOptions(rt, false)
	if err != nil {
		r.fail(err)
		return
	}
	all, err := rt.computed.List(r.Context(), r.info.Namespace)
	if err != nil {
		r.fail(err)
		return
	}
	list := metav1.List[metav1.Object]{Items: []metav1.Object{}}
	list.SetGroupVersionKind(rt.info.ListKind())
	for _, obj := range all {
		if o.selected(obj) {
			list.Items = append(list.Items, obj)
		}
	}
	if out.as == asTable {
		r.sendTableOf(rt, http.StatusOK, out, list.Items...)
		return
	}
	h := codec.ListHeader{APIVersion: list.APIVersion, Kind: list.Kind}
	if out.as == asMetadata || out.as == asMetadataList {
		kind := metaKind(out.version, "PartialObjectMetadataList")
		h.APIVersion, h.Kind = kind.GroupVersion().String(), kind.Kind
	}
	r.sendItems(h, out, list.Items)
}

// sendItems sends a list of objects that are not in a cache.
func (r *request) sendItems(h codec.ListHeader, out output, objs []metav1.Object) {
	var b bytesWriter
	var err error
	items := make([]codec.Item, len(objs))
	for i, obj := range objs {
		var shown any = obj
		if out.as != asObject {
			shown = &metav1.PartialObjectMetadata{ObjectMeta: *metav1.MetaOf(obj)}
		}
		if out.media == mediaProto {
			items[i].Body, err = codec.MarshalProto(shown)
		} else {
			items[i].Body, err = codec.Marshal(shown)
		}
		if err != nil {
			r.fail(apierrors.NewInternalError(err))
			return
		}
	}
	if r.audit.Wants(auditv1.LevelRequestResponse) {
		r.auditResponse(&metav1.List[metav1.Object]{TypeMeta: metav1.TypeMeta{APIVersion: h.APIVersion, Kind: h.Kind}, Items: objs})
	}
	each := func(yield func(codec.Item) bool) {
		for _, i := range items {
			if !yield(i) {
				return
			}
		}
	}
	if out.media == mediaProto {
		err = codec.WriteListProto(&b, h, each)
	} else {
		err = codec.WriteListJSON(&b, h, withErrors(each))
	}
	if err == nil && out.media != mediaProto {
		b, err = out.media.fromJSON(b)
	}
	if err != nil {
		r.fail(apierrors.NewInternalError(err))
		return
	}
	r.sendBytes(http.StatusOK, out.media, b)
}

func (r *request) watchComputed(rt *route, out output) {
	o, err := r.listOptions(rt, true)
	if err != nil {
		r.fail(err)
		return
	}
	ctx, cancel := r.server.watchContext(r, o)
	defer cancel()
	e := &eventStream{request: r, rt: rt, out: out, include: metav1.IncludeMetadata, control: http.NewResponseController(r.w)}
	e.begin()
	e.end(rt.computed.Watch(ctx, r.info.Namespace, func(eventType string, obj metav1.Object) error {
		if !o.selected(obj) {
			return ctx.Err()
		}
		registry.SetKind(obj, rt.info.GVK)
		b, err := e.encodeObject(eventType, obj)
		if err != nil {
			return err
		}
		if e.sent != nil {
			e.sent(len(b))
		}
		if _, err := e.w.Write(b); err != nil {
			return errDisconnected
		}
		return e.control.Flush()
	}))
}

// encodeObject returns the event of an object that is not in a cache.
func (e *eventStream) encodeObject(eventType string, obj metav1.Object) ([]byte, error) {
	gvk := e.rt.info.GVK
	var shown any = obj
	switch e.out.as {
	case asMetadata, asMetadataList:
		partial := partialOf(obj, e.out.version)
		gvk, shown = partial.GroupVersionKind(), partial
	case asTable:
		row, err := tableRow(e.rt, obj, time.Now(), e.include, e.out.version)
		if err != nil {
			return nil, err
		}
		t := newTable(e.rt, e.out)
		if e.headers {
			t.ColumnDefinitions = nil
		}
		e.headers = true
		t.ResourceVersion = obj.GetResourceVersion()
		t.Rows = append(t.Rows, row)
		shown = t
	}
	return e.newFrame(eventType, gvk, shown)
}
