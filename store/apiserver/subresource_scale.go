package apiserver

import (
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/registry"
)

var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// scaleRoute is what a Scale is shown as.
func scaleRoute(rt *route) *route {
	info := *rt.info
	info.GVK = scaleKind
	return &route{info: &info, table: builtin.ScaleTable, proto: true}
}

// scaleOf is the Scale of an object.
func scaleOf(obj metav1.Object, paths *registry.ScalePaths) (*autoscalingv1.Scale, error) {
	m := metav1.MetaOf(obj)
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID,
		ResourceVersion: m.ResourceVersion, CreationTimestamp: m.CreationTimestamp}}
	s.SetGroupVersionKind(scaleKind)
	var replicas *int32
	var selector *metav1.LabelSelector
	switch o := obj.(type) {
	case *appsv1.Deployment:
		replicas, selector, s.Status.Replicas = o.Spec.Replicas, o.Spec.Selector, o.Status.Replicas
	case *appsv1.ReplicaSet:
		replicas, selector, s.Status.Replicas = o.Spec.Replicas, o.Spec.Selector, o.Status.Replicas
	case *appsv1.StatefulSet:
		replicas, selector, s.Status.Replicas = o.Spec.Replicas, o.Spec.Selector, o.Status.Replicas
	case *corev1.ReplicationController:
		replicas, s.Status.Replicas = o.Spec.Replicas, o.Status.Replicas
		s.Status.Selector = labels.SelectorFromSet(o.Spec.Selector).String()
	case *metav1.Unstructured:
		return s, customScale(o, paths, s)
	default:
		return nil, apierrors.NewInternalError(errNotScalable)
	}
	if replicas != nil {
		s.Spec.Replicas = *replicas
	}
	if selector != nil {
		sel, err := selector.Selector()
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		s.Status.Selector = sel.String()
	}
	return s, nil
}

// setReplicas writes the desired number into an object.
func setReplicas(obj metav1.Object, paths *registry.ScalePaths, n int32) error {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = &n
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = &n
	case *appsv1.StatefulSet:
		o.Spec.Replicas = &n
	case *corev1.ReplicationController:
		o.Spec.Replicas = &n
	case *metav1.Unstructured:
		if paths == nil || !o.SetNested(int64(n), registry.SplitScalePath(paths.Spec)...) {
			return apierrors.NewInternalError(errNotScalable)
		}
	default:
		return apierrors.NewInternalError(errNotScalable)
	}
	return nil
}

// scale reads or writes the Scale of an object.
func (s *Server) scale(rt *route, r *request) {
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
		if err := wantsReplicas(obj, rt.res.Definition().Scale); err != nil {
			r.fail(err)
			return
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

// writeScale stores the number of replicas of the Scale that the request makes.
func (s *Server) writeScale(rt *route, r *request) (metav1.Object, error) {
	paths := rt.res.Definition().Scale
	change, w, err := r.scaleChange()
	if err != nil {
		return nil, err
	}
	ctx, err := s.fenced(r)
	if err != nil {
		return nil, err
	}
	replicas := managedfields.FieldPath("spec", "replicas")
	if paths != nil {
		replicas = managedfields.FieldPath(registry.SplitScalePath(paths.Spec)...)
	}
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
		old, err := scaleOf(obj, paths)
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
		// A custom resource's replicas are checked where it keeps them.
		if errs := autoscalingv1.ValidateScale(scale); len(errs) > 0 && paths == nil {
			return nil, apierrors.NewInvalid(scaleKind.GroupKind(), old.Name, errs)
		}
		m.ManagedFields = managedfields.FromScale(m.ManagedFields, scale.ManagedFields, replicas, rt.info.GVK.GroupVersion().String())
		w.Body.Object, w.Body.Old = scale, old
		w.Body.Apply = func(obj metav1.Object) error { return setReplicas(obj, paths, scale.Spec.Replicas) }
		return obj, setReplicas(obj, paths, scale.Spec.Replicas)
	}, registry.UpdateOptions{Write: w, Patch: true})
	return obj, err
}

// scaleChange returns what the request makes of a Scale.
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

// trackScale records who wrote the Scale's replicas. What else a client sent of the Scale is not stored.
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
