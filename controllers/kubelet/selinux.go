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

// labelling is the label that a pod wants a volume to be mounted with, for all of its files at once, where
// the plugin can do that. Only volumes that one pod alone may have are mounted so, or, with
// Options.SELinuxMount, all that have a PersistentVolume.
func (k *Kubelet) labelling(s *volume.Spec, supported bool) (volume.Labelling, error) {
	if k.opts.SELinux == nil {
		return volume.Labelling{}, nil
	}
	l := volume.Labelling{Supported: supported}
	if s.PV != nil {
		l.Mounts = k.opts.SELinuxMount || slices.Equal(s.PV.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod})
	}
	labels := k.opts.SELinux.labels(s.Pod, s.Volume.Name)
	if len(labels) > 1 {
		k.metrics.podMismatch.of(l.Mounts).WithLabelValues(accessMode(s)).Inc()
		if !l.Mounts {
			return volume.Labelling{}, nil
		}
		return l, fmt.Errorf("multiple SELinux labels found: %s", strings.Join(labels, ","))
	}
	sec := s.Pod.Spec.SecurityContext
	recursive := sec != nil && sec.SELinuxChangePolicy != nil && *sec.SELinuxChangePolicy == corev1.SELinuxChangePolicyRecursive
	if len(labels) == 1 && supported && !recursive {
		l.Label = labels[0]
	}
	return l, nil
}

// labels are those of the containers that have a volume, each once. Containers without options have none.
func (s *SELinux) labels(pod *corev1.Pod, name string) (labels []string) {
	for c := range allContainers(pod) {
		o := selinuxOptions(pod, c)
		if o == nil || !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name }) {
			continue
		}
		if l := s.label(o); !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	return labels
}

// accessMode is how metrics name what a volume allows: the mode that allows the most.
func accessMode(s *volume.Spec) string {
	if s.PV == nil {
		return "inline"
	}
	for _, m := range []struct {
		mode corev1.PersistentVolumeAccessMode
		name string
	}{{corev1.ReadWriteMany, "RWX"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteOnce, "RWO"}, {corev1.ReadWriteOncePod, "RWOP"}} {
		if slices.Contains(s.PV.Spec.AccessModes, m.mode) {
			return m.name
		}
	}
	return ""
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
