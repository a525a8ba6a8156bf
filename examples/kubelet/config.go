package main

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// configuration is the part of KubeletConfiguration (kubelet.config.k8s.io/v1beta1) this kubelet knows;
// anything else in the file is an error.
type configuration struct {
	metav1.TypeMeta `json:",inline"`

	StaticPodPath      string           `json:"staticPodPath,omitempty"`
	SyncFrequency      *metav1.Duration `json:"syncFrequency,omitempty"`
	FileCheckFrequency *metav1.Duration `json:"fileCheckFrequency,omitempty"`

	Address            string `json:"address,omitempty"`
	Port               int32  `json:"port,omitempty"`
	TLSCertFile        string `json:"tlsCertFile,omitempty"`
	TLSPrivateKeyFile  string `json:"tlsPrivateKeyFile,omitempty"`
	HealthzBindAddress string `json:"healthzBindAddress,omitempty"`
	HealthzPort        *int32 `json:"healthzPort,omitempty"`
	Authentication     struct {
		X509 struct {
			ClientCAFile string `json:"clientCAFile,omitempty"`
		} `json:"x509,omitempty"`
		Anonymous struct {
			Enabled *bool `json:"enabled,omitempty"`
		} `json:"anonymous,omitempty"`
		Webhook struct {
			Enabled  *bool            `json:"enabled,omitempty"`
			CacheTTL *metav1.Duration `json:"cacheTTL,omitempty"`
		} `json:"webhook,omitempty"`
	} `json:"authentication,omitempty"`
	Authorization struct {
		Mode    string `json:"mode,omitempty"`
		Webhook struct {
			CacheAuthorizedTTL   *metav1.Duration `json:"cacheAuthorizedTTL,omitempty"`
			CacheUnauthorizedTTL *metav1.Duration `json:"cacheUnauthorizedTTL,omitempty"`
		} `json:"webhook,omitempty"`
	} `json:"authorization,omitempty"`

	RegisterNode              *bool             `json:"registerNode,omitempty"`
	RegisterWithTaints        []corev1.Taint    `json:"registerWithTaints,omitempty"`
	NodeStatusUpdateFrequency *metav1.Duration  `json:"nodeStatusUpdateFrequency,omitempty"`
	NodeLeaseDurationSeconds  int32             `json:"nodeLeaseDurationSeconds,omitempty"`
	MaxPods                   int32             `json:"maxPods,omitempty"`
	PodCIDR                   string            `json:"podCIDR,omitempty"`
	SystemReserved            map[string]string `json:"systemReserved,omitempty"`
	KubeReserved              map[string]string `json:"kubeReserved,omitempty"`

	ClusterDomain string   `json:"clusterDomain,omitempty"`
	ClusterDNS    []string `json:"clusterDNS,omitempty"`
	ResolvConf    *string  `json:"resolvConf,omitempty"`

	ContainerRuntimeEndpoint string `json:"containerRuntimeEndpoint,omitempty"`
	ImageServiceEndpoint     string `json:"imageServiceEndpoint,omitempty"`
	PodLogsDir               string `json:"podLogsDir,omitempty"`
	CgroupRoot               string `json:"cgroupRoot,omitempty"`
	CgroupsPerQOS            *bool  `json:"cgroupsPerQOS,omitempty"`
	CgroupDriver             string `json:"cgroupDriver,omitempty"`
}

func defaults() *configuration {
	yes, no, healthz, resolv := true, false, int32(10248), "/etc/resolv.conf"
	c := &configuration{
		SyncFrequency: &metav1.Duration{Duration: time.Minute}, FileCheckFrequency: &metav1.Duration{Duration: 2 * time.Second},
		Address: "0.0.0.0", Port: 10250, HealthzBindAddress: "127.0.0.1", HealthzPort: &healthz, RegisterNode: &yes,
		NodeStatusUpdateFrequency: &metav1.Duration{Duration: 10 * time.Second}, NodeLeaseDurationSeconds: 40, MaxPods: 110,
		ResolvConf: &resolv, ContainerRuntimeEndpoint: "unix:///run/containerd/containerd.sock", PodLogsDir: "/var/log/pods", CgroupRoot: "/", CgroupsPerQOS: &yes,
	}
	c.Authentication.Anonymous.Enabled = &no
	c.Authentication.Webhook.Enabled, c.Authentication.Webhook.CacheTTL = new(true), &metav1.Duration{Duration: 2 * time.Minute}
	c.Authorization.Mode = modeWebhook
	c.Authorization.Webhook.CacheAuthorizedTTL = &metav1.Duration{Duration: 5 * time.Minute}
	c.Authorization.Webhook.CacheUnauthorizedTTL = &metav1.Duration{Duration: 30 * time.Second}
	return c
}

// The values of authorization.mode.
const (
	modeWebhook     = "Webhook"
	modeAlwaysAllow = "AlwaysAllow"
)

// load reads a file over c.
func (c *configuration) load(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file configuration
	issues, err := codec.UnmarshalYAML(b, &file, codec.DecodeOptions{Strict: true})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(issues) > 0 {
		return fmt.Errorf("%s: %v", path, issues[0])
	}
	if file.APIVersion != "kubelet.config.k8s.io/v1beta1" || file.Kind != "KubeletConfiguration" {
		return fmt.Errorf("%s: want kind KubeletConfiguration of kubelet.config.k8s.io/v1beta1, got %q of %q", path, file.Kind, file.APIVersion)
	}
	// What the file does not say keeps its default: decoding over c overwrites only what is there.
	merged, err := codec.Marshal(&file)
	if err != nil {
		return err
	}
	old, err := codec.Marshal(c)
	if err != nil {
		return err
	}
	return mergeInto(c, old, merged)
}

// flags registers the flags that are also fields of the file.
func (c *configuration) flags(f *pflag.FlagSet) {
	f.StringVar(&c.StaticPodPath, "pod-manifest-path", c.StaticPodPath, "folder of manifests of static pods")
	f.DurationVar(&c.SyncFrequency.Duration, "sync-frequency", c.SyncFrequency.Duration, "how often pods and their volumes are synced without a change")
	f.DurationVar(&c.FileCheckFrequency.Duration, "file-check-frequency", c.FileCheckFrequency.Duration, "how often the manifest folder is read")
	f.StringVar(&c.Address, "address", c.Address, "address of the kubelet API")
	f.Int32Var(&c.Port, "port", c.Port, "port of the kubelet API")
	f.StringVar(&c.TLSCertFile, "tls-cert-file", c.TLSCertFile, "serving certificate (empty: one is generated in --cert-dir)")
	f.StringVar(&c.TLSPrivateKeyFile, "tls-private-key-file", c.TLSPrivateKeyFile, "key of the serving certificate")
	f.StringVar(&c.Authentication.X509.ClientCAFile, "client-ca-file", c.Authentication.X509.ClientCAFile, "authorities of client certificates; empty: client certificates are not accepted")
	f.BoolVar(c.Authentication.Anonymous.Enabled, "anonymous-auth", *c.Authentication.Anonymous.Enabled, "must be false: the kubelet API requires authentication")
	f.BoolVar(c.Authentication.Webhook.Enabled, "authentication-token-webhook", *c.Authentication.Webhook.Enabled, "accept bearer tokens that the API server accepts in a TokenReview")
	f.DurationVar(&c.Authentication.Webhook.CacheTTL.Duration, "authentication-token-webhook-cache-ttl", c.Authentication.Webhook.CacheTTL.Duration, "how long TokenReviews are cached")
	f.StringVar(&c.Authorization.Mode, "authorization-mode", c.Authorization.Mode, "who may use the kubelet API: Webhook (SubjectAccessReviews decide) or AlwaysAllow (every authenticated user)")
	f.DurationVar(&c.Authorization.Webhook.CacheAuthorizedTTL.Duration, "authorization-webhook-cache-authorized-ttl", c.Authorization.Webhook.CacheAuthorizedTTL.Duration, "how long an allowing SubjectAccessReview is cached")
	f.DurationVar(&c.Authorization.Webhook.CacheUnauthorizedTTL.Duration, "authorization-webhook-cache-unauthorized-ttl", c.Authorization.Webhook.CacheUnauthorizedTTL.Duration, "how long a denying SubjectAccessReview is cached")
	f.StringVar(&c.HealthzBindAddress, "healthz-bind-address", c.HealthzBindAddress, "address of /healthz")
	f.Int32Var(c.HealthzPort, "healthz-port", *c.HealthzPort, "port of /healthz; 0 turns it off")
	f.BoolVar(c.RegisterNode, "register-node", *c.RegisterNode, "create the Node object if it does not exist")
	f.DurationVar(&c.NodeStatusUpdateFrequency.Duration, "node-status-update-frequency", c.NodeStatusUpdateFrequency.Duration, "how often the node's status is computed")
	f.Int32Var(&c.MaxPods, "max-pods", c.MaxPods, "maximum number of pods of the node")
	f.StringVar(&c.PodCIDR, "pod-cidr", c.PodCIDR, "range of the node's pods, where no controller assigns it")
	f.StringVar(&c.ClusterDomain, "cluster-domain", c.ClusterDomain, "domain of the cluster, searched by pods")
	f.StringSliceVar(&c.ClusterDNS, "cluster-dns", c.ClusterDNS, "addresses of the cluster's DNS")
	f.StringVar(c.ResolvConf, "resolv-conf", *c.ResolvConf, "the node's resolver configuration")
	f.StringVar(&c.ContainerRuntimeEndpoint, "container-runtime-endpoint", c.ContainerRuntimeEndpoint, "CRI socket of the container runtime")
	f.StringVar(&c.ImageServiceEndpoint, "image-service-endpoint", c.ImageServiceEndpoint, "CRI socket for images (empty: that of the runtime)")
	f.StringVar(&c.CgroupRoot, "cgroup-root", c.CgroupRoot, "cgroup above those of pods")
	f.BoolVar(c.CgroupsPerQOS, "cgroups-per-qos", *c.CgroupsPerQOS, "make cgroups per quality of service and pod")
	f.StringToStringVar(&c.KubeReserved, "kube-reserved", c.KubeReserved, "resources kept from pods for Kubernetes, as cpu=100m,memory=100Mi")
	f.StringToStringVar(&c.SystemReserved, "system-reserved", c.SystemReserved, "resources kept from pods for the system")
}

func (c *configuration) validate() error {
	is := func(b *bool) bool { return b != nil && *b }
	switch {
	case is(c.Authentication.Anonymous.Enabled):
		return fmt.Errorf("authentication.anonymous.enabled: the kubelet API requires authentication; set it to false")
	case c.Authorization.Mode != modeWebhook && c.Authorization.Mode != modeAlwaysAllow:
		return fmt.Errorf("authorization.mode %q is neither Webhook nor AlwaysAllow", c.Authorization.Mode)
	case c.Authentication.Webhook.CacheTTL.Duration < 0 || c.Authorization.Webhook.CacheAuthorizedTTL.Duration < 0 || c.Authorization.Webhook.CacheUnauthorizedTTL.Duration < 0:
		return fmt.Errorf("cacheTTL, cacheAuthorizedTTL and cacheUnauthorizedTTL must not be negative")
	case c.CgroupDriver != "" && c.CgroupDriver != "cgroupfs":
		return fmt.Errorf("cgroupDriver %q: only cgroupfs is supported", c.CgroupDriver)
	case (c.TLSCertFile == "") != (c.TLSPrivateKeyFile == ""):
		return fmt.Errorf("tlsCertFile and tlsPrivateKeyFile go together")
	case c.Port < 1 || c.Port > 65535:
		return fmt.Errorf("port %d is not within 1 and 65535", c.Port)
	case c.MaxPods < 1:
		return fmt.Errorf("maxPods %d is not positive", c.MaxPods)
	}
	if c.PodCIDR != "" {
		if _, err := netip.ParsePrefix(c.PodCIDR); err != nil {
			return fmt.Errorf("podCIDR: %w", err)
		}
	}
	_, err := c.reserved()
	return err
}

// reserved adds up what is kept from pods.
func (c *configuration) reserved() (corev1.ResourceList, error) {
	sum := corev1.ResourceList{}
	for _, m := range []map[string]string{c.KubeReserved, c.SystemReserved} {
		for name, text := range m {
			q, err := resource.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("reserved %s: %w", name, err)
			}
			have := sum[corev1.ResourceName(name)]
			have.Add(q)
			sum[corev1.ResourceName(name)] = have
		}
	}
	return sum, nil
}
