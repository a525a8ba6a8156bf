package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/registry"
)

var (
	errScaleModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")
	scaleType        = reflect.TypeFor[autoscalingv1.Scale]()
)

var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// scaleRoute returns the route by which a Scale is decoded and sent.
func scaleRoute(rt *route) *route {
	info := *rt.info
	info.GVK = scaleKind
	return &route{info: &info, table: &builtin.ScaleTable, proto: true}
}

// scaleOf returns the Scale of an object.
func scaleOf(obj metav1.Object, scale *registry.Scale) (*autoscalingv1.Scale, error) {
	n, err := scale.Get(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	m := metav1.MetaOf(obj)
	s := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID,
			ResourceVersion: m.ResourceVersion, CreationTimestamp: m.CreationTimestamp},
		Spec:   autoscalingv1.ScaleSpec{Replicas: n.Desired},
		Status: autoscalingv1.ScaleStatus{Replicas: n.Current, Selector: n.Selector},
	}
	s.SetGroupVersionKind(scaleKind)
	return s, nil
}

// setReplicas writes the desired number into an object.
func setReplicas(obj metav1.Object, scale *registry.Scale, n int32) error {
	if err := scale.Set(obj, n); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

// scale reads or writes the Scale of an object.
func (s *Server) scale(rt *route, r *request) {
	if rt.res.Definition().Scale == nil {
		r.fail(apierrors.NewInternalError(fmt.Errorf("%s has the subresource scale, and its definition no Scale", rt.info.GVR.GroupResource())))
		return
	}
	shown := scaleRoute(rt)
	out, err := r.accepts(shown.offers(false))
	if err != nil {
		r.fail(err)
		return
	}
	if r.info.Verb == "get" {
		f, err := r.getFreshness()
		if err != nil {
			r.fail(err)
			return
		}
		o, err := rt.res.Get(r.Context(), r.key(rt.info.Namespaced), f)
		if err != nil {
			r.fail(err)
			return
		}
		obj, err := rt.res.Decode(r.Context(), o)
		if err != nil {
			r.fail(err)
			return
		}
		if shows := rt.res.Definition().Scale.Shows; shows != nil {
			if err := shows(obj); err != nil {
				r.fail(apierrors.NewInternalError(err))
				return
			}
		}
		r.sendScale(rt, shown, out, obj)
		return
	}
	obj, err := s.writeScale(rt, r)
	if err != nil {
		r.fail(err)
		return
	}
	r.sendScale(rt, shown, out, obj)
}

func (r *request) sendScale(rt, shown *route, out output, obj metav1.Object) {
	scale, err := scaleOf(obj, rt.res.Definition().Scale)
	if err != nil {
		r.fail(err)
		return
	}
	r.sendObject(shown, http.StatusOK, out, scale)
}

// writeScale stores the number of replicas in the request's Scale.
func (s *Server) writeScale(rt *route, r *request) (metav1.Object, error) {
	kept := rt.res.Definition().Scale
	change, w, err := r.scaleChange()
	if err != nil {
		return nil, err
	}
	ctx, err := s.fenceContext(r)
	if err != nil {
		return nil, err
	}
	replicas := managedfields.FieldPath(kept.Replicas...)
	w.Tracked = true
	w.Body = &registry.Body{Kind: scaleKind, Operation: admission.Update}
	obj, _, err := rt.res.Update(ctx, r.key(rt.info.Namespaced), func(current registry.Current) (metav1.Object, error) {
		if current.Object == nil {
			return nil, apierrors.NewNotFound(rt.info.GVR.GroupResource(), r.info.Name)
		}
		obj, err := current.Copy(r.Context())
		if err != nil {
			return nil, err
		}
		old, err := scaleOf(obj, kept)
		if err != nil {
			return nil, err
		}
		m := metav1.MetaOf(obj)
		old.ManagedFields = managedfields.ScaleEntries(m.ManagedFields, replicas)
		scale, err := change(old)
		if err != nil {
			return nil, err
		}
		if v := scale.ResourceVersion; v != "" && v != old.ResourceVersion {
			return nil, apierrors.NewConflict(rt.info.GVR.GroupResource(), old.Name, errScaleModified)
		}
		if kept.Validate == nil {
			if errs := autoscalingv1.ValidateScale(scale); len(errs) > 0 {
				return nil, apierrors.NewInvalid(scaleKind.GroupKind(), old.Name, errs)
			}
		}
		m.ManagedFields = managedfields.FromScale(m.ManagedFields, scale.ManagedFields, replicas, rt.info.GVK.GroupVersion().String())
		w.Body.Object, w.Body.Old = scale, old
		w.Body.Apply = func(obj metav1.Object) error { return setReplicas(obj, kept, scale.Spec.Replicas) }
		return obj, setReplicas(obj, kept, scale.Spec.Replicas)
	}, registry.UpdateOptions{Write: w, Patch: true})
	return obj, err
}

// scaleChange returns a function that makes the request's change of a Scale.
func (r *request) scaleChange() (func(old *autoscalingv1.Scale) (*autoscalingv1.Scale, error), registry.Write, error) {
	owners, err := managedfields.ForType(scaleType)
	if err != nil {
		return nil, registry.Write{}, apierrors.NewInternalError(err)
	}
	if r.info.Verb == "update" {
		wo, err := r.writeOptions("UpdateOptions")
		if err != nil {
			return nil, registry.Write{}, err
		}
		body := &autoscalingv1.Scale{}
		if err := r.decode(body, scaleKind); err != nil {
			return nil, registry.Write{}, err
		}
		if body.Name != "" {
			if err := sameName(body, r.key(true)); err != nil {
				return nil, registry.Write{}, err
			}
		}
		return func(old *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
			if body.UID != "" && body.UID != old.UID {
				return nil, apierrors.NewConflict(r.rt.info.GVR.GroupResource(), old.Name, registry.ErrOtherUID(body.UID, old.UID))
			}
			scale := *body
			return &scale, trackScale(owners, old, &scale, wo)
		}, r.write(wo, updateOptions(r, wo)), nil
	}
	p, err := r.readPatch(true)
	if err != nil {
		return nil, registry.Write{}, err
	}
	w := r.write(p.wo, patchOptions(r, p))
	if p.applies() {
		config, err := r.readConfiguration(p, scaleKind, &autoscalingv1.Scale{})
		if err != nil {
			return nil, registry.Write{}, err
		}
		return func(old *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
			return applyScale(owners, old, config, p.wo)
		}, w, nil
	}
	return func(old *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
		doc, err := codec.Marshal(old)
		if err != nil {
			return nil, err
		}
		patched, err := p.apply(doc, scaleType)
		if err != nil {
			return nil, err
		}
		scale := &autoscalingv1.Scale{}
		if _, err := r.decodePatched(patched, scale, scaleKind, p.fv); err != nil {
			return nil, err
		}
		return scale, trackScale(owners, old, scale, p.wo)
	}, w, nil
}

func scaleWrite(wo writeOptions) managedfields.Write {
	return managedfields.Write{Manager: wo.fieldManager, Subresource: "scale", APIVersion: scaleKind.GroupVersion().String()}
}

// trackScale records who wrote the Scale's replicas. Other fields of the Scale are not stored.
func trackScale(owners *managedfields.Type, old, scale *autoscalingv1.Scale, wo writeOptions) error {
	scale.TypeMeta, scale.ObjectMeta, scale.Status = old.TypeMeta, withVersion(old.ObjectMeta, scale.ResourceVersion), old.Status
	if err := owners.Update(old, scale, scaleWrite(wo)); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

func withVersion(m metav1.ObjectMeta, version string) metav1.ObjectMeta {
	m.ResourceVersion = version
	return m
}

func applyScale(owners *managedfields.Type, old *autoscalingv1.Scale, config *configuration, wo writeOptions) (*autoscalingv1.Scale, error) {
	merged, changed, err := owners.Apply(old, config.fields, scaleWrite(wo), config.force)
	switch {
	case err != nil:
		return nil, registry.ApplyError(err)
	case !changed:
		return nil, registry.ErrUnchanged
	}
	return merged.(*autoscalingv1.Scale), nil
}
