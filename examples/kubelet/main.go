// Command kubelet runs the pods of one node through a container runtime.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
)

func main() { component.Exit("kubelet", run(os.Args[1:])) }

// flags are those that are not part of the configuration file.
type flags struct {
	config, kubeconfig, hostname, rootDir, certDir, nodeIP string
	labels                                                 map[string]string
	taints                                                 []string
	pullFallback                                           bool
	private                                                private
	verbosity                                              int
}

// parse reads flags and the configuration file; flags win over the file.
func parse(args []string) (*flags, *configuration, error) {
	o, c := &flags{}, defaults()
	set := func(o *flags, c *configuration) *pflag.FlagSet {
		f := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
		f.StringVar(&o.config, "config", "", "KubeletConfiguration file (kubelet.config.k8s.io/v1beta1); flags override it")
		f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the API server")
		f.StringVar(&o.hostname, "hostname-override", "", "name of the node (empty: the host's name)")
		f.StringVar(&o.rootDir, "root-dir", "/var/lib/kubelet", "folder of volumes and other files of pods")
		f.StringVar(&o.certDir, "cert-dir", "/var/lib/kubelet/pki", "folder of the generated serving certificate")
		f.StringVar(&o.nodeIP, "node-ip", "", "address of the node (empty: that of the default route)")
		f.StringToStringVar(&o.labels, "node-labels", nil, "labels of the node, as key=value,...")
		f.StringSliceVar(&o.taints, "register-with-taints", nil, "taints the node registers with, as key=value:Effect,...")
		f.BoolVar(&o.pullFallback, "pull-fallback", false, "use an image that is present when it cannot be pulled as its policy says (for nodes without a registry)")
		f.IntVarP(&o.verbosity, "v", "v", 0, "log verbosity: 0 warnings, 2 information, 4 debugging")
		o.private.flags(f)
		c.flags(f)
		return f
	}
	if err := component.Parse(set(o, c), "Runs the pods of one node.", args); err != nil {
		return nil, nil, err
	}
	if o.config != "" {
		file := defaults()
		if err := file.load(o.config); err != nil {
			return nil, nil, err
		}
		o, c = &flags{}, file
		if err := set(o, c).Parse(args); err != nil { // once more, over the file
			return nil, nil, err
		}
	}
	if o.kubeconfig == "" {
		return nil, nil, errors.New("--kubeconfig is required")
	}
	return o, c, c.validate()
}

// mergeInto reads the JSON object over the older one into c.
func mergeInto(c *configuration, old, over []byte) error {
	merged, err := patch.Merge(old, over)
	if err != nil {
		return err
	}
	*c = configuration{}
	return codec.Unmarshal(merged, c)
}

func run(args []string) error {
	o, c, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := component.Context()
	defer stop()
	log := component.Logger(o.verbosity)
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: o.kubeconfig, NoInCluster: true})
	if err != nil {
		return err
	}
	cfg.UserAgent = "kubelet"
	conn, err := rest.New(cfg, rest.Options{Logger: log})
	if err != nil {
		return err
	}
	defer conn.Close()
	ko, err := options(o, c)
	if err != nil {
		return err
	}
	ko.Logger = log
	if ko.TLS, err = serving(o, c, ko.NodeName, ko.NodeIP); err != nil {
		return err
	}
	access(&ko, c, conn)
	if ko.Listener, err = net.Listen("tcp", net.JoinHostPort(c.Address, strconv.Itoa(int(c.Port)))); err != nil {
		return err
	}
	defer ko.Listener.Close()
	if o.private.dir == "" {
		return runKubelet(ctx, conn, ko, c)
	}
	rt, err := o.private.start(ctx, &ko, log)
	if err != nil {
		return err
	}
	return runWith(ctx, rt, func(ctx context.Context) error { return runKubelet(ctx, conn, ko, c) })
}

// runKubelet runs the kubelet and its health server.
func runKubelet(ctx context.Context, conn client.Conn, ko kubelet.Options, c *configuration) error {
	k, err := kubelet.New(conn, ko)
	if err != nil {
		return err
	}
	if *c.HealthzPort != 0 {
		end, err := serveHealth(net.JoinHostPort(c.HealthzBindAddress, strconv.Itoa(int(*c.HealthzPort))), k)
		if err != nil {
			return err
		}
		defer end()
	}
	return k.Run(ctx)
}

// options are the kubelet's, of flags and file.
func options(o *flags, c *configuration) (kubelet.Options, error) {
	reserved, err := c.reserved()
	if err != nil {
		return kubelet.Options{}, err
	}
	ko := kubelet.Options{
		NodeName: o.hostname, RootDir: o.rootDir, LogDir: c.PodLogsDir, RuntimeEndpoint: c.ContainerRuntimeEndpoint, ImageEndpoint: c.ImageServiceEndpoint,
		StaticPodDir: c.StaticPodPath, StaticPodInterval: c.FileCheckFrequency.Duration, ClusterDNS: c.ClusterDNS, ClusterDomain: c.ClusterDomain,
		ResolvConf: *c.ResolvConf, NoRegister: !*c.RegisterNode, NodeLabels: o.labels, Taints: c.RegisterWithTaints, PodCIDR: c.PodCIDR,
		Capacity: corev1.ResourceList{corev1.ResourcePods: resource.NewQuantity(int64(c.MaxPods), resource.DecimalSI)}, Reserved: reserved,
		CgroupRoot: c.CgroupRoot, NoCgroups: !*c.CgroupsPerQOS, PullFallback: o.pullFallback, SyncInterval: c.SyncFrequency.Duration,
		NodeStatusInterval: c.NodeStatusUpdateFrequency.Duration, LeaseDuration: time.Duration(c.NodeLeaseDurationSeconds) * time.Second,
	}
	if ko.NodeName == "" {
		host, err := os.Hostname()
		if err != nil {
			return ko, err
		}
		ko.NodeName = strings.ToLower(host)
	}
	if o.nodeIP != "" {
		if ko.NodeIP, err = netip.ParseAddr(o.nodeIP); err != nil {
			return ko, fmt.Errorf("--node-ip: %w", err)
		}
	}
	for _, text := range o.taints {
		kv, effect, ok := strings.Cut(text, ":")
		if !ok {
			return ko, fmt.Errorf("--register-with-taints: %q is not key=value:Effect", text)
		}
		key, value, _ := strings.Cut(kv, "=")
		ko.Taints = append(ko.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return ko, nil
}

// access decides who may use the kubelet API.
func access(ko *kubelet.Options, c *configuration, conn client.Conn) {
	pool, webhook := ko.TLS.ClientCAs, c.Authorization.Webhook
	ko.Authenticate = delegated.NewAuthenticator(conn, delegated.AuthenticatorOptions{
		ClientCAs: func() *x509.CertPool { return pool }, NoTokens: !*c.Authentication.Webhook.Enabled, TTL: c.Authentication.Webhook.CacheTTL.Duration}).Authenticate
	ko.Authorize = delegated.NewAuthorizer(conn, delegated.AuthorizerOptions{
		AllowedTTL: webhook.CacheAuthorizedTTL.Duration, DeniedTTL: webhook.CacheUnauthorizedTTL.Duration}).Authorize
	if c.Authorization.Mode == modeAlwaysAllow {
		ko.Authorize = func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, string, error) {
			return true, "", nil
		}
	}
}

// serving is the TLS configuration of the kubelet API.
func serving(o *flags, c *configuration, name string, ip netip.Addr) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ClientCAs: x509.NewCertPool()}
	if file := c.Authentication.X509.ClientCAFile; file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !config.ClientCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("%s holds no certificates", file)
		}
	}
	if c.TLSCertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSPrivateKeyFile)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
		return config, nil
	}
	if err := os.MkdirAll(filepath.Clean(o.certDir), 0o700); err != nil {
		return nil, err
	}
	pair, err := certs.LoadOrMake(o.certDir, "kubelet", func() (*certs.Pair, error) {
		ca, err := certs.NewAuthority(name + "-ca")
		if err != nil {
			return nil, err
		}
		hosts := []string{name, "localhost", "127.0.0.1"}
		if ip.IsValid() {
			hosts = append(hosts, ip.String())
		}
		return ca.Serving(name, hosts...)
	})
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{pair.TLS()}
	return config, nil
}

// serveHealth serves /healthz in plain text, as the kubelet does on the loopback.
func serveHealth(address string, k *kubelet.Kubelet) (end func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := k.Healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("ok"))
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-done
	}, nil
}
