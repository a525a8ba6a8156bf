package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// validateMeta checks the metadata of an object to be stored.
func validateMeta(m *metav1.ObjectMeta, namespaced bool, nameRule validation.NameFunc) validation.ErrorList {
	return metav1.ValidateMeta(m, namespaced, nameRule, validation.NewPath("metadata"))
}

// carryMeta copies the metadata that clients may omit and must not change.
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
	rules := &r.info.Rules
	var own validation.ErrorList
	if rules.Validate != nil {
		own = rules.Validate(obj)
	}
	own = append(own, r.def.Scale.validate(obj, false)...)
	if rules.Meta == scheme.MetaLoose {
		if len(own) > 0 {
			return own
		}
		return validateMeta(m, r.info.Namespaced, validation.NameIsPathSegment)
	}
	errs := append(validateMeta(m, r.info.Namespaced, rules.NameRule), r.validateFinalizers(m)...)
	return append(errs, own...)
}

// validateMetaUpdate checks the metadata of a changed object. Each error is reported as often as upstream
// reports it, because clients can count the causes of a Status.
func (r *Resource) validateMetaUpdate(m, old *metav1.ObjectMeta, subresource string) validation.ErrorList {
	p := validation.NewPath("metadata")
	errs := metav1.ValidateMetaUpdate(m, old, p)
	if r.def.Custom {
		return errs
	}
	if prefix := m.GenerateName; prefix != "" {
		errs = append(errs, validation.InvalidEach(p.Child("generateName"), prefix, validation.NameIsPathSegment(prefix, true))...)
	}
	rule := r.info.Rules.Meta
	if subresource != "" && rule == scheme.MetaStrict {
		rule = scheme.MetaOrdinary
	}
	if rule == scheme.MetaStrict {
		errs = append(errs, metav1.ValidateGenerateName(m, r.info.Rules.NameRule, p)...)
	}
	finalizers := r.validateFinalizers(m)
	if len(errs)+len(finalizers) == 0 {
		return nil
	}
	errs = append(errs, finalizers...)
	plain := *m
	plain.Finalizers = nil
	again := metav1.ValidateMetaFields(&plain, p) // upstream applies the general rules twice
	errs = append(errs, again...)
	if rule != scheme.MetaLoose && !r.def.Strategy.BareFinalizers {
		errs = append(errs, again...)
	}
	if rule == scheme.MetaStrict {
		errs = append(errs, metav1.ValidateMetaFields(m, p)...)
		errs = append(errs, finalizers...)
	}
	return errs
}

// validateFinalizers checks that the finalizers of kinds other than custom resources have a domain, unless
// the kind accepts bare ones.
func (r *Resource) validateFinalizers(m *metav1.ObjectMeta) validation.ErrorList {
	if r.def.Custom || len(m.Finalizers) == 0 || r.def.Strategy.BareFinalizers {
		return nil
	}
	return metav1.ValidateFinalizerDomains(m.Finalizers, validation.NewPath("metadata", "finalizers"))
}

// warnOfFinalizers warns about new finalizers that built-in kinds reject; old is nil on create.
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

// dedupOwners removes duplicate owners, which old garbage collectors wrote, with a warning.
func dedupOwners(m *metav1.ObjectMeta, warn func(string)) {
	if len(m.OwnerReferences) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var duplicates []string
	for _, ref := range m.OwnerReferences {
		if slices.ContainsFunc(kept, func(k metav1.OwnerReference) bool { return codec.Equal(&k, &ref) }) {
			duplicates = append(duplicates, string(ref.UID))
			continue
		}
		kept = append(kept, ref)
	}
	if duplicates == nil {
		return
	}
	m.OwnerReferences = kept
	if warn != nil {
		warn(".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; " +
			"please fix your requests; duplicate UID(s) observed: " + strings.Join(duplicates, ", "))
	}
}
