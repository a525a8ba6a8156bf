package kubelet

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// unsupported says which of a pod's demands this kubelet cannot meet. A demand that bounds what the pod may
// do, or that gives it a device, is met or the pod is refused: it must not run as if it had not been made.
// Sysctls are those that are allowed besides the safe ones; strictGroups is what the runtime can do.
func unsupported(pod *corev1.Pod, appArmor, strictGroups bool, sysctls ...string) *verdict {
	spec := &pod.Spec
	if sec := spec.SecurityContext; sec != nil {
		if p := sec.SupplementalGroupsPolicy; p != nil && *p != corev1.SupplementalGroupsPolicyMerge && !strictGroups {
			return refusal("SupplementalGroupsPolicyNotSupported", fmt.Sprintf("SupplementalGroupsPolicy=%s is not supported in this node", *p))
		}
		for _, s := range sec.Sysctls {
			name := dottedSysctl(s.Name)
			if !slices.Contains(safeSysctls, name) && !slices.ContainsFunc(sysctls, func(allowed string) bool { return matchesSysctl(dottedSysctl(allowed), name) }) {
				return refusal("SysctlForbidden", fmt.Sprintf("forbidden sysctl: %q not allowlisted", s.Name))
			}
		}
		if enforced(sec.AppArmorProfile) && !appArmor {
			return noAppArmor
		}
	}
	for _, v := range spec.Volumes {
		if e := v.EmptyDir; e != nil && e.Medium != corev1.StorageMediumDefault && e.Medium != corev1.StorageMediumMemory && !isHugePages(e.Medium) {
			return not("the medium %q of emptyDir volume %q", e.Medium, v.Name)
		}
	}
	for c := range containersOf(pod) {
		if why := unsupportedContainer(pod, c, appArmor); why != nil {
			return why
		}
	}
	return nil
}

// not is the verdict about a demand.
func not(format string, args ...any) *verdict {
	return refusal("PodFeatureUnsupported", "Pod was rejected: this node does not support "+fmt.Sprintf(format, args...))
}

// unsupportedContainer is unsupported for one container.
func unsupportedContainer(pod *corev1.Pod, c *corev1.Container, appArmor bool) *verdict {
	p := appArmorProfile(pod, c)
	switch {
	case !enforced(p):
		return nil
	case !appArmor:
		return noAppArmor
	case p.Type == corev1.AppArmorProfileTypeLocalhost && (p.LocalhostProfile == nil || strings.TrimSpace(*p.LocalhostProfile) == ""):
		return refusal(noAppArmor.reason, "Cannot enforce AppArmor: the profile of container "+c.Name+" has no name")
	}
	return nil
}

var noAppArmor = refusal("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host")

// enforced reports whether an AppArmor profile bounds anything.
func enforced(p *corev1.AppArmorProfile) bool {
	return p != nil && p.Type != corev1.AppArmorProfileTypeUnconfined
}

// containersOf are all containers of a pod but the ephemeral ones, which are added later.
func containersOf(pod *corev1.Pod) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// dottedSysctl returns the name of a kernel parameter with dots between its parts, which slashes may divide
// too: then a dot is part of a word, and is written as a slash.
func dottedSysctl(name string) string {
	if i := strings.IndexAny(name, "./"); i < 0 || name[i] == '.' {
		return name
	}
	return strings.NewReplacer("/", ".", ".", "/").Replace(name)
}

// matchesSysctl reports whether a pattern, which may end in *, allows a kernel parameter.
func matchesSysctl(pattern, name string) bool {
	if start, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, start)
	}
	return name == pattern
}

// safeSysctls are the kernel parameters that belong to the pod's namespaces alone and affect nothing outside
// them.
var safeSysctls = []string{
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
}
