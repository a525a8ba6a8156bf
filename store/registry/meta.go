package registry

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
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
func validateNew(info *scheme.Info, obj metav1.Object) validation.ErrorList {
	errs := validateMeta(metav1.MetaOf(obj), info.Namespaced, info.Rules.NameRule)
	if info.Rules.Validate != nil {
		errs = append(errs, info.Rules.Validate(obj)...)
	}
	return errs
}
