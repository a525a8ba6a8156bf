package kubelet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/eviction"
)

// hashOf changes when a container has to be replaced: its name or image is another one. The real kubelet
// computes the same, so that either may go on with the other's containers.
func hashOf(c *corev1.Container) string {
	text, _ := json.Marshal(map[string]string{"image": c.Image, "name": c.Name}) // strings can be encoded
	h := fnv.New32a()
	fmt.Fprintf(h, "([]uint8)%v", text)
	return strconv.FormatUint(uint64(h.Sum32()), 16)
}

func podLabels(pod *corev1.Pod) map[string]string {
	l := map[string]string{labelPodName: pod.Name, labelPodNamespace: pod.Namespace, labelPodUID: string(pod.UID)}
	for k, v := range pod.Labels {
		if _, ours := l[k]; !ours {
			l[k] = v
		}
	}
	return l
}

// sandboxConfig is what the runtime makes the pod's sandbox from.
func (w *worker) sandboxConfig(pod *corev1.Pod, attempt uint32) (*cri.PodSandboxConfig, error) {
	dns, err := w.k.dns(pod)
	if err != nil {
		return nil, err
	}
	users, err := w.k.userNamespace(pod)
	if err != nil {
		return nil, err
	}
	config := &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: attempt},
		Labels:       podLabels(pod),
		Annotations:  pod.Annotations,
		LogDirectory: filepath.Join(w.k.opts.LogDir, logFolder(pod.Namespace, pod.Name, pod.UID)),
		DnsConfig:    dns,
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent:    w.k.cgroups.parent(pod),
			SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: namespaces(pod), Privileged: anyPrivileged(pod)},
			Resources:       w.k.limits.pod(pod),
			Overhead:        w.k.limits.overhead(pod),
		},
	}
	if !pod.Spec.HostNetwork {
		if config.Hostname, err = kernelHostname(pod, w.k.opts.ClusterDomain); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range list {
			for _, p := range c.Ports {
				key := fmt.Sprint(p.Protocol, p.HostIP, p.HostPort)
				if p.HostPort <= 0 || pod.Spec.HostNetwork || seen[key] {
					continue
				}
				seen[key] = true
				config.PortMappings = append(config.PortMappings, &cri.PortMapping{
					Protocol: protocol(p.Protocol), ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIp: p.HostIP})
			}
		}
	}
	sec := config.Linux.SecurityContext
	sec.NamespaceOptions.UsernsOptions = users
	if s := pod.Spec.SecurityContext; s != nil {
		sec.RunAsUser, sec.RunAsGroup = int64Value(s.RunAsUser), int64Value(s.RunAsGroup)
		sec.SupplementalGroups = s.SupplementalGroups
		if s.FSGroup != nil {
			sec.SupplementalGroups = append(append([]int64(nil), sec.SupplementalGroups...), *s.FSGroup)
		}
		if s.RunAsGroup != nil && s.RunAsUser == nil {
			sec.RunAsGroup = nil // the runtime refuses a group without a user
		}
		sec.SupplementalGroupsPolicy = groupsPolicy(s)
		if l := s.SELinuxOptions; l != nil {
			sec.SelinuxOptions = &cri.SELinuxOption{User: l.User, Role: l.Role, Type: l.Type, Level: l.Level}
		}
		for _, v := range s.Sysctls {
			if config.Linux.Sysctls == nil {
				config.Linux.Sysctls = map[string]string{}
			}
			config.Linux.Sysctls[dottedSysctl(v.Name)] = v.Value
		}
	}
	sec.Seccomp = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}
	if sec.Privileged {
		sec.Seccomp = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Unconfined}
	}
	return config, nil
}

// kernelHostnameMax is the longest hostname that Linux accepts.
const kernelHostnameMax = 64

// kernelHostname returns the hostname of the pod's sandbox: its FQDN if the pod has one and requests it.
func kernelHostname(pod *corev1.Pod, domain string) (string, error) {
	full := fqdn(pod, domain)
	if as := pod.Spec.SetHostnameAsFQDN; as == nil || !*as || full == "" {
		return hostname(pod), nil
	}
	if len(full) > kernelHostnameMax {
		return "", fmt.Errorf("failed to construct FQDN from pod hostname and cluster domain, FQDN %s is too long (%d characters is the max, %d characters requested)",
			full, kernelHostnameMax, len(full))
	}
	return full, nil
}

// fqdn returns the pod's name in the cluster's DNS, or "" if it has none.
func fqdn(pod *corev1.Pod, domain string) string {
	if pod.Spec.Subdomain == "" || domain == "" || pod.Spec.HostnameOverride != nil {
		return ""
	}
	return hostname(pod) + "." + pod.Spec.Subdomain + "." + pod.Namespace + ".svc." + domain
}

func hostname(pod *corev1.Pod) string {
	name := pod.Name
	if pod.Spec.Hostname != "" {
		name = pod.Spec.Hostname
	}
	if pod.Spec.HostnameOverride != nil {
		name = *pod.Spec.HostnameOverride
	}
	if len(name) > 63 {
		name = strings.TrimRight(name[:63], "-.")
	}
	return name
}

func protocol(p corev1.Protocol) cri.Protocol {
	switch p {
	case corev1.ProtocolUDP:
		return cri.Protocol_UDP
	case corev1.ProtocolSCTP:
		return cri.Protocol_SCTP
	}
	return cri.Protocol_TCP
}

func namespaces(pod *corev1.Pod) *cri.NamespaceOption {
	n := &cri.NamespaceOption{Network: cri.NamespaceMode_POD, Pid: cri.NamespaceMode_CONTAINER, Ipc: cri.NamespaceMode_POD}
	if pod.Spec.HostNetwork {
		n.Network = cri.NamespaceMode_NODE
	}
	if pod.Spec.HostIPC {
		n.Ipc = cri.NamespaceMode_NODE
	}
	if pod.Spec.ShareProcessNamespace != nil && *pod.Spec.ShareProcessNamespace {
		n.Pid = cri.NamespaceMode_POD
	}
	if pod.Spec.HostPID {
		n.Pid = cri.NamespaceMode_NODE
	}
	return n
}

func anyPrivileged(pod *corev1.Pod) bool {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if privileged(&list[i]) {
				return true
			}
		}
	}
	return false
}

func privileged(c *corev1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
}

func int64Value(n *int64) *cri.Int64Value {
	if n == nil {
		return nil
	}
	return &cri.Int64Value{Value: *n}
}

// containerConfig is what the runtime makes a container from. It also makes the files that are mounted into
// it.
func (w *worker) containerConfig(ctx context.Context, pod *corev1.Pod, c *corev1.Container, images pulled, restarts int32, box *sandbox) (*cri.ContainerConfig, error) {
	image := images.own
	logs := filepath.Join(w.k.opts.LogDir, logFolder(pod.Namespace, pod.Name, pod.UID), c.Name)
	if err := makeDir(logs, 0o755); err != nil {
		return nil, err
	}
	ips := w.k.podIPs(ctx, pod, box)
	env, err := w.k.environment(ctx, pod, c, ips)
	if err != nil {
		return nil, err
	}
	mounts, err := w.containerMounts(ctx, pod, c, env, ips, images.volumes)
	if err != nil {
		return nil, err
	}
	security, err := securityContext(pod, c, image, filepath.Join(w.k.opts.RootDir, "seccomp"), w.k.opts.SeccompDefault)
	if err != nil {
		return nil, err
	}
	if security.NamespaceOptions.UsernsOptions, err = w.k.userNamespace(pod); err != nil {
		return nil, err
	}
	if err := w.joinTarget(ctx, pod, c, security.NamespaceOptions); err != nil {
		return nil, err
	}
	resources, err := resourcesText(&c.Resources)
	if err != nil {
		return nil, err
	}
	id := image.Id
	if id == "" {
		id = c.Image
	}
	config := &cri.ContainerConfig{
		Metadata:   &cri.ContainerMetadata{Name: c.Name, Attempt: uint32(restarts)},
		Image:      &cri.ImageSpec{Image: id, UserSpecifiedImage: c.Image},
		Command:    expandAll(c.Command, env),
		Args:       expandAll(c.Args, env),
		WorkingDir: c.WorkingDir,
		Labels: map[string]string{labelPodName: pod.Name, labelPodNamespace: pod.Namespace, labelPodUID: string(pod.UID),
			labelContainerName: c.Name},
		Annotations: map[string]string{annotationHash: hashOf(c), annotationRestarts: strconv.Itoa(int(restarts)),
			annotationMessagePath: c.TerminationMessagePath, annotationMessagePolicy: string(c.TerminationMessagePolicy),
			annotationResources: resources},
		Mounts: mounts, LogPath: filepath.Join(c.Name, fmt.Sprintf("%d.log", restarts)),
		Stdin: c.Stdin, StdinOnce: c.StdinOnce, Tty: c.TTY,
		Linux: &cri.LinuxContainerConfig{Resources: w.k.limits.container(pod, c), SecurityContext: security},
	}
	if config.Devices, err = w.k.blockDevices(pod, c); err != nil {
		return nil, err
	}
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		config.StopSignal = stopSignal(*c.Lifecycle.StopSignal)
	}
	if err := annotateForOthers(config.Annotations, pod, c); err != nil {
		return nil, err
	}
	for _, e := range env {
		config.Envs = append(config.Envs, &cri.KeyValue{Key: e.name, Value: []byte(e.value)})
	}
	return config, nil
}

// annotateForOthers notes at a container how it ends, as the real kubelet does, which reads that when the pod
// has gone from the API server.
func annotateForOthers(to map[string]string, pod *corev1.Pod, c *corev1.Container) error {
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		to["io.kubernetes.pod.deletionGracePeriod"] = strconv.FormatInt(*g, 10)
	}
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		to[annotationGrace] = strconv.FormatInt(*g, 10)
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		text, err := codec.Marshal(c.Lifecycle.PreStop)
		if err != nil {
			return err
		}
		to["io.kubernetes.container.preStopHandler"] = string(text)
	}
	if len(c.Ports) > 0 {
		text, err := codec.Marshal(c.Ports)
		if err != nil {
			return err
		}
		to["io.kubernetes.container.ports"] = string(text)
	}
	return nil
}

// stopSignal converts a signal to CRI's, whose names have words for "+" and "-".
func stopSignal(s corev1.Signal) cri.Signal {
	return cri.Signal(cri.Signal_value[strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(string(s))])
}

// stopSignalOf is the reverse of stopSignal; it returns nil for the runtime's default.
func stopSignalOf(s cri.Signal) *corev1.Signal {
	if s == cri.Signal_RUNTIME_DEFAULT {
		return nil
	}
	return new(corev1.Signal(strings.NewReplacer("PLUS", "+", "MINUS", "-").Replace(s.String())))
}

// joinTarget lets an ephemeral container see the processes of the one it is for.
func (w *worker) joinTarget(ctx context.Context, pod *corev1.Pod, c *corev1.Container, n *cri.NamespaceOption) error {
	i := slices.IndexFunc(pod.Spec.EphemeralContainers, func(e corev1.EphemeralContainer) bool { return e.Name == c.Name })
	if i < 0 {
		return nil
	}
	// It came after the pod had been let in.
	if why := unsupportedContainer(pod, c, appArmorEnabled()); why != nil {
		return errors.New(why.message)
	}
	if pod.Spec.EphemeralContainers[i].TargetContainerName == "" || n.Pid != cri.NamespaceMode_CONTAINER {
		return nil
	}
	target := pod.Spec.EphemeralContainers[i].TargetContainerName
	v, err := w.k.views.now(ctx, w.uid)
	if err != nil {
		return err
	}
	run := v.latest(target)
	if !run.running() {
		return fmt.Errorf("unable to find target container %s: it does not run", target)
	}
	n.Pid, n.TargetId = cri.NamespaceMode_TARGET, run.id
	return nil
}

// containerMounts are the container's volumes, its hosts file and the file for its last words.
func (w *worker) containerMounts(ctx context.Context, pod *corev1.Pod, c *corev1.Container, env []variable, ips []string, images map[string]*cri.ImageSpec) ([]*cri.Mount, error) {
	var mounts []*cri.Mount
	hostsMounted := false
	for i, m := range c.VolumeMounts {
		source, readOnly, err := w.k.volumeSource(pod, m.Name)
		if err != nil {
			return nil, err
		}
		sub := m.SubPath
		if m.SubPathExpr != "" {
			if sub, err = expandStrict(m.SubPathExpr, env); err != nil {
				return nil, err
			}
		}
		image, imageSub := images[m.Name], ""
		switch {
		case image != nil:
			if imageSub = sub; !filepath.IsLocal(cmp.Or(sub, ".")) {
				return nil, fmt.Errorf("subPath %q must be relative and must not contain ..", sub)
			}
		case sub != "":
			if source, err = w.subPath(pod, c, i, source, sub); err != nil {
				return nil, err
			}
		}
		path := absolute(m.MountPath)
		hostsMounted = hostsMounted || path == "/etc/hosts"
		mount := &cri.Mount{ContainerPath: path, HostPath: source, Readonly: m.ReadOnly || readOnly, Image: image, ImageSubPath: imageSub}
		if mount.RecursiveReadOnly, err = w.k.recursiveReadOnly(ctx, pod, &m); err != nil {
			return nil, err
		}
		mount.SelinuxRelabel = w.k.relabels(pod, m.Name)
		if p := m.MountPropagation; p != nil {
			switch *p {
			case corev1.MountPropagationHostToContainer:
				mount.Propagation = cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER
			case corev1.MountPropagationBidirectional:
				mount.Propagation = cri.MountPropagation_PROPAGATION_BIDIRECTIONAL
			}
		}
		mounts = append(mounts, mount)
	}
	if !hostsMounted {
		path := filepath.Join(w.k.podDir(pod.UID), "etc-hosts")
		if err := writeIfChanged(path, hostsFile(pod, ips, w.k.opts.ClusterDomain), 0o644); err != nil {
			return nil, err
		}
		mounts = append(mounts, &cri.Mount{ContainerPath: "/etc/hosts", HostPath: path, SelinuxRelabel: w.k.opts.SELinux != nil,
			Readonly: c.SecurityContext != nil && c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem})
	}
	if c.TerminationMessagePath != "" {
		var id [4]byte
		_, _ = rand.Read(id[:])
		dir := w.k.containerDir(pod.UID, c.Name)
		if err := makeDir(dir, 0o750); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, hex.EncodeToString(id[:]))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			return nil, err
		}
		_ = f.Chmod(0o666) // any user of the container may write it
		_ = f.Close()
		mounts = append(mounts, &cri.Mount{ContainerPath: c.TerminationMessagePath, HostPath: path, SelinuxRelabel: w.k.opts.SELinux != nil})
	}
	return mounts, nil
}

// absolute is a path in a container from its root on.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join("/", path)
}

func writeIfChanged(path string, content []byte, mode fs.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, content, mode)
}

// securityContext merges the security contexts of pod and container. Local seccomp profiles are files in
// profiles; confined is true if containers without a profile get the runtime's default.
func securityContext(pod *corev1.Pod, c *corev1.Container, image *cri.Image, profiles string, confined bool) (*cri.LinuxContainerSecurityContext, error) {
	sec := &cri.LinuxContainerSecurityContext{NamespaceOptions: namespaces(pod)}
	podSec, conSec := pod.Spec.SecurityContext, c.SecurityContext
	if podSec == nil {
		podSec = &corev1.PodSecurityContext{}
	}
	if conSec == nil {
		conSec = &corev1.SecurityContext{}
	}
	if err := setUser(sec, pod, c, image, podSec, conSec); err != nil {
		return nil, err
	}
	sec.SupplementalGroups = append(sec.SupplementalGroups, podSec.SupplementalGroups...)
	sec.SupplementalGroupsPolicy = groupsPolicy(podSec)
	if podSec.FSGroup != nil {
		sec.SupplementalGroups = append(sec.SupplementalGroups, *podSec.FSGroup)
	}
	sec.Privileged = privileged(c)
	sec.ReadonlyRootfs = conSec.ReadOnlyRootFilesystem != nil && *conSec.ReadOnlyRootFilesystem
	if conSec.Capabilities != nil {
		sec.Capabilities = &cri.Capability{}
		for _, v := range conSec.Capabilities.Add {
			sec.Capabilities.AddCapabilities = append(sec.Capabilities.AddCapabilities, string(v))
		}
		for _, v := range conSec.Capabilities.Drop {
			sec.Capabilities.DropCapabilities = append(sec.Capabilities.DropCapabilities, string(v))
		}
	}
	if allow := conSec.AllowPrivilegeEscalation; allow != nil && !*allow {
		sec.NoNewPrivs = true
	}
	if label := selinuxOptions(pod, c); label != nil {
		sec.SelinuxOptions = &cri.SELinuxOption{User: label.User, Role: label.Role, Type: label.Type, Level: label.Level}
	}
	if p := appArmorProfile(pod, c); p != nil {
		if err := setAppArmor(sec, p); err != nil {
			return nil, err
		}
	}
	if err := setSeccomp(sec, cmp.Or(conSec.SeccompProfile, podSec.SeccompProfile), profiles, confined); err != nil {
		return nil, err
	}
	if !sec.Privileged && (conSec.ProcMount == nil || *conSec.ProcMount != "Unmasked") {
		sec.MaskedPaths = []string{"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
			"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap"}
		sec.ReadonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
	}
	return sec, nil
}

// groupsPolicy says whether the groups of the image count too.
func groupsPolicy(s *corev1.PodSecurityContext) cri.SupplementalGroupsPolicy {
	if p := s.SupplementalGroupsPolicy; p != nil && *p == corev1.SupplementalGroupsPolicyStrict {
		return cri.SupplementalGroupsPolicy_Strict
	}
	return cri.SupplementalGroupsPolicy_Merge
}

// setUser sets user and group, the container's before the pod's before the image's, and refuses root where
// runAsNonRoot is set.
func setUser(sec *cri.LinuxContainerSecurityContext, pod *corev1.Pod, c *corev1.Container, image *cri.Image, podSec *corev1.PodSecurityContext, conSec *corev1.SecurityContext) error {
	user, group := cmp.Or(conSec.RunAsUser, podSec.RunAsUser), cmp.Or(conSec.RunAsGroup, podSec.RunAsGroup)
	nonRoot := cmp.Or(conSec.RunAsNonRoot, podSec.RunAsNonRoot)
	if user == nil && image.Uid != nil {
		user = &image.Uid.Value
	}
	if nonRoot != nil && *nonRoot {
		name := fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID)
		switch {
		case user != nil && *user == 0 && (conSec.RunAsUser != nil || podSec.RunAsUser != nil):
			return fmt.Errorf("container's runAsUser breaks non-root policy (pod: %q, container: %s)", name, c.Name)
		case user == nil && image.Username != "":
			return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root (pod: %q, container: %s)",
				image.Username, name, c.Name)
		case user == nil || *user == 0:
			return fmt.Errorf("container has runAsNonRoot and image will run as root (pod: %q, container: %s)", name, c.Name)
		}
	}
	sec.RunAsUser, sec.RunAsGroup = int64Value(user), int64Value(group)
	if user == nil {
		sec.RunAsUsername = image.Username
		if image.Username == "" && group != nil {
			sec.RunAsUser = &cri.Int64Value{} // the runtime refuses a group without a user
		}
	}
	return nil
}

// setSeccomp sets the profile of a container that is not privileged; nil is the runtime's default where
// confined is true, else none.
func setSeccomp(sec *cri.LinuxContainerSecurityContext, profile *corev1.SeccompProfile, profiles string, confined bool) error {
	if profile == nil && confined {
		profile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	sec.Seccomp = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Unconfined}
	if profile != nil && !sec.Privileged {
		switch profile.Type {
		case corev1.SeccompProfileTypeRuntimeDefault:
			sec.Seccomp.ProfileType = cri.SecurityProfile_RuntimeDefault
		case corev1.SeccompProfileTypeLocalhost:
			if profile.LocalhostProfile == nil {
				return errors.New("localhostProfile must be set if seccompProfile type is Localhost.")
			}
			sec.Seccomp = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost,
				LocalhostRef: filepath.Join(profiles, *profile.LocalhostProfile)}
		}
	}
	return nil
}

// setAppArmor sets a profile in both forms that runtimes read.
func setAppArmor(sec *cri.LinuxContainerSecurityContext, p *corev1.AppArmorProfile) error {
	switch p.Type {
	case corev1.AppArmorProfileTypeRuntimeDefault:
		sec.Apparmor, sec.ApparmorProfile = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}, "runtime/default" //nolint:staticcheck // older runtimes
	case corev1.AppArmorProfileTypeUnconfined:
		sec.Apparmor, sec.ApparmorProfile = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Unconfined}, "unconfined" //nolint:staticcheck // older runtimes
	case corev1.AppArmorProfileTypeLocalhost:
		if p.LocalhostProfile == nil {
			return errors.New("localhostProfile must be set if appArmorProfile type is Localhost")
		}
		sec.Apparmor = &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost, LocalhostRef: *p.LocalhostProfile}
		sec.ApparmorProfile = "localhost/" + *p.LocalhostProfile //nolint:staticcheck // older runtimes
	default:
		return fmt.Errorf("appArmorProfile has the unknown type %q", p.Type)
	}
	return nil
}

// appArmorProfile is that of a container, or else of its pod; nil if there is none. Static pods may still
// have it as an annotation, which the server turns into the container's for others.
func appArmorProfile(pod *corev1.Pod, c *corev1.Container) *corev1.AppArmorProfile {
	if c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
		return c.SecurityContext.AppArmorProfile
	}
	switch noted := pod.Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name]; {
	case noted == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case noted == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case strings.HasPrefix(noted, corev1.DeprecatedAppArmorBetaProfileNamePrefix):
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost,
			LocalhostProfile: new(strings.TrimPrefix(noted, corev1.DeprecatedAppArmorBetaProfileNamePrefix))}
	}
	if pod.Spec.SecurityContext != nil {
		return pod.Spec.SecurityContext.AppArmorProfile
	}
	return nil
}

// appArmorEnabled reports whether this machine enforces AppArmor profiles.
func appArmorEnabled() bool {
	if _, err := os.Stat("/sys/kernel/security/apparmor"); err != nil {
		return false // as in a container, which cannot load profiles
	}
	b, err := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	return err == nil && strings.HasPrefix(string(b), "Y")
}

type totals struct {
	cpuRequest, cpuLimit, memoryLimit int64 // milli-CPUs and bytes
	cpuLimited, memoryLimited         bool  // true when every container has a limit
}

// wider are the limits under which everything can run that may under one of two.
func (t totals) wider(o totals) totals {
	return totals{cpuRequest: max(t.cpuRequest, o.cpuRequest), cpuLimit: max(t.cpuLimit, o.cpuLimit), memoryLimit: max(t.memoryLimit, o.memoryLimit),
		cpuLimited: t.cpuLimited && o.cpuLimited, memoryLimited: t.memoryLimited && o.memoryLimited}
}

// podTotals are those of a pod with the overhead of its sandbox.
func podTotals(pod *corev1.Pod) totals {
	t := workTotals(pod)
	cpu, memory := pod.Spec.Overhead[corev1.ResourceCPU], pod.Spec.Overhead[corev1.ResourceMemory]
	t.cpuRequest += cpu.MilliValue()
	t.cpuLimit += cpu.MilliValue()
	t.memoryLimit += memory.Value()
	return t
}

// workTotals are those of the resources of the pod as a whole, or else of its containers.
func workTotals(pod *corev1.Pod) totals {
	t := containerTotals(pod)
	if r := pod.Spec.Resources; r != nil {
		request, ok := amount(r.Requests, corev1.ResourceCPU)
		limit, limited := amount(r.Limits, corev1.ResourceCPU)
		switch {
		case ok:
			t.cpuRequest = request.MilliValue()
		case limited:
			t.cpuRequest = limit.MilliValue()
		}
		if limited {
			t.cpuLimit, t.cpuLimited = limit.MilliValue(), true
		}
		if memory, ok := amount(r.Limits, corev1.ResourceMemory); ok {
			t.memoryLimit, t.memoryLimited = memory.Value(), true
		}
	}
	return t
}

func containerTotals(pod *corev1.Pod) totals {
	t := totals{cpuLimited: true, memoryLimited: true}
	add := func(c *corev1.Container) {
		request, ok := amount(c.Resources.Requests, corev1.ResourceCPU)
		limit, limited := amount(c.Resources.Limits, corev1.ResourceCPU)
		if !ok {
			request = limit
		}
		t.cpuRequest += request.MilliValue()
		t.cpuLimit += limit.MilliValue()
		t.cpuLimited = t.cpuLimited && limited
		memory, limited := amount(c.Resources.Limits, corev1.ResourceMemory)
		t.memoryLimit += memory.Value()
		t.memoryLimited = t.memoryLimited && limited
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if isSidecar(c) {
			add(c)
			continue
		}
		// Those before run alone: the pod gets what the greediest needs.
		if cpu, ok := amount(c.Resources.Requests, corev1.ResourceCPU); ok {
			t.cpuRequest = max(t.cpuRequest, cpu.MilliValue())
		}
		if cpu, ok := amount(c.Resources.Limits, corev1.ResourceCPU); ok {
			t.cpuLimit = max(t.cpuLimit, cpu.MilliValue())
		} else {
			t.cpuLimited = false
		}
		if memory, ok := amount(c.Resources.Limits, corev1.ResourceMemory); ok {
			t.memoryLimit = max(t.memoryLimit, memory.Value())
		} else {
			t.memoryLimited = false
		}
	}
	return t
}

// oomScoreAdj makes the kernel end best effort containers first and guaranteed ones last, as
// k8s.io/kubernetes/pkg/kubelet/qos/policy.go, v1.36.3, does.
func oomScoreAdj(pod *corev1.Pod, c *corev1.Container, capacity corev1.ResourceList) int64 {
	const guaranteed, bestEffort = -997, 1000
	if pod.Spec.PriorityClassName == nodeCritical && eviction.Critical(pod) {
		return guaranteed
	}
	switch corev1.QOSClass(pod) {
	case corev1.PodQOSGuaranteed:
		return guaranteed
	case corev1.PodQOSBestEffort:
		return bestEffort
	}
	q := capacity[corev1.ResourceMemory]
	total := q.Value()
	if total == 0 {
		return bestEffort - 1
	}
	share := undividedMemory(pod)
	memory := memoryRequest(c) + share
	if isSidecar(c) {
		// A sidecar outlives the container of the pod that requests the least.
		memory = max(memory, leastMemory(pod)+share)
	}
	return min(max(1000-1000*memory/total, 1000+guaranteed), bestEffort-1)
}

// nodeCritical is the priority class of pods without which a node does not work.
const nodeCritical = "system-node-critical"

func memoryRequest(c *corev1.Container) int64 {
	q := c.Resources.Requests[corev1.ResourceMemory]
	return q.Value()
}

// undividedMemory is what each container has of the memory that a pod requests as a whole and its containers
// do not.
func undividedMemory(pod *corev1.Pod) int64 {
	if pod.Spec.Resources == nil {
		return 0
	}
	whole, ok := pod.Spec.Resources.Requests[corev1.ResourceMemory]
	if !ok {
		return 0
	}
	parts := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: pod.Spec.InitContainers, Containers: pod.Spec.Containers}}
	requested := podquota.PodTotal(parts, podquota.Requests)[corev1.ResourceMemory]
	n := len(pod.Spec.Containers) + len(pod.Spec.InitContainers)
	return max(whole.Value()-requested.Value(), 0) / int64(n)
}

// leastMemory is the least memory that a container of a pod requests, init containers aside.
func leastMemory(pod *corev1.Pod) int64 {
	least := int64(math.MaxInt64)
	for i := range pod.Spec.Containers {
		least = min(least, memoryRequest(&pod.Spec.Containers[i]))
	}
	return least
}

// refuse returns why a pod cannot run on this node whatever its free resources; nil if it can.
func (k *Kubelet) refuse(pod *corev1.Pod) *verdict {
	if os := pod.Spec.OS; os != nil && os.Name != "linux" {
		return refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
	}
	if len(pod.Spec.ResourceClaims) > 0 && k.claims == nil {
		return not("resourceClaims: it has no drivers of dynamic resources")
	}
	return unsupported(pod, appArmorEnabled(), k.features.strictGroups(), k.opts.AllowedSysctls...)
}
