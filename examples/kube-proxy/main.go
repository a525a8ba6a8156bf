// Command kube-proxy writes the kernel rules that carry traffic for Services to their endpoints, on one node.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

func main() { component.Exit("kube-proxy", run(os.Args[1:])) }

// flags are those that are not part of the configuration.
type flags struct {
	config, master string
	cleanup        bool
	verbosity      int
}

// parse reads flags and the configuration file; flags win over the file.
func parse(args []string) (*flags, *configuration, error) {
	o, c := &flags{}, defaults()
	given := pflag.NewFlagSet("kube-proxy", pflag.ContinueOnError)
	given.StringVar(&o.config, "config", "", "KubeProxyConfiguration file (kubeproxy.config.k8s.io/v1alpha1); flags override it")
	given.StringVar(&o.master, "master", "", "address of the API server, instead of the kubeconfig's")
	given.BoolVar(&o.cleanup, "cleanup", false, "remove all rules of the proxy, of every mode, and exit")
	given.IntVarP(&o.verbosity, "v", "v", 0, "log verbosity: 0 warnings, 2 information, 4 debugging")
	c.flags(given)
	if err := component.Parse(given, "Writes the kernel rules that carry traffic for Services to their endpoints.\nRules stay when it ends; --cleanup removes them.", args); err != nil {
		return nil, nil, err
	}
	if o.config != "" {
		file := defaults()
		if err := file.load(o.config); err != nil {
			return nil, nil, err
		}
		// The flags are parsed once more, over the file.
		over := pflag.NewFlagSet("kube-proxy", pflag.ContinueOnError)
		file.flags(over)
		var err error
		given.Visit(func(f *pflag.Flag) {
			if over.Lookup(f.Name) == nil || err != nil {
				return
			}
			values := []string{f.Value.String()}
			if list, ok := f.Value.(pflag.SliceValue); ok {
				values = []string{strings.Join(list.GetSlice(), ",")}
			}
			for _, v := range values {
				err = over.Set(f.Name, v)
			}
		})
		if err != nil {
			return nil, nil, err
		}
		c = file
		if !given.Changed("v") {
			o.verbosity = c.Logging.Verbosity
		}
	}
	return o, c, c.validate()
}

func run(args []string) error {
	o, c, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := component.Context()
	defer stop()
	log := component.Logger(o.verbosity)
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
	metrics := newMetrics(opts.Mode)
	opts.Metrics = metrics.functions()

	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: c.ClientConnection.Kubeconfig, Paths: []string{}})
	if err != nil {
		return err
	}
	if o.master != "" {
		cfg.Host = o.master
	}
	cfg.UserAgent = "kube-proxy"
	if err := c.adjustOOMScore(); err != nil {
		return err
	}
	conn, err := rest.New(cfg, c.connection(log))
	if err != nil {
		return err
	}
	defer conn.Close()
	m := manager.New(conn, manager.Options{Logger: log})
	p, err := proxy.New(m, opts)
	if err != nil {
		return err
	}
	m.AddWithoutLeaderElection("proxy", p)

	healthz := http.NewServeMux()
	healthz.Handle("/healthz", p.Healthz())
	healthz.Handle("/livez", p.Livez())
	status := http.NewServeMux()
	status.Handle("/healthz", p.Livez())
	status.Handle("/metrics", metrics.handler())
	status.HandleFunc("/proxyMode", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, p.Mode()) })
	status.HandleFunc("/configz", c.serve)
	for name, s := range map[string]struct {
		address string
		handler http.Handler
	}{"health": {c.HealthzBindAddress, healthz}, "metrics": {c.MetricsBindAddress, status}} {
		if s.address == "" {
			continue
		}
		l, err := net.Listen("tcp", s.address)
		if err != nil {
			return fmt.Errorf("%s server: %w", name, err)
		}
		m.AddWithoutLeaderElection(name+" server", serve(l, s.handler, log))
	}
	log.Info("proxy runs", "node", opts.NodeName, "mode", opts.Mode)
	return m.Run(ctx)
}

// serve serves until the context ends.
func serve(l net.Listener, h http.Handler, log *slog.Logger) manager.Func {
	return func(ctx context.Context) error {
		s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
		stop := context.AfterFunc(ctx, func() { _ = s.Close() })
		defer stop()
		if err := s.Serve(l); ctx.Err() == nil {
			return err
		}
		return nil
	}
}
