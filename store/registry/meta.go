package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// validateMeta checks the metadata of an object to be stored.
func validateMeta(m *metav1.ObjectMeta, namespaced bool, nameRule validation.NameFunc) validation.ErrorList {
	return metav1.ValidateMeta(m, namespaced, nameRule, validation.NewPath("metadata"))
}

// carryMeta gives an update what clients may leave out and may not change.
func carryMeta(m, old *metav1.ObjectMeta) {
	m.SelfLink = ""
	if m.UID == "" {
		m.UID = old.UID
	}
	if !old.CreationTimestamp.IsZero() {
		m.CreationTimestamp = old.CreationTimestamp
	}
	if !old.DeletionTimestamp.IsZero() {
		m.DeletionTimestamp = old.DeletionTimestamp
	}
	if old.DeletionGracePeriodSeconds != nil && m.DeletionGracePeriodSeconds == nil {
		m.DeletionGracePeriodSeconds = old.DeletionGracePeriodSeconds
	}
}

// validateNew checks an object to be created.
func (r *Resource) validateNew(obj metav1.Object) validation.ErrorList {
	m := metav1.MetaOf(obj)
	errs := append(validateMeta(m, r.info.Namespaced, r.info.Rules.NameRule), r.validateFinalizers(m)...)
	if r.info.Rules.Validate != nil {
		errs = append(errs, r.info.Rules.Validate(obj)...)
	}
	return append(errs, r.def.Scale.validate(obj, false)...)
}

// validateFinalizers checks what built-in kinds ask of finalizers, but for those of bareFinalizers.
func (r *Resource) validateFinalizers(m *metav1.ObjectMeta) validation.ErrorList {
	if r.def.Custom || len(m.Finalizers) == 0 || bareFinalizers(r.gr) {
		return nil
	}
	return metav1.ValidateFinalizerDomains(m.Finalizers, validation.NewPath("metadata", "finalizers"))
}

// bareFinalizers reports whether a built-in kind accepts finalizers without a domain. Definitions of custom resources must: the one
// that each of them has is such. The others are those whose metadata Kubernetes checks no more than a custom resource's.
func bareFinalizers(gr schema.GroupResource) bool {
	switch gr.Group {
	case "apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io", "coordination.k8s.io", "node.k8s.io", "policy":
		return true
	}
	return gr == schema.GroupResource{Resource: "events"}
}

// warnOfFinalizers advises what built-in kinds ask for; old is nil on create.
func warnOfFinalizers(obj, old metav1.Object, warn func(string)) {
	for _, name := range metav1.MetaOf(obj).Finalizers {
		if metav1.BareFinalizer(name) && (old == nil || !slices.Contains(metav1.MetaOf(old).Finalizers, name)) {
			path := ""
			if strings.Contains(name, ".") {
				path = " including a path (/)"
			}
			warn(fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name%s to avoid accidental conflicts with other finalizer writers", name, path))
		}
	}
}
