package kubelet

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// SELinux is how a machine labels the files of containers.
type SELinux struct {
	// FileLabel is the label that files of containers have if nothing else is specified, such as
	// system_u:object_r:container_file_t:s0.
	FileLabel string
}

// machineSELinux is that of this machine; nil if it does not have SELinux, or a policy for containers.
func machineSELinux() *SELinux {
	// Where the file system cannot be written, as in a container, SELinux is not this process's.
	f, err := os.OpenFile("/sys/fs/selinux/context", os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	_ = f.Close()
	if own, err := os.ReadFile("/proc/self/attr/current"); err != nil || strings.TrimRight(string(own), "\x00\n") == "kernel" {
		return nil // no policy has been loaded
	}
	config, _ := os.ReadFile("/etc/selinux/config")
	paths := []string{filepath.Join("/etc/selinux", setting(config, "SELINUXTYPE"), "contexts/lxc_contexts"), "/usr/share/containers/selinux/contexts"}
	for _, path := range paths {
		if contexts, err := os.ReadFile(path); err == nil {
			return &SELinux{FileLabel: setting(contexts, "file")}
		}
	}
	return nil
}

// setting is the value of name in a file of lines name = "value"; empty if it is not there.
func setting(file []byte, name string) string {
	for lines := bufio.NewScanner(bytes.NewReader(file)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		if strings.TrimSpace(key) == name {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// label is that of the files of a container with the options; empty if they do not say enough for one, and
// the runtime decides: without a level it gives each container one of its own.
func (s *SELinux) label(o *corev1.SELinuxOptions) string {
	parts := strings.SplitN(s.FileLabel, ":", 4)
	if len(parts) < 4 || o.Level == "" {
		return ""
	}
	parts[3] = o.Level
	if o.User != "" {
		parts[0] = o.User
	}
	return strings.Join(parts, ":")
}

// mountLabel is the label that a volume of a driver is mounted with, for all of its files at once; empty if
// the runtime labels the files. The driver must support it, and no other pod may have the volume.
func (k *Kubelet) mountLabel(s *volume.Spec) (string, error) {
	switch sec := s.Pod.Spec.SecurityContext; {
	case k.opts.SELinux == nil || s.PV == nil || s.Driver == nil || s.Driver.Spec.SELinuxMount == nil || !*s.Driver.Spec.SELinuxMount:
		return "", nil
	case !slices.Equal(s.PV.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}):
		return "", nil
	case sec != nil && sec.SELinuxChangePolicy != nil && *sec.SELinuxChangePolicy == corev1.SELinuxChangePolicyRecursive:
		return "", nil
	}
	var labels []string
	for c := range containersOf(s.Pod) {
		o := selinuxOptions(s.Pod, c)
		if o == nil || !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == s.Volume.Name }) {
			continue
		}
		if l := k.opts.SELinux.label(o); !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	switch len(labels) {
	case 0:
		return "", nil
	case 1:
		return labels[0], nil
	}
	k.metrics.mislabelled.WithLabelValues("RWOP").Inc()
	return "", fmt.Errorf("multiple SELinux labels found: %s", strings.Join(labels, ","))
}

// selinuxOptions are those of a container, or else of its pod; nil if there are none.
func selinuxOptions(pod *corev1.Pod, c *corev1.Container) *corev1.SELinuxOptions {
	if c.SecurityContext != nil && c.SecurityContext.SELinuxOptions != nil {
		return c.SecurityContext.SELinuxOptions
	}
	if pod.Spec.SecurityContext != nil {
		return pod.Spec.SecurityContext.SELinuxOptions
	}
	return nil
}

// relabels reports whether the runtime gives the files of a volume the label of the container.
func (k *Kubelet) relabels(pod *corev1.Pod, name string) bool {
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if k.opts.SELinux == nil || i < 0 {
		return false
	}
	switch v := &pod.Spec.Volumes[i]; {
	case driven(v):
		at, _ := k.volumes.State(pod.UID, name)
		return at.Relabel
	case v.HostPath != nil || v.Image != nil:
		return false // these are not the pod's
	}
	return true
}
