package corev1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// validateVolumes checks the volumes of a pod and returns the valid ones by name.
func validateVolumes(list []Volume, p *check.Path) (map[string]*Volume, validation.ErrorList) {
	var r check.Report
	good, names := map[string]*Volume{}, map[string]bool{}
	for i := range list {
		v, q := &list[i], p.Index(i)
		var one check.Report
		one.Name(q.Child("name"), v.Name, validation.NameIsLabel)
		if one.OK() && !check.Unique(names, v.Name) {
			one.Duplicate(q.Child("name"), v.Name)
		}
		one.Add(validateVolumeSource(v, q))
		if one.OK() {
			good[v.Name] = v
		}
		r.Add(one.List())
	}
	return good, r.List()
}

// sources checks the alternatives of a volume, of which only the first is checked.
type sources struct {
	check.Report
	p *check.Path
	n int
	// all checks each that is set; n reports too many.
	all bool
}

// source checks one alternative of a volume, if it is set.
func source[T any](s *sources, name string, v *T, validate func(v *T, p *check.Path) validation.ErrorList) {
	sourceAs(s, name, name, v, validate)
}

// sourceAs is source for one that has another name where there is one too many of them.
func sourceAs[T any](s *sources, name, surplus string, v *T, validate func(v *T, p *check.Path) validation.ErrorList) {
	if v == nil {
		return
	}
	if s.n++; s.n > 1 && !s.all {
		s.Forbidden(s.p.Child(surplus), "may not specify more than 1 volume type")
		return
	}
	s.Add(validate(v, s.p.Child(name)))
}

// some reports an error if no alternative was set, and returns all errors.
func (s *sources) some() validation.ErrorList {
	if s.n == 0 {
		s.Required(s.p, "must specify a volume type")
	}
	return s.List()
}

func validateVolumeSource(v *Volume, p *check.Path) validation.ErrorList {
	s := &sources{p: p}
	// The order decides which of two sources is the one too many: it is upstream's.
	source(s, "emptyDir", v.EmptyDir, validateEmptyDir)
	source(s, "hostPath", v.HostPath, validateHostPath)
	source(s, "gitRepo", v.GitRepo, validateGitRepo)
	source(s, "gcePersistentDisk", v.GCEPersistentDisk, validateGCE)
	source(s, "awsElasticBlockStore", v.AWSElasticBlockStore, validateAWS)
	source(s, "secret", v.Secret, validateSecretVolume)
	source(s, "nfs", v.NFS, validateNFS)
	source(s, "iscsi", v.ISCSI, validateISCSI)
	source(s, "glusterfs", v.Glusterfs, validateGlusterfs)
	source(s, "flocker", v.Flocker, validateFlocker)
	source(s, "persistentVolumeClaim", v.PersistentVolumeClaim, validateClaimVolume)
	source(s, "rbd", v.RBD, validateRBD)
	source(s, "cinder", v.Cinder, validateCinder)
	sourceAs(s, "cephfs", "cephFS", v.CephFS, validateCephFS)
	source(s, "quobyte", v.Quobyte, validateQuobyte)
	sourceAs(s, "downwardAPI", "downwarAPI", v.DownwardAPI, validateDownwardVolume)
	source(s, "fc", v.FC, validateFC)
	source(s, "flexVolume", v.FlexVolume, validateFlex)
	source(s, "configMap", v.ConfigMap, validateConfigMapVolume)
	source(s, "azureFile", v.AzureFile, validateAzureFile)
	source(s, "vsphereVolume", v.VsphereVolume, validateVsphere)
	source(s, "photonPersistentDisk", v.PhotonPersistentDisk, validatePhoton)
	source(s, "portworxVolume", v.PortworxVolume, validatePortworx)
	source(s, "azureDisk", v.AzureDisk, validateAzureDisk)
	source(s, "storageos", v.StorageOS, validateStorageOS)
	source(s, "projected", v.Projected, validateProjected)
	source(s, "scaleIO", v.ScaleIO, validateScaleIO)
	source(s, "csi", v.CSI, validateCSIVolume)
	source(s, "ephemeral", v.Ephemeral, validateEphemeral)
	source(s, "image", v.Image, validateImageVolume)
	return s.some()
}

func validateEmptyDir(v *EmptyDirVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.ForbidIf(v.SizeLimit != nil && v.SizeLimit.Sign() < 0, p.Child("sizeLimit"), "must not be negative")
	return r.List()
}

func validateSecretVolume(v *SecretVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("secretName"), v.SecretName)
	r.Add(validateMode(v.DefaultMode, p.Child("defaultMode")))
	r.Add(validateKeyPaths(v.Items, p.Child("items")))
	return r.List()
}

func validateConfigMapVolume(v *ConfigMapVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("name"), v.Name)
	r.Add(validateMode(v.DefaultMode, p.Child("defaultMode")))
	r.Add(validateKeyPaths(v.Items, p.Child("items")))
	return r.List()
}

func validateDownwardVolume(v *DownwardAPIVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.Add(validateMode(v.DefaultMode, p.Child("defaultMode")))
	for i := range v.Items {
		r.Add(validateDownwardFile(&v.Items[i], p))
	}
	return r.List()
}

func validateClaimVolume(v *PersistentVolumeClaimVolumeSource, p *check.Path) validation.ErrorList {
	return required(v.ClaimName == "", p.Child("claimName"))
}

func validateCSIVolume(v *CSIVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.Add(ValidateCSIDriverName(v.Driver, p.Child("driver")))
	if ref := v.NodePublishSecretRef; ref != nil {
		r.NonEmpty(p.Child("nodePublishSecretRef", "name"), ref.Name)
	}
	return r.List()
}

func validateEphemeral(v *EphemeralVolumeSource, p *check.Path) validation.ErrorList {
	t, p := v.VolumeClaimTemplate, p.Child("volumeClaimTemplate")
	if t == nil {
		return required(true, p)
	}
	var r check.Report
	r.Add(metav1.ValidateTemplateMeta(&t.ObjectMeta, p.Child("metadata")))
	r.Add(validateClaimSpec(&t.Spec, p.Child("spec")))
	return r.List()
}

func validateImageVolume(v *ImageVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("reference"), v.Reference)
	check.OneOf(&r, p.Child("pullPolicy"), v.PullPolicy, PullAlways, PullIfNotPresent, PullNever)
	return r.List()
}

func validateMode(mode *int32, p *check.Path) validation.ErrorList {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		return validation.ErrorList{validation.Invalid(p, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

func validateKeyPaths(items []KeyToPath, p *check.Path) validation.ErrorList {
	var r check.Report
	for i, item := range items {
		q := p.Index(i)
		r.NonEmpty(q.Child("key"), item.Key)
		r.NonEmpty(q.Child("path"), item.Path)
		r.Add(unreservedPath(item.Path, q.Child("path")))
		r.Add(validateMode(item.Mode, q.Child("mode")))
	}
	return r.List()
}

func validateDownwardFile(f *DownwardAPIVolumeFile, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("path"), f.Path)
	r.Add(unreservedPath(f.Path, p.Child("path")))
	switch {
	case f.FieldRef != nil:
		r.Add(validateFieldRef(f.FieldRef, fileFields(), p.Child("fieldRef")))
		r.If(f.ResourceFieldRef != nil, p, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
	case f.ResourceFieldRef != nil:
		r.Add(validateResourceFieldRef(f.ResourceFieldRef, true, p.Child("resourceFieldRef")))
	default:
		r.Required(p, "one of fieldRef and resourceFieldRef is required")
	}
	r.Add(validateMode(f.Mode, p.Child("mode")))
	return r.List()
}

func validateHostPath(h *HostPathVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	if h.Path == "" {
		r.Required(p.Child("path"), "")
		return r.List()
	}
	r.If(hasBackstep(h.Path), p.Child("path"), h.Path, "must not contain '..'")
	check.OneOfOpt(&r, p.Child("type"), h.Type, HostPathUnset, HostPathDirectoryOrCreate, HostPathDirectory,
		HostPathFileOrCreate, HostPathFile, HostPathSocket, HostPathCharDev, HostPathBlockDev)
	return r.List()
}

// ValidateCSIDriverName checks the name of a CSI driver at p.
func ValidateCSIDriverName(name string, p *check.Path) validation.ErrorList {
	const limit = 63
	var r check.Report
	r.NonEmpty(p, name)
	if len(name) > limit {
		r.TooLong(p, limit)
	}
	if name != "" {
		r.Each(p, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))
	}
	return r.List()
}

func hasBackstep(name string) bool { return slices.Contains(strings.Split(name, "/"), "..") }

// descendingPath checks a path that stays below the directory it is relative to.
func descendingPath(name string, p *check.Path) validation.ErrorList {
	var r check.Report
	r.If(strings.HasPrefix(name, "/"), p, name, "must be a relative path")
	r.If(hasBackstep(name), p, name, "must not contain '..'")
	return r.List()
}

// unreservedPath is descendingPath for files of volumes that the node writes: names that begin with
// two dots are its own.
func unreservedPath(name string, p *check.Path) validation.ErrorList {
	var r check.Report
	r.Add(descendingPath(name, p))
	r.If(strings.HasPrefix(name, "..") && !strings.HasPrefix(name, "../"), p, name, "must not start with '..'")
	return r.List()
}
