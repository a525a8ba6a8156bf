// Command kubelet runs the pods of one node through a container runtime.
package main

import (
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
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
)

func main() {
	ctx, stop := component.Context()
	defer stop()
	component.Exit("kubelet", run(ctx, os.Args[1:]))
}

// flags are those that are not part of the configuration file.
type flags struct {
	config, configDir, kubeconfig, bootstrap, hostname, rootDir, certDir, nodeIP, cloud string
	labels                                                                              map[string]string
	// ignoredIPs are the parts of nodeIP that are no addresses.
	ignoredIPs             []string
	pullFallback           bool
	providers, providerDir string
	private                private
	logging                component.Logging
	gogc                   component.GOGC
	// set has the flags of the command line.
	set *pflag.FlagSet
}

func newFlags() *flags {
	// A kubelet that starts pods allocates much that is garbage at once, beside a heap of a few megabytes.
	return &flags{gogc: 150}
}

func (o *flags) bind(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "KubeletConfiguration file (kubelet.config.k8s.io/v1beta1); flags override it")
	f.StringVar(&o.configDir, "config-dir", "", "folder of further configuration files (*.conf), which override parts of --config in the order of their names")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the API server; empty: standalone, the pods of manifests only")
	f.StringVar(&o.bootstrap, "bootstrap-kubeconfig", "", "kubeconfig file whose credentials request the client certificate if --kubeconfig does not exist, which is then written")
	f.StringVar(&o.hostname, "hostname-override", "", "name of the node (empty: the host's name)")
	f.StringVar(&o.rootDir, "root-dir", "/var/lib/kubelet", "folder of volumes and other files of pods")
	f.StringVar(&o.certDir, "cert-dir", "/var/lib/kubelet/pki", "folder of the certificates that are generated or requested")
	f.StringVar(&o.nodeIP, "node-ip", "", "address of the node, or one of IPv4 and one of IPv6 with a comma between (empty: what its name resolves to, or that of the default route; :: prefers IPv6)")
	f.StringVar(&o.cloud, "cloud-provider", "", "external: a cloud provider, a program of its own, sets the addresses of the node, and removes the taint with which it registers; empty: there is none")
	f.StringToStringVar(&o.labels, "node-labels", nil, "labels of the node, as key=value,...")
	f.BoolVar(&o.pullFallback, "pull-fallback", false, "use an image that is present when it cannot be pulled as its policy says (for nodes without a registry)")
	f.StringVar(&o.providers, "image-credential-provider-config", "", "CredentialProviderConfig (kubelet.config.k8s.io/v1), or a folder of such, of the programs that give credentials for images")
	f.StringVar(&o.providerDir, "image-credential-provider-bin-dir", "", "folder of the programs that give credentials for images")
	o.logging.Flags(f)
	o.gogc.Flags(f)
	o.private.flags(f)
}

// parse reads flags and configuration files; flags win over files.
func parse(args []string) (*flags, *kubeletconfig.Configuration, error) {
	o, c := newFlags(), kubeletconfig.Default()
	f := flagSet(o, c)
	if err := component.Parse(f, "Runs the pods of one node.", args); err != nil {
		return nil, nil, err
	}
	if o.config != "" || o.configDir != "" {
		var err error
		if c, err = kubeletconfig.Load(o.config, o.configDir); err != nil {
			return nil, nil, err
		}
		o = newFlags()
		f = flagSet(o, c)
		if err := f.Parse(args); err != nil { // once more, over the files
			return nil, nil, err
		}
	}
	o.set = f
	if !f.Changed("v") {
		o.logging.Verbosity = int(c.Logging.Verbosity)
	}
	if !f.Changed("logging-format") {
		o.logging.Format = c.Logging.Format
	}
	return o, c, errors.Join(o.logging.Validate(), o.gogc.Validate(), c.Check(), checkTracing(c), checkAlone(o, c))
}

// flagSet returns the flags, which set o and c.
func flagSet(o *flags, c *kubeletconfig.Configuration) *pflag.FlagSet {
	f := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	o.bind(f)
	bind(f, c)
	bindOthers(f)
	return f
}

// checkAlone refuses what needs an API server where there is none.
func checkAlone(o *flags, c *kubeletconfig.Configuration) error {
	if o.kubeconfig != "" {
		return nil
	}
	var errs []error
	for _, r := range []struct {
		demand bool
		what   string
	}{
		{o.bootstrap != "", "--bootstrap-kubeconfig needs --kubeconfig, where the credentials are written to"},
		{*c.EnableServer && *c.Authentication.Webhook.Enabled, "authentication.webhook.enabled: without --kubeconfig there is no API server that reviews tokens; set it to false"},
		{*c.EnableServer && c.Authorization.Mode == kubeletconfig.ModeWebhook, "authorization.mode: without --kubeconfig there is no API server that reviews access; set it to AlwaysAllow, or enableServer to false"},
		{c.RotateCertificates, "rotateCertificates: without --kubeconfig there is no API server that issues certificates; set it to false"},
		{*c.EnableServer && c.ServerTLSBootstrap, "serverTLSBootstrap: without --kubeconfig there is no API server that issues certificates; set it to false"},
		{c.StaticPodPath == "" && c.StaticPodURL == "", "without --kubeconfig pods come from staticPodPath or staticPodURL; set one of them"},
	} {
		if r.demand {
			errs = append(errs, errors.New(r.what))
		}
	}
	return errors.Join(errs...)
}

func run(ctx context.Context, args []string) error {
	o, c, err := parse(args)
	if err != nil {
		return err
	}
	o.gogc.Apply()
	log, setVerbosity := o.logging.Adjustable()
	if err := prepareProcess(c); err != nil {
		return err
	}
	ko, err := options(o, c)
	if err != nil {
		return err
	}
	if len(o.ignoredIPs) > 0 {
		log.Warn("Could not parse some node IP(s), ignoring them", "IPs", o.ignoredIPs)
	}
	ko.Pages = pages(o, c)
	if ko.Watchdog, err = watchdog(); err != nil {
		return err
	}
	tracer, err := trace(&ko, c, log)
	if err != nil {
		return err
	}
	defer tracer.close(log)
	registry, measured, err := measure(c)
	if err != nil {
		return err
	}
	ko.Metrics = registry
	var conn *connection // nil: standalone
	if o.kubeconfig != "" {
		if conn, err = connect(o, c, ko.NodeName, tracer, measured, log); err != nil {
			return err
		}
		defer conn.close()
	}
	ko.Logger = log
	if *c.EnableDebugFlagsHandler {
		ko.SetVerbosity = fromText(setVerbosity)
	}
	ko.ClientCertificate = conn.manager()
	if ko.TLS, err = serving(o, c, ko.NodeName, ko.NodeIPs, log); err != nil {
		return err
	}
	if *c.EnableServer {
		if err := access(&ko, c, conn.use()); err != nil {
			return err
		}
	}
	end, err := listen(&ko, c)
	if err != nil {
		return err
	}
	defer end()
	start := func(ctx context.Context) error {
		k, err := kubelet.New(conn.use(), ko)
		if err != nil {
			return err
		}
		if err := notify(daemon.SdNotifyReady); err != nil {
			log.Warn("notify systemd failed", "err", err)
		}
		return conn.runWith(ctx, k.Run)
	}
	if o.private.dir == "" {
		return start(ctx)
	}
	rt, err := o.private.start(ctx, &ko, log)
	if err != nil {
		return err
	}
	return runWith(ctx, rt, start)
}

// fromText is set with the number that a text is.
func fromText(set func(int)) func(text string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err == nil {
			set(n)
		}
		return err
	}
}

// pages are what the kubelet says about itself.
func pages(o *flags, c *kubeletconfig.Configuration) map[string]http.Handler {
	p := component.Pages{Name: "kubelet", Flags: o.set, Config: func() map[string]any { return map[string]any{"kubeletconfig": c} },
		Profiles: *c.EnableProfilingHandler, Paths: []string{"/healthz", "/logs", "/metrics", "/pods", "/stats"}}
	return p.Handlers()
}

// listen opens the ports of the three servers.
func listen(ko *kubelet.Options, c *kubeletconfig.Configuration) (end func(), err error) {
	var open []net.Listener
	end = func() {
		for _, l := range open {
			_ = l.Close()
		}
	}
	for _, s := range []struct {
		to      *net.Listener
		address string
		port    int32
		on      bool
	}{
		{&ko.Listener, c.Address, c.Port, *c.EnableServer}, {&ko.ReadOnlyListener, c.Address, c.ReadOnlyPort, *c.EnableServer},
		{&ko.HealthzListener, c.HealthzBindAddress, *c.HealthzPort, true},
	} {
		if !s.on || s.port == 0 {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(s.address, strconv.Itoa(int(s.port))))
		if err != nil {
			end()
			return nil, err
		}
		*s.to, open = l, append(open, l)
	}
	return end, nil
}

// options are the kubelet's, of flags and files.
func options(o *flags, c *kubeletconfig.Configuration) (kubelet.Options, error) {
	ko, err := c.Options()
	if err != nil {
		return ko, err
	}
	ko.Plugins, ko.KernelLog, ko.SharedRoot = &kubelet.PluginOptions{}, kubelet.KernelLog, true
	ko.NodeName, ko.RootDir, ko.NodeLabels, ko.PullFallback, ko.CertDir = o.hostname, o.rootDir, o.labels, o.pullFallback, o.certDir
	if ko.NodeName == "" {
		host, err := os.Hostname()
		if err != nil {
			return ko, err
		}
		ko.NodeName = strings.ToLower(host)
	}
	if (o.providers == "") != (o.providerDir == "") {
		return ko, errors.New("--image-credential-provider-config and --image-credential-provider-bin-dir need each other")
	}
	if o.providers != "" {
		if ko.CredentialProviders, err = kubeletconfig.LoadCredentialProviders(o.providers, o.providerDir); err != nil {
			return ko, fmt.Errorf("--image-credential-provider-config: %w", err)
		}
	}
	if ko.ExternalCloud = o.cloud == "external"; o.cloud != "" && !ko.ExternalCloud {
		return ko, fmt.Errorf("--cloud-provider=%s: cloud providers are programs of their own; set it to external", o.cloud)
	}
	if ko.NodeIPs, o.ignoredIPs, err = kubelet.ParseNodeIPs(o.nodeIP); err != nil {
		return ko, fmt.Errorf("bad --node-ip %q: %w", o.nodeIP, err)
	}
	ko.Network = kubelet.SystemNetwork{}
	return ko, nil
}

// access sets the authentication and authorization of the kubelet API.
func access(ko *kubelet.Options, c *kubeletconfig.Configuration, conn client.Conn) error {
	webhook := c.Authorization.Webhook
	authentication := delegated.AuthenticatorOptions{NoTokens: !*c.Authentication.Webhook.Enabled, TTL: c.Authentication.Webhook.CacheTTL.Duration}
	if file := c.Authentication.X509.ClientCAFile; file != "" {
		authorities, err := component.Reload(ko.Logger, component.ReadPool, file)
		if err != nil {
			return fmt.Errorf("authentication.x509.clientCAFile: %w", err)
		}
		authentication.ClientCAs = authorities.Get
	}
	ko.Authenticate = delegated.NewAuthenticator(conn, authentication).Authenticate
	if c.Authorization.Mode == kubeletconfig.ModeAlwaysAllow {
		ko.Authorize = func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, string, error) {
			return true, "", nil
		}
		return nil
	}
	ko.Authorize = delegated.NewAuthorizer(conn, delegated.AuthorizerOptions{
		AllowedTTL: webhook.CacheAuthorizedTTL.Duration, DeniedTTL: webhook.CacheUnauthorizedTTL.Duration}).Authorize
	return nil
}

// serving is the TLS configuration of the kubelet API. The authorities of clients are not in it: clients send
// any certificate, because those that are accepted may change.
func serving(o *flags, c *kubeletconfig.Configuration, name string, ips []netip.Addr, log *slog.Logger) (*tls.Config, error) {
	config, err := c.TLS()
	if err != nil {
		return nil, err
	}
	switch {
	case c.TLSCertFile != "" && c.ServerTLSBootstrap: // until one has been issued
		pair, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSPrivateKeyFile)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	case c.TLSCertFile != "":
		pair, err := component.Reload(log, component.ReadPair, c.TLSCertFile, c.TLSPrivateKeyFile)
		if err != nil {
			return nil, err
		}
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil }
	case !c.ServerTLSBootstrap:
		pair, err := generated(o.certDir, name, ips)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair.TLS()}
	}
	return config, nil
}

// generated is a serving certificate in a folder, which is made if it is not there.
func generated(dir, name string, ips []netip.Addr) (*certs.Pair, error) {
	if err := os.MkdirAll(filepath.Clean(dir), 0o700); err != nil {
		return nil, err
	}
	return certs.LoadOrMake(dir, "kubelet", func() (*certs.Pair, error) {
		ca, err := certs.NewAuthority(name + "-ca")
		if err != nil {
			return nil, err
		}
		hosts := []string{name, "localhost", "127.0.0.1"}
		for _, ip := range ips {
			hosts = append(hosts, ip.String())
		}
		return ca.Serving(name, hosts...)
	})
}
