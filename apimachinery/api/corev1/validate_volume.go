package corev1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// validateVolumes checks the volumes of a pod and returns those that are fine by name.
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

// sources checks the alternatives of a volume: each through add, which lets only the first be checked.
type sources struct {
	check.Report
	p *check.Path
	n int
	// all checks each that is set; n reports too many.
	all bool
}

func (s *sources) add(name string, set bool, body func(q *check.Path)) {
	s.addAs(name, name, set, body)
}

// addAs is add for a source that is known by another name where there is one too many of them.
func (s *sources) addAs(name, surplus string, set bool, body func(q *check.Path)) {
	if !set {
		return
	}
	if s.n++; s.n > 1 && !s.all {
		s.Forbidden(s.p.Child(surplus), "may not specify more than 1 volume type")
		return
	}
	body(s.p.Child(name))
}

func validateVolumeSource(v *Volume, p *check.Path) validation.ErrorList {
	s := &sources{p: p}
	// The order decides which of two sources is the one too many: it is upstream's.
	s.add("emptyDir", v.EmptyDir != nil, func(q *check.Path) {
		if size := v.EmptyDir.SizeLimit; size != nil && size.Sign() < 0 {
			s.Forbidden(q.Child("sizeLimit"), "must not be negative")
		}
	})
	s.add("hostPath", v.HostPath != nil, func(q *check.Path) { s.Add(validateHostPath(v.HostPath, q)) })
	s.add("gitRepo", v.GitRepo != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("repository"), v.GitRepo.Repository)
		s.Add(descendingPath(v.GitRepo.Directory, q.Child("directory")))
	})
	s.add("gcePersistentDisk", v.GCEPersistentDisk != nil, func(q *check.Path) { s.Add(validateGCE(v.GCEPersistentDisk, q)) })
	s.add("awsElasticBlockStore", v.AWSElasticBlockStore != nil, func(q *check.Path) { s.Add(validateAWS(v.AWSElasticBlockStore, q)) })
	s.add("secret", v.Secret != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("secretName"), v.Secret.SecretName)
		s.Add(validateMode(v.Secret.DefaultMode, q.Child("defaultMode")))
		s.Add(validateKeyPaths(v.Secret.Items, q.Child("items")))
	})
	s.add("nfs", v.NFS != nil, func(q *check.Path) { s.Add(validateNFS(v.NFS, q)) })
	s.add("iscsi", v.ISCSI != nil, func(q *check.Path) {
		i := v.ISCSI
		s.Add(validateISCSI(i.TargetPortal, i.IQN, i.InitiatorName, i.Lun, i.DiscoveryCHAPAuth || i.SessionCHAPAuth, i.SecretRef != nil, q))
	})
	s.add("glusterfs", v.Glusterfs != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("endpoints"), v.Glusterfs.EndpointsName)
		s.NonEmpty(q.Child("path"), v.Glusterfs.Path)
	})
	s.add("flocker", v.Flocker != nil, func(q *check.Path) { s.Add(validateFlocker(v.Flocker, q)) })
	s.add("persistentVolumeClaim", v.PersistentVolumeClaim != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("claimName"), v.PersistentVolumeClaim.ClaimName)
	})
	s.add("rbd", v.RBD != nil, func(q *check.Path) { s.Add(validateRBD(v.RBD.CephMonitors, v.RBD.RBDImage, q)) })
	s.add("cinder", v.Cinder != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("volumeID"), v.Cinder.VolumeID)
		if v.Cinder.SecretRef != nil {
			s.NonEmpty(q.Child("secretRef", "name"), v.Cinder.SecretRef.Name)
		}
	})
	s.addAs("cephfs", "cephFS", v.CephFS != nil, func(q *check.Path) { s.Add(required(len(v.CephFS.Monitors) == 0, q.Child("monitors"))) })
	s.add("quobyte", v.Quobyte != nil, func(q *check.Path) { s.Add(validateQuobyte(v.Quobyte, q)) })
	s.addAs("downwardAPI", "downwarAPI", v.DownwardAPI != nil, func(q *check.Path) {
		s.Add(validateMode(v.DownwardAPI.DefaultMode, q.Child("defaultMode")))
		for i := range v.DownwardAPI.Items {
			s.Add(validateDownwardFile(&v.DownwardAPI.Items[i], q))
		}
	})
	s.add("fc", v.FC != nil, func(q *check.Path) { s.Add(validateFC(v.FC, q)) })
	s.add("flexVolume", v.FlexVolume != nil, func(q *check.Path) { s.NonEmpty(q.Child("driver"), v.FlexVolume.Driver) })
	s.add("configMap", v.ConfigMap != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("name"), v.ConfigMap.Name)
		s.Add(validateMode(v.ConfigMap.DefaultMode, q.Child("defaultMode")))
		s.Add(validateKeyPaths(v.ConfigMap.Items, q.Child("items")))
	})
	s.add("azureFile", v.AzureFile != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("secretName"), v.AzureFile.SecretName)
		s.NonEmpty(q.Child("shareName"), v.AzureFile.ShareName)
	})
	s.add("vsphereVolume", v.VsphereVolume != nil, func(q *check.Path) { s.NonEmpty(q.Child("volumePath"), v.VsphereVolume.VolumePath) })
	s.add("photonPersistentDisk", v.PhotonPersistentDisk != nil, func(q *check.Path) { s.NonEmpty(q.Child("pdID"), v.PhotonPersistentDisk.PdID) })
	s.add("portworxVolume", v.PortworxVolume != nil, func(q *check.Path) { s.NonEmpty(q.Child("volumeID"), v.PortworxVolume.VolumeID) })
	s.add("azureDisk", v.AzureDisk != nil, func(q *check.Path) { s.Add(validateAzureDisk(v.AzureDisk, q)) })
	s.add("storageos", v.StorageOS != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("volumeName"), v.StorageOS.VolumeName)
		if ref := v.StorageOS.SecretRef; ref != nil {
			s.NonEmpty(q.Child("secretRef", "name"), ref.Name)
		}
	})
	s.add("projected", v.Projected != nil, func(q *check.Path) { s.Add(validateProjected(v.Projected, q)) })
	s.add("scaleIO", v.ScaleIO != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("gateway"), v.ScaleIO.Gateway)
		s.NonEmpty(q.Child("system"), v.ScaleIO.System)
		s.NonEmpty(q.Child("volumeName"), v.ScaleIO.VolumeName)
	})
	s.add("csi", v.CSI != nil, func(q *check.Path) {
		s.Add(ValidateCSIDriverName(v.CSI.Driver, q.Child("driver")))
		if ref := v.CSI.NodePublishSecretRef; ref != nil {
			s.NonEmpty(q.Child("nodePublishSecretRef", "name"), ref.Name)
		}
	})
	s.add("ephemeral", v.Ephemeral != nil, func(q *check.Path) {
		t, f := v.Ephemeral.VolumeClaimTemplate, q.Child("volumeClaimTemplate")
		if t == nil {
			s.Required(f, "")
			return
		}
		s.Add(metav1.ValidateTemplateMeta(&t.ObjectMeta, f.Child("metadata")))
		s.Add(validateClaimSpec(&t.Spec, f.Child("spec")))
	})
	s.add("image", v.Image != nil, func(q *check.Path) {
		s.NonEmpty(q.Child("reference"), v.Image.Reference)
		check.OneOf(&s.Report, q.Child("pullPolicy"), v.Image.PullPolicy, PullAlways, PullIfNotPresent, PullNever)
	})
	if s.n == 0 {
		s.Required(p, "must specify a volume type")
	}
	return s.List()
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

func validateProjected(v *ProjectedVolumeSource, p *check.Path) validation.ErrorList {
	const minExpiration, maxExpiration = 10 * 60, 1 << 32
	var r check.Report
	r.Add(validateMode(v.DefaultMode, p.Child("defaultMode")))
	paths := map[string]bool{}
	unique := func(name string, q *check.Path) {
		if name != "" && !check.Unique(paths, name) {
			r.Invalid(q, name, "conflicting duplicate paths")
		}
	}
	for i := range v.Sources {
		s := &sources{p: p.Child("sources").Index(i), all: true}
		src := &v.Sources[i]
		s.add("secret", src.Secret != nil, func(q *check.Path) {
			s.NonEmpty(q.Child("name"), src.Secret.Name)
			s.Add(validateKeyPaths(src.Secret.Items, q.Child("items")))
			for _, item := range src.Secret.Items {
				unique(item.Path, p)
			}
		})
		s.add("configMap", src.ConfigMap != nil, func(q *check.Path) {
			s.NonEmpty(q.Child("name"), src.ConfigMap.Name)
			s.Add(validateKeyPaths(src.ConfigMap.Items, q.Child("items")))
			for _, item := range src.ConfigMap.Items {
				unique(item.Path, p)
			}
		})
		s.add("downwardAPI", src.DownwardAPI != nil, func(q *check.Path) {
			for j := range src.DownwardAPI.Items {
				s.Add(validateDownwardFile(&src.DownwardAPI.Items[j], q))
				unique(src.DownwardAPI.Items[j].Path, p)
			}
		})
		s.add("serviceAccountToken", src.ServiceAccountToken != nil, func(q *check.Path) {
			t := src.ServiceAccountToken
			if e := t.ExpirationSeconds; e != nil {
				s.If(*e < minExpiration, q.Child("expirationSeconds"), *e, "may not specify a duration less than 10 minutes")
				s.If(*e > maxExpiration, q.Child("expirationSeconds"), *e, "may not specify a duration larger than 2^32 seconds")
			}
			s.NonEmpty(q.Child("path"), t.Path)
			s.Add(unreservedPath(t.Path, q.Child("path")))
			unique(t.Path, p)
		})
		s.add("clusterTrustBundle", src.ClusterTrustBundle != nil, func(q *check.Path) {
			s.Add(validateTrustBundle(src.ClusterTrustBundle, q))
			unique(src.ClusterTrustBundle.Path, p)
		})
		s.add("podCertificate", src.PodCertificate != nil, func(q *check.Path) {
			c := src.PodCertificate
			s.NonEmpty(q.Child("signerName"), c.SignerName)
			check.Chosen(&s.Report, q.Child("keyType"), c.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
			if c.CredentialBundlePath == "" && c.KeyPath == "" && c.CertificateChainPath == "" {
				s.Required(q, "specify at least one of credentialBundlePath, keyPath and certificateChainPath")
			}
			for _, f := range [][2]string{
				{"credentialBundlePath", c.CredentialBundlePath}, {"keyPath", c.KeyPath}, {"certificateChainPath", c.CertificateChainPath},
			} {
				s.Add(unreservedPath(f[1], q.Child(f[0])))
				unique(f[1], p)
			}
		})
		s.ForbidIf(s.n > 1, s.p, "may not specify more than 1 volume type")
		r.Add(s.List())
	}
	return r.List()
}

func validateTrustBundle(b *ClusterTrustBundleProjection, p *check.Path) validation.ErrorList {
	var r check.Report
	switch {
	case b.SignerName == nil && b.Name == nil:
		r.Required(p, "either name or signerName must be specified")
	case b.SignerName != nil && b.Name != nil:
		r.Invalid(p, "", "only one of name and signerName may be used")
	case b.SignerName != nil:
		r.NonEmpty(p.Child("signerName"), *b.SignerName)
		r.Add(metav1.ValidateLabelSelector(b.LabelSelector, metav1.SelectorRule{}, p.Child("labelSelector")))
	default:
		r.NonEmpty(p.Child("name"), *b.Name)
		r.If(b.LabelSelector != nil, p.Child("labelSelector"), "", "labelSelector must be unset if name is specified")
	}
	r.NonEmpty(p.Child("path"), b.Path)
	r.Add(unreservedPath(b.Path, p.Child("path")))
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
