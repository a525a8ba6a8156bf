package controlplane

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/flowcontrol"
	"github.com/keelson-dev/keelson/store/registry"
)

var (
	levelResource      = flowcontrolv1.GroupVersion.WithResource("prioritylevelconfigurations")
	flowSchemaResource = flowcontrolv1.GroupVersion.WithResource("flowschemas")
)

// flowInterval is how often the objects that configure priority and fairness are compared with the defaults.
const flowInterval = time.Minute

// flowWrites are by the manager that Kubernetes names for them.
var flowWrites = registry.Write{FieldManager: "api-priority-and-fairness-config-producer-v1"}

// keepFlows keeps the default objects of priority and fairness until ctx ends. What is missing is created.
// The specs of the mandatory ones are always those of the defaults; those of the others are if their
// annotation says so, or if they have no annotation and have never been changed. An object that its
// annotation calls a default and that is none, since it is of another version of the server, is deleted.
func keepFlows(ctx context.Context, s *apiserver.Server) {
	if s.Registry().Resource(levelResource) == nil || s.Registry().Resource(flowSchemaResource) == nil {
		return
	}
	for backoff.Sleep(ctx, flowInterval) == nil {
		schemas, levels := flowcontrol.Defaults()
		err := errors.Join(keepDefaults(ctx, s, levelResource, levels), keepDefaults(ctx, s, flowSchemaResource, schemas),
			dropFormer(ctx, s, flowSchemaResource, schemas), dropFormer(ctx, s, levelResource, levels))
		if err != nil && ctx.Err() == nil {
			s.Logger().Warn("the defaults of priority and fairness are not complete: they are written again in a minute", "err", err)
		}
	}
}

// keepDefaults writes those of the defaults that are missing or differ.
func keepDefaults[T metav1.Object](ctx context.Context, s *apiserver.Server, gvr schema.GroupVersionResource, defaults []T) error {
	var errs []error
	for _, want := range defaults {
		if setDefaults := s.Scheme().ForObject(want).Rules.Default; setDefaults != nil {
			setDefaults(want)
		}
		errs = append(errs, keepDefault(ctx, s.Access(), gvr, want))
	}
	return errors.Join(errs...)
}

func keepDefault(ctx context.Context, a registry.Access, gvr schema.GroupVersionResource, want metav1.Object) error {
	key := metav1.KeyOf(want)
	have, err := a.Get(ctx, gvr, key)
	switch {
	case apierrors.IsNotFound(err):
		if _, err = a.Create(ctx, gvr, want, flowWrites); apierrors.IsAlreadyExists(err) {
			return nil // by another server
		}
		return err
	case err != nil:
		return err
	case !likeDefault(have, want):
		return nil
	}
	_, err = a.Update(ctx, gvr, key, func(obj metav1.Object) error {
		if !likeDefault(obj, want) {
			return registry.ErrUnchanged
		}
		return nil
	}, flowWrites)
	return err
}

// likeDefault makes an object like the default of its name, as far as it is to be, and reports whether it has
// changed.
func likeDefault(obj, want metav1.Object) (changed bool) {
	mandatory := want.GetName() == flowcontrolv1.FlowSchemaNameExempt || want.GetName() == flowcontrolv1.FlowSchemaNameCatchAll
	m := metav1.MetaOf(obj)
	value, err := strconv.ParseBool(m.Annotations[flowcontrol.AutoUpdate])
	kept := mandatory || err == nil && value || err != nil && m.Generation == 1
	if err != nil || value != kept {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[flowcontrol.AutoUpdate], changed = strconv.FormatBool(kept), true
	}
	if !kept {
		return changed
	}
	switch have := obj.(type) {
	case *flowcontrolv1.FlowSchema:
		spec := &want.(*flowcontrolv1.FlowSchema).Spec
		if codec.Equal(&have.Spec, spec) {
			return changed
		}
		have.Spec = *codec.DeepCopy(spec)
	case *flowcontrolv1.PriorityLevelConfiguration:
		spec := codec.DeepCopy(&want.(*flowcontrolv1.PriorityLevelConfiguration).Spec)
		if have.Spec.Exempt != nil && spec.Exempt != nil { // the share of the exempt level is the user's
			spec.Exempt = have.Spec.Exempt
		}
		if codec.Equal(&have.Spec, spec) {
			return changed
		}
		have.Spec = *spec
	}
	return true
}

// dropFormer deletes the objects that are kept as defaults and are none.
func dropFormer[T metav1.Object](ctx context.Context, s *apiserver.Server, gvr schema.GroupVersionResource, defaults []T) error {
	all, err := s.Access().List(ctx, gvr, "", labels.Everything())
	errs := []error{err}
	for _, obj := range all {
		kept, err := strconv.ParseBool(obj.GetAnnotations()[flowcontrol.AutoUpdate])
		if err != nil || !kept || slices.ContainsFunc(defaults, func(d T) bool { return d.GetName() == obj.GetName() }) {
			continue
		}
		if err := s.Access().Delete(ctx, gvr, metav1.KeyOf(obj), nil, flowWrites); !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
