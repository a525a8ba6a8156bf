package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// validatePodOS checks that a pod for one operating system uses nothing that only the other one has.
func validatePodOS(s *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	if s.OS == nil {
		return nil
	}
	check.Chosen(&r, p.Child("os", "name"), s.OS.Name, Linux, Windows)
	each := func(one func(c *SecurityContext, q *path)) {
		for i := range s.Containers {
			if c := s.Containers[i].SecurityContext; c != nil {
				one(c, p.Child("containers").Index(i).Child("securityContext"))
			}
		}
		for i := range s.InitContainers {
			if c := s.InitContainers[i].SecurityContext; c != nil {
				one(c, p.Child("initContainers").Index(i).Child("securityContext"))
			}
		}
	}
	switch s.OS.Name {
	case Linux:
		const why = "windows options cannot be set for a linux pod"
		r.ForbidIf(s.SecurityContext != nil && s.SecurityContext.WindowsOptions != nil, p.Child("securityContext", "windowsOptions"), why)
		each(func(c *SecurityContext, q *path) { r.ForbidIf(c.WindowsOptions != nil, q.Child("windowsOptions"), why) })
	case Windows:
		const why = "cannot be set for a windows pod"
		r.ForbidIf(s.HostPID, p.Child("hostPID"), why)
		r.ForbidIf(s.HostIPC, p.Child("hostIPC"), why)
		r.ForbidIf(isTrue(s.ShareProcessNamespace), p.Child("shareProcessNamespace"), why)
		r.ForbidIf(s.HostUsers != nil, p.Child("hostUsers"), why)
		if s.Resources != nil {
			r.ForbidIf(true, p.Child("resources"), why)
		}
		if c := s.SecurityContext; c != nil {
			q := p.Child("securityContext")
			r.ForbidIf(c.AppArmorProfile != nil, q.Child("appArmorProfile"), why)
			r.ForbidIf(c.SELinuxOptions != nil, q.Child("seLinuxOptions"), why)
			r.ForbidIf(c.SeccompProfile != nil, q.Child("seccompProfile"), why)
			r.ForbidIf(c.FSGroup != nil, q.Child("fsGroup"), why)
			r.ForbidIf(c.FSGroupChangePolicy != nil, q.Child("fsGroupChangePolicy"), why)
			r.ForbidIf(len(c.Sysctls) > 0, q.Child("sysctls"), why)
			r.ForbidIf(c.RunAsUser != nil, q.Child("runAsUser"), why)
			r.ForbidIf(c.RunAsGroup != nil, q.Child("runAsGroup"), why)
			r.ForbidIf(len(c.SupplementalGroups) > 0, q.Child("supplementalGroups"), why)
			r.ForbidIf(c.SupplementalGroupsPolicy != nil, q.Child("supplementalGroupsPolicy"), why)
			r.ForbidIf(c.SELinuxChangePolicy != nil, q.Child("seLinuxChangePolicy"), why)
		}
		each(func(c *SecurityContext, q *path) {
			r.ForbidIf(c.AppArmorProfile != nil, q.Child("appArmorProfile"), why)
			r.ForbidIf(c.SELinuxOptions != nil, q.Child("seLinuxOptions"), why)
			r.ForbidIf(c.SeccompProfile != nil, q.Child("seccompProfile"), why)
			r.ForbidIf(c.Capabilities != nil, q.Child("capabilities"), why)
			r.ForbidIf(c.ReadOnlyRootFilesystem != nil, q.Child("readOnlyRootFilesystem"), why)
			r.ForbidIf(c.Privileged != nil, q.Child("privileged"), why)
			r.ForbidIf(c.AllowPrivilegeEscalation != nil, q.Child("allowPrivilegeEscalation"), why)
			r.ForbidIf(c.ProcMount != nil, q.Child("procMount"), why)
			r.ForbidIf(c.RunAsUser != nil, q.Child("runAsUser"), why)
			r.ForbidIf(c.RunAsGroup != nil, q.Child("runAsGroup"), why)
		})
	}
	return r.List()
}
