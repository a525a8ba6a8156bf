package podsecurity

import (
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// privilegeEscalation requires that each container says that it needs no set-user-ID binaries.
func privilegeEscalation(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var s setters
	for c := range containers(spec) {
		if sc := c.SecurityContext; sc == nil || sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation {
			s.containers = append(s.containers, c.Name)
		}
	}
	return s.violation("allowPrivilegeEscalation != false", "%s must set securityContext.allowPrivilegeEscalation=false")
}

// droppedCapabilities requires that all capabilities are dropped, and allows to add one.
func droppedCapabilities(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var keeping, adding setters
	for c := range containers(spec) {
		var given *corev1.Capabilities
		if c.SecurityContext != nil {
			given = c.SecurityContext.Capabilities
		}
		if given == nil || !slices.Contains(given.Drop, "ALL") {
			keeping.containers = append(keeping.containers, c.Name)
		}
		if addsOther(&adding, given, func(added corev1.Capability) bool { return added == "NET_BIND_SERVICE" }) {
			adding.containers = append(adding.containers, c.Name)
		}
	}
	const reason = "unrestricted capabilities"
	v := keeping.violation(reason, `%s must set securityContext.capabilities.drop=["ALL"]`)
	if w := adding.violation(reason, "%s must not include %s in securityContext.capabilities.add"); v.Reason == "" {
		v = w
	} else if w.Reason != "" {
		v.Detail += "; " + w.Detail
	}
	return v
}

// restrictedVolumes allows volumes that contain what the API or a claim provides.
func restrictedVolumes(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var names, types []string
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; !isProvided(v) {
			names, types = append(names, v.Name), append(types, volumeType(v))
		}
	}
	if names == nil {
		return Violation{}
	}
	types = unique(types)
	return Violation{Reason: "restricted volume types", Detail: fmt.Sprintf("%s %s %s %s %s", plural("volume", names), quoted(names), use(names),
		plural("restricted volume type", types), quoted(types))}
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
func runAsNonRoot(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var denying, unset setters
	inherited := false
	if sc := spec.SecurityContext; sc != nil && sc.RunAsNonRoot != nil {
		inherited, denying.pod = *sc.RunAsNonRoot, !*sc.RunAsNonRoot
	}
	for c := range containers(spec) {
		switch {
		case c.SecurityContext == nil || c.SecurityContext.RunAsNonRoot == nil:
			if !inherited {
				unset.containers = append(unset.containers, c.Name)
			}
		case !*c.SecurityContext.RunAsNonRoot:
			denying.containers = append(denying.containers, c.Name)
		}
	}
	const reason = "runAsNonRoot != true"
	if denying.any() {
		return denying.violation(reason, "%s must not set securityContext.runAsNonRoot=false")
	}
	return unset.violation(reason, "pod or %s must set securityContext.runAsNonRoot=true")
}

func runAsUser(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	root := func(user *int64) bool { return user != nil && *user == 0 }
	s := setters{pod: spec.SecurityContext != nil && root(spec.SecurityContext.RunAsUser)}
	for name, sc := range secured(spec) {
		if root(sc.RunAsUser) {
			s.containers = append(s.containers, name)
		}
	}
	return s.violation("runAsUser=0", "%s must not set runAsUser=0")
}

// seccompRequired requires a profile for each container, its own or the pod's.
func seccompRequired(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	s, unset := seccompSetters(spec)
	if s.any() {
		return s.violation("seccompProfile", seccompForbidden)
	}
	return unset.violation("seccompProfile", `pod or %s must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`)
}
