package apiserver

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/registry"
)

// patchRequest is a patch as read.
type patchRequest struct {
	kind types.PatchType
	data []byte
	wo   writeOptions
	fv   fieldValidation
}

// applies reports that the patch is a server-side apply.
func (p *patchRequest) applies() bool {
	return p.kind == types.ApplyYAMLPatchType || p.kind == types.ApplyCBORPatchType
}

// readPatch reads body and options of a patch.
func (r *request) readPatch(strategic bool) (*patchRequest, error) {
	typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		typ = r.Header.Get("Content-Type")
	}
	known := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	if !strategic {
		known = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType}
	}
	if r.server.opts.CBOR {
		known = append(known, types.ApplyCBORPatchType)
	}
	p := &patchRequest{kind: types.PatchType(typ)}
	if !slices.Contains(known, p.kind) {
		text := "the body of the request was in an unknown format - accepted media types include:"
		for i, k := range known {
			if i > 0 {
				text += ","
			}
			text += " " + string(k)
		}
		return nil, apierrors.NewUnsupportedMediaType(text)
	}
	if p.wo, err = r.writeOptions("PatchOptions"); err != nil {
		return nil, err
	}
	if p.fv, err = r.fieldValidation(); err != nil {
		return nil, err
	}
	if !p.applies() && r.query.Has("force") {
		return nil, invalidOptions("PatchOptions", validation.Forbidden(validation.NewPath("force"), "may not be specified for non-apply patch"))
	}
	if p.data, err = r.readBody(); err != nil {
		return nil, err
	}
	if len(p.data) == 0 {
		return nil, apierrors.NewBadRequest("the patch has no body")
	}
	r.auditPatch(p)
	return p, nil
}

func patchOptions(r *request, p *patchRequest) *metav1.PatchOptions {
	o := &metav1.PatchOptions{DryRun: p.wo.list(), FieldManager: p.wo.fieldManager, FieldValidation: r.query.Get("fieldValidation")}
	if r.query.Has("force") {
		o.Force = new(boolParam(r.query, "force"))
	}
	return o
}

// apply returns the document with the patch applied.
func (p *patchRequest) apply(doc []byte, t reflect.Type) ([]byte, error) {
	var out []byte
	var err error
	switch p.kind {
	case types.JSONPatchType:
		out, err = patch.JSON(doc, p.data)
	case types.StrategicMergePatchType:
		out, err = patch.Strategic(doc, p.data, t)
	default:
		out, err = patch.Merge(doc, p.data)
	}
	if err == nil {
		return out, nil
	}
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return nil, err
	}
	code := patch.Code(err)
	var operations []map[string]json.RawMessage
	if code == http.StatusBadRequest && p.kind == types.JSONPatchType && json.Unmarshal(p.data, &operations) == nil {
		code = http.StatusUnprocessableEntity // a list of operations, some of them invalid
	}
	switch code {
	case http.StatusBadRequest:
		return nil, apierrors.NewBadRequest(err.Error())
	case http.StatusUnprocessableEntity:
		return nil, apierrors.New(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	case http.StatusRequestEntityTooLarge:
		return nil, apierrors.NewRequestEntityTooLarge(err.Error())
	}
	return nil, apierrors.NewInternalError(err)
}

// patch changes an object, or the part of it that the subresource may change.
func (s *Server) patch(rt *route, r *request) {
	out, err := r.accepts(rt.offers(false))
	if err != nil {
		r.fail(err)
		return
	}
	p, err := r.readPatch(!rt.res.Definition().Custom)
	if err != nil {
		r.fail(err)
		return
	}
	if p.applies() {
		s.apply(rt, r, out, p)
		return
	}
	ctx, err := s.fenceContext(r)
	if err != nil {
		r.fail(err)
		return
	}
	opts := registry.UpdateOptions{Patch: true, Write: r.write(p.wo, patchOptions(r, p))}
	obj, _, err := rt.res.Update(ctx, r.key(rt.info.Namespaced), func(current registry.Current) (metav1.Object, error) {
		doc, err := current.JSON()
		if err != nil {
			return nil, err
		}
		patched, err := p.apply(doc, rt.info.Type)
		if err != nil {
			return nil, err
		}
		return r.decodePatched(patched, rt.info.New(), rt.info.GVK, p.fv)
	}, opts)
	if err != nil {
		r.fail(err)
		return
	}
	r.sendObject(rt, http.StatusOK, out, obj)
}

// decodePatched reads the outcome of a patch.
func (r *request) decodePatched(data []byte, obj metav1.Object, gvk schema.GroupVersionKind, fv fieldValidation) (metav1.Object, error) {
	issues, err := codec.UnmarshalOptions(data, obj, codec.DecodeOptions{Strict: fv != fieldsIgnore})
	if err != nil {
		return nil, r.badPatch(cannotHandle(gvk, err.Error()))
	}
	got := gvk
	if k, ok := obj.(kindGetter); ok {
		got = k.GroupVersionKind()
	}
	if !r.isCustom() {
		if err := sameKind(got, gvk); err != nil { // the patch is invalid, not the request
			return nil, r.badPatch(err.Error())
		}
	}
	err = r.checkDecoded(obj, got, gvk, issues, fv)
	if e, ok := errors.AsType[*strictError](err); ok {
		return nil, r.badPatch(e.reason)
	}
	return obj, err
}

// refusedPatch is the part of a patch that the error for it has.
func (r *request) refusedPatch() string { return string(r.body[:min(len(r.body), 1<<10)]) }

// badPatch returns the error for a patch whose result is not a valid object. It names no kind: kubectl says
// "The request is invalid".
func (r *request) badPatch(reason string) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", validation.ErrorList{
		validation.Invalid(validation.NewPath("patch"), r.refusedPatch(), reason)})
}
