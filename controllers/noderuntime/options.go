package noderuntime

import (
	"log/slog"
	"net/netip"
)

// PauseImage is the image of the process that holds a pod's namespaces.
const PauseImage = "keelson.dev/pause:1"

// BusyboxImage is made of the host's busybox when [Options.Busybox] is set.
const BusyboxImage = "docker.io/library/busybox:latest"

// Gateway is the node's own address in the range of its pods: the first one.
func Gateway(pods netip.Prefix) netip.Addr { return pods.Masked().Addr().Next() }

// Options of a private containerd.
type Options struct {
	// Dir holds everything; required, absolute. Only one runtime can use it at a time.
	Dir string
	// PodCIDR is the range of the node's pods; required, IPv4.
	PodCIDR netip.Prefix
	// Bridge is the name of the network device pods are attached to; empty means cni0.
	Bridge string
	// ServiceCIDR, if valid, gets a route to the bridge, so that packets to service addresses never leave the
	// machine.
	ServiceCIDR netip.Prefix
	// ImageDir holds image archives (*.tar, docker or OCI) to import; empty means none.
	ImageDir string
	// Busybox makes [BusyboxImage] of the host's static busybox, if there is one.
	Busybox bool
	// Adopt lets pods that a killed run left go on, for a kubelet that knows them. Else Start ends them.
	// Close always does.
	Adopt bool
	// Logger gets what containerd says, at level debug; nil discards.
	Logger *slog.Logger
}
