package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// DefaultRuntimeEndpoint is where containerd listens unless told otherwise.
const DefaultRuntimeEndpoint = "unix:///run/containerd/containerd.sock"

// Options of a kubelet. The zero value runs as the host's name with containerd's usual socket.
type Options struct {
	// NodeName is the node's name; empty means the host's name in lower case.
	NodeName string
	// NodeIP is what the node reports as InternalIP; the zero value means the address of the default route,
	// else the first that is not loopback, else 127.0.0.1.
	NodeIP netip.Addr
	// RootDir holds the pods' volumes; empty means /var/lib/kubelet. LogDir holds the containers' logs; empty
	// means /var/log/pods.
	RootDir, LogDir string
	// RuntimeEndpoint and ImageEndpoint are CRI v1 sockets (unix:///...); empty means
	// [DefaultRuntimeEndpoint], and the runtime's for images.
	RuntimeEndpoint, ImageEndpoint string
	// RuntimeDial replaces how the endpoint is dialled.
	RuntimeDial func(ctx context.Context, endpoint string) (net.Conn, error)
	// StaticPodDir is read every StaticPodInterval (0 means 2 s) for pod manifests; empty means none.
	StaticPodDir      string
	StaticPodInterval time.Duration
	// ClusterDNS and ClusterDomain go to the resolv.conf of pods with the DNS policy ClusterFirst.
	ClusterDNS    []string
	ClusterDomain string
	// ResolvConf is the node's own; empty means /etc/resolv.conf.
	ResolvConf string
	// NoRegister leaves the Node object to somebody else.
	NoRegister bool
	// NodeLabels and Taints are set when the node registers.
	NodeLabels map[string]string
	Taints     []corev1.Taint
	// PodCIDR is put into the node's spec when it registers, where no controller assigns ranges.
	PodCIDR string
	// Capacity overrides or adds to what is measured. Pods defaults to 110.
	Capacity corev1.ResourceList
	// Reserved is taken off the capacity to get what pods may use.
	Reserved corev1.ResourceList
	// CgroupRoot is the parent of the pods' cgroups; empty means "/". NoCgroups leaves them all to the
	// runtime.
	CgroupRoot string
	NoCgroups  bool
	// DiskForMemory lets secrets, tokens and emptyDirs of the medium Memory be plain folders on the disk
	// where this process may not mount a file system in memory, as in some sandboxes. Without it pods with
	// such volumes do not start there.
	DiskForMemory bool
	// PullFallback uses an image that is present when the policy Always cannot pull it: for nodes without a
	// registry.
	PullFallback bool
	// Listener serves the kubelet API with TLS; nil means none. TLS must hold certificates and, in ClientCAs,
	// the authorities of the client certificates that identify users.
	Listener net.Listener
	TLS      *tls.Config
	// Authenticate says who sends a request to the kubelet API; nil means client certificates of
	// TLS.ClientCAs, and bearer tokens that the API server accepts in a TokenReview. Anonymous requests are
	// refused.
	Authenticate func(r *http.Request) (user *authenticationv1.UserInfo, ok bool, err error)
	// Authorize says whether a user may make a request to the kubelet API; nil means to ask the API server in
	// a SubjectAccessReview for the subresource of this node that the path belongs to: stats, metrics, log,
	// checkpoint; pods, healthz, configz, statusz or else proxy; and proxy for everything else. To run
	// something in a pod is the verb create, whatever the method.
	Authorize func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (allowed bool, reason string, err error)
	// SyncInterval is how often a pod is looked at without cause, 0 means 1 minute; also how old the content
	// of configMap and secret volumes gets.
	SyncInterval time.Duration
	// NodeStatusInterval is how often the node's status is computed, 0 means 10 s; it is written when it has
	// changed and every 5 minutes. LeaseDuration is 0 for 40 s; the lease is renewed every quarter of it.
	NodeStatusInterval time.Duration
	LeaseDuration      time.Duration
	// RelistInterval is how often the runtime is asked for changes, 0 means 1 s.
	RelistInterval time.Duration
	// StopPods ends all pods, without their grace period, and removes what is left of them when Run ends.
	StopPods bool
	// Logger gets failures and progress; nil discards.
	Logger *slog.Logger
}

func (opts Options) withDefaults() (Options, error) {
	if opts.NodeName == "" {
		name, err := os.Hostname()
		if err != nil {
			return opts, err
		}
		opts.NodeName = strings.ToLower(strings.TrimSpace(name))
	}
	if opts.NodeName == "" {
		return opts, errors.New("kubelet: no node name")
	}
	set := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	set(&opts.RootDir, "/var/lib/kubelet")
	set(&opts.LogDir, "/var/log/pods")
	set(&opts.RuntimeEndpoint, DefaultRuntimeEndpoint)
	set(&opts.ImageEndpoint, opts.RuntimeEndpoint)
	set(&opts.ResolvConf, "/etc/resolv.conf")
	set(&opts.CgroupRoot, "/")
	var err error
	if opts.RootDir, err = filepath.Abs(opts.RootDir); err != nil {
		return opts, err
	}
	if opts.LogDir, err = filepath.Abs(opts.LogDir); err != nil {
		return opts, err
	}
	if opts.Listener != nil && opts.TLS == nil {
		return opts, errors.New("kubelet: Options.Listener needs Options.TLS")
	}
	for _, ip := range opts.ClusterDNS {
		if _, err := netip.ParseAddr(ip); err != nil {
			return opts, fmt.Errorf("kubelet: cluster DNS: %w", err)
		}
	}
	duration := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	duration(&opts.StaticPodInterval, 2*time.Second)
	duration(&opts.SyncInterval, time.Minute)
	duration(&opts.NodeStatusInterval, 10*time.Second)
	duration(&opts.LeaseDuration, 40*time.Second)
	duration(&opts.RelistInterval, time.Second)
	if !opts.NodeIP.IsValid() {
		opts.NodeIP = hostAddress()
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	capacity := measuredCapacity(opts.RootDir)
	for name, q := range opts.Capacity {
		capacity[name] = q
	}
	if _, ok := capacity[corev1.ResourcePods]; !ok {
		capacity[corev1.ResourcePods] = resource.MustParse("110")
	}
	opts.Capacity = capacity
	return opts, nil
}

// hostAddress is this host's address as others see it.
func hostAddress() netip.Addr {
	// Connecting a UDP socket sends nothing, but chooses the source address.
	if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil {
		defer c.Close()
		if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
			return a.AddrPort().Addr().Unmap()
		}
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.IsGlobalUnicast() {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				return ip.Unmap()
			}
		}
	}
	return netip.MustParseAddr("127.0.0.1")
}
