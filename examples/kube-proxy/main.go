// Command kube-proxy writes the kernel rules that carry traffic for Services to their endpoints, on one node.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

func main() {
	// Changes are small and come one after the other. Several threads would spend a tenth of the CPU of a
	// change on waking each other.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	component.Exit("kube-proxy", run(os.Args[1:]))
}

func run(args []string) error {
	o, c, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := component.Context()
	defer stop()
	log := component.Logger(c.Logging.Verbosity)
	if o.writeTo != "" {
		return c.write(o.writeTo)
	}
	kernel, err := proxy.NewKernel("")
	if err != nil {
		return err
	}
	if o.cleanup {
		return proxy.Cleanup(ctx, kernel)
	}
	opts, err := c.options(log)
	if err != nil {
		return err
	}
	opts.Kernel = kernel
	if o.initOnly {
		return proxy.Prepare(ctx, opts)
	}
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: c.ClientConnection.Kubeconfig, Paths: []string{}})
	if err != nil {
		return err
	}
	if o.master != "" {
		cfg.Host = o.master
	}
	cfg.UserAgent = "kube-proxy"
	if err := c.adjustOOMScore(); err != nil { // a program without privileges may not
		log.Warn("adjust OOM score failed", "err", err)
	}
	conn, err := rest.New(cfg, c.connection(log))
	if err != nil {
		return err
	}
	defer conn.Close()
	m := manager.New(conn, manager.Options{Logger: log})
	if err := c.add(m, opts, o.set, log); err != nil {
		return err
	}
	log.Info("proxy runs", "node", opts.NodeName, "mode", opts.Mode)
	return m.Run(ctx)
}

// add adds the proxy and its servers, which show the flags, to a manager.
func (c *configuration) add(m *manager.Manager, opts proxy.Options, set *pflag.FlagSet, log *slog.Logger) error {
	metrics := newMetrics(opts.Mode)
	opts.Metrics = metrics.functions()
	p, err := proxy.New(m, opts)
	if err != nil {
		return err
	}
	m.AddWithoutLeaderElection("proxy", p)

	healthz := http.NewServeMux()
	healthz.Handle("/healthz", promhttp.InstrumentHandlerCounter(metrics.healthzTotal, p.Healthz()))
	healthz.Handle("/livez", promhttp.InstrumentHandlerCounter(metrics.livezTotal, p.Livez()))
	status := http.NewServeMux()
	status.Handle("/healthz", p.Livez())
	status.Handle("/metrics", metrics.handler())
	status.HandleFunc("/proxyMode", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, p.Mode()) })
	c.pages(set).Register(status.Handle)
	for name, s := range map[string]server{"health": {c.HealthzBindAddress, healthz}, "metrics": {c.MetricsBindAddress, status}} {
		if s.address == "" {
			continue
		}
		m.AddWithoutLeaderElection(name+" server", manager.Func(func(ctx context.Context) error {
			return s.run(ctx, name, c.BindAddressHardFail, log)
		}))
	}
	return nil
}

// pages show the flags, the configuration in force and how the program runs.
func (c *configuration) pages(set *pflag.FlagSet) *component.Pages {
	return &component.Pages{Name: "kube-proxy", Flags: set, Profiles: c.EnableProfiling, Paths: []string{"/healthz", "/metrics", "/proxyMode"},
		Config: func() map[string]any { return map[string]any{"kubeproxy.config.k8s.io": c} }}
}

// server is an HTTP server of the proxy.
type server struct {
	address string
	handler http.Handler
}

// rebind is the time between attempts to bind an address, as upstream.
const rebind = 5 * time.Second

// run serves until the context ends. An address that cannot be bound is tried again, so that the rules are
// written meanwhile, or ends the proxy if hardFail is set.
func (s server) run(ctx context.Context, name string, hardFail bool, log *slog.Logger) error {
	for {
		err := s.serve(ctx, log)
		if ctx.Err() != nil {
			return nil
		}
		if hardFail {
			return fmt.Errorf("%s server: %w", name, err)
		}
		log.Error("serve failed", "server", name, "err", err, "retryIn", rebind)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rebind):
		}
	}
}

func (s server) serve(ctx context.Context, log *slog.Logger) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	h := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	return h.Serve(l)
}
