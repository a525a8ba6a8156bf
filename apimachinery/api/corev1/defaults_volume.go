package corev1

// DefaultVolume fills the unset fields of a pod's volume; one without any source is an emptyDir.
func DefaultVolume(v *Volume) {
	if noSource(v.VolumeSource) {
		v.EmptyDir = &EmptyDirVolumeSource{}
		return
	}
	defaultHostPath(v.HostPath)
	if s := v.Secret; s != nil {
		setIfNil(&s.DefaultMode, SecretVolumeSourceDefaultMode)
	}
	if s := v.ConfigMap; s != nil {
		setIfNil(&s.DefaultMode, ConfigMapVolumeSourceDefaultMode)
	}
	if s := v.DownwardAPI; s != nil {
		setIfNil(&s.DefaultMode, DownwardAPIVolumeSourceDefaultMode)
		defaultDownwardFiles(s.Items)
	}
	if s := v.Projected; s != nil {
		defaultProjected(s)
	}
	if s := v.ISCSI; s != nil {
		setIfZero(&s.ISCSIInterface, "default")
	}
	if s := v.RBD; s != nil {
		setIfZero(&s.RBDPool, "rbd")
		setIfZero(&s.RadosUser, "admin")
		setIfZero(&s.Keyring, "/etc/ceph/keyring")
	}
	defaultAzureDisk(v.AzureDisk)
	if s := v.ScaleIO; s != nil {
		setIfZero(&s.StorageMode, "ThinProvisioned")
		setIfZero(&s.FSType, "xfs")
	}
	if s := v.Ephemeral; s != nil && s.VolumeClaimTemplate != nil {
		defaultClaimSpec(&s.VolumeClaimTemplate.Spec)
	}
	if s := v.Image; s != nil && s.PullPolicy == "" {
		s.PullPolicy = defaultPullPolicy(s.Reference)
	}
}

func defaultProjected(s *ProjectedVolumeSource) {
	setIfNil(&s.DefaultMode, ProjectedVolumeSourceDefaultMode)
	for i := range s.Sources {
		if t := s.Sources[i].ServiceAccountToken; t != nil {
			setIfNil(&t.ExpirationSeconds, 60*60)
		}
		if d := s.Sources[i].DownwardAPI; d != nil {
			defaultDownwardFiles(d.Items)
		}
		if c := s.Sources[i].PodCertificate; c != nil {
			setIfNil(&c.MaxExpirationSeconds, 24*60*60)
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
		setIfNil(&s.Type, HostPathUnset)
	}
}

func defaultAzureDisk(s *AzureDiskVolumeSource) {
	if s == nil {
		return
	}
	setIfNil(&s.CachingMode, AzureDataDiskCachingReadWrite)
	setIfNil(&s.Kind, AzureSharedBlobDisk)
	setIfNil(&s.FSType, "ext4")
	setIfNil(&s.ReadOnly, false)
}

func setIfNil[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

// DefaultPersistentVolume fills the unset fields of a volume.
func DefaultPersistentVolume(v *PersistentVolume) {
	setIfZero(&v.Status.Phase, VolumePending)
	setIfZero(&v.Spec.PersistentVolumeReclaimPolicy, PersistentVolumeReclaimRetain)
	setIfNil(&v.Spec.VolumeMode, PersistentVolumeFilesystem)
	DefaultPersistentVolumeSpec(&v.Spec)
}

// DefaultPersistentVolumeSpec fills the unset fields of a volume's capacity and source, which also
// appear inline in volume attachments.
func DefaultPersistentVolumeSpec(s *PersistentVolumeSpec) {
	DefaultResourceList(s.Capacity)
	defaultHostPath(s.HostPath)
	defaultAzureDisk(s.AzureDisk)
	if s := s.ISCSI; s != nil {
		setIfZero(&s.ISCSIInterface, "default")
	}
	if s := s.RBD; s != nil {
		setIfZero(&s.RBDPool, "rbd")
		setIfZero(&s.RadosUser, "admin")
		setIfZero(&s.Keyring, "/etc/ceph/keyring")
	}
	if s := s.ScaleIO; s != nil {
		setIfZero(&s.StorageMode, "ThinProvisioned")
		setIfZero(&s.FSType, "xfs")
	}
}

// DefaultPersistentVolumeClaim fills the unset fields of a claim, also one used as a template.
func DefaultPersistentVolumeClaim(c *PersistentVolumeClaim) {
	setIfZero(&c.Status.Phase, ClaimPending)
	defaultClaimSpec(&c.Spec)
	DefaultResourceList(c.Status.Capacity)
	DefaultResourceList(c.Status.AllocatedResources)
}

func defaultClaimSpec(s *PersistentVolumeClaimSpec) {
	setIfNil(&s.VolumeMode, PersistentVolumeFilesystem)
	DefaultResourceList(s.Resources.Limits)
	DefaultResourceList(s.Resources.Requests)
}
