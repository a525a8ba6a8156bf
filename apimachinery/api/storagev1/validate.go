package storagev1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

const (
	maxParameters     = 512
	maxParametersSize = 256 << 10
	maxNodeID         = 256
	maxErrorMessage   = 1024
	minTokenSeconds   = 10 * 60
)

// ValidateStorageClass checks a class to be created.
func ValidateStorageClass(c *StorageClass) validation.ErrorList {
	var r check.Report
	r.Add(validateProvisioner(c.Provisioner, at("provisioner")))
	r.Add(validateParameters(c.Parameters, true, at("parameters")))
	check.OneOfOpt(&r, at("reclaimPolicy"), c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)
	if c.VolumeBindingMode == nil {
		r.Required(at("volumeBindingMode"), "")
	} else {
		check.OneOf(&r, at("volumeBindingMode"), *c.VolumeBindingMode, VolumeBindingImmediate, VolumeBindingWaitForFirstConsumer)
	}
	for i, t := range c.AllowedTopologies {
		// An empty term is reported like one that repeats another.
		same := func(other corev1.TopologySelectorTerm) bool { return check.Same(t, other) }
		if len(t.MatchLabelExpressions) == 0 || slices.ContainsFunc(c.AllowedTopologies[:i], same) {
			r.Duplicate(at("allowedTopologies").Index(i).Child("matchLabelExpressions"), "")
		}
		keys := map[string]bool{}
		for j, e := range t.MatchLabelExpressions {
			q := at("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j)
			if !check.Unique(keys, e.Key) {
				r.Duplicate(q.Child("key"), e.Key)
			}
			r.Add(validation.LabelName(q.Child("key"), e.Key))
			if len(e.Values) == 0 {
				r.Required(q.Child("values"), "")
			}
			seen := map[string]bool{}
			for k, v := range e.Values {
				if !check.Unique(seen, v) {
					r.Duplicate(q.Child("values").Index(k), v)
				}
			}
		}
	}
	return r.List()
}

func validateProvisioner(name string, p *path) validation.ErrorList {
	var r check.Report
	if name == "" {
		r.Required(p, "")
	} else {
		r.Each(p, name, validation.IsQualifiedName(strings.ToLower(name)))
	}
	return r.List()
}

func validateParameters(m map[string]string, allowEmpty bool, p *path) validation.ErrorList {
	var r check.Report
	if len(m) > maxParameters {
		r.TooLong(p, maxParameters)
		return r.List()
	}
	size := 0
	for _, k := range check.Keys(m) {
		r.If(k == "", p, k, "field can not be empty.")
		size += len(k) + len(m[k])
	}
	if size > maxParametersSize {
		r.TooLong(p, maxParametersSize)
	}
	if !allowEmpty && len(m) == 0 {
		r.Required(p, "must contain at least one key/value pair")
	}
	return r.List()
}

// ValidateStorageClassUpdate checks a change of a class; its parameters, provisioner, reclaimPolicy and
// volumeBindingMode are immutable.
func ValidateStorageClassUpdate(c, old *StorageClass) validation.ErrorList {
	var r check.Report
	r.Add(ValidateStorageClass(c))
	check.Immutable(&r, at("parameters"), c.Parameters, old.Parameters)
	check.Immutable(&r, at("provisioner"), c.Provisioner, old.Provisioner)
	check.Immutable(&r, at("reclaimPolicy"), c.ReclaimPolicy, old.ReclaimPolicy)
	check.Immutable(&r, at("volumeBindingMode"), c.VolumeBindingMode, old.VolumeBindingMode)
	return r.List()
}

// ValidateCSIDriver checks a driver to be created.
func ValidateCSIDriver(d *CSIDriver) validation.ErrorList {
	var r check.Report
	s, p := &d.Spec, at("spec")
	for _, f := range []struct {
		name string
		v    *bool
	}{{"attachedRequired", s.AttachRequired}, {"podInfoOnMount", s.PodInfoOnMount}, {"storageCapacity", s.StorageCapacity}, {"seLinuxMount", s.SELinuxMount}} {
		if f.v == nil {
			r.Required(p.Child(f.name), "")
		}
	}
	check.OneOfOpt(&r, p.Child("fsGroupPolicy"), s.FSGroupPolicy, ReadWriteOnceWithFSTypeFSGroupPolicy, FileFSGroupPolicy, NoneFSGroupPolicy)
	audiences := map[string]bool{}
	for i, t := range s.TokenRequests {
		q := p.Child("tokenRequests").Index(i)
		if !check.Unique(audiences, t.Audience) {
			r.Duplicate(q.Child("audience"), t.Audience)
		}
		if e := t.ExpirationSeconds; e != nil {
			r.If(*e < minTokenSeconds, q.Child("expirationSeconds"), *e, "may not specify a duration less than 10 minutes")
			r.If(*e > 1<<32, q.Child("expirationSeconds"), *e, "may not specify a duration larger than 2^32 seconds")
		}
	}
	r.If(s.ServiceAccountTokenInSecrets != nil && len(s.TokenRequests) == 0, p.Child("serviceAccountTokenInSecrets"), s.ServiceAccountTokenInSecrets, "is set but no tokenRequests are specified")
	for _, m := range s.VolumeLifecycleModes {
		check.OneOf(&r, p.Child("volumeLifecycleModes"), m, VolumeLifecyclePersistent, VolumeLifecycleEphemeral)
	}
	if n := s.NodeAllocatableUpdatePeriodSeconds; n != nil {
		r.If(*n < 10, p.Child("nodeAllocatableUpdatePeriodSeconds"), *n, "must be greater than or equal to 10 seconds")
	}
	return r.List()
}

// csiDriverWarnings warns of a driver that receives tokens in the volume context, which may be logged.
func csiDriverWarnings(d, _ *CSIDriver) []string {
	if len(d.Spec.TokenRequests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if the driver supports it, set it to true so that tokens are not logged with volume attributes"}
}

// ValidateCSIDriverUpdate checks a change of a driver; attachRequired and volumeLifecycleModes are immutable.
func ValidateCSIDriverUpdate(d, old *CSIDriver) validation.ErrorList {
	var r check.Report
	r.Add(ValidateCSIDriver(d))
	// The misspelt path is upstream's.
	check.Immutable(&r, at("spec", "attachedRequired"), d.Spec.AttachRequired, old.Spec.AttachRequired)
	check.Immutable(&r, at("spec", "volumeLifecycleModes"), d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes)
	return r.List()
}

// ValidateCSINode checks a node's drivers to be created.
func ValidateCSINode(n *CSINode) validation.ErrorList {
	var r check.Report
	names := map[string]bool{}
	for i := range n.Spec.Drivers {
		d, p := &n.Spec.Drivers[i], at("spec", "drivers").Index(i)
		r.Add(corev1.ValidateCSIDriverName(d.Name, p.Child("name")))
		if !check.Unique(names, d.Name) {
			r.Duplicate(p.Child("name"), d.Name)
		}
		r.NonEmpty(p.Child("nodeID"), d.NodeID)
		r.If(len(d.NodeID) > maxNodeID, p.Child("nodeID"), d.NodeID, validation.MaxLengthText(maxNodeID))
		keys := map[string]bool{}
		for _, k := range d.TopologyKeys {
			if !check.Unique(keys, k) {
				r.Duplicate(p, k)
			}
			r.NonEmpty(p, k)
			r.Each(p, k, validation.IsQualifiedName(k))
		}
		if a := d.Allocatable; a != nil {
			check.NonNegativeOpt(&r, p.Child("allocatable", "count"), a.Count)
		}
	}
	return r.List()
}

// ValidateCSINodeUpdate checks a change of a node's drivers, which may be added and removed but not changed.
func ValidateCSINodeUpdate(n, old *CSINode) validation.ErrorList {
	var r check.Report
	r.Add(ValidateCSINode(n))
	for _, o := range old.Spec.Drivers {
		for i, d := range n.Spec.Drivers {
			if d.Name == o.Name {
				d.Allocatable, o.Allocatable = nil, nil // the limit may change
				r.If(!check.Same(d, o), at("spec", "drivers").Index(i), d, validation.ImmutableText)
			}
		}
	}
	return r.List()
}

// ValidateCSIStorageCapacity checks a capacity to be created.
func ValidateCSIStorageCapacity(c *CSIStorageCapacity) validation.ErrorList {
	var r check.Report
	r.Each(at("storageClassName"), c.StorageClassName, validation.IsDNS1123Subdomain(c.StorageClassName))
	r.If(c.Capacity != nil && c.Capacity.Sign() < 0, at("capacity"), c.Capacity, validation.NegativeText)
	r.If(c.MaximumVolumeSize != nil && c.MaximumVolumeSize.Sign() < 0, at("maximumVolumeSize"), c.MaximumVolumeSize, validation.NegativeText)
	r.Add(metav1.ValidateLabelSelector(c.NodeTopology, metav1.SelectorRule{}, at("nodeTopology")))
	return r.List()
}

// ValidateCSIStorageCapacityUpdate checks a change of a capacity; its topology and class are immutable.
func ValidateCSIStorageCapacityUpdate(c, old *CSIStorageCapacity) validation.ErrorList {
	var r check.Report
	r.Add(ValidateCSIStorageCapacity(c))
	check.Immutable(&r, at("nodeTopology"), c.NodeTopology, old.NodeTopology)
	check.Immutable(&r, at("storageClassName"), c.StorageClassName, old.StorageClassName)
	return r.List()
}

// ValidateVolumeAttachment checks an attachment to be created.
func ValidateVolumeAttachment(a *VolumeAttachment) validation.ErrorList {
	var r check.Report
	s, p := &a.Spec, at("spec")
	if s.Attacher == "" {
		r.Required(p.Child("attacher"), "")
	} else {
		r.Add(corev1.ValidateCSIDriverName(s.Attacher, p.Child("attacher")))
	}
	q := p.Child("source")
	name, inline := s.Source.PersistentVolumeName, s.Source.InlineVolumeSpec
	if name == nil && inline == nil {
		r.Required(q, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
	}
	r.ForbidIf(name != nil && inline != nil, q, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
	if name != nil {
		r.Name(q.Child("persistentVolumeName"), *name, validation.NameIsSubdomain)
	}
	if inline != nil && name == nil {
		r.Add(corev1.ValidateInlineVolumeSpec(inline, q.Child("inlineVolumeSpec")))
	}
	r.Each(p.Child("nodeName"), s.NodeName, validation.IsDNS1123Subdomain(s.NodeName))
	return r.List()
}

// ValidateVolumeAttachmentUpdate checks a change of an attachment; its spec is immutable.
func ValidateVolumeAttachmentUpdate(a, old *VolumeAttachment) validation.ErrorList {
	var r check.Report
	r.Add(ValidateVolumeAttachment(a))
	r.If(!check.Same(a.Spec, old.Spec), at("spec"), a.Spec, "field is immutable")
	return r.List()
}

// ValidateVolumeAttachmentStatus checks a change of an attachment's status.
func ValidateVolumeAttachmentStatus(a, _ *VolumeAttachment) validation.ErrorList {
	var r check.Report
	for _, f := range []struct {
		name string
		e    *VolumeError
	}{{"attachError", a.Status.AttachError}, {"detachError", a.Status.DetachError}} {
		if f.e != nil && len(f.e.Message) > maxErrorMessage {
			r.TooLong(at("status", f.name, "message"), maxErrorMessage)
		}
	}
	return r.List()
}

// ValidateVolumeAttributesClass checks a class to be created.
func ValidateVolumeAttributesClass(c *VolumeAttributesClass) validation.ErrorList {
	var r check.Report
	r.Add(validateProvisioner(c.DriverName, at("driverName")))
	r.Add(validateParameters(c.Parameters, false, at("parameters")))
	return r.List()
}

// ValidateVolumeAttributesClassUpdate checks a change of a class; its driver and parameters are immutable.
func ValidateVolumeAttributesClassUpdate(c, old *VolumeAttributesClass) validation.ErrorList {
	var r check.Report
	r.Add(ValidateVolumeAttributesClass(c))
	r.ForbidIf(c.DriverName != old.DriverName, at("driverName"), "updates to driverName are forbidden.")
	r.ForbidIf(!check.Same(c.Parameters, old.Parameters), at("parameters"), "updates to parameters are forbidden.")
	return r.List()
}
