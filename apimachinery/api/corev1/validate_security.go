package corev1

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func isTrue(b *bool) bool { return b != nil && *b }

func privileged(s *SecurityContext) bool { return s != nil && isTrue(s.Privileged) }

// ids checks user and group numbers.
func ids(r *check.Report, p *path, user, group *int64) {
	if user != nil {
		r.Each(p.Child("runAsUser"), *user, validation.IsUserID(*user))
	}
	if group != nil {
		r.Each(p.Child("runAsGroup"), *group, validation.IsGroupID(*group))
	}
}

func validateSecurityContext(s *SecurityContext, pod *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	if s == nil {
		return nil
	}
	ids(&r, p, s.RunAsUser, s.RunAsGroup)
	check.OneOfOpt(&r, p.Child("procMount"), s.ProcMount, DefaultProcMount, UnmaskedProcMount)
	if s.ProcMount != nil && *s.ProcMount == UnmaskedProcMount && (pod.HostUsers == nil || *pod.HostUsers) {
		r.Invalid(p.Child("procMount"), *s.ProcMount, "`hostUsers` must be false to use `Unmasked`")
	}
	r.Add(validateProfile(s.SeccompProfile, p.Child("seccompProfile")))
	if s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
		r.If(isTrue(s.Privileged), p, s, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		if s.Capabilities != nil {
			for _, c := range s.Capabilities.Add {
				r.If(c == "CAP_SYS_ADMIN", p, s, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
			}
		}
	}
	r.Add(validateWindows(s.WindowsOptions, p.Child("windowsOptions")))
	r.Add(validateAppArmor(s.AppArmorProfile, p.Child("appArmorProfile")))
	return r.List()
}

func validateProfile(s *SeccompProfile, p *path) validation.ErrorList {
	var r check.Report
	if s == nil {
		return nil
	}
	check.Chosen(&r, p.Child("type"), s.Type, SeccompProfileTypeLocalhost, SeccompProfileTypeRuntimeDefault, SeccompProfileTypeUnconfined)
	f := p.Child("localhostProfile")
	switch {
	case s.Type != SeccompProfileTypeLocalhost && s.LocalhostProfile != nil:
		r.Invalid(f, *s.LocalhostProfile, "can only be set when seccomp type is Localhost")
	case s.Type == SeccompProfileTypeLocalhost && s.LocalhostProfile == nil:
		r.Required(f, "must be set when seccomp type is Localhost")
	case s.Type == SeccompProfileTypeLocalhost:
		r.Add(descendingPath(*s.LocalhostProfile, f))
	}
	return r.List()
}

func validateAppArmor(s *AppArmorProfile, p *path) validation.ErrorList {
	var r check.Report
	if s == nil {
		return nil
	}
	check.Chosen(&r, p.Child("type"), s.Type, AppArmorProfileTypeLocalhost, AppArmorProfileTypeRuntimeDefault, AppArmorProfileTypeUnconfined)
	if !r.OK() {
		return r.List() // what else may be set depends on the type
	}
	f := p.Child("localhostProfile")
	switch {
	case s.Type != AppArmorProfileTypeLocalhost && s.LocalhostProfile != nil:
		r.Invalid(f, *s.LocalhostProfile, "can only be set when AppArmor type is Localhost")
	case s.Type == AppArmorProfileTypeLocalhost && s.LocalhostProfile == nil:
		r.Required(f, "must be set when AppArmor type is Localhost")
	case s.Type == AppArmorProfileTypeLocalhost:
		name := *s.LocalhostProfile
		if name == "" || strings.TrimSpace(name) != name {
			r.Invalid(f, name, "must not be empty or padded with whitespace")
		}
		if len(name) > 4096 {
			r.TooLong(f, 4096)
		}
	}
	return r.List()
}

func validateWindows(w *WindowsSecurityContextOptions, p *path) validation.ErrorList {
	const maxSpec = 64 << 10
	var r check.Report
	if w == nil {
		return nil
	}
	if n := w.GMSACredentialSpecName; n != nil {
		r.Each(p.Child("gmsaCredentialSpecName"), *n, validation.IsDNS1123Subdomain(*n))
	}
	if s := w.GMSACredentialSpec; s != nil {
		r.If(*s == "", p.Child("gmsaCredentialSpec"), *s, "gmsaCredentialSpec cannot be an empty string")
		r.If(len(*s) > maxSpec, p.Child("gmsaCredentialSpec"), "", "must be under 64KiB")
	}
	if u := w.RunAsUserName; u != nil {
		r.Add(validateWindowsUser(*u, p.Child("runAsUserName")))
	}
	return r.List()
}

// validateWindowsUser checks USER or DOMAIN\USER.
func validateWindowsUser(name string, p *path) validation.ErrorList {
	const maxDomain, maxUser = 256, 104
	var r check.Report
	domain, user, ok := strings.Cut(name, `\`)
	if !ok {
		domain, user = "", name
	}
	control := strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f })
	switch {
	case name == "":
		r.Invalid(p, name, "runAsUserName cannot be an empty string")
	case control:
		r.Invalid(p, name, "runAsUserName cannot contain control characters")
	case strings.Contains(user, `\`):
		r.Invalid(p, name, "runAsUserName cannot contain more than one backslash")
	default:
		r.If(ok && domain == "", p, name, "the domain before the backslash is empty")
		r.If(len(domain) > maxDomain, p, name, "the domain must have less than 256 characters")
		r.If(user == "", p, name, "runAsUserName's User cannot be empty")
		r.If(len(user) > maxUser, p, name, "runAsUserName's User must have less than 104 characters")
		r.If(strings.Trim(user, ". ") == "" && user != "", p, name, "runAsUserName's User cannot contain only periods or spaces")
		r.If(strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`), p, name, "runAsUserName's User has a character that is not allowed")
	}
	return r.List()
}

func validatePodSecurity(s *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	if isTrue(s.ShareProcessNamespace) && s.HostPID {
		r.Invalid(p.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	c := s.SecurityContext
	if c == nil {
		return r.List()
	}
	if c.FSGroup != nil {
		r.Each(p.Child("fsGroup"), *c.FSGroup, validation.IsGroupID(*c.FSGroup))
	}
	ids(&r, p, c.RunAsUser, c.RunAsGroup)
	for i, g := range c.SupplementalGroups {
		r.Each(p.Child("supplementalGroups").Index(i), g, validation.IsGroupID(g))
	}
	r.Add(validateSysctls(c.Sysctls, s, p.Child("sysctls")))
	check.OneOfOpt(&r, p.Child("fsGroupChangePolicy"), c.FSGroupChangePolicy, FSGroupChangeAlways, FSGroupChangeOnRootMismatch)
	r.Add(validateProfile(c.SeccompProfile, p.Child("seccompProfile")))
	r.Add(validateWindows(c.WindowsOptions, p.Child("windowsOptions")))
	r.Add(validateAppArmor(c.AppArmorProfile, p.Child("appArmorProfile")))
	check.OneOfOpt(&r, p.Child("supplementalGroupsPolicy"), c.SupplementalGroupsPolicy, SupplementalGroupsPolicyMerge, SupplementalGroupsPolicyStrict)
	check.OneOfOpt(&r, p.Child("seLinuxChangePolicy"), c.SELinuxChangePolicy, SELinuxChangePolicyMountOption, SELinuxChangePolicyRecursive)
	return r.List()
}

func validateSysctls(list []Sysctl, s *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	seen := map[string]bool{}
	for i, c := range list {
		q := p.Index(i).Child("name")
		switch {
		case c.Name == "":
			r.Required(q, "")
		case !sysctlName(c.Name):
			r.Invalid(q, c.Name, "must have at most 253 characters: lower-case words joined by dots or slashes")
		case !check.Unique(seen, c.Name):
			r.Duplicate(q, c.Name)
		}
		name := strings.ReplaceAll(c.Name, "/", ".")
		r.If(s.HostNetwork && strings.HasPrefix(name, "net."), q, c.Name, "may not be specified when 'hostNetwork' is true")
		ipc := strings.HasPrefix(name, "kernel.shm") || strings.HasPrefix(name, "kernel.msg") ||
			name == "kernel.sem" || strings.HasPrefix(name, "fs.mqueue.")
		r.If(s.HostIPC && ipc, q, c.Name, "may not be specified when 'hostIPC' is true")
	}
	return r.List()
}

// sysctlName checks words of a-z, 0-9, - and _ that begin and end with a letter or digit, joined by . or /.
func sysctlName(name string) bool {
	if len(name) > validation.DNSSubdomainMaxLength {
		return false
	}
	alnum := func(b byte) bool { return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' }
	for _, word := range strings.FieldsFunc(name, func(c rune) bool { return c == '.' || c == '/' }) {
		if !alnum(word[0]) || !alnum(word[len(word)-1]) {
			return false
		}
		for i := range len(word) {
			if b := word[i]; !alnum(b) && b != '-' && b != '_' {
				return false
			}
		}
	}
	return !strings.ContainsAny(name[:1]+name[len(name)-1:], "./") && !strings.Contains(name, "..") &&
		!strings.Contains(name, "//") && !strings.Contains(name, "./") && !strings.Contains(name, "/.")
}

func validateHostProcess(s *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	var podWide *bool
	if c := s.SecurityContext; c != nil && c.WindowsOptions != nil {
		podWide = c.WindowsOptions.HostProcess
	}
	host, plain := 0, 0
	one := func(c *SecurityContext, q *path) {
		v := podWide
		if c != nil && c.WindowsOptions != nil && c.WindowsOptions.HostProcess != nil {
			v = c.WindowsOptions.HostProcess
			if podWide != nil && *podWide != *v {
				r.Invalid(q.Child("securityContext", "windowsOptions", "hostProcess"), *v, "pod hostProcess value must be identical if both are set")
			}
		}
		if isTrue(v) {
			host++
		} else {
			plain++
		}
	}
	for i := range s.Containers {
		one(s.Containers[i].SecurityContext, p.Child("containers").Index(i))
	}
	for i := range s.InitContainers {
		one(s.InitContainers[i].SecurityContext, p.Child("initContainers").Index(i))
	}
	if host > 0 {
		r.If(plain > 0, p, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
		r.If(!s.HostNetwork, p.Child("hostNetwork"), s.HostNetwork, "hostNetwork must be true if pod contains any hostProcess containers")
	}
	return r.List()
}

func validateHostUsers(s *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	if s.HostUsers == nil || *s.HostUsers {
		return nil
	}
	const why = "must not be set when `hostUsers` is false"
	r.ForbidIf(s.HostNetwork, p.Child("hostNetwork"), why)
	r.ForbidIf(s.HostPID, p.Child("hostPID"), why)
	r.ForbidIf(s.HostIPC, p.Child("hostIPC"), why)
	for i := range s.Containers {
		r.ForbidIf(len(s.Containers[i].VolumeDevices) > 0, p.Child("containers").Index(i).Child("volumeDevices"), why)
	}
	for i := range s.InitContainers {
		r.ForbidIf(len(s.InitContainers[i].VolumeDevices) > 0, p.Child("initContainers").Index(i).Child("volumeDevices"), why)
	}
	return r.List()
}
