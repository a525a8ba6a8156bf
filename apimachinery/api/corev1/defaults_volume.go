package corev1

import "github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"

// DefaultVolume fills the unset fields of a pod's volume; one without any source is an emptyDir.
func DefaultVolume(v *Volume) {
	if noSource(v.VolumeSource) {
		v.EmptyDir = &EmptyDirVolumeSource{}
		return
	}
	defaultHostPath(v.HostPath)
	if s := v.Secret; s != nil {
		defaults.IfNil(&s.DefaultMode, SecretVolumeSourceDefaultMode)
	}
	if s := v.ConfigMap; s != nil {
		defaults.IfNil(&s.DefaultMode, ConfigMapVolumeSourceDefaultMode)
	}
	if s := v.DownwardAPI; s != nil {
		defaults.IfNil(&s.DefaultMode, DownwardAPIVolumeSourceDefaultMode)
		defaultDownwardFiles(s.Items)
	}
	if s := v.Projected; s != nil {
		defaultProjected(s)
	}
	if s := v.ISCSI; s != nil {
		defaults.IfZero(&s.ISCSIInterface, "default")
	}
	if s := v.RBD; s != nil {
		defaults.IfZero(&s.RBDPool, "rbd")
		defaults.IfZero(&s.RadosUser, "admin")
		defaults.IfZero(&s.Keyring, "/etc/ceph/keyring")
	}
	defaultAzureDisk(v.AzureDisk)
	if s := v.ScaleIO; s != nil {
		defaults.IfZero(&s.StorageMode, "ThinProvisioned")
		defaults.IfZero(&s.FSType, "xfs")
	}
	if s := v.Ephemeral; s != nil && s.VolumeClaimTemplate != nil {
		defaultClaimSpec(&s.VolumeClaimTemplate.Spec)
	}
	if s := v.Image; s != nil && s.PullPolicy == "" {
		s.PullPolicy = defaultPullPolicy(s.Reference)
	}
}

func defaultProjected(s *ProjectedVolumeSource) {
	defaults.IfNil(&s.DefaultMode, ProjectedVolumeSourceDefaultMode)
	for i := range s.Sources {
		if t := s.Sources[i].ServiceAccountToken; t != nil {
			defaults.IfNil(&t.ExpirationSeconds, 60*60)
		}
		if d := s.Sources[i].DownwardAPI; d != nil {
			defaultDownwardFiles(d.Items)
		}
	}
}

func defaultDownwardFiles(items []DownwardAPIVolumeFile) {
	for i := range items {
		defaultFieldRef(items[i].FieldRef)
	}
}

func defaultHostPath(s *HostPathVolumeSource) {
	if s != nil {
		defaults.IfNil(&s.Type, HostPathUnset)
	}
}

func defaultAzureDisk(s *AzureDiskVolumeSource) {
	if s == nil {
		return
	}
	defaults.IfNil(&s.CachingMode, AzureDataDiskCachingReadWrite)
	defaults.IfNil(&s.Kind, AzureSharedBlobDisk)
	defaults.IfNil(&s.FSType, "ext4")
	defaults.IfNil(&s.ReadOnly, false)
}

// DefaultPersistentVolume fills the unset fields of a volume.
func DefaultPersistentVolume(v *PersistentVolume) {
	defaults.IfZero(&v.Status.Phase, VolumePending)
	defaults.IfZero(&v.Spec.PersistentVolumeReclaimPolicy, PersistentVolumeReclaimRetain)
	defaults.IfNil(&v.Spec.VolumeMode, PersistentVolumeFilesystem)
	DefaultPersistentVolumeSpec(&v.Spec)
}

// DefaultPersistentVolumeSpec fills the unset fields of a volume's capacity and source, which also
// appear inline in volume attachments.
func DefaultPersistentVolumeSpec(s *PersistentVolumeSpec) {
	DefaultResourceList(s.Capacity)
	defaultHostPath(s.HostPath)
	defaultAzureDisk(s.AzureDisk)
	if s := s.ISCSI; s != nil {
		defaults.IfZero(&s.ISCSIInterface, "default")
	}
	if s := s.RBD; s != nil {
		defaults.IfZero(&s.RBDPool, "rbd")
		defaults.IfZero(&s.RadosUser, "admin")
		defaults.IfZero(&s.Keyring, "/etc/ceph/keyring")
	}
	if s := s.ScaleIO; s != nil {
		defaults.IfZero(&s.StorageMode, "ThinProvisioned")
		defaults.IfZero(&s.FSType, "xfs")
	}
}

// DefaultPersistentVolumeClaim fills the unset fields of a claim and brings its two data sources into
// agreement.
func DefaultPersistentVolumeClaim(c *PersistentVolumeClaim) {
	DefaultClaimTemplate(c)
	s := &c.Spec
	// dataSource takes only claims and snapshots, and always ignored the rest; dataSourceRef takes anything.
	if d := s.DataSource; d != nil && !populates(d) {
		s.DataSource = nil
	}
	switch a, b := s.DataSource, s.DataSourceRef; {
	case a != nil && b == nil:
		s.DataSourceRef = &TypedObjectReference{APIGroup: a.APIGroup, Kind: a.Kind, Name: a.Name}
	case a == nil && b != nil && (b.Namespace == nil || *b.Namespace == ""):
		if d := (&TypedLocalObjectReference{APIGroup: b.APIGroup, Kind: b.Kind, Name: b.Name}); populates(d) {
			s.DataSource = d
		}
	}
}

// populates reports whether dataSource may name d.
func populates(d *TypedLocalObjectReference) bool {
	group := ""
	if d.APIGroup != nil {
		group = *d.APIGroup
	}
	return group == "" && d.Kind == "PersistentVolumeClaim" || group == "snapshot.storage.k8s.io" && d.Kind == "VolumeSnapshot"
}

// DefaultClaimTemplate fills the unset fields of a claim that stands in another object as a template.
func DefaultClaimTemplate(c *PersistentVolumeClaim) {
	defaults.IfZero(&c.Status.Phase, ClaimPending)
	defaultClaimSpec(&c.Spec)
	DefaultResourceList(c.Status.Capacity)
	DefaultResourceList(c.Status.AllocatedResources)
}

func defaultClaimSpec(s *PersistentVolumeClaimSpec) {
	defaults.IfNil(&s.VolumeMode, PersistentVolumeFilesystem)
	DefaultResourceList(s.Resources.Limits)
	DefaultResourceList(s.Resources.Requests)
}
