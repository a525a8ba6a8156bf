package corev1

import (
	"regexp"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

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

// What names of iSCSI targets and initiators look like, by RFC 3720.
var (
	iqnName = regexp.MustCompile(`^iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`)
	euiName = regexp.MustCompile(`^eui\.[[:alnum:]]{16}$`)
	naaName = regexp.MustCompile(`^naa\.[[:alnum:]]{32}$`)
)

func iscsiName(name string) bool {
	return iqnName.MatchString(name) || euiName.MatchString(name) || naaName.MatchString(name)
}

func validateISCSI(v *ISCSIVolumeSource, p *check.Path) validation.ErrorList {
	return validateISCSITarget(v.TargetPortal, v.IQN, v.InitiatorName, v.Lun, v.DiscoveryCHAPAuth || v.SessionCHAPAuth, v.SecretRef != nil, p)
}

func validateISCSITarget(portal, iqn string, initiator *string, lun int32, chap, secret bool, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("targetPortal"), portal)
	if iqn == "" {
		r.Required(p.Child("iqn"), "")
	} else if !iscsiName(iqn) {
		r.Invalid(p.Child("iqn"), iqn, "must be a valid format: iqn., eui. or naa. and the name")
	}
	if initiator != nil && !iscsiName(*initiator) {
		r.Invalid(p.Child("initiatorname"), *initiator, "must be a valid format: iqn., eui. or naa. and the name")
	}
	check.Between(&r, p.Child("lun"), lun, 0, 255)
	if chap && !secret {
		r.Required(p.Child("secretRef"), "needed for CHAP authentication")
	}
	return r.List()
}

func validateGitRepo(v *GitRepoVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("repository"), v.Repository)
	r.Add(descendingPath(v.Directory, p.Child("directory")))
	return r.List()
}

func validateGlusterfs(v *GlusterfsVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("endpoints"), v.EndpointsName)
	r.NonEmpty(p.Child("path"), v.Path)
	return r.List()
}

func validateRBD(v *RBDVolumeSource, p *check.Path) validation.ErrorList {
	return validateRBDImage(v.CephMonitors, v.RBDImage, p)
}

func validateRBDImage(monitors []string, image string, p *check.Path) validation.ErrorList {
	var r check.Report
	r.Add(required(len(monitors) == 0, p.Child("monitors")))
	r.NonEmpty(p.Child("image"), image)
	return r.List()
}

func validateCephFS(v *CephFSVolumeSource, p *check.Path) validation.ErrorList {
	return required(len(v.Monitors) == 0, p.Child("monitors"))
}

func validateCinder(v *CinderVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("volumeID"), v.VolumeID)
	if v.SecretRef != nil {
		r.NonEmpty(p.Child("secretRef", "name"), v.SecretRef.Name)
	}
	return r.List()
}

func validateFlex(v *FlexVolumeSource, p *check.Path) validation.ErrorList {
	return required(v.Driver == "", p.Child("driver"))
}

func validateVsphere(v *VsphereVirtualDiskVolumeSource, p *check.Path) validation.ErrorList {
	return required(v.VolumePath == "", p.Child("volumePath"))
}

func validatePhoton(v *PhotonPersistentDiskVolumeSource, p *check.Path) validation.ErrorList {
	return required(v.PdID == "", p.Child("pdID"))
}

func validatePortworx(v *PortworxVolumeSource, p *check.Path) validation.ErrorList {
	return required(v.VolumeID == "", p.Child("volumeID"))
}

func validateAzureFile(v *AzureFileVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("secretName"), v.SecretName)
	r.NonEmpty(p.Child("shareName"), v.ShareName)
	return r.List()
}

func validateStorageOS(v *StorageOSVolumeSource, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("volumeName"), v.VolumeName)
	if v.SecretRef != nil {
		r.NonEmpty(p.Child("secretRef", "name"), v.SecretRef.Name)
	}
	return r.List()
}

func validateScaleIO(v *ScaleIOVolumeSource, p *check.Path) validation.ErrorList {
	return validateScaleIOVolume(v.Gateway, v.System, v.VolumeName, p)
}

func validateScaleIOVolume(gateway, system, volume string, p *check.Path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("gateway"), gateway)
	r.NonEmpty(p.Child("system"), system)
	r.NonEmpty(p.Child("volumeName"), volume)
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
	// Only the form of the kind that was chosen is checked, and an unknown kind is treated as a blob.
	prefix, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	if v.Kind != nil && *v.Kind == AzureManagedDisk {
		prefix, form = "/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	}
	if !strings.HasPrefix(strings.ToLower(v.DataDiskURI), prefix) {
		r.Add(validation.ErrorList{validation.NotSupported(p.Child("diskURI"), v.DataDiskURI, []string{form})})
	}
	return r.List()
}
