package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func validatePersistentSource(v *PersistentVolumeSpec, p *check.Path) validation.ErrorList {
	s := &sources{p: p}
	source(s, "hostPath", v.HostPath, validateHostPath)
	source(s, "gcePersistentDisk", v.GCEPersistentDisk, validateGCE)
	source(s, "awsElasticBlockStore", v.AWSElasticBlockStore, validateAWS)
	source(s, "glusterfs", v.Glusterfs, validatePersistentGlusterfs)
	source(s, "flocker", v.Flocker, validateFlocker)
	source(s, "nfs", v.NFS, validateNFS)
	source(s, "rbd", v.RBD, validatePersistentRBD)
	source(s, "quobyte", v.Quobyte, validateQuobyte)
	sourceAs(s, "cephfs", "cephFS", v.CephFS, validatePersistentCephFS)
	source(s, "iscsi", v.ISCSI, validatePersistentISCSI)
	source(s, "cinder", v.Cinder, validatePersistentCinder)
	source(s, "fc", v.FC, validateFC)
	if v.FlexVolume != nil { // upstream lets it stand beside another
		s.n++
		s.NonEmpty(p.Child("flexVolume", "driver"), v.FlexVolume.Driver)
	}
	source(s, "azureFile", v.AzureFile, validatePersistentAzureFile)
	source(s, "vsphereVolume", v.VsphereVolume, validateVsphere)
	source(s, "photonPersistentDisk", v.PhotonPersistentDisk, validatePhoton)
	source(s, "portworxVolume", v.PortworxVolume, validatePortworx)
	source(s, "azureDisk", v.AzureDisk, validateAzureDisk)
	source(s, "scaleIO", v.ScaleIO, validatePersistentScaleIO)
	source(s, "local", v.Local, func(l *LocalVolumeSource, q *check.Path) validation.ErrorList {
		var r check.Report
		r.NonEmpty(q.Child("path"), l.Path)
		r.If(hasBackstep(l.Path), q.Child("path"), l.Path, "must not contain '..'")
		if v.NodeAffinity == nil {
			r.Required(p.Child("nodeAffinity"), "Local volume requires node affinity")
		}
		return r.List()
	})
	source(s, "storageos", v.StorageOS, validatePersistentStorageOS)
	source(s, "csi", v.CSI, validatePersistentCSI)
	return s.some()
}

// validateSecretReference checks a reference of a volume, if it is set: name and namespace are required.
func validateSecretReference(ref *SecretReference, p *check.Path) validation.ErrorList {
	var r check.Report
	if ref != nil {
		r.NonEmpty(p.Child("name"), ref.Name)
		r.NonEmpty(p.Child("namespace"), ref.Namespace)
	}
	return r.List()
}

func validatePersistentGlusterfs(v *GlusterfsPersistentVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("endpoints"), v.EndpointsName)
	r.NonEmpty(p.Child("path"), v.Path)
	if ns := v.EndpointsNamespace; ns != nil {
		r.Each(p.Child("endpointsNamespace"), *ns, validation.IsDNS1123Label(*ns))
	}
	return r.List()
}

func validatePersistentRBD(v *RBDPersistentVolumeSource, p *check.Path) validation.ErrorList {
	return validateRBDImage(v.CephMonitors, v.RBDImage, p)
}

func validatePersistentCephFS(v *CephFSPersistentVolumeSource, p *check.Path) validation.ErrorList {
	return required(len(v.Monitors) == 0, p.Child("monitors"))
}

func validatePersistentISCSI(v *ISCSIPersistentVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.Add(validateISCSITarget(v.TargetPortal, v.IQN, v.InitiatorName, v.Lun, v.DiscoveryCHAPAuth || v.SessionCHAPAuth, v.SecretRef != nil, p))
	if v.SecretRef != nil {
		r.NonEmpty(p.Child("secretRef", "name"), v.SecretRef.Name)
	}
	return r.List()
}

func validatePersistentCinder(v *CinderPersistentVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("volumeID"), v.VolumeID)
	r.Add(validateSecretReference(v.SecretRef, p.Child("secretRef")))
	return r.List()
}

func validatePersistentAzureFile(v *AzureFilePersistentVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("secretName"), v.SecretName)
	r.NonEmpty(p.Child("shareName"), v.ShareName)
	if ns := v.SecretNamespace; ns != nil {
		r.NonEmpty(p.Child("secretNamespace"), *ns)
	}
	return r.List()
}

func validatePersistentScaleIO(v *ScaleIOPersistentVolumeSource, p *check.Path) validation.ErrorList {
	return validateScaleIOVolume(v.Gateway, v.System, v.VolumeName, p)
}

func validatePersistentStorageOS(v *StorageOSPersistentVolumeSource, p *check.Path) validation.ErrorList {
	return required(v.VolumeName == "", p.Child("volumeName"))
}

func validatePersistentCSI(v *CSIPersistentVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.Add(ValidateCSIDriverName(v.Driver, p.Child("driver")))
	r.NonEmpty(p.Child("volumeHandle"), v.VolumeHandle)
	r.Add(validateSecretReference(v.ControllerPublishSecretRef, p.Child("controllerPublishSecretRef")))
	r.Add(validateSecretReference(v.ControllerExpandSecretRef, p.Child("controllerExpandSecretRef")))
	r.Add(validateSecretReference(v.NodePublishSecretRef, p.Child("nodePublishSecretRef")))
	r.Add(validateSecretReference(v.NodeExpandSecretRef, p.Child("nodeExpandSecretRef")))
	r.Add(validateSecretReference(v.NodeStageSecretRef, p.Child("nodeStageSecretRef")))
	return r.List()
}
