// Command upstream is the operator of the program keelson, with controller-runtime.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	namespace := flag.String("namespace", "default", "namespace of the Backups and of the lease")
	hooks := flag.String("webhooks", "", "host and port of the webhooks")
	certificates := flag.String("certificates", "", "folder with tls.crt and tls.key")
	flag.Parse()
	host, portText, err := net.SplitHostPort(*hooks)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return err
	}
	ctrl.SetLogger(funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{Verbosity: -1}))
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	cfg.WarningHandler, cfg.QPS = rest.NoWarnings{}, -1
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		return err
	}
	if err := register(s); err != nil {
		return err
	}
	m, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: s, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{*namespace: {}}},
		LeaderElection: true, LeaderElectionID: "backup-operator", LeaderElectionNamespace: *namespace, LeaderElectionReleaseOnCancel: true,
		Metrics: metricsserver.Options{BindAddress: "127.0.0.1:0"}, HealthProbeBindAddress: "127.0.0.1:0",
		WebhookServer: webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: *certificates}),
	})
	if err != nil {
		return err
	}
	addWebhooks(m)
	if err := addController(ctx, m); err != nil {
		return err
	}
	return m.Start(ctx)
}
