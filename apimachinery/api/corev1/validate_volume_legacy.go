package corev1

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// legacyVolumeSource checks the sources that name a storage system in the pod itself.
func legacyVolumeSource(s *sources, v *Volume) {
	s.add("gcePersistentDisk", v.GCEPersistentDisk != nil, func(q *check.Path) { s.Add(validateGCE(v.GCEPersistentDisk, q)) })
	s.add("awsElasticBlockStore", v.AWSElasticBlockStore != nil, func(q *check.Path) { s.Add(validateAWS(v.AWSElasticBlockStore, q)) })
	s.add("nfs", v.NFS != nil, func(q *check.Path) { s.Add(validateNFS(v.NFS, q)) })
	s.add("iscsi", v.ISCSI != nil, func(q *check.Path) {
		i := v.ISCSI
		s.Add(validateISCSI(i.TargetPortal, i.IQN, i.Lun, i.DiscoveryCHAPAuth || i.SessionCHAPAuth, i.SecretRef != nil, q))
	})
	s.add("glusterfs", v.Glusterfs != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("endpoints"), v.Glusterfs.EndpointsName)
		s.NonEmpty(q.Child("path"), v.Glusterfs.Path)
	})
	s.add("rbd", v.RBD != nil, func(q *check.Path) { s.Add(validateRBD(v.RBD.CephMonitors, v.RBD.RBDImage, q)) })
	s.add("flexVolume", v.FlexVolume != nil, func(q *check.Path) { s.NonEmpty(q.Child("driver"), v.FlexVolume.Driver) })
	s.add("cinder", v.Cinder != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("volumeID"), v.Cinder.VolumeID)
		if v.Cinder.SecretRef != nil {
			s.NonEmpty(q.Child("secretRef", "name"), v.Cinder.SecretRef.Name)
		}
	})
	s.add("cephfs", v.CephFS != nil, func(q *check.Path) { s.Add(required(len(v.CephFS.Monitors) == 0, q.Child("monitors"))) })
	s.add("flocker", v.Flocker != nil, func(q *check.Path) { s.Add(validateFlocker(v.Flocker, q)) })
	s.add("fc", v.FC != nil, func(q *check.Path) { s.Add(validateFC(v.FC, q)) })
	s.add("azureFile", v.AzureFile != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("secretName"), v.AzureFile.SecretName)
		s.NonEmpty(q.Child("shareName"), v.AzureFile.ShareName)
	})
	s.add("vsphereVolume", v.VsphereVolume != nil, func(q *check.Path) { s.NonEmpty(q.Child("volumePath"), v.VsphereVolume.VolumePath) })
	s.add("quobyte", v.Quobyte != nil, func(q *check.Path) { s.Add(validateQuobyte(v.Quobyte, q)) })
	s.add("azureDisk", v.AzureDisk != nil, func(q *check.Path) { s.Add(validateAzureDisk(v.AzureDisk, q)) })
	s.add("photonPersistentDisk", v.PhotonPersistentDisk != nil, func(q *check.Path) { s.NonEmpty(q.Child("pdID"), v.PhotonPersistentDisk.PdID) })
	s.add("portworxVolume", v.PortworxVolume != nil, func(q *check.Path) { s.NonEmpty(q.Child("volumeID"), v.PortworxVolume.VolumeID) })
	s.add("scaleIO", v.ScaleIO != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("gateway"), v.ScaleIO.Gateway)
		s.NonEmpty(q.Child("system"), v.ScaleIO.System)
		s.NonEmpty(q.Child("volumeName"), v.ScaleIO.VolumeName)
	})
	s.add("storageos", v.StorageOS != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("volumeName"), v.StorageOS.VolumeName)
		if ref := v.StorageOS.SecretRef; ref != nil {
			s.NonEmpty(q.Child("secretRef", "name"), ref.Name)
		}
	})
}

func required(missing bool, p *check.Path) validation.ErrorList {
	if missing {
		return validation.ErrorList{validation.Required(p, "")}
	}
	return nil
}

func validateGCE(v *GCEPersistentDiskVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("pdName"), v.PDName)
	check.Between(&r, p.Child("partition"), v.Partition, 0, 255)
	return r.List()
}

func validateAWS(v *AWSElasticBlockStoreVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("volumeID"), v.VolumeID)
	check.Between(&r, p.Child("partition"), v.Partition, 0, 255)
	return r.List()
}

func validateNFS(v *NFSVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("server"), v.Server)
	r.NonEmpty(p.Child("path"), v.Path)
	r.If(!strings.HasPrefix(v.Path, "/"), p.Child("path"), v.Path, "must be an absolute path")
	return r.List()
}

func validateISCSI(portal, iqn string, lun int32, chap, secret bool, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("targetPortal"), portal)
	if iqn == "" {
		r.Required(p.Child("iqn"), "")
	} else if !strings.HasPrefix(iqn, "iqn.") && !strings.HasPrefix(iqn, "eui.") && !strings.HasPrefix(iqn, "naa.") {
		r.Invalid(p.Child("iqn"), iqn, "must be a valid format: iqn., eui. or naa. and the name")
	}
	check.Between(&r, p.Child("lun"), lun, 0, 255)
	if chap && !secret {
		r.Required(p.Child("secretRef"), "needed for CHAP authentication")
	}
	return r.List()
}

func validateRBD(monitors []string, image string, p *check.Path) validation.ErrorList {
	var r check.Report
	if len(monitors) == 0 {
		r.Required(p.Child("monitors"), "")
	}
	r.NonEmpty(p.Child("image"), image)
	return r.List()
}

func validateFlocker(v *FlockerVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	switch {
	case v.DatasetName == "" && v.DatasetUUID == "":
		r.Required(p, "one of datasetName and datasetUUID is required")
	case v.DatasetName != "" && v.DatasetUUID != "":
		r.Invalid(p, "resource", "datasetName and datasetUUID can not be specified simultaneously")
	}
	r.If(strings.Contains(v.DatasetName, "/"), p.Child("datasetName"), v.DatasetName, "must not contain '/'")
	return r.List()
}

func validateFC(v *FCVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	switch {
	case len(v.TargetWWNs) == 0 && len(v.WWIDs) == 0:
		r.Required(p.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both")
	case len(v.TargetWWNs) > 0 && len(v.WWIDs) > 0:
		r.Invalid(p.Child("targetWWNs"), v.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
	case len(v.TargetWWNs) > 0 && v.Lun == nil:
		r.Required(p.Child("lun"), "lun is required if targetWWNs is specified")
	case len(v.TargetWWNs) > 0:
		check.Between(&r, p.Child("lun"), *v.Lun, 0, 255)
	}
	return r.List()
}

func validateQuobyte(v *QuobyteVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	if v.Registry == "" {
		r.Required(p.Child("registry"), "must be a host:port pair or multiple pairs separated by commas")
	} else {
		for pair := range strings.SplitSeq(v.Registry, ",") {
			r.If(!strings.Contains(pair, ":"), p.Child("registry"), v.Registry, "must be a host:port pair or multiple pairs separated by commas")
		}
	}
	r.If(len(v.Tenant) > 64, p.Child("tenant"), v.Tenant, "must be a UUID and not more than 64 characters")
	r.NonEmpty(p.Child("volume"), v.Volume)
	return r.List()
}

func validateAzureDisk(v *AzureDiskVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("diskName"), v.DiskName)
	r.NonEmpty(p.Child("diskURI"), v.DataDiskURI)
	check.OneOfOpt(&r, p.Child("cachingMode"), v.CachingMode, AzureDataDiskCachingNone, AzureDataDiskCachingReadOnly, AzureDataDiskCachingReadWrite)
	check.OneOfOpt(&r, p.Child("kind"), v.Kind, AzureDedicatedBlobDisk, AzureManagedDisk, AzureSharedBlobDisk)
	uri := strings.ToLower(v.DataDiskURI)
	switch {
	case v.Kind == nil || uri == "":
	case *v.Kind == AzureManagedDisk:
		r.If(!strings.HasPrefix(uri, "/subscriptions/"), p.Child("diskURI"), v.DataDiskURI, "diskURI not in valid format of a managed disk")
	default:
		r.If(!strings.HasPrefix(uri, "https://"), p.Child("diskURI"), v.DataDiskURI, "diskURI not in valid format of a blob disk")
	}
	return r.List()
}
