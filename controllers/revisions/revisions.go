// Package revisions keeps the history of a pod template in ControllerRevisions, as the controllers of
// StatefulSets and DaemonSets do; kubectl rollout history and undo read them.
//
// A revision is found by its template, not by its name, so that a process that ends between two writes finds
// what it has created. One that becomes current again gets the highest number instead of a twin.
package revisions

import (
	"cmp"
	"context"
	"encoding/json" // orders keys and escapes as kube-controller-manager does
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// maxPrefix is how much of the owner's name is part of the name of a revision.
const maxPrefix = 223

// History reads and writes the revisions of owners of type O. Create it with [New]. Its methods may be called
// concurrently for different owners.
type History[O metav1.Object] struct {
	controllers.Dependents[O, *appsv1.ControllerRevision]
	api       *client.Client[*appsv1.ControllerRevision]
	scheme    *scheme.Scheme
	hashLabel string
}

// New returns the History that reads from the informers of m and writes through its connection. Revisions
// have the hash of their template, which ends their name, in the label hashLabel. A controller that uses a
// History has controllers.Reads[*appsv1.ControllerRevision]() among its sources.
func New[O metav1.Object](m *manager.Manager, hashLabel string) *History[O] {
	return &History[O]{
		Dependents: controllers.NewDependents[O, *appsv1.ControllerRevision](m),
		api:        client.For[*appsv1.ControllerRevision](m.Conn()), scheme: m.Conn().Scheme(), hashLabel: hashLabel,
	}
}

// List returns the revisions of owner, the latest last, after adopting those that selector matches; see
// [controllers.Dependents.Claim]. They are shared and read-only.
func (h *History[O]) List(ctx context.Context, owner O, selector labels.Selector) ([]*appsv1.ControllerRevision, error) {
	list, err := h.Claim(ctx, owner, controllers.ClaimOptions[*appsv1.ControllerRevision]{Selector: selector})
	slices.SortFunc(list, compare)
	return list, err
}

// compare orders revisions from the oldest to the latest.
func compare(a, b *appsv1.ControllerRevision) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// Ensure returns the revision of a template, which is then the latest of the history: it creates it, or gives
// it the highest number if there is another one with a higher number. list is the history that [History.List]
// returned, and the returned one includes the revision. collisions, not nil, counts the names that were taken
// by other revisions, and is incremented; the caller stores it with the owner's status.
func (h *History[O]) Ensure(ctx context.Context, owner O, template *corev1.PodTemplateSpec, list []*appsv1.ControllerRevision, collisions *int32) (*appsv1.ControllerRevision, []*appsv1.ControllerRevision, error) {
	number := int64(1)
	if n := len(list); n > 0 {
		number = list[n-1].Revision + 1
	}
	for i, have := range slices.Backward(list) {
		if !describes(have, template) {
			continue
		}
		if i == len(list)-1 {
			return have, list, nil
		}
		next := codec.DeepCopy(have)
		next.Revision = number
		updated, err := h.api.Update(ctx, next)
		if err != nil {
			return nil, list, err
		}
		return updated, append(slices.Delete(slices.Clone(list), i, i+1), updated), nil
	}
	created, err := h.create(ctx, owner, template, number, collisions)
	if err != nil {
		return nil, list, err
	}
	return created, append(slices.Clip(list), created), nil
}

// create creates a revision. A revision of the same name and owner is the one wanted if it has the template,
// which happens when the answer to an earlier create was lost.
func (h *History[O]) create(ctx context.Context, owner O, template *corev1.PodTemplateSpec, number int64, collisions *int32) (*appsv1.ControllerRevision, error) {
	data, err := encode(template)
	if err != nil {
		return nil, err
	}
	for {
		hash := podcontrol.TemplateHash(template, collisions)
		prefix := owner.GetName()
		r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: prefix[:min(len(prefix), maxPrefix)] + "-" + hash,
			Labels: podcontrol.WithLabel(template.Labels, h.hashLabel, hash), Annotations: maps.Clone(owner.GetAnnotations()),
		}, Data: metav1.RawExtension{Raw: data}, Revision: number}
		if err := controllers.Own(h.scheme, owner, r); err != nil {
			return nil, err
		}
		created, err := h.api.Create(ctx, r)
		if !apierrors.IsAlreadyExists(err) {
			return created, err
		}
		have, err := h.api.Get(ctx, r.Key())
		if apierrors.IsNotFound(err) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		if metav1.IsControlledBy(have, metav1.MetaOf(owner).UID) && describes(have, template) {
			return have, nil
		}
		*collisions++
	}
}

// Truncate deletes the oldest revisions that are not in use until at most limit of those are left. A nil
// limit means 10.
func (h *History[O]) Truncate(ctx context.Context, list []*appsv1.ControllerRevision, inUse func(*appsv1.ControllerRevision) bool, limit *int32) error {
	keep := 10
	if limit != nil {
		keep = int(*limit)
	}
	unused := slices.DeleteFunc(slices.Clone(list), inUse)
	for _, r := range unused[:max(0, len(unused)-keep)] {
		err := h.api.Delete(ctx, r.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// content is the part of an owner that a revision has.
type content struct {
	Spec struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

// encode returns the data of a revision: a strategic merge patch of the owner, by which kubectl undoes. Its
// bytes are those of kube-controller-manager 1.36, with the keys in order at every level: that compares the
// revisions of DaemonSets byte by byte, and would else take the same template for another one and replace all
// pods.
func encode(template *corev1.PodTemplateSpec) ([]byte, error) {
	data, err := codec.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("revisions: encode the template: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("revisions: encode the template: %w", err)
	}
	fields["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
}

// Template returns the pod template of a revision.
func Template(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var c content
	if err := codec.Unmarshal(r.Data.Raw, &c); err != nil {
		return nil, fmt.Errorf("revisions: decode %s: %w", r.Key(), err)
	}
	// A revision may have been written before a default existed.
	corev1.DefaultPodTemplate(&c.Spec.Template)
	return &c.Spec.Template, nil
}

// describes reports whether a revision has a template, in whatever order its fields are.
func describes(r *appsv1.ControllerRevision, template *corev1.PodTemplateSpec) bool {
	have, err := Template(r)
	return err == nil && codec.Equal(have, template)
}
