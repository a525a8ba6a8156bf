package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client/certificate"
)

// DefaultRuntimeEndpoint is containerd's default socket.
const DefaultRuntimeEndpoint = "unix:///run/containerd/containerd.sock"

// Options of a kubelet. The zero value runs as the host's name with containerd's usual socket.
type Options struct {
	// NodeName is the node's name; empty means the host's name in lower case.
	NodeName string
	// NodeIPs are the internal addresses that the node reports: one, or one of IPv4 and one of IPv6. The
	// family of the first is the first of the node's pods as well; without any that is IPv4. 0.0.0.0 or ::
	// alone gives the family, and the address is found out as without any.
	NodeIPs []netip.Addr
	// Network is where the node's address comes from if it is not given: the name of the node if that is an
	// address, or what the name resolves to, or else that of the default route. The node reports none as long
	// as there is none, or as long as one of NodeIPs is not on a network interface. Nil means that NodeIPs
	// are not checked, and that the address is the one by which this machine reaches others, or else that of
	// the loopback.
	Network Network
	// ExternalCloud is set if a cloud provider of its own process sets the addresses of the node: those that
	// are there stay, and without NodeIPs none is reported. The node registers with the taint
	// node.cloudprovider.kubernetes.io/uninitialized, which the provider removes, and NodeIPs are an
	// annotation for it.
	ExternalCloud bool
	// RootDir contains the pods' volumes and, in seccomp, local seccomp profiles; empty means
	// /var/lib/kubelet. LogDir contains the containers' logs; empty means /var/log/pods.
	RootDir, LogDir string
	// RuntimeEndpoint and ImageEndpoint are CRI v1 sockets (unix:///...). They default to
	// [DefaultRuntimeEndpoint] and RuntimeEndpoint.
	RuntimeEndpoint, ImageEndpoint string
	// RuntimeDial, if not nil, connects to the endpoints.
	RuntimeDial func(ctx context.Context, endpoint string) (net.Conn, error)
	// StaticPodDir is a directory with pod manifests, which is read after each change, if Host can watch it,
	// and every StaticPodInterval (0 means 20 s). Empty means no static pods from files.
	StaticPodDir      string
	StaticPodInterval time.Duration
	// StaticPodURL is an http or https URL with a Pod or a PodList in YAML or JSON, which is read every
	// StaticPodURLInterval (0 means 20 s). An answer that is no 200, or has anything in it that is no valid
	// static pod, leaves the pods of the answer before; an empty one means no pods. If the folder has a pod
	// of the same name, that one is run. StaticPodURLHeader is sent with the requests. StaticPodURLTransport
	// makes them; nil means [http.DefaultTransport].
	StaticPodURL          string
	StaticPodURLHeader    http.Header
	StaticPodURLInterval  time.Duration
	StaticPodURLTransport http.RoundTripper
	// ClusterDNS and ClusterDomain are written to the resolv.conf of pods with the DNS policy ClusterFirst.
	ClusterDNS    []string
	ClusterDomain string
	// ResolvConf is the path of the node's resolv.conf; empty means /etc/resolv.conf. With NoResolvConf it is
	// not read, and pods without cluster DNS have the resolver of their own loopback address.
	ResolvConf   string
	NoResolvConf bool
	// NoRegister disables the creation of the Node object.
	NoRegister bool
	// NodeLabels and Taints are set when the node registers.
	NodeLabels map[string]string
	Taints     []corev1.Taint
	// PodCIDR is set in the spec of the Node when it registers, for clusters without a controller that
	// assigns ranges: one, or one of each family with a comma between.
	PodCIDR string
	// ProviderID is set in the spec of the Node when it registers: what the provider of the machine calls it.
	ProviderID string
	// Capacity overrides or extends the measured capacity. Pods defaults to 110.
	Capacity corev1.ResourceList
	// Reserved is subtracted from the capacity to get the allocatable resources.
	Reserved corev1.ResourceList
	// CgroupRoot is the parent of the pods' cgroups; empty means "/". With NoCgroups the runtime manages all
	// cgroups.
	CgroupRoot string
	NoCgroups  bool
	// SystemdCgroups names cgroups as systemd does, which makes them, for runtimes that are configured so.
	// A runtime that says which of both it does is followed.
	SystemdCgroups bool
	// ReservedGroups are cgroups of other processes that are limited to what is reserved for them. Run
	// returns an error if one of them does not exist.
	ReservedGroups []ReservedGroup
	// NoCPUQuota leaves out the CPU limits of containers and pods. CPUQuotaPeriod is how long the kernel
	// waits before it gives a container the CPU time of its limit again: 1 ms to 1 s; 0 means 100 ms.
	NoCPUQuota     bool
	CPUQuotaPeriod time.Duration
	// LimitedSwap lets burstable containers use the machine's swap, in proportion to the memory that they
	// request. It needs cgroup v2. Otherwise no container swaps.
	LimitedSwap bool
	// MemoryQoS protects memory that pods request and slows containers down that come near their limits; nil
	// leaves both out. It needs cgroup v2: New returns an error without.
	MemoryQoS *MemoryQoS
	// NoPodLimit leaves out the memory limit of all pods together: the capacity without what is reserved.
	NoPodLimit bool
	// SingleProcessOOMKill lets the kernel end one process of a container that is out of memory, instead of
	// all; nil means with cgroup v1 only, which cannot do otherwise: New returns an error for false.
	SingleProcessOOMKill *bool
	// ProtectKernelDefaults makes Run return an error if a parameter of the kernel has another value than
	// nodes need; the kubelet never changes them.
	ProtectKernelDefaults bool
	// PodPIDs is the maximum number of processes and threads of each pod; 0 means no limit.
	PodPIDs int64
	// DiskForMemory allows plain directories on disk for secrets, tokens and emptyDirs of the medium Memory
	// if the process is not allowed to mount tmpfs, as in some sandboxes. Without it, pods with such volumes
	// do not start there.
	DiskForMemory bool
	// SharedRoot makes RootDir a mount of its own that passes mounts on to those of containers, and from
	// them, unless it is on such a mount: mount propagation of containers needs that. The mount is taken away
	// when Run ends, unless volumes of pods are still mounted.
	SharedRoot bool
	// PullFallback uses an image that is present if a pull with the policy Always fails, for nodes without a
	// registry.
	PullFallback bool
	// TrustBundles makes projected volumes with the certificates of ClusterTrustBundles, PodCertificates
	// those with certificates that PodCertificateRequests request for the pod. The API server must serve both
	// in certificates.k8s.io/v1beta1. Pods with such volumes do not start otherwise, nor without an API
	// server.
	TrustBundles, PodCertificates bool
	// ImageVolumeDigests shows the ids of images that are volumes in the statuses of containers.
	ImageVolumeDigests bool
	// Pulls bounds the pulls of images.
	Pulls PullPolicy
	// CredentialProviders are programs that give credentials for images.
	CredentialProviders CredentialProviders
	// RuntimeTimeout bounds the calls of the container runtime that do not take long by nature; 0 means 2
	// minutes.
	RuntimeTimeout time.Duration
	// MaxRestartDelay is the longest delay before a container that keeps ending is started again; 0 means 5
	// minutes. The first one is 10 s, or MaxRestartDelay if that is shorter.
	MaxRestartDelay time.Duration
	// UserNamespaces says which users pods with hostUsers: false run as. The runtime must support that.
	UserNamespaces UserNamespacePolicy
	// SELinux is how this machine labels files; nil means that the machine is looked at.
	SELinux *SELinux
	// SELinuxMount mounts all volumes of drivers with seLinuxMount with the label of the pod that has them,
	// instead of those with the access mode ReadWriteOncePod alone. A pod that needs a volume with another
	// label than one of its node has it with waits for it.
	SELinuxMount bool
	// AllowedSysctls are the kernel parameters that pods may set besides those that affect nothing but the
	// pod; a trailing * matches any rest.
	AllowedSysctls []string
	// SeccompDefault applies the runtime's default seccomp profile to containers that specify none.
	SeccompDefault bool
	// NoLocalStorageLimits disables the eviction of pods that use more disk space than their limits and those
	// of their emptyDir volumes allow.
	NoLocalStorageLimits bool
	// EventsPerSecond is how many requests for events are sent per second, with bursts of EventBurst; 0 sets
	// no limit. What goes beyond it waits.
	EventsPerSecond float64
	EventBurst      int
	// Listener accepts connections to the kubelet API, which is served with TLS; nil disables it. TLS must
	// contain certificates, unless they are requested, and, in ClientCAs, the authorities of client
	// certificates.
	Listener net.Listener
	TLS      *tls.Config
	// RequestServing requests the serving certificate from the signer kubernetes.io/kubelet-serving of the
	// cluster, for the address and the name of the node, and renews it in time. Until one has been issued the
	// first of TLS.Certificates serves, and without one TLS handshakes fail. CertDir contains it, as
	// kubelet-server-current.pem; empty means pki in RootDir.
	RequestServing bool
	CertDir        string
	// ClientCertificate manages the certificate of the connection to the API server, for the metrics about
	// it; nil means that there is none.
	ClientCertificate *certificate.Manager
	// Metrics is the registry that is served at /metrics, to which the program may add metrics of its own;
	// nil means a new one. No two kubelets may have the same.
	Metrics *prometheus.Registry
	// HealthzListener and ReadOnlyListener accept connections to the servers of [Kubelet.Healthz] and
	// [Kubelet.ReadOnly], in plain HTTP without authentication; nil disables them.
	HealthzListener, ReadOnlyListener net.Listener
	// NoDebugging disables everything that shows or changes the content of pods or the kubelet itself: logs,
	// exec, attach, port forwarding, checkpoints, and the Pages /configz and below /debug/.
	NoDebugging bool
	// StreamIdleTimeout ends exec, attach and port forwarding over which nothing has been sent for so long;
	// 0 means 4 hours.
	StreamIdleTimeout time.Duration
	// SystemLogDir is served at /logs/; empty disables it. SystemLogQueries answers queries there for what
	// services have logged, to the journal of systemd or to files in SystemLogDir.
	SystemLogDir     string
	SystemLogQueries bool
	// Pages are further pages of the kubelet API, by path: what the program says about itself, such as
	// /configz, /flagz and /statusz. A path that ends in a slash includes what is below it.
	Pages map[string]http.Handler
	// SetVerbosity sets the verbosity of the log, a number, when /debug/flags/v receives one; nil disables
	// it.
	SetVerbosity func(string) error
	// Authenticate authenticates requests to the kubelet API. Nil means client certificates of TLS.ClientCAs
	// and bearer tokens accepted by a TokenReview. Anonymous requests are rejected.
	Authenticate func(r *http.Request) (user *authenticationv1.UserInfo, ok bool, err error)
	// Authorize authorizes requests to the kubelet API. Nil means a SubjectAccessReview for the subresource
	// of this node that the path belongs to: stats, metrics, log, checkpoint; pods, healthz, configz, statusz
	// or else proxy; and proxy for everything else. Requests that run commands in a pod have the verb create,
	// whatever the method.
	Authorize func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (allowed bool, reason string, err error)
	// SyncInterval is the time between syncs of an unchanged pod, and the maximum age of the content of
	// configMap and secret volumes; 0 means 1 minute.
	SyncInterval time.Duration
	// Objects says how ConfigMaps and Secrets are followed; empty means [ObjectsCached].
	Objects ObjectStrategy
	// NodeStatusInterval is the time between computations of the node's status; 0 means 10 s. The status is
	// written when it has changed and every NodeReportInterval; 0 means 5 minutes. LeaseDuration is the
	// duration of the node's Lease, which is renewed four times as often; 0 means 40 s.
	NodeStatusInterval time.Duration
	NodeReportInterval time.Duration
	// MaxImages is how many images the node reports, the largest first; 0 means 50, -1 all, any other
	// negative number none.
	MaxImages     int
	LeaseDuration time.Duration
	// RelistInterval is the time between lists of the runtime's containers; 0 means 1 s.
	RelistInterval time.Duration
	// ContainerEvents uses the events of the runtime, which containerd has since 1.7. While they come, the
	// runtime is listed every five minutes only; without them, or if the runtime has none, every
	// RelistInterval.
	ContainerEvents bool
	// Placement says which containers have CPUs and memory for themselves.
	Placement PlacementPolicy
	// Plugins lets device plugins register; nil means that there are none.
	Plugins *PluginOptions
	// Logs bounds the containers' log files. LogLinkDir contains a link to the log file of every container,
	// for log collectors; empty means containers beside LogDir.
	Logs       LogPolicy
	LogLinkDir string
	// ImageGC says when unused images are removed, Eviction what the node must not run short of.
	ImageGC  ImageGCPolicy
	Eviction EvictionPolicy
	// Shutdown delays the shutdown of the machine until pods have ended; nil leaves that to others.
	Shutdown *ShutdownPolicy
	// Watchdog is notified while the kubelet starts and while it is healthy; nil means that there is none.
	Watchdog *Watchdog
	// IPTables, if not nil, makes the chains KUBE-IPTABLES-HINT and KUBE-KUBELET-CANARY, by which other
	// components find the variant of iptables, and KUBE-FIREWALL, which drops packets from elsewhere to
	// addresses of the loopback device.
	IPTables IPTables
	// KernelLog, if not nil, opens the log of the kernel, which says when the machine was out of memory: for
	// each process that was killed then the node has an event SystemOOM. See [KernelLog].
	KernelLog func() (io.ReadCloser, error)
	// VolumeStatsInterval is the time between measurements of what pods use on the disk; 0 means 1 minute.
	VolumeStatsInterval time.Duration
	// Host measures the machine; nil means this one.
	Host Host
	// StopPods stops all pods, without their grace periods, and removes their files when Run ends.
	StopPods bool
	// Tracing makes spans; the zero value makes none.
	Tracing Tracing
	// Logger receives failures and progress; nil discards.
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
	if err := opts.defaultPaths(); err != nil {
		return opts, err
	}
	if err := opts.check(); err != nil {
		return opts, err
	}
	duration := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	duration(&opts.StaticPodInterval, 20*time.Second)
	duration(&opts.StaticPodURLInterval, 20*time.Second)
	duration(&opts.SyncInterval, time.Minute)
	duration(&opts.NodeStatusInterval, 10*time.Second)
	duration(&opts.NodeReportInterval, 5*time.Minute)
	duration(&opts.LeaseDuration, 40*time.Second)
	duration(&opts.RuntimeTimeout, 2*time.Minute)
	duration(&opts.CPUQuotaPeriod, defaultQuotaPeriod)
	duration(&opts.MaxRestartDelay, 5*time.Minute)
	opts.MaxImages = cmp.Or(opts.MaxImages, 50)
	opts.Pulls.Parallel = cmp.Or(opts.Pulls.Parallel, 1)
	duration(&opts.RelistInterval, time.Second)
	duration(&opts.VolumeStatsInterval, time.Minute)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Host == nil {
		opts.Host = machine{}
	}
	if opts.SELinux == nil {
		opts.SELinux = machineSELinux()
	}
	var err error
	if opts.Logs, err = opts.Logs.withDefaults(); err != nil {
		return opts, err
	}
	if opts.ImageGC, err = opts.ImageGC.withDefaults(); err != nil {
		return opts, err
	}
	if opts.Shutdown, err = opts.Shutdown.withDefaults(); err != nil {
		return opts, fmt.Errorf("kubelet: Options.Shutdown: %w", err)
	}
	capacity := measuredCapacity(opts.Host, opts.RootDir)
	for name, q := range opts.Capacity {
		capacity[name] = q
	}
	if _, ok := capacity[corev1.ResourcePods]; !ok {
		capacity[corev1.ResourcePods] = resource.MustParse("110")
	}
	opts.Capacity = capacity
	pods := capacity[corev1.ResourcePods]
	if opts.UserNamespaces, err = opts.UserNamespaces.withDefaults(pods.Value()); err != nil {
		return opts, fmt.Errorf("kubelet: Options.UserNamespaces: %w", err)
	}
	return opts, nil
}

// defaultPaths sets the paths and addresses that are missing, and makes directories absolute.
func (opts *Options) defaultPaths() error {
	opts.RootDir = cmp.Or(opts.RootDir, "/var/lib/kubelet")
	opts.LogDir = cmp.Or(opts.LogDir, "/var/log/pods")
	opts.LogLinkDir = cmp.Or(opts.LogLinkDir, filepath.Join(filepath.Dir(filepath.Clean(opts.LogDir)), "containers"))
	opts.CertDir = cmp.Or(opts.CertDir, filepath.Join(opts.RootDir, "pki"))
	opts.RuntimeEndpoint = cmp.Or(opts.RuntimeEndpoint, DefaultRuntimeEndpoint)
	opts.ImageEndpoint = cmp.Or(opts.ImageEndpoint, opts.RuntimeEndpoint)
	opts.ResolvConf = cmp.Or(opts.ResolvConf, "/etc/resolv.conf")
	opts.CgroupRoot = cmp.Or(opts.CgroupRoot, "/")
	for _, dir := range []*string{&opts.RootDir, &opts.LogDir, &opts.LogLinkDir, &opts.CertDir} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = abs
	}
	return nil
}

// check refuses what cannot work.
func (opts *Options) check() error {
	if opts.Listener != nil && opts.TLS == nil {
		return errors.New("kubelet: Options.Listener needs Options.TLS")
	}
	if opts.RequestServing && opts.Listener == nil {
		return errors.New("kubelet: Options.RequestServing needs Options.Listener")
	}
	if w := opts.Watchdog; w != nil && (w.Notify == nil || w.Interval <= 0) {
		return errors.New("kubelet: Options.Watchdog needs Notify and Interval")
	}
	switch opts.Objects {
	case "", ObjectsCached, ObjectsWatched, ObjectsFetched:
	default:
		return fmt.Errorf("kubelet: Options.Objects: %q is no strategy", opts.Objects)
	}
	if err := opts.Placement.check(); err != nil {
		return err
	}
	if q := opts.MemoryQoS; q != nil && !(q.Throttling > 0 && q.Throttling <= 1) {
		return fmt.Errorf("kubelet: Options.MemoryQoS.Throttling: %v is not greater than 0 and at most 1", q.Throttling)
	}
	if err := opts.Pulls.Check(); err != nil {
		return fmt.Errorf("kubelet: Options.Pulls: %w", err)
	}
	if p := opts.CPUQuotaPeriod; p != 0 && (p < time.Millisecond || p > time.Second) {
		return fmt.Errorf("kubelet: Options.CPUQuotaPeriod: %v is not within 1ms and 1s", p)
	}
	if err := checkNodeIPs(opts.NodeIPs); err != nil {
		return fmt.Errorf("kubelet: Options.NodeIPs: %w", err)
	}
	if opts.StaticPodURL != "" {
		if u, err := url.Parse(opts.StaticPodURL); err != nil {
			return fmt.Errorf("kubelet: Options.StaticPodURL: %w", err)
		} else if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("kubelet: Options.StaticPodURL: %q is no http or https URL", opts.StaticPodURL)
		}
	} else if len(opts.StaticPodURLHeader) > 0 {
		return errors.New("kubelet: Options.StaticPodURLHeader needs StaticPodURL")
	}
	for _, ip := range opts.ClusterDNS {
		if _, err := netip.ParseAddr(ip); err != nil {
			return fmt.Errorf("kubelet: cluster DNS: %w", err)
		}
	}
	return nil
}
