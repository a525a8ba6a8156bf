// Command keelson is an operator of middle size: a Backup has a Job for each generation, ConfigMaps of which
// one is deleted by a finalizer, conditions, events and webhooks, and a Role is enough for it. The program
// upstream does the same with controller-runtime; the tests of the folder above compare both.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/informers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	namespace := flag.String("namespace", "default", "namespace of the Backups and of the lease")
	hooks := flag.String("webhooks", "", "host and port of the webhooks")
	certificates := flag.String("certificates", "", "folder with tls.crt and tls.key")
	flag.Parse()
	cfg, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		return err
	}
	cfg.Scheme = api.Scheme().Clone()
	if err := register(cfg.Scheme); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	measured := metrics.New()
	conn, err := rest.New(cfg, rest.Options{Logger: log, Warnings: rest.NoWarnings, Metrics: measured.Client()})
	if err != nil {
		return err
	}
	defer conn.Close()
	m := manager.New(conn, manager.Options{
		Logger: log, Monitor: measured, Lease: types.NamespacedName{Namespace: *namespace, Name: "backup-operator"},
		Informers: informers.SetOptions{Metrics: measured.Informers(), Cache: informers.Cache{Namespaces: []string{*namespace}}},
	})
	server := webhook.New(webhook.Options{Addr: *hooks, CertDir: *certificates, Logger: log})
	addWebhooks(server)
	pages := health.New(health.Options{Addr: "127.0.0.1:0", Logger: log})
	pages.Handle("GET /metrics", measured)
	m.AddWithoutLeaderElection("webhooks", server)
	m.AddWithoutLeaderElection("health", pages)
	if err := addController(m); err != nil {
		return err
	}
	return m.Run(ctx)
}
