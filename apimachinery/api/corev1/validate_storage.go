package corev1

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidatePersistentVolume checks a volume to be created.
func ValidatePersistentVolume(v *PersistentVolume) validation.ErrorList {
	return validateVolumeSpec(&v.Spec, false, at("spec"))
}

// ValidateInlineVolumeSpec checks a volume spec that stands in another object, without claim and class.
func ValidateInlineVolumeSpec(s *PersistentVolumeSpec, p *path) validation.ErrorList {
	return validateVolumeSpec(s, true, p)
}

func validateAccessModes(modes []PersistentVolumeAccessMode, p *path) validation.ErrorList {
	var r check.Report
	for _, m := range modes {
		check.OneOf(&r, p, m, ReadOnlyMany, ReadWriteMany, ReadWriteOnce, ReadWriteOncePod)
	}
	known := func(m PersistentVolumeAccessMode) bool {
		return m == ReadOnlyMany || m == ReadWriteMany || m == ReadWriteOnce
	}
	r.ForbidIf(slices.ContainsFunc(modes, known) && slices.Contains(modes, ReadWriteOncePod), p, "may not use ReadWriteOncePod with other access modes")
	return r.List()
}

func validatePositive(q resource.Quantity, p *path) validation.ErrorList {
	if q.Sign() <= 0 {
		return validation.ErrorList{validation.Invalid(p, q.String(), "must be greater than zero")}
	}
	return nil
}

func validateVolumeSpec(s *PersistentVolumeSpec, inline bool, p *path) validation.ErrorList {
	var r check.Report
	if inline {
		r.ForbidIf(s.ClaimRef != nil, p.Child("claimRef"), "may not be specified in the context of inline volumes")
		r.ForbidIf(len(s.Capacity) > 0, p.Child("capacity"), "may not be specified in the context of inline volumes")
		if s.CSI == nil {
			r.Required(p.Child("csi"), "has to be specified in the context of inline volumes")
		}
	}
	if len(s.AccessModes) == 0 {
		r.Required(p.Child("accessModes"), "")
	}
	r.Add(validateAccessModes(s.AccessModes, p.Child("accessModes")))
	if !inline {
		c := p.Child("capacity")
		if len(s.Capacity) == 0 {
			r.Required(c, "")
		}
		if _, ok := s.Capacity[ResourceStorage]; !ok || len(s.Capacity) > 1 {
			r.Add(validation.ErrorList{validation.NotSupported(c, s.Capacity, []ResourceName{ResourceStorage})})
		}
		for _, name := range check.Keys(s.Capacity) {
			r.Add(validatePositive(s.Capacity[name], c.Key(string(name))))
		}
	}
	if s.PersistentVolumeReclaimPolicy != "" {
		r.ForbidIf(inline && s.PersistentVolumeReclaimPolicy != PersistentVolumeReclaimRetain, p.Child("persistentVolumeReclaimPolicy"),
			"may only be Retain in the context of inline volumes")
		check.OneOf(&r, p.Child("persistentVolumeReclaimPolicy"), s.PersistentVolumeReclaimPolicy,
			PersistentVolumeReclaimDelete, PersistentVolumeReclaimRecycle, PersistentVolumeReclaimRetain)
	}
	if a := s.NodeAffinity; a != nil {
		r.ForbidIf(inline, p.Child("nodeAffinity"), "may not be specified in the context of inline volumes")
		if a.Required == nil {
			r.Required(p.Child("nodeAffinity", "required"), "must specify required node constraints")
		} else {
			r.Add(ValidateNodeSelector(a.Required, p.Child("nodeAffinity", "required")))
		}
	}
	r.Add(validatePersistentSource(s, p))
	if s.HostPath != nil && s.HostPath.Path == "/" && s.PersistentVolumeReclaimPolicy == PersistentVolumeReclaimRecycle {
		r.Forbidden(p.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'")
	}
	if s.StorageClassName != "" {
		if inline {
			r.Forbidden(p.Child("storageClassName"), "may not be specified in the context of inline volumes")
		} else {
			r.Each(p.Child("storageClassName"), s.StorageClassName, validation.IsDNS1123Subdomain(s.StorageClassName))
		}
	}
	check.OneOfOpt(&r, p.Child("volumeMode"), s.VolumeMode, PersistentVolumeBlock, PersistentVolumeFilesystem)
	if c := s.VolumeAttributesClassName; c != nil {
		if *c == "" {
			r.Required(p.Child("volumeAttributesClassName"), "an empty string is disallowed")
		} else {
			r.Each(p.Child("volumeAttributesClassName"), *c, validation.IsDNS1123Subdomain(*c))
		}
		if s.CSI == nil {
			r.Required(p.Child("csi"), "has to be specified when using volumeAttributesClassName")
		}
	}
	return r.List()
}

// ValidatePersistentVolumeUpdate checks a change of a volume: where its data is cannot change.
func ValidatePersistentVolumeUpdate(v, old *PersistentVolume) validation.ErrorList {
	var r check.Report
	r.Add(ValidatePersistentVolume(v))
	a, b := v.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource
	if a.CSI != nil && b.CSI != nil {
		// The secrets for expanding may be added or changed later; the rest of the source may not.
		ca, cb := *a.CSI, *b.CSI
		ca.ControllerExpandSecretRef, cb.ControllerExpandSecretRef = nil, nil
		ca.NodeExpandSecretRef, cb.NodeExpandSecretRef = nil, nil
		a.CSI, b.CSI = &ca, &cb
	}
	r.ForbidIf(!check.Same(a, b), at("spec", "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation")
	check.Immutable(&r, at("spec", "volumeMode"), v.Spec.VolumeMode, old.Spec.VolumeMode)
	if old.Spec.NodeAffinity != nil {
		check.Immutable(&r, at("spec", "nodeAffinity"), v.Spec.NodeAffinity, old.Spec.NodeAffinity)
	}
	return r.List()
}

// ValidatePersistentVolumeClaim checks a claim to be created.
func ValidatePersistentVolumeClaim(c *PersistentVolumeClaim) validation.ErrorList {
	return validateClaimSpec(&c.Spec, at("spec"))
}

// ValidateClaimTemplate checks a claim at p that serves as a template in another object.
func ValidateClaimTemplate(c *PersistentVolumeClaim, p *path) validation.ErrorList {
	return validateClaimSpec(&c.Spec, p.Child("spec"))
}

func validateClaimSpec(s *PersistentVolumeClaimSpec, p *path) validation.ErrorList {
	var r check.Report
	if len(s.AccessModes) == 0 {
		r.Required(p.Child("accessModes"), "at least 1 access mode is required")
	}
	r.Add(metav1.ValidateLabelSelector(s.Selector, metav1.SelectorRule{}, p.Child("selector")))
	r.Add(validateAccessModes(s.AccessModes, p.Child("accessModes")))
	size := p.Child("resources").Key(string(ResourceStorage))
	if q, ok := s.Resources.Requests[ResourceStorage]; !ok {
		r.Required(size, "")
	} else {
		r.Add(validatePositive(q, size))
	}
	if c := s.StorageClassName; c != nil && *c != "" {
		r.Each(p.Child("storageClassName"), *c, validation.IsDNS1123Subdomain(*c))
	}
	check.OneOfOpt(&r, p.Child("volumeMode"), s.VolumeMode, PersistentVolumeBlock, PersistentVolumeFilesystem)
	if c := s.VolumeAttributesClassName; c != nil && *c != "" {
		r.Each(p.Child("volumeAttributesClassName"), *c, validation.IsDNS1123Subdomain(*c))
	}
	r.Add(validateDataSources(s, p))
	return r.List()
}

func validateDataSources(s *PersistentVolumeClaimSpec, p *path) validation.ErrorList {
	var r check.Report
	one := func(group *string, kind, name string, q *path) {
		r.NonEmpty(q.Child("name"), name)
		r.NonEmpty(q.Child("kind"), kind)
		if group != nil && *group != "" {
			r.Each(q.Child("apiGroup"), *group, validation.IsDNS1123Subdomain(*group))
		}
		if (group == nil || *group == "") && kind != "" && kind != "PersistentVolumeClaim" {
			r.Invalid(q, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
		}
	}
	if d := s.DataSource; d != nil {
		one(d.APIGroup, d.Kind, d.Name, p.Child("dataSource"))
	}
	if d := s.DataSourceRef; d != nil {
		one(d.APIGroup, d.Kind, d.Name, p.Child("dataSourceRef"))
		if d.Namespace != nil && *d.Namespace != "" {
			r.Each(p.Child("dataSourceRef", "namespace"), *d.Namespace, validation.IsDNS1123Label(*d.Namespace))
			r.If(s.DataSource != nil, p, p.Child("dataSource").String(), "may not be specified when dataSourceRef.namespace is specified")
			return r.List()
		}
	}
	if a, b := s.DataSource, s.DataSourceRef; a != nil && b != nil {
		r.If(a.Kind != b.Kind || a.Name != b.Name || !check.Same(a.APIGroup, b.APIGroup), p, p.Child("dataSource").String(), "must match dataSourceRef")
	}
	return r.List()
}

// ValidatePersistentVolumeClaimUpdate checks a change of a claim: after it is bound only its size may
// grow and its attributes class change.
func ValidatePersistentVolumeClaimUpdate(c, old *PersistentVolumeClaim) validation.ErrorList {
	var r check.Report
	r.Add(ValidatePersistentVolumeClaim(c))
	now, before := c.Spec, old.Spec
	if before.VolumeName == "" {
		before.VolumeName = now.VolumeName // binding happens once
	}
	if before.StorageClassName == nil {
		before.StorageClassName = now.StorageClassName // a default class may be given to old claims
	}
	oldSize, newSize := before.Resources.Requests[ResourceStorage], now.Resources.Requests[ResourceStorage]
	if old.Status.Phase == ClaimBound && now.Resources.Requests != nil {
		requests := ResourceList{}
		addMissing(requests, ResourceList{ResourceStorage: oldSize})
		addMissing(requests, now.Resources.Requests)
		now.Resources.Requests = requests
	}
	if c.Status.Phase == ClaimBound {
		now.VolumeAttributesClassName = before.VolumeAttributesClassName
	}
	r.ForbidIf(!check.Same(now, before), at("spec"),
		"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims")
	if newSize.Cmp(oldSize) < 0 {
		r.ForbidIf(newSize.Cmp(old.Status.Capacity[ResourceStorage]) <= 0, at("spec", "resources", "requests", "storage"), "field can not be less than status.capacity")
	}
	check.Immutable(&r, at("volumeMode"), c.Spec.VolumeMode, old.Spec.VolumeMode) // without spec, as upstream
	if a, b := c.Spec.VolumeAttributesClassName, old.Spec.VolumeAttributesClassName; !check.Same(a, b) && old.Status.CurrentVolumeAttributesClassName != nil {
		r.ForbidIf(a == nil, at("spec", "volumeAttributesClassName"), "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil")
		r.ForbidIf(a != nil && *a == "", at("spec", "volumeAttributesClassName"), "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil")
	}
	return r.List()
}

// ValidatePersistentVolumeClaimStatus checks a change of a claim's status.
func ValidatePersistentVolumeClaimStatus(c, _ *PersistentVolumeClaim) validation.ErrorList {
	var r check.Report
	for _, part := range []struct {
		field string
		list  ResourceList
	}{{"capacity", c.Status.Capacity}, {"allocatedResources", c.Status.AllocatedResources}} {
		for _, name := range check.Keys(part.list) {
			r.Add(validateQuantity(name, part.list[name], at("status", part.field).Key(string(name))))
		}
	}
	return r.List()
}
