package registry

import (
	"context"
	"errors"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// serverManager owns what the server's own parts write without naming a manager.
const serverManager = "kube-apiserver"

// owners returns the type by which the fields of the resource are owned.
func (r *Resource) owners() (*managedfields.Type, error) {
	switch {
	case r.def.Managed != nil:
		return r.def.Managed, nil
	case r.shape.unstructured:
		return managedfields.ObjectOf(nil, nil)
	}
	return managedfields.ForType(r.info.Type)
}

var (
	statusFields = managedfields.NewSet(managedfields.FieldPath("status"))
	specFields   = managedfields.NewSet(managedfields.FieldPath("spec"))
	// customFields cannot be written through the status of custom resources and of kinds with StatusOnly.
	customFields = managedfields.NewSet(managedfields.FieldPath("spec"), managedfields.FieldPath("metadata"))
)

// fieldWrite returns the write as the tracking of owners describes it.
func (r *Resource) fieldWrite(ctx context.Context, w Write) managedfields.Write {
	fw := managedfields.Write{Manager: w.FieldManager, Subresource: w.Subresource, APIVersion: r.apiVersion}
	fw.Version = func(apiVersion string) *managedfields.Version { return r.ownedIn(ctx, apiVersion) }
	if fw.Manager == "" {
		fw.Manager = serverManager
	}
	switch {
	case w.Subresource == "status" && (r.def.Custom || r.def.Strategy.StatusOnly):
		fw.Reset = customFields
	case w.Subresource == "status":
		fw.Reset = specFields
	case w.Subresource == "" && r.hasStatus:
		fw.Reset = statusFields
	default:
		fw.Reset = r.def.Subresources[w.Subresource].Reset
	}
	return fw
}

// ownedIn returns the version of the kind in which a manager owns fields; nil if it has the same paths as
// this one.
func (r *Resource) ownedIn(ctx context.Context, apiVersion string) *managedfields.Version {
	kind := schema.FromAPIVersionAndKind(apiVersion, r.info.GVK.Kind)
	forms := versions{r}
	other, err := forms.find(kind)
	if err != nil || r.sameForm() && other.sameForm() {
		return nil
	}
	t, err := other.owners()
	if err != nil {
		return nil
	}
	return &managedfields.Version{
		Type: t,
		To:   func(obj metav1.Object) (metav1.Object, error) { return forms.Convert(ctx, obj, r.info.GVK, kind) },
		From: func(obj metav1.Object) (metav1.Object, error) { return forms.Convert(ctx, obj, kind, r.info.GVK) },
	}
}

// sameForm reports whether objects are stored as they are served.
func (r *Resource) sameForm() bool { return r.def.ToStored == nil && r.def.FromStored == nil }

// trackCreate records the manager of a new object as the owner of its fields.
func (r *Resource) trackCreate(ctx context.Context, obj metav1.Object, w Write) error {
	if w.Tracked {
		return nil
	}
	return r.track(ctx, nil, obj, w)
}

// trackUpdate records the manager as the owner of the fields it changed.
func (r *Resource) trackUpdate(ctx context.Context, obj, old metav1.Object, w Write) error {
	if w.Tracked {
		return nil
	}
	return r.track(ctx, old, obj, w)
}

func (r *Resource) track(ctx context.Context, old, obj metav1.Object, w Write) error {
	t, err := r.owners()
	if err == nil {
		err = t.Update(old, obj, r.fieldWrite(ctx, w))
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

// ErrUnchanged is returned by a Change that makes no change. The update then succeeds without validation and
// admission, and writes nothing unless the object is stored at another version or in another encoding than it
// would be now.
var ErrUnchanged = errors.New("registry: the object is unchanged")

// Apply merges an applied configuration into the current object, or into nothing, and records the ownership.
// The result must be written with Write.Tracked. Errors are ErrUnchanged and API errors.
func (r *Resource) Apply(ctx context.Context, current Current, config map[string]any, w Write, force bool) (metav1.Object, error) {
	t, err := r.owners()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	live := current.Object
	if live == nil {
		live = reflect.New(r.info.Type).Interface().(metav1.Object)
	}
	obj, changed, err := t.Apply(live, config, r.fieldWrite(ctx, w), force)
	switch {
	case err != nil:
		return nil, ApplyError(err)
	case !changed && current.Object != nil:
		return nil, ErrUnchanged
	case !changed:
		obj = live
	}
	return obj, nil
}

// ApplyError returns the API error for an apply that failed with err.
func ApplyError(err error) error {
	if e, ok := errors.AsType[*managedfields.ConflictError](err); ok {
		return apierrors.NewApplyConflict(e.Causes(), e.Error())
	}
	if e, ok := errors.AsType[*managedfields.PatchError](err); ok {
		return apierrors.NewBadRequest(e.Error())
	}
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return err
	}
	return apierrors.NewBadRequest(err.Error())
}
