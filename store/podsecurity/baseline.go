package podsecurity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// appArmorProfile forbids to turn off AppArmor, by field or by the annotation that came before it.
func appArmorProfile(e *evaluation) string {
	forbidden := func(p *corev1.AppArmorProfile) bool {
		return p != nil && p.Type != corev1.AppArmorProfileTypeRuntimeDefault && p.Type != corev1.AppArmorProfileTypeLocalhost && e.forbid(string(p.Type))
	}
	e.pod = e.spec.SecurityContext != nil && forbidden(e.spec.SecurityContext.AppArmorProfile)
	for _, c := range e.containers {
		if c.SecurityContext != nil && forbidden(c.SecurityContext.AppArmorProfile) {
			e.name(c.Name)
		}
	}
	var annotations []string
	for key, profile := range e.meta.Annotations {
		if strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) && profile != "" &&
			profile != "runtime/default" && !strings.HasPrefix(profile, "localhost/") {
			annotations = append(annotations, key+"="+strconv.Quote(profile))
		}
	}
	if !e.found() && annotations == nil {
		return ""
	}
	e.list()
	if annotations != nil {
		if e.found() {
			e.write(" and ")
		}
		e.count("annotation", annotations)
	}
	values := append(unique(e.values), unique(annotations)...)
	e.write(" must not set AppArmor profile type to ")
	e.quote(values)
	return "forbidden AppArmor profile" + suffix(values)
}

// defaultCapabilities forbids to add capabilities that containers do not have by default.
func defaultCapabilities(e *evaluation) string {
	for _, c := range e.containers {
		if c.SecurityContext != nil && addsOther(e, c.SecurityContext.Capabilities, isDefaultCapability) {
			e.name(c.Name)
		}
	}
	return e.violation("non-default capabilities", "%s must not include %s in securityContext.capabilities.add")
}

func isDefaultCapability(c corev1.Capability) bool {
	switch c {
	case "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
		"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT":
		return true
	}
	return false
}

// addsOther reports whether capabilities are added that are not allowed, and forbids them.
func addsOther(e *evaluation, c *corev1.Capabilities, allowed func(corev1.Capability) bool) bool {
	found := false
	if c != nil {
		for _, added := range c.Add {
			if !allowed(added) {
				found = e.forbid(string(added))
			}
		}
	}
	return found
}

func hostNamespaces(e *evaluation) string {
	if e.spec.HostNetwork {
		e.forbid("hostNetwork=true")
	}
	if e.spec.HostPID {
		e.forbid("hostPID=true")
	}
	if e.spec.HostIPC {
		e.forbid("hostIPC=true")
	}
	return e.listed("host namespaces")
}

// listed writes the forbidden values as they are, and returns the reason if there are any.
func (e *evaluation) listed(reason string) string {
	if len(e.values) == 0 {
		return ""
	}
	for i, v := range e.values {
		if i > 0 {
			e.write(", ")
		}
		e.write(v)
	}
	return reason
}

func hostPathVolumes(e *evaluation) string {
	for i := range e.spec.Volumes {
		if e.spec.Volumes[i].HostPath != nil {
			e.name(e.spec.Volumes[i].Name)
		}
	}
	if !e.found() {
		return ""
	}
	e.count("volume", e.names)
	e.write(" ")
	e.quote(e.names)
	return "hostPath volumes"
}

func hostPorts(e *evaluation) string {
	for _, c := range e.containers {
		found := false
		for i := range c.Ports {
			if port := c.Ports[i].HostPort; port != 0 {
				found = e.forbid(strconv.Itoa(int(port)))
			}
		}
		if found {
			e.name(c.Name)
		}
	}
	if !e.found() {
		return ""
	}
	e.values = unique(e.values)
	e.use("container", "hostPort")
	return e.listed("hostPort")
}

// handlerHosts forbids probes and lifecycle handlers that make the kubelet connect to another host than the
// pod.
func handlerHosts(e *evaluation) string {
	for _, c := range e.containers {
		before := len(e.values)
		for _, p := range [...]*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p != nil {
				e.forbidHosts(p.HTTPGet, p.TCPSocket)
			}
		}
		if c.Lifecycle != nil {
			for _, h := range [...]*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
				if h != nil {
					e.forbidHosts(h.HTTPGet, h.TCPSocket)
				}
			}
		}
		if len(e.values) > before {
			e.name(c.Name)
		}
	}
	if !e.found() {
		return ""
	}
	e.names, e.values = unique(e.names), unique(e.values)
	e.use("container", "probe or lifecycle host")
	e.quote(e.values)
	return "probe or lifecycle host"
}

func (e *evaluation) forbidHosts(get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction) {
	if get != nil && get.Host != "" {
		e.forbid(get.Host)
	}
	if socket != nil && socket.Host != "" {
		e.forbid(socket.Host)
	}
}

func privileged(e *evaluation) string {
	for _, c := range e.containers {
		if c.SecurityContext != nil && isTrue(c.SecurityContext.Privileged) {
			e.name(c.Name)
		}
	}
	return e.violation("privileged", "%s must not set securityContext.privileged=true")
}

func procMount(e *evaluation) string {
	for _, c := range e.containers {
		if sc := c.SecurityContext; sc != nil && sc.ProcMount != nil && *sc.ProcMount != corev1.DefaultProcMount {
			e.name(c.Name)
			e.forbid(string(*sc.ProcMount))
		}
	}
	return e.violation("procMount", "%s must not set securityContext.procMount to %s")
}

var (
	selinuxTypes   = []string{"", "container_t", "container_init_t", "container_kvm_t"}
	selinuxTypes31 = slices.Concat(selinuxTypes, []string{"container_engine_t"})
)

// seLinuxOptions allows some types, and no user and no role.
func seLinuxOptions(types []string) checkFunc {
	return func(e *evaluation) string {
		user, role := false, false
		forbidden := func(o *corev1.SELinuxOptions) bool {
			if o == nil {
				return false
			}
			badType := !slices.Contains(types, o.Type) && e.forbid(o.Type)
			user, role = user || o.User != "", role || o.Role != ""
			return badType || o.User != "" || o.Role != ""
		}
		e.pod = e.spec.SecurityContext != nil && forbidden(e.spec.SecurityContext.SELinuxOptions)
		for _, c := range e.containers {
			if c.SecurityContext != nil && forbidden(c.SecurityContext.SELinuxOptions) {
				e.name(c.Name)
			}
		}
		if !e.found() {
			return ""
		}
		e.list()
		e.write(" set forbidden securityContext.seLinuxOptions: ")
		separator := ""
		if e.values = unique(e.values); len(e.values) > 0 {
			e.count("type", e.values)
			e.write(" ")
			e.quote(e.values)
			separator = "; "
		}
		if user {
			e.write(separator, "user may not be set")
			separator = "; "
		}
		if role {
			e.write(separator, "role may not be set")
		}
		return "seLinuxOptions"
	}
}

// seccompAnnotations is the check of profiles as they were set before v1.19.
func seccompAnnotations(e *evaluation) string {
	if len(e.meta.Annotations) == 0 {
		return ""
	}
	look := func(key string) {
		if p, ok := e.meta.Annotations[key]; ok && p != "runtime/default" && p != "docker/default" && !strings.HasPrefix(p, "localhost/") {
			e.forbid(key + "=" + strconv.Quote(p))
		}
	}
	look(corev1.SeccompPodAnnotationKey)
	for _, c := range e.containers {
		look(corev1.SeccompContainerAnnotationKeyPrefix + c.Name)
	}
	if len(e.values) == 0 {
		return ""
	}
	e.values = unique(e.values)
	e.write("forbidden ")
	e.count("annotation", e.values)
	e.write(" ")
	return e.listed("seccompProfile")
}

// seccompAllowed forbids to turn off seccomp.
func seccompAllowed(e *evaluation) string {
	forbidden := func(p *corev1.SeccompProfile) bool {
		return p != nil && p.Type != corev1.SeccompProfileTypeRuntimeDefault && p.Type != corev1.SeccompProfileTypeLocalhost && e.forbid(string(p.Type))
	}
	e.pod = e.spec.SecurityContext != nil && forbidden(e.spec.SecurityContext.SeccompProfile)
	for _, c := range e.containers {
		if c.SecurityContext != nil && forbidden(c.SecurityContext.SeccompProfile) {
			e.name(c.Name)
		}
	}
	return e.violation("seccompProfile", "%s must not set securityContext.seccompProfile.type to %s")
}

// The sysctls that affect no other pod, by the version that added them.
var (
	safeSysctls = []string{"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
		"net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"}
	safeSysctls27 = slices.Concat(safeSysctls, []string{"net.ipv4.ip_local_reserved_ports"})
	safeSysctls29 = slices.Concat(safeSysctls27, []string{"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
		"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"})
	safeSysctls32 = slices.Concat(safeSysctls29, []string{"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"})
)

func sysctls(safe []string) checkFunc {
	return func(e *evaluation) string {
		if e.spec.SecurityContext == nil {
			return ""
		}
		for _, s := range e.spec.SecurityContext.Sysctls {
			if !slices.Contains(safe, s.Name) {
				e.forbid(s.Name)
			}
		}
		return e.listed("forbidden sysctls")
	}
}

func windowsHostProcess(e *evaluation) string {
	forbidden := func(o *corev1.WindowsSecurityContextOptions) bool { return o != nil && isTrue(o.HostProcess) }
	e.pod = e.spec.SecurityContext != nil && forbidden(e.spec.SecurityContext.WindowsOptions)
	for _, c := range e.containers {
		if c.SecurityContext != nil && forbidden(c.SecurityContext.WindowsOptions) {
			e.name(c.Name)
		}
	}
	return e.violation("hostProcess", "%s must not set securityContext.windowsOptions.hostProcess=true")
}
