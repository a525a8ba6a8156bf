package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// A security setting that the node cannot apply refuses the pod; none is ignored.
func TestSecuritySettingsAreAppliedOrRefused(t *testing.T) {
	localhost := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("p")}
	container := func(edit func(*corev1.Container)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { edit(&p.Spec.Containers[0]) }
	}
	for name, c := range map[string]struct {
		edit   func(*corev1.Pod)
		reason string
	}{
		"strict groups": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.SupplementalGroupsPolicy = new(corev1.SupplementalGroupsPolicyStrict)
		}, "SupplementalGroupsPolicyNotSupported"},
		"merged groups": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.SupplementalGroupsPolicy = new(corev1.SupplementalGroupsPolicyMerge)
		}, ""},
		"unsafe sysctl": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}
		}, "SysctlForbidden"},
		"safe sysctl": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.tcp_syncookies", Value: "1"}}
		}, ""},
		"safe sysctl with slashes": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net/ipv4/tcp_syncookies", Value: "1"}}
		}, ""},
		"unsafe sysctl with slashes": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net/ipv4/conf/eth0.1/forwarding", Value: "1"}}
		}, "SysctlForbidden"},
		"AppArmor":                {func(p *corev1.Pod) { p.Spec.SecurityContext.AppArmorProfile = localhost }, "AppArmor"},
		"AppArmor of a container": {container(func(c *corev1.Container) { c.SecurityContext = &corev1.SecurityContext{AppArmorProfile: localhost} }), "AppArmor"},
		"no AppArmor": {func(p *corev1.Pod) {
			p.Spec.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
		}, ""},
		"huge pages": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "HugePages-2Mi"}}}}
		}, ""},
		"another medium": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Tape"}}}}
		}, "PodFeatureUnsupported"},
		"memory": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}}}
		}, ""},
		"variables of a file": {container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "a", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{}}}}
		}), ""},
		"nothing out of the common": {func(*corev1.Pod) {}, ""},
	} {
		pod := &corev1.Pod{}
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{}
		pod.Spec.Containers = []corev1.Container{{Name: "c"}}
		c.edit(pod)
		why := unsupported(pod, false, false)
		if c.reason == "" {
			require.Nil(t, why, name)
			continue
		}
		require.NotNil(t, why, name)
		require.Equal(t, c.reason, why.reason, name)
		require.Equal(t, corev1.PodFailed, why.phase)
		if c.reason == "AppArmor" {
			require.Nil(t, unsupported(pod, true, false), "a machine that enforces profiles")
		}
	}
}

// containerd before 1.7 starts a container without the devices that it was to have.
func TestDevicesThatTheRuntimeLeavesOut(t *testing.T) {
	config := &cri.ContainerConfig{CDIDevices: []*cri.CDIDevice{{Name: "x/gpu=0"}}}
	for version, fine := range map[string]bool{"v1.6.20": false, "1.6.20~ds1": false, "v1.7.0": true, "v2.1.0": true, "unknown": true, "": true} {
		n := &node{runtimeVersion: &cri.VersionResponse{RuntimeName: "containerd", RuntimeVersion: version}}
		if err := n.checkCDI(config); fine {
			require.NoError(t, err, version)
		} else {
			require.EqualError(t, err, "the container runtime containerd://"+version+" does not support CDI devices, such as x/gpu=0")
		}
		require.NoError(t, n.checkCDI(&cri.ContainerConfig{}))
	}
	require.NoError(t, (&node{}).checkCDI(config))
	require.NoError(t, (&node{runtimeVersion: &cri.VersionResponse{RuntimeName: "cri-o", RuntimeVersion: "1.6.0"}}).checkCDI(config))
}

func TestLabelsAndProfilesReachTheRuntime(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c1"},
		AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}}
	c := &corev1.Container{Name: "c"}
	sec, err := securityContext(pod, c, &cri.Image{}, "/root/seccomp", false)
	require.NoError(t, err)
	require.Equal(t, "s0:c1", sec.SelinuxOptions.Level)
	require.Equal(t, cri.SecurityProfile_RuntimeDefault, sec.Apparmor.ProfileType)
	c.SecurityContext = &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Type: "t", User: "u", Role: "r"},
		AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("mine")}}
	sec, err = securityContext(pod, c, &cri.Image{}, "/root/seccomp", false)
	require.NoError(t, err)
	require.Equal(t, "u r t ", sec.SelinuxOptions.User+" "+sec.SelinuxOptions.Role+" "+sec.SelinuxOptions.Type+" "+sec.SelinuxOptions.Level)
	require.Equal(t, "mine", sec.Apparmor.LocalhostRef)
	require.Equal(t, "localhost/mine", sec.ApparmorProfile) //nolint:staticcheck // older runtimes read it
	c.SecurityContext.AppArmorProfile.Type = "Other"
	_, err = securityContext(pod, c, &cri.Image{}, "/root/seccomp", false)
	require.ErrorContains(t, err, "unknown type")
}

func TestSysctlNames(t *testing.T) {
	for name, want := range map[string]string{
		"kernel.shm_rmid_forced": "kernel.shm_rmid_forced", "kernel/shm_rmid_forced": "kernel.shm_rmid_forced",
		"net/ipv4/conf/eno2.100/rp_filter": "net.ipv4.conf.eno2/100.rp_filter", "net.ipv4.conf.eno2/100.rp_filter": "net.ipv4.conf.eno2/100.rp_filter", "": "",
	} {
		require.Equal(t, want, dottedSysctl(name))
	}
}
