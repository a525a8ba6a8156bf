package metav1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateMeta checks the metadata of any object to be stored. nameRule says what names are fit for
// the kind; nil means DNS subdomains. namespaced is whether objects of the kind live in a namespace. path is
// where the metadata is, normally "metadata". Name and namespace must have been completed before.
func ValidateMeta(m *ObjectMeta, namespaced bool, nameRule validation.NameFunc, path *validation.Path) validation.ErrorList {
	errs := ValidateGenerateName(m, nameRule, path)
	if nameRule == nil {
		nameRule = validation.NameIsSubdomain
	}
	if m.Name == "" {
		errs = append(errs, validation.Required(path.Child("name"), "name or generateName is required"))
	} else {
		errs = append(errs, validation.InvalidEach(path.Child("name"), m.Name, nameRule(m.Name, false))...)
	}
	ns := path.Child("namespace")
	switch {
	case !namespaced && m.Namespace != "":
		errs = append(errs, validation.Forbidden(ns, "not allowed on this type"))
	case namespaced && m.Namespace == "":
		errs = append(errs, validation.Required(ns, ""))
	case namespaced:
		errs = append(errs, validation.InvalidEach(ns, m.Namespace, validation.NameIsLabel(m.Namespace, false))...)
	}
	return append(errs, ValidateMetaFields(m, path)...)
}

// ValidateGenerateName checks the prefix of names to be, if there is one; nameRule as in [ValidateMeta].
func ValidateGenerateName(m *ObjectMeta, nameRule validation.NameFunc, path *validation.Path) validation.ErrorList {
	if m.GenerateName == "" {
		return nil
	}
	if nameRule == nil {
		nameRule = validation.NameIsSubdomain
	}
	return validation.InvalidEach(path.Child("generateName"), m.GenerateName, nameRule(m.GenerateName, true))
}

// ValidateTemplateMeta checks the metadata of an object inside another, such as a pod template, whose
// name and namespace are not decided yet.
func ValidateTemplateMeta(m *ObjectMeta, path *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	errs = append(errs, validation.Labels(path.Child("labels"), m.Labels)...)
	errs = append(errs, validation.Annotations(path.Child("annotations"), m.Annotations)...)
	return append(errs, validation.Finalizers(path.Child("finalizers"), m.Finalizers)...)
}

// ValidateMetaFields checks the parts of metadata that are checked alike on every write: labels,
// annotations, owners, finalizers and managed fields.
func ValidateMetaFields(m *ObjectMeta, path *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	errs = append(errs, validation.NonNegative(path.Child("generation"), m.Generation)...)
	errs = append(errs, validation.Labels(path.Child("labels"), m.Labels)...)
	errs = append(errs, validation.Annotations(path.Child("annotations"), m.Annotations)...)
	errs = append(errs, validateOwners(m.OwnerReferences, path.Child("ownerReferences"))...)
	errs = append(errs, validation.Finalizers(path.Child("finalizers"), m.Finalizers)...)
	return append(errs, validateManagedFields(m.ManagedFields, path.Child("managedFields"))...)
}

// ValidateFinalizerDomains checks what only the built-in kinds require of finalizers: a domain before the
// name, so that two programs never mean different things by one finalizer; the three of the system are the
// exceptions. For custom resources it is a warning only.
func ValidateFinalizerDomains(finalizers []string, path *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	for i, name := range finalizers {
		if BareFinalizer(name) {
			errs = append(errs, validation.Invalid(path.Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// BareFinalizer reports whether a finalizer is neither the system's nor in a domain.
func BareFinalizer(name string) bool {
	return !strings.Contains(name, "/") && name != FinalizerOrphanDependents && name != FinalizerDeleteDependents && name != finalizerKubernetes
}

const finalizerKubernetes = "kubernetes"

func validateOwners(refs []OwnerReference, path *validation.Path) validation.ErrorList {
	if len(refs) == 0 {
		return nil
	}
	plain := make([]validation.OwnerReference, len(refs))
	for i, r := range refs {
		plain[i] = validation.OwnerReference{
			APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: string(r.UID),
			Controller: r.Controller, BlockOwnerDeletion: r.BlockOwnerDeletion,
		}
	}
	return validation.OwnerReferences(path, plain)
}

func validateManagedFields(entries []ManagedFieldsEntry, path *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	for i := range entries {
		e, p := &entries[i], path.Index(i)
		switch e.Operation {
		case ManagedFieldsOperationApply, ManagedFieldsOperationUpdate:
		default:
			errs = append(errs, validation.Invalid(p.Child("operation"), e.Operation, "must be `Apply` or `Update`"))
		}
		if e.FieldsType != "" && e.FieldsType != "FieldsV1" {
			errs = append(errs, validation.Invalid(p.Child("fieldsType"), e.FieldsType, "must be `FieldsV1`"))
		}
		errs = append(errs, validation.FieldManager(p.Child("manager"), e.Manager)...)
		if len(e.Subresource) > validation.SubresourceMaxLength {
			errs = append(errs, validation.TooLong(p.Child("subresource"), validation.SubresourceMaxLength))
		}
	}
	return errs
}

// ValidateMetaUpdate checks a change of metadata: what names the object and what the server alone
// decides cannot change. The server copies what clients may leave out (creation time, deletion fields)
// from old into m before. The resourceVersion is not looked at: whether it may be left out is up to the kind.
func ValidateMetaUpdate(m, old *ObjectMeta, path *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	// Fields that are on their way out only may not change in other ways than towards the end.
	if old.DeletionTimestamp != nil {
		errs = append(errs, validation.NoNewFinalizers(path.Child("finalizers"), m.Finalizers, old.Finalizers)...)
	}
	if m.Generation < old.Generation {
		errs = append(errs, validation.Invalid(path.Child("generation"), m.Generation, "must not be decremented"))
	}
	errs = append(errs, validation.Immutable(path.Child("name"), m.Name, old.Name)...)
	errs = append(errs, validation.Immutable(path.Child("namespace"), m.Namespace, old.Namespace)...)
	errs = append(errs, validation.Immutable(path.Child("uid"), m.UID, old.UID)...)
	if !m.CreationTimestamp.Equal(&old.CreationTimestamp) {
		errs = append(errs, immutable(path.Child("creationTimestamp"), m.CreationTimestamp))
	}
	if !m.DeletionTimestamp.Equal(old.DeletionTimestamp) {
		errs = append(errs, immutable(path.Child("deletionTimestamp"), m.DeletionTimestamp))
	}
	if a, b := m.DeletionGracePeriodSeconds, old.DeletionGracePeriodSeconds; (a == nil) != (b == nil) || a != nil && *a != *b {
		errs = append(errs, immutable(path.Child("deletionGracePeriodSeconds"), a))
	}
	return append(errs, ValidateMetaFields(m, path)...)
}

func immutable(path *validation.Path, value any) *validation.Error {
	return validation.Invalid(path, value, validation.ImmutableText)
}

// SelectorRule says how strict a label selector is checked.
type SelectorRule struct {
	// AllowInvalidValues accepts values of matchExpressions that are no label values, as objects stored by
	// earlier releases may have.
	AllowInvalidValues bool
	// AllowUnknownOperators accepts operators that this version does not support.
	AllowUnknownOperators bool
}

// ValidateLabelSelector checks a selector; nil is fine.
func ValidateLabelSelector(s *LabelSelector, rule SelectorRule, path *validation.Path) validation.ErrorList {
	if s == nil {
		return nil
	}
	errs := validateMatchLabels(s.MatchLabels, path.Child("matchLabels"))
	for i := range s.MatchExpressions {
		errs = append(errs, ValidateLabelSelectorRequirement(&s.MatchExpressions[i], rule, path.Child("matchExpressions").Index(i))...)
	}
	return errs
}

func validateMatchLabels(labels map[string]string, path *validation.Path) validation.ErrorList {
	return validation.Labels(path, labels)
}

// ValidateLabelSelectorRequirement checks one requirement of a selector.
func ValidateLabelSelectorRequirement(r *LabelSelectorRequirement, rule SelectorRule, path *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	switch r.Operator {
	case LabelSelectorOpIn, LabelSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, validation.Required(path.Child("values"), "needed with operator In or NotIn"))
		}
	case LabelSelectorOpExists, LabelSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, validation.Forbidden(path.Child("values"), "not allowed with operator Exists or DoesNotExist"))
		}
	default:
		if !rule.AllowUnknownOperators {
			errs = append(errs, validation.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
		}
	}
	errs = append(errs, validation.LabelName(path.Child("key"), r.Key)...)
	if !rule.AllowInvalidValues {
		for i, v := range r.Values {
			errs = append(errs, validation.InvalidEach(path.Child("values").Index(i), v, validation.IsLabelValue(v))...)
		}
	}
	return errs
}

// ValidateConditions checks a list of conditions: known parts, well formed, one per type.
func ValidateConditions(conditions []Condition, path *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	seen := map[string]bool{}
	for i := range conditions {
		c, p := &conditions[i], path.Index(i)
		if seen[c.Type] {
			errs = append(errs, validation.Duplicate(p.Child("type"), c.Type))
		}
		seen[c.Type] = true
		errs = append(errs, validation.InvalidEach(p.Child("type"), c.Type, validation.IsQualifiedName(c.Type))...)
		if !slices.Contains(conditionStatuses(), c.Status) {
			errs = append(errs, validation.NotSupported(p.Child("status"), c.Status, conditionStatuses()))
		}
		if c.ObservedGeneration < 0 {
			errs = append(errs, validation.Invalid(p.Child("observedGeneration"), c.ObservedGeneration, "must be greater than or equal to zero"))
		}
		if c.LastTransitionTime.IsZero() {
			errs = append(errs, validation.Required(p.Child("lastTransitionTime"), ""))
		}
		if c.Reason == "" {
			errs = append(errs, validation.Required(p.Child("reason"), ""))
		} else {
			errs = append(errs, validation.InvalidEach(p.Child("reason"), c.Reason, validation.IsConditionReason(c.Reason))...)
		}
		if len(c.Reason) > 1024 {
			errs = append(errs, validation.TooLong(p.Child("reason"), 1024))
		}
		if len(c.Message) > 32768 {
			errs = append(errs, validation.TooLong(p.Child("message"), 32768))
		}
	}
	return errs
}

func conditionStatuses() []ConditionStatus {
	return []ConditionStatus{ConditionFalse, ConditionTrue, ConditionUnknown}
}
