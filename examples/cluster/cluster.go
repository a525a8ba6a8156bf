package main

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/client/rest"
	builtincontrollers "github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/noderuntime"
	"github.com/keelson-dev/keelson/examples/internal/accounts"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// cluster is the state of one run.
type cluster struct {
	*config
	log *slog.Logger
	say func(format string, args ...any)

	pki         pki
	listener    net.Listener
	server      *controlplane.ControlPlane
	metrics     metricsHandler
	kubeconfig  string
	runtimeName string // "fake", "cri", and once it runs "cri (containerd ...)"
}

// pki is the cluster's keys and certificates.
type pki struct {
	ca      *certs.Authority
	serving *certs.Pair
	admin   *certs.Pair
	node    *certs.Pair // serving certificate of the nodes' kubelet API
	kubelet *certs.Pair // client certificate of the API server towards kubelets, for nothing else
	account crypto.Signer
	// front has signed aggregator, the client certificate towards aggregated API servers.
	front      *certs.Authority
	aggregator *certs.Pair

	// Client certificates of the components in this process, each with the rights of its role.
	manager, scheduler, proxy, fakeNodes, metrics *certs.Pair
	// program is this program itself, as an installer: it grants the parts their permissions, waits for them
	// and publishes DNS.
	program *certs.Pair
}

// run starts the parts in order, calls ready once everything answers, and blocks until ctx ends or a part
// fails.
func (c *cluster) run(ctx context.Context, ready func()) (err error) {
	if c.dataDir != "" {
		unlock, err := lockDir(c.dataDir)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if err := c.chooseRuntime(); err != nil {
		return err
	}
	st, closeStore, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer closeStore()
	if err := c.listen(); err != nil {
		return err
	}
	defer c.listener.Close() // a second close after Serve's is harmless
	if err := c.makePKI(); err != nil {
		return err
	}
	if err := c.newServer(st); err != nil {
		return err
	}
	if err := c.writeConfig(); err != nil {
		return err
	}
	if c.writeKubeconfig == "" && c.dataDir == "" {
		defer os.Remove(c.kubeconfig)
	}

	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	// The server outlives the parts that use it, so that they can end in order.
	serverCtx, stopServer := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServer()
	var server, parts sync.WaitGroup
	server.Go(func() {
		if err := c.serve(serverCtx); err != nil && serverCtx.Err() == nil {
			fail(fmt.Errorf("API server: %w", err))
		}
	})
	if err := c.waitReady(ctx); err != nil {
		fail(err)
	} else {
		c.say("API server on https://%s", c.listener.Addr())
		c.startParts(ctx, fail, &parts, ready)
	}
	<-ctx.Done()
	parts.Wait()
	stopServer()
	server.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

func (c *cluster) listen() error {
	addr := net.JoinHostPort(c.bindAddress, strconv.Itoa(c.securePort))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (another cluster? choose --secure-port): %w", addr, err)
	}
	c.listener = l
	return nil
}

// url returns the address of the server for this process and the kubeconfig.
func (c *cluster) url() string {
	host := c.bindAddress
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(c.port()))
}

func (c *cluster) port() int { return c.listener.Addr().(*net.TCPAddr).Port }

func (c *cluster) makePKI() error {
	dir := ""
	if c.dataDir != "" {
		dir = filepath.Join(c.dataDir, "pki")
	}
	ca, err := authority(dir, "ca", "keelson")
	if err != nil {
		return err
	}
	// Aggregated servers trust what this authority's client says of users, and nothing else that ca has
	// signed.
	front, err := authority(dir, "front-proxy-ca", "keelson-front-proxy")
	if err != nil {
		return err
	}
	account, err := certs.LoadOrMake(dir, "service-account", func() (*certs.Pair, error) { return ca.Client("service-account-key") })
	if err != nil {
		return err
	}
	first, err := serviceAddress(c.serviceCIDR, 1)
	if err != nil {
		return err
	}
	hosts := []string{"localhost", "127.0.0.1", "::1", c.bindAddress, first, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	if ip, err := c.advertise(); err != nil {
		return err
	} else if ip != "" {
		hosts = append(hosts, ip)
	}
	c.pki = pki{ca: ca, front: front, account: account.Key}
	// Leaf certificates are generated at every start; only the authority and the token key persist.
	var errs [11]error
	c.pki.serving, errs[0] = ca.Serving("kube-apiserver", hosts...)
	c.pki.admin, errs[1] = ca.Client("kubernetes-admin", "system:masters")
	c.pki.program, errs[2] = ca.Client("keelson-cluster", "system:masters")
	c.pki.node, errs[3] = ca.Serving("fake-kubelet", "127.0.0.1", "localhost", c.bindAddress)
	c.pki.kubelet, errs[4] = ca.Client("kube-apiserver-kubelet-client")
	c.pki.manager, errs[5] = ca.Client("system:kube-controller-manager")
	c.pki.scheduler, errs[6] = ca.Client("system:kube-scheduler")
	c.pki.proxy, errs[7] = ca.Client("system:kube-proxy")
	c.pki.fakeNodes, errs[8] = ca.Client("keelson:" + fakeNodes)
	c.pki.metrics, errs[9] = ca.Client("keelson:" + resourceMetrics)
	c.pki.aggregator, errs[10] = front.Client(frontProxyClient)
	return errors.Join(errs[:]...)
}

// authority returns that of a file in dir, or a new one.
func authority(dir, file, name string) (*certs.Authority, error) {
	pair, err := certs.LoadOrMake(dir, file, func() (*certs.Pair, error) {
		a, err := certs.NewAuthority(name)
		if err != nil {
			return nil, err
		}
		return &a.Pair, nil
	})
	if err != nil {
		return nil, err
	}
	return &certs.Authority{Pair: *pair}, nil
}

// frontProxyClient is the name by which aggregated servers know this one.
const frontProxyClient = "front-proxy-client"

// serviceAddress returns the n-th address of the service range.
func serviceAddress(cidr string, n int) (string, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", fmt.Errorf("--service-cluster-ip-range: %w", err)
	}
	a := p.Masked().Addr()
	for range n {
		a = a.Next()
	}
	return a.String(), nil
}

// advertise returns the address of the API server for pods; empty if only this machine can reach it.
func (c *cluster) advertise() (string, error) {
	ip, err := netip.ParseAddr(c.bindAddress)
	if err != nil {
		return "", fmt.Errorf("--bind-address: %w", err)
	}
	switch {
	case c.real() && (ip.IsLoopback() || ip.IsUnspecified()):
		pods, err := c.podRange()
		if err != nil {
			return "", err
		}
		return noderuntime.Gateway(pods).String(), nil
	case ip.IsLoopback():
		return "", nil
	case ip.IsUnspecified():
		return nodeAddress(netip.Addr{}).String(), nil
	}
	return ip.String(), nil
}

func (c *cluster) newServer(st store.Store) error {
	var static authn.TokenAuthenticator
	if c.tokenFile != "" {
		f, err := os.Open(c.tokenFile)
		if err != nil {
			return err
		}
		defer f.Close()
		if static, err = authn.TokenFile(f); err != nil {
			return fmt.Errorf("%s: %w", c.tokenFile, err)
		}
	}
	advertise, err := c.advertise()
	if err != nil {
		return err
	}
	pool, frontPool, aggregator := c.pki.ca.Pool(), c.pki.front.Pool(), c.pki.aggregator.TLS()
	metrics := apimetrics.New()
	o := controlplane.Options{
		Server: apiserver.Options{
			Store: st, Builtin: builtin.Options{ServiceCIDR: c.serviceCIDR},
			AdvertiseAddress: advertise, AdvertisePort: c.port(), Nodes: c.nodeConn(),
			Local: true, // the nodes are on this machine
		},
		ClientCAs: func() *x509.CertPool { return pool }, ClientCAFile: c.pki.ca.CertPEM,
		RequestHeader: &authn.RequestHeaderOptions{ClientCAs: func() *x509.CertPool { return frontPool }, AllowedNames: []string{frontProxyClient},
			UsernameHeaders: []string{"X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"}, GroupHeaders: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"X-Remote-Extra-"}},
		RequestHeaderCAFile: c.pki.front.CertPEM,
		StaticTokens:        static, BootstrapTokens: true, Anonymous: true, AuthorizationModes: c.authorization,
		Decided: metrics.Decided, TokenUsed: metrics.TokenUsed, ServiceAccountKeys: []any{c.pki.account}, EnableAdmission: c.enable, DisableAdmission: c.disable, Logger: c.log,
		Plugins: []admission.Plugin{unreconciled{}}, Aggregation: aggregation.Options{InProcess: c.metrics.versions(), Certificate: func() *tls.Certificate { return &aggregator }},
	}
	metrics.Measure(&o.Server)
	if c.server, err = controlplane.New(o); err != nil {
		return err
	}
	return metrics.Watch(c.server.Server)
}

// serve runs the server's loops and its listener until ctx ends.
func (c *cluster) serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		served <- c.server.Serve(ctx, c.listener, c.tlsConfig())
		stop()
	}()
	err := c.server.Run(ctx)
	stop()
	return errors.Join(err, <-served)
}

func (c *cluster) tlsConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.pki.serving.TLS()}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
}

func (c *cluster) restConfig(who *certs.Pair, agent string) rest.Config {
	return rest.Config{Host: c.url(), UserAgent: agent, TLS: rest.TLSConfig{CAData: c.pki.ca.CertPEM(), CertData: who.CertPEM(), KeyData: who.KeyPEM()}}
}

// waitReady polls /readyz.
func (c *cluster) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the API server did not become ready within a minute"))
	defer cancel()
	conn, err := rest.New(c.restConfig(c.pki.program, "cluster"), rest.Options{Logger: c.log})
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		if _, err = conn.Do(ctx, readyz); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// startParts runs controllers, scheduler and nodes, and calls ready when the first node is.
func (c *cluster) startParts(ctx context.Context, fail func(error), wg *sync.WaitGroup, ready func()) {
	start := func(as *certs.Pair, name string, build func(*manager.Manager) error) bool {
		conn, err := rest.New(c.restConfig(as, name), rest.Options{Logger: c.log, Warnings: rest.NoWarnings})
		if err != nil {
			fail(err)
			return false
		}
		m := manager.New(conn, manager.Options{Logger: c.log.With("component", name)})
		if err := build(m); err != nil {
			fail(fmt.Errorf("%s: %w", name, err))
			return false
		}
		wg.Go(func() {
			defer conn.Close()
			if err := m.Run(ctx); err != nil && ctx.Err() == nil {
				fail(fmt.Errorf("%s: %w", name, err))
			}
		})
		return true
	}
	ok := start(c.pki.manager, "controller-manager", func(m *manager.Manager) error {
		own := accounts.New(c.restConfig(c.pki.manager, "controller-manager"), m.Conn(), c.log)
		m.AddWithoutLeaderElection("connections of service accounts", own)
		return builtincontrollers.Add(m, builtincontrollers.Options{RootCA: c.pki.ca.CertPEM(), Connect: own.Conn, TokenKey: c.pki.account,
			// "*" leaves these two out, as in kube-controller-manager.
			Controllers: []string{"*", "bootstrap-signer-controller", "token-cleaner-controller"},
			Signing:     certificates.SigningOptions{Cert: c.pki.ca.Cert, Key: c.pki.ca.Key}})
	}) && start(c.pki.scheduler, "scheduler", c.addScheduler) && c.startMetrics(ctx, start, fail) && c.startNodes(ctx, start, fail, wg)
	if !ok {
		return
	}
	c.say("controllers and scheduler run; waiting for nodes")
	wg.Go(func() {
		if err := c.waitNodes(ctx); err != nil {
			if ctx.Err() == nil {
				fail(err)
			}
			return
		}
		ready()
	})
}
