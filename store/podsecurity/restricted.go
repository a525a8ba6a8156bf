package podsecurity

import (
	"cmp"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// privilegeEscalation requires that each container says that it needs no set-user-ID binaries.
func privilegeEscalation(e *evaluation) string {
	for _, c := range e.containers {
		if sc := c.SecurityContext; sc == nil || sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation {
			e.name(c.Name)
		}
	}
	return e.violation("allowPrivilegeEscalation != false", "%s must set securityContext.allowPrivilegeEscalation=false")
}

// droppedCapabilities requires that all capabilities are dropped, and allows to add one.
func droppedCapabilities(e *evaluation) string {
	for _, c := range e.containers {
		if sc := c.SecurityContext; sc == nil || sc.Capabilities == nil || !slices.Contains(sc.Capabilities.Drop, "ALL") {
			e.name(c.Name)
		}
	}
	const reason = "unrestricted capabilities"
	kept := e.violation(reason, `%s must set securityContext.capabilities.drop=["ALL"]`)
	e.next()
	for _, c := range e.containers {
		if c.SecurityContext != nil && addsOther(e, c.SecurityContext.Capabilities, func(added corev1.Capability) bool { return added == "NET_BIND_SERVICE" }) {
			e.name(c.Name)
		}
	}
	if kept != "" && e.found() {
		e.write("; ")
	}
	return cmp.Or(e.violation(reason, "%s must not include %s in securityContext.capabilities.add"), kept)
}

// restrictedVolumes allows volumes that contain what the API or a claim provides.
func restrictedVolumes(e *evaluation) string {
	for i := range e.spec.Volumes {
		if v := &e.spec.Volumes[i]; !isProvided(v) {
			e.name(v.Name)
			e.forbid(volumeType(v))
		}
	}
	if !e.found() {
		return ""
	}
	e.values = unique(e.values)
	e.use("volume", "restricted volume type")
	e.quote(e.values)
	return "restricted volume types"
}

func isProvided(v *corev1.Volume) bool {
	return v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil ||
		v.Image != nil || v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil
}

// volumeType returns the name of the field that is set in a volume that is not allowed. If several are, which
// validation refuses, the order decides as it does upstream.
func volumeType(v *corev1.Volume) string {
	for _, f := range []struct {
		set  bool
		name string
	}{
		{v.HostPath != nil, "hostPath"},
		{v.GCEPersistentDisk != nil, "gcePersistentDisk"},
		{v.AWSElasticBlockStore != nil, "awsElasticBlockStore"},
		{v.GitRepo != nil, "gitRepo"},
		{v.NFS != nil, "nfs"},
		{v.ISCSI != nil, "iscsi"},
		{v.Glusterfs != nil, "glusterfs"},
		{v.RBD != nil, "rbd"},
		{v.FlexVolume != nil, "flexVolume"},
		{v.Cinder != nil, "cinder"},
		{v.CephFS != nil, "cephfs"},
		{v.Flocker != nil, "flocker"},
		{v.FC != nil, "fc"},
		{v.AzureFile != nil, "azureFile"},
		{v.VsphereVolume != nil, "vsphereVolume"},
		{v.Quobyte != nil, "quobyte"},
		{v.AzureDisk != nil, "azureDisk"},
		{v.PhotonPersistentDisk != nil, "photonPersistentDisk"},
		{v.PortworxVolume != nil, "portworxVolume"},
		{v.ScaleIO != nil, "scaleIO"},
		{v.StorageOS != nil, "storageos"},
	} {
		if f.set {
			return f.name
		}
	}
	return "unknown"
}

// runAsNonRoot requires that the node refuses to run each container as root. The pod's setting counts for the
// containers that have none.
func runAsNonRoot(e *evaluation) string {
	denies := func(b *bool) bool { return b != nil && !*b }
	inherited := e.spec.SecurityContext != nil && isTrue(e.spec.SecurityContext.RunAsNonRoot)
	e.pod = e.spec.SecurityContext != nil && denies(e.spec.SecurityContext.RunAsNonRoot)
	for _, c := range e.containers {
		if c.SecurityContext != nil && denies(c.SecurityContext.RunAsNonRoot) {
			e.name(c.Name)
		}
	}
	const reason = "runAsNonRoot != true"
	if e.found() || inherited {
		return e.violation(reason, "%s must not set securityContext.runAsNonRoot=false")
	}
	for _, c := range e.containers {
		if c.SecurityContext == nil || c.SecurityContext.RunAsNonRoot == nil {
			e.name(c.Name)
		}
	}
	return e.violation(reason, "pod or %s must set securityContext.runAsNonRoot=true")
}

func runAsUser(e *evaluation) string {
	root := func(user *int64) bool { return user != nil && *user == 0 }
	e.pod = e.spec.SecurityContext != nil && root(e.spec.SecurityContext.RunAsUser)
	for _, c := range e.containers {
		if c.SecurityContext != nil && root(c.SecurityContext.RunAsUser) {
			e.name(c.Name)
		}
	}
	return e.violation("runAsUser=0", "%s must not set runAsUser=0")
}

// seccompRequired requires a profile for each container, its own or the pod's.
func seccompRequired(e *evaluation) string {
	reason := seccompAllowed(e)
	if reason != "" || e.spec.SecurityContext != nil && e.spec.SecurityContext.SeccompProfile != nil {
		return reason
	}
	for _, c := range e.containers {
		if c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil {
			e.name(c.Name)
		}
	}
	return e.violation("seccompProfile", `pod or %s must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`)
}
