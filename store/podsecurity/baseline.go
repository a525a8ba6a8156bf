package podsecurity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// appArmorProfile forbids to turn off AppArmor, by field or by the annotation that came before it.
func appArmorProfile(meta *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var s setters
	forbidden := func(p *corev1.AppArmorProfile) bool {
		if p == nil || p.Type == corev1.AppArmorProfileTypeRuntimeDefault || p.Type == corev1.AppArmorProfileTypeLocalhost {
			return false
		}
		s.values = append(s.values, string(p.Type))
		return true
	}
	s.pod = spec.SecurityContext != nil && forbidden(spec.SecurityContext.AppArmorProfile)
	for name, sc := range secured(spec) {
		if forbidden(sc.AppArmorProfile) {
			s.containers = append(s.containers, name)
		}
	}
	var annotations []string
	for key, profile := range meta.Annotations {
		if strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) && profile != "" &&
			profile != "runtime/default" && !strings.HasPrefix(profile, "localhost/") {
			annotations = append(annotations, fmt.Sprintf("%s=%q", key, profile))
		}
	}
	if !s.any() && annotations == nil {
		return Violation{}
	}
	parts := s.list()
	if annotations != nil {
		parts = append(parts, plural("annotation", annotations))
	}
	values := append(unique(s.values), unique(annotations)...)
	return Violation{Reason: plural("forbidden AppArmor profile", values),
		Detail: strings.Join(parts, " and ") + " must not set AppArmor profile type to " + quoted(values)}
}

// defaultCapabilities forbids to add capabilities that containers do not have by default.
func defaultCapabilities(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var s setters
	for name, sc := range secured(spec) {
		if addsOther(&s, sc.Capabilities, isDefaultCapability) {
			s.containers = append(s.containers, name)
		}
	}
	return s.violation("non-default capabilities", "%s must not include %s in securityContext.capabilities.add")
}

func isDefaultCapability(c corev1.Capability) bool {
	switch c {
	case "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
		"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT":
		return true
	}
	return false
}

// addsOther reports whether capabilities are added that are not allowed, and appends them to the values of s.
func addsOther(s *setters, c *corev1.Capabilities, allowed func(corev1.Capability) bool) bool {
	found := false
	if c != nil {
		for _, added := range c.Add {
			if !allowed(added) {
				s.values, found = append(s.values, string(added)), true
			}
		}
	}
	return found
}

func hostNamespaces(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var set []string
	if spec.HostNetwork {
		set = append(set, "hostNetwork=true")
	}
	if spec.HostPID {
		set = append(set, "hostPID=true")
	}
	if spec.HostIPC {
		set = append(set, "hostIPC=true")
	}
	if set == nil {
		return Violation{}
	}
	return Violation{Reason: "host namespaces", Detail: strings.Join(set, ", ")}
}

func hostPathVolumes(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var names []string
	for i := range spec.Volumes {
		if spec.Volumes[i].HostPath != nil {
			names = append(names, spec.Volumes[i].Name)
		}
	}
	if names == nil {
		return Violation{}
	}
	return Violation{Reason: "hostPath volumes", Detail: plural("volume", names) + " " + quoted(names)}
}

func hostPorts(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var s setters
	for c := range containers(spec) {
		found := false
		for i := range c.Ports {
			if port := c.Ports[i].HostPort; port != 0 {
				s.values, found = append(s.values, strconv.Itoa(int(port))), true
			}
		}
		if found {
			s.containers = append(s.containers, c.Name)
		}
	}
	if !s.any() {
		return Violation{}
	}
	ports := unique(s.values)
	return Violation{Reason: "hostPort", Detail: fmt.Sprintf("%s %s %s %s %s", plural("container", s.containers), quoted(s.containers),
		use(s.containers), plural("hostPort", ports), strings.Join(ports, ", "))}
}

// handlerHosts forbids probes and lifecycle handlers that make the kubelet connect to another host than the
// pod.
func handlerHosts(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var names, hosts []string
	for c := range containers(spec) {
		before := len(hosts)
		for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p != nil {
				hosts = appendHosts(hosts, p.HTTPGet, p.TCPSocket)
			}
		}
		if c.Lifecycle != nil {
			for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
				if h != nil {
					hosts = appendHosts(hosts, h.HTTPGet, h.TCPSocket)
				}
			}
		}
		if len(hosts) > before {
			names = append(names, c.Name)
		}
	}
	if names == nil {
		return Violation{}
	}
	names, hosts = unique(names), unique(hosts)
	return Violation{Reason: "probe or lifecycle host", Detail: fmt.Sprintf("%s %s %s %s %s", plural("container", names), quoted(names), use(names),
		plural("probe or lifecycle host", hosts), quoted(hosts))}
}

func appendHosts(hosts []string, get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction) []string {
	if get != nil && get.Host != "" {
		hosts = append(hosts, get.Host)
	}
	if socket != nil && socket.Host != "" {
		hosts = append(hosts, socket.Host)
	}
	return hosts
}

func privileged(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var s setters
	for name, sc := range secured(spec) {
		if isTrue(sc.Privileged) {
			s.containers = append(s.containers, name)
		}
	}
	return s.violation("privileged", "%s must not set securityContext.privileged=true")
}

func procMount(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var s setters
	for name, sc := range secured(spec) {
		if sc.ProcMount != nil && *sc.ProcMount != corev1.DefaultProcMount {
			s.containers, s.values = append(s.containers, name), append(s.values, string(*sc.ProcMount))
		}
	}
	return s.violation("procMount", "%s must not set securityContext.procMount to %s")
}

var (
	selinuxTypes   = []string{"", "container_t", "container_init_t", "container_kvm_t"}
	selinuxTypes31 = slices.Concat(selinuxTypes, []string{"container_engine_t"})
)

// seLinuxOptions allows some types, and no user and no role.
func seLinuxOptions(types []string) checkFunc {
	return func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
		var s setters
		user, role := false, false
		forbidden := func(o *corev1.SELinuxOptions) bool {
			if o == nil {
				return false
			}
			badType := !slices.Contains(types, o.Type)
			if badType {
				s.values = append(s.values, o.Type)
			}
			user, role = user || o.User != "", role || o.Role != ""
			return badType || o.User != "" || o.Role != ""
		}
		s.pod = spec.SecurityContext != nil && forbidden(spec.SecurityContext.SELinuxOptions)
		for name, sc := range secured(spec) {
			if forbidden(sc.SELinuxOptions) {
				s.containers = append(s.containers, name)
			}
		}
		if !s.any() {
			return Violation{}
		}
		var wrong []string
		if values := unique(s.values); len(values) > 0 {
			wrong = append(wrong, plural("type", values)+" "+quoted(values))
		}
		if user {
			wrong = append(wrong, "user may not be set")
		}
		if role {
			wrong = append(wrong, "role may not be set")
		}
		return Violation{Reason: "seLinuxOptions",
			Detail: strings.Join(s.list(), " and ") + " set forbidden securityContext.seLinuxOptions: " + strings.Join(wrong, "; ")}
	}
}

// seccompAnnotations is the check of profiles as they were set before v1.19.
func seccompAnnotations(meta *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	var wrong []string
	look := func(key string) {
		if p, ok := meta.Annotations[key]; ok && p != "runtime/default" && p != "docker/default" && !strings.HasPrefix(p, "localhost/") {
			wrong = append(wrong, fmt.Sprintf("%s=%q", key, p))
		}
	}
	if len(meta.Annotations) > 0 {
		look(corev1.SeccompPodAnnotationKey)
		for c := range containers(spec) {
			look(corev1.SeccompContainerAnnotationKeyPrefix + c.Name)
		}
	}
	if wrong == nil {
		return Violation{}
	}
	wrong = unique(wrong)
	return Violation{Reason: "seccompProfile", Detail: "forbidden " + plural("annotation", wrong) + " " + strings.Join(wrong, ", ")}
}

// seccompAllowed forbids to turn off seccomp.
func seccompAllowed(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	s, _ := seccompSetters(spec)
	return s.violation("seccompProfile", seccompForbidden)
}

const seccompForbidden = "%s must not set securityContext.seccompProfile.type to %s"

// seccompSetters returns what sets a forbidden profile, and the containers that have none although the pod
// has no allowed one either.
func seccompSetters(spec *corev1.PodSpec) (s setters, unset setters) {
	forbidden := func(p *corev1.SeccompProfile) bool {
		if p.Type == corev1.SeccompProfileTypeRuntimeDefault || p.Type == corev1.SeccompProfileTypeLocalhost {
			return false
		}
		s.values = append(s.values, string(p.Type))
		return true
	}
	inherited := false
	if sc := spec.SecurityContext; sc != nil && sc.SeccompProfile != nil {
		s.pod = forbidden(sc.SeccompProfile)
		inherited = !s.pod
	}
	for c := range containers(spec) {
		switch {
		case c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil:
			if !inherited {
				unset.containers = append(unset.containers, c.Name)
			}
		case forbidden(c.SecurityContext.SeccompProfile):
			s.containers = append(s.containers, c.Name)
		}
	}
	return s, unset
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
	return func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
		if spec.SecurityContext == nil {
			return Violation{}
		}
		var names []string
		for _, s := range spec.SecurityContext.Sysctls {
			if !slices.Contains(safe, s.Name) {
				names = append(names, s.Name)
			}
		}
		if names == nil {
			return Violation{}
		}
		return Violation{Reason: "forbidden sysctls", Detail: strings.Join(names, ", ")}
	}
}

func windowsHostProcess(_ *metav1.ObjectMeta, spec *corev1.PodSpec) Violation {
	forbidden := func(o *corev1.WindowsSecurityContextOptions) bool { return o != nil && isTrue(o.HostProcess) }
	s := setters{pod: spec.SecurityContext != nil && forbidden(spec.SecurityContext.WindowsOptions)}
	for name, sc := range secured(spec) {
		if forbidden(sc.WindowsOptions) {
			s.containers = append(s.containers, name)
		}
	}
	return s.violation("hostProcess", "%s must not set securityContext.windowsOptions.hostProcess=true")
}
