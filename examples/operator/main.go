// Command operator is an operator as it is shipped: it runs the controller and the webhooks of a custom
// resource, Website, in every Kubernetes cluster. README.md says how to install and change it.
//
// Of several replicas one leads, by a Lease; all of them serve the webhooks. On SIGTERM it finishes
// reconciles in progress and releases the lease at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/webhook"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
	"github.com/keelson-dev/keelson/examples/operator/api/v1alpha1"
	"github.com/keelson-dev/keelson/examples/operator/webhooks"
	"github.com/keelson-dev/keelson/examples/operator/website"
	"github.com/keelson-dev/keelson/informers"
)

// version is set by the linker.
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.command == "manifests" {
		objs, err := o.installation().all()
		if err != nil {
			return err
		}
		return manifest.Write(stdout, objs...)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn - slog.Level(min(o.verbosity, 4)/2*4)}))
	measured := metrics.New()
	conn, err := o.connect(log, measured)
	if err != nil {
		return err
	}
	defer conn.Close()
	if o.command == "certificate" {
		return keepCertificate(ctx, o.certificates(conn, log), o.once)
	}
	m, err := o.manager(conn, log, measured)
	if err != nil {
		return err
	}
	log.Info("website operator starts", "version", version, "namespace", o.namespace, "watched", o.watched)
	return m.Run(ctx)
}

// kinds is the scheme of the connection: the built-in kinds and ours.
func kinds() (*scheme.Scheme, error) {
	s := api.Scheme().Clone()
	return s, errors.Join(v1.Register(s), v1alpha1.Register(s))
}

func (o *flags) connect(log *slog.Logger, measured *metrics.Metrics) (*rest.Conn, error) {
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: o.kubeconfig, Context: o.context})
	if err != nil {
		return nil, err
	}
	if cfg.Scheme, err = kinds(); err != nil {
		return nil, err
	}
	cfg.UserAgent = "website-operator/" + version
	// The warnings of the operator's own webhooks are for those who write websites.
	return rest.New(cfg, rest.Options{Logger: log, Metrics: measured.Client(), Warnings: rest.NoWarnings})
}

// manager returns the parts of the operator.
func (o *flags) manager(conn client.Conn, log *slog.Logger, measured *metrics.Metrics) (*manager.Manager, error) {
	mo := manager.Options{Logger: log, Monitor: measured, Informers: informers.SetOptions{
		Metrics: measured.Informers(), Cache: informers.Cache{Namespaces: o.watched}}}
	if o.leaderElect {
		mo.Lease, mo.Election = o.lease, o.election
	}
	m := manager.New(conn, mo)
	pages := health.New(health.Options{Addr: o.pages, Logger: log})
	if o.webhooks {
		so := webhook.Options{Addr: o.webhookAddr, CertDir: o.certDir, Logger: log, Metrics: measured.Webhooks()}
		if o.certDir == "" {
			certificates := o.certificates(conn, log)
			so.Certificate = certificates.Get
			m.AddWithoutLeaderElection("certificates", certificates)
			pages.Ready("certificates", func(context.Context) error { return certificates.Healthy() })
		}
		server := webhook.New(so)
		pages.Ready("webhooks", server.Healthy)
		webhooks.Handle(server, o.domain)
		if o.metrics {
			server.Handle("/metrics", protected(conn, log, measured))
		}
		m.AddWithoutLeaderElection("webhooks", server)
	} else if o.metrics {
		pages.Handle("/metrics", protected(conn, log, measured))
	}
	if o.pages != "" {
		m.AddHealth(pages)
	}
	return m, website.Add(m, website.Options{Domain: o.domain, Metrics: measured.Registry()})
}

// protected returns a page for those who may get its path, as the API server says.
func protected(conn client.Conn, log *slog.Logger, page http.Handler) http.Handler {
	return delegated.Gate{
		Authenticate: delegated.NewAuthenticator(conn, delegated.AuthenticatorOptions{}).Authenticate,
		Authorize:    delegated.NewAuthorizer(conn, delegated.AuthorizerOptions{}).Authorize,
		Attributes:   delegated.ByPath, Logger: log,
	}.Wrap(page)
}

// The rights of certificates, in the operator's namespace and for the configurations:
// +kubebuilder:rbac:groups=core,resources=secrets,verbs=create,namespace=website-system,roleName=website-operator-certificates
// +kubebuilder:rbac:groups=core,resources=secrets,resourceNames=website-operator-certificate,verbs=get;update,namespace=website-system,roleName=website-operator-certificates
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=website-operator,verbs=get;update,roleName=website-operator-certificates
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=websites.demo.keelson.dev,verbs=get;update,roleName=website-operator-certificates

// certificates are those of the webhooks, which all replicas share.
func (o *flags) certificates(conn client.Conn, log *slog.Logger) *webhook.Certificates {
	return webhook.NewCertificates(conn, webhook.CertificateOptions{
		Secret:   types.NamespacedName{Namespace: o.namespace, Name: certificateName},
		Service:  types.NamespacedName{Namespace: o.namespace, Name: operatorName},
		Mutating: []string{operatorName}, Validating: []string{operatorName}, Definitions: []string{definitionName},
		Validity: o.validity, Logger: log,
	})
}

// keepCertificate runs certificates until ctx ends, or until they are in place.
func keepCertificate(ctx context.Context, c *webhook.Certificates, once bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-poll.C:
			if once && c.Healthy() == nil {
				stop()
				return <-done
			}
		}
	}
}

// The rights of leader election, in the operator's namespace:
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create,namespace=website-system,roleName=website-operator-leader
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=website-operator,verbs=get;update,namespace=website-system,roleName=website-operator-leader
// +kubebuilder:rbac:groups=core,resources=events,verbs=create,namespace=website-system,roleName=website-operator-leader
