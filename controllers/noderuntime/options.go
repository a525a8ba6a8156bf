package noderuntime

import (
	"log/slog"
	"net/netip"
)

// PauseImage is the image of the process that holds a pod's namespaces.
const PauseImage = "keelson.dev/pause:1"

// BusyboxImage is the image with the host's busybox; see [Options.Busybox].
const BusyboxImage = "docker.io/library/busybox:latest"

// Gateway returns the first address of a range of pods, which is the address of the node in it.
func Gateway(pods netip.Prefix) netip.Addr { return pods.Masked().Addr().Next() }

// Options of a private containerd.
type Options struct {
	// Dir is the directory of all files. It is required and must be absolute. Only one runtime can use it at
	// a time.
	Dir string
	// PodCIDR is the IPv4 range of the node's pods. It is required.
	PodCIDR netip.Prefix
	// PodCIDR6, if valid, is the IPv6 range: then each pod has an address of each family.
	PodCIDR6 netip.Prefix
	// Bridge is the name of the bridge interface of the pods; empty means cni0.
	Bridge string
	// ServiceCIDR, if valid, is routed to the bridge, so that packets to service addresses never leave the
	// host.
	ServiceCIDR netip.Prefix
	// ImageDir is a directory with image archives (*.tar, docker or OCI) to import; empty means none.
	ImageDir string
	// Busybox imports [BusyboxImage] if the host has a static busybox.
	Busybox bool
	// SystemdCgroups lets systemd, which has to run the machine, make the cgroups of containers. It has to be
	// as the kubelet's. Versions of containerd before 2 do not say which it is.
	SystemdCgroups bool
	// SELinux gives containers, and the files of their volumes, SELinux labels. It needs a machine with a
	// policy that has types for containers.
	SELinux bool
	// Adopt continues the pods of a previous run that was killed, for a kubelet that manages them; otherwise
	// Start stops them. Close always stops all pods.
	Adopt bool
	// Logger receives containerd's output at level debug, and failures; nil discards.
	Logger *slog.Logger
}
