package apiserver

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

var deleteOptionsKind = schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "DeleteOptions"}

// deleteOptions reads the body and then the query of a delete.
func (r *request) deleteOptions() (*metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	data, err := r.readBody()
	if err != nil {
		return nil, err
	}
	if len(data) > 0 {
		m, err := r.contentMedia()
		if err != nil {
			return nil, err
		}
		// DeleteOptions are a kind of every group-version.
		want := deleteOptionsKind
		if err := r.decodeAs(data, m, &o, want, fieldsIgnore); err != nil {
			if o.Kind != "DeleteOptions" && o.Kind != "" {
				return nil, err
			}
			if err := r.decodeAnyVersion(data, m, &o); err != nil {
				return nil, err
			}
		}
	}
	if len(data) > 0 {
		recorded := o
		r.auditBody(&recorded, deleteOptionsKind)
		// The body replaces the query, but a dry run that the query requests must never become a real delete.
		if len(o.DryRun) == 0 {
			o.DryRun = r.query["dryRun"]
		}
	} else if err := r.deleteQuery(&o); err != nil {
		return nil, err
	}
	if !r.server.opts.UnsafeDelete {
		o.IgnoreStoreReadErrorWithClusterBreakingPotential = nil
	}
	return &o, validateDeleteOptions(&o)
}

// ignoresReadErrors reports whether an object is to be deleted although it cannot be read.
func ignoresReadErrors(o *metav1.DeleteOptions) bool {
	p := o.IgnoreStoreReadErrorWithClusterBreakingPotential
	return p != nil && *p
}

var unsafePath = validation.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential")

// decodeAnyVersion accepts DeleteOptions of any group-version.
func (r *request) decodeAnyVersion(data []byte, m media, o *metav1.DeleteOptions) error {
	if m != mediaProto {
		if gvk := o.GroupVersionKind(); gvk.Kind == "DeleteOptions" {
			return nil
		}
	}
	*o = metav1.DeleteOptions{}
	for _, gv := range append([]schema.GroupVersion{{Version: "v1"}, r.info.GVR.GroupVersion()}, schema.GroupVersion{Group: "meta.k8s.io", Version: "v1"}) {
		if err := r.decodeAs(data, m, o, gv.WithKind("DeleteOptions"), fieldsIgnore); err == nil {
			return nil
		}
	}
	return apierrors.NewBadRequest("the body is not a DeleteOptions")
}

func (r *request) deleteQuery(o *metav1.DeleteOptions) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	if v, ok, err := queryInt(r.query, "gracePeriodSeconds"); err != nil {
		return err
	} else if ok {
		o.GracePeriodSeconds = &v
	}
	if r.query.Has("propagationPolicy") {
		o.PropagationPolicy = new(metav1.DeletionPropagation(r.query.Get("propagationPolicy")))
	}
	if r.query.Has("orphanDependents") {
		o.OrphanDependents = new(boolParam(r.query, "orphanDependents"))
	}
	uid, version := r.query.Get("uid"), r.query.Get("resourceVersion")
	if uid != "" || version != "" {
		o.Preconditions = &metav1.Preconditions{}
	}
	if uid != "" {
		o.Preconditions.UID = new(types.UID(uid))
	}
	if version != "" {
		o.Preconditions.ResourceVersion = &version
	}
	if name := "ignoreStoreReadErrorWithClusterBreakingPotential"; r.query.Has(name) {
		o.IgnoreStoreReadErrorWithClusterBreakingPotential = new(boolParam(r.query, name))
	}
	o.DryRun = r.query["dryRun"]
	return nil
}

func validateDeleteOptions(o *metav1.DeleteOptions) error {
	var errs validation.ErrorList
	if o.OrphanDependents != nil && o.PropagationPolicy != nil {
		errs = append(errs, validation.Invalid(validation.NewPath("propagationPolicy"), *o.PropagationPolicy, "orphanDependents and deletionPropagation cannot be both set"))
	}
	policies := []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan}
	if p := o.PropagationPolicy; p != nil && !slices.Contains(policies, *p) {
		errs = append(errs, validation.NotSupported(validation.NewPath("propagationPolicy"), *p, append(policies, "nil")))
	}
	errs = append(errs, validateDryRun(o.DryRun)...)
	if ignoresReadErrors(o) {
		for _, other := range []struct {
			name string
			set  bool
		}{
			{"dryRun", len(o.DryRun) > 0}, {"propagationPolicy", o.PropagationPolicy != nil}, {"orphanDependents", o.OrphanDependents != nil},
			{"gracePeriodSeconds", o.GracePeriodSeconds != nil}, {"preconditions", o.Preconditions != nil},
		} {
			if other.set {
				errs = append(errs, validation.Invalid(unsafePath, true, "cannot be set together with ."+other.name))
			}
		}
	}
	if len(errs) > 0 {
		return invalidOptions("DeleteOptions", errs...)
	}
	return nil
}

func (s *Server) delete(rt *route, r *request) {
	out, err := r.accepts(rt.offers(false))
	if err != nil {
		r.fail(err)
		return
	}
	o, err := r.deleteOptions()
	if err != nil {
		r.fail(err)
		return
	}
	ctx, err := s.fenceContext(r)
	if err != nil {
		r.fail(err)
		return
	}
	if ignoresReadErrors(o) {
		s.deleteUnreadable(ctx, rt, r)
		return
	}
	d, err := rt.res.Delete(ctx, r.key(rt.info.Namespaced), o, r.write(writeOptions{dryRun: len(o.DryRun) > 0}, o))
	if err != nil {
		r.fail(err)
		return
	}
	if d.ShowObject {
		code := http.StatusOK
		if !d.Gone && o.OrphanDependents != nil && !*o.OrphanDependents {
			code = http.StatusAccepted // clients that use this old option expect it
		}
		r.sendObject(rt, code, out, d.Object)
		return
	}
	gr := rt.info.GVR.GroupResource()
	r.succeed(http.StatusOK, &metav1.StatusDetails{Name: d.Object.GetName(), Group: gr.Group, Kind: gr.Resource, UID: metav1.MetaOf(d.Object).UID})
}

// deleteUnreadable deletes an object that cannot be read, for which there is a verb of its own: neither
// finalizers nor admission apply.
func (s *Server) deleteUnreadable(ctx context.Context, rt *route, r *request) {
	r.audit.Annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
	a := r.attributes()
	a.Verb = "unsafe-delete-ignore-read-errors"
	if d, reason, err := s.callAuthorizer(ctx, a); d != authz.Allow {
		r.fail(apierrors.NewForbidden(r.info.GVR.GroupResource(), r.info.Name, errors.New(forbidden(a, reason, err))))
		return
	}
	if err := rt.res.DeleteUnreadable(ctx, r.key(rt.info.Namespaced)); err != nil {
		r.fail(err)
		return
	}
	r.succeed(http.StatusOK, &metav1.StatusDetails{Name: r.info.Name, Kind: rt.info.GVK.Kind})
}

func (s *Server) deleteCollection(rt *route, r *request) {
	out, err := r.accepts(rt.offers(false))
	if err != nil {
		r.fail(err)
		return
	}
	lo, err := r.listOptions(rt, false)
	if err != nil {
		r.fail(err)
		return
	}
	o, err := r.deleteOptions()
	if err != nil {
		r.fail(err)
		return
	}
	if ignoresReadErrors(o) {
		r.fail(invalidOptions("DeleteOptions", validation.Invalid(unsafePath, true, "is not allowed with DELETECOLLECTION, try again after removing the option")))
		return
	}
	ctx, err := s.fenceContext(r)
	if err != nil {
		r.fail(err)
		return
	}
	page, err := s.page(rt, r, lo)
	if err == nil {
		err = page.unreadableError(rt)
	}
	if err != nil {
		r.fail(err)
		return
	}
	w := r.write(writeOptions{dryRun: len(o.DryRun) > 0}, o)
	for _, item := range page.items {
		if err := deleteItem(ctx, rt.res, item, o, w); err != nil {
			r.fail(err)
			return
		}
	}
	r.sendPage(rt, out, page)
}

// deleteItem deletes an item of a list. It may have been deleted since.
func deleteItem(ctx context.Context, res *registry.Resource, item *cache.Object, o *metav1.DeleteOptions, w registry.Write) error {
	_, err := res.Delete(ctx, types.NamespacedName{Namespace: item.Namespace, Name: item.Name}, o, w)
	return apierrors.IgnoreNotFound(err)
}
