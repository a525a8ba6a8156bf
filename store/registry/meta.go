package registry

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// validateMeta checks the metadata of an object to be stored.
func validateMeta(m *metav1.ObjectMeta, namespaced bool, nameRule func(string, bool) []string) validation.ErrorList {
	p := validation.NewPath("metadata")
	var errs validation.ErrorList
	if nameRule == nil {
		nameRule = validation.NameIsSubdomain
	}
	if m.GenerateName != "" {
		errs = append(errs, validation.InvalidEach(p.Child("generateName"), m.GenerateName, nameRule(m.GenerateName, true))...)
	}
	if m.Name == "" {
		errs = append(errs, validation.Required(p.Child("name"), "name or generateName is required"))
	} else {
		errs = append(errs, validation.InvalidEach(p.Child("name"), m.Name, nameRule(m.Name, false))...)
	}
	switch {
	case !namespaced && m.Namespace != "":
		errs = append(errs, validation.Forbidden(p.Child("namespace"), "not allowed on this type"))
	case namespaced && m.Namespace == "":
		errs = append(errs, validation.Required(p.Child("namespace"), ""))
	case namespaced:
		errs = append(errs, validation.InvalidEach(p.Child("namespace"), m.Namespace, validation.IsDNS1123Label(m.Namespace))...)
	}
	if m.Generation < 0 {
		errs = append(errs, validation.Invalid(p.Child("generation"), m.Generation, "must be greater than or equal to 0"))
	}
	return append(errs, validateMetaMaps(m, p)...)
}

func validateMetaMaps(m *metav1.ObjectMeta, p *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	if len(m.Labels) > 0 {
		errs = append(errs, validation.Labels(p.Child("labels"), m.Labels)...)
	}
	if len(m.Annotations) > 0 {
		errs = append(errs, validation.Annotations(p.Child("annotations"), m.Annotations)...)
	}
	if len(m.OwnerReferences) > 0 {
		refs := make([]validation.OwnerReference, len(m.OwnerReferences))
		for i, r := range m.OwnerReferences {
			refs[i] = validation.OwnerReference{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: string(r.UID),
				Controller: r.Controller != nil && *r.Controller}
		}
		errs = append(errs, validation.OwnerReferences(p.Child("ownerReferences"), refs)...)
	}
	if len(m.Finalizers) > 0 {
		errs = append(errs, validation.Finalizers(p.Child("finalizers"), m.Finalizers)...)
	}
	return errs
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

// validateMetaUpdate checks a change of metadata. carryMeta has run.
func validateMetaUpdate(m, old *metav1.ObjectMeta) validation.ErrorList {
	p := validation.NewPath("metadata")
	var errs validation.ErrorList
	if !old.DeletionTimestamp.IsZero() {
		errs = append(errs, validation.NoNewFinalizers(p.Child("finalizers"), m.Finalizers, old.Finalizers)...)
	}
	if m.Generation < old.Generation {
		errs = append(errs, validation.Invalid(p.Child("generation"), m.Generation, "must not be decremented"))
	}
	errs = append(errs, validation.Immutable(p.Child("name"), m.Name, old.Name)...)
	errs = append(errs, validation.Immutable(p.Child("namespace"), m.Namespace, old.Namespace)...)
	errs = append(errs, validation.Immutable(p.Child("uid"), m.UID, old.UID)...)
	if !m.DeletionTimestamp.Equal(old.DeletionTimestamp) {
		errs = append(errs, validation.Invalid(p.Child("deletionTimestamp"), m.DeletionTimestamp, validation.ImmutableText))
	}
	if a, b := m.DeletionGracePeriodSeconds, old.DeletionGracePeriodSeconds; (a == nil) != (b == nil) || a != nil && *a != *b {
		errs = append(errs, validation.Invalid(p.Child("deletionGracePeriodSeconds"), a, validation.ImmutableText))
	}
	return append(errs, validateMetaMaps(m, p)...)
}

// validateNew checks an object to be created.
func validateNew(info *scheme.Info, obj metav1.Object) validation.ErrorList {
	errs := validateMeta(metav1.MetaOf(obj), info.Namespaced, info.Rules.NameRule)
	if info.Rules.Validate != nil {
		errs = append(errs, info.Rules.Validate(obj)...)
	}
	return errs
}
