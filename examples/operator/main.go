// Command operator runs the controller of a custom resource, Website, against any Kubernetes cluster:
//
//	kubectl apply -f examples/operator/config/crd
//	go run ./examples/operator --kubeconfig ~/.kube/config
//	kubectl apply -f examples/operator/config/samples
//
// Of several replicas one leads, by a Lease; on SIGTERM it finishes reconciles in progress and releases the
// lease at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/examples/operator/website"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

// flags of the command.
type flags struct {
	kubeconfig, context string
	leaderElect         bool
	pages               string
	lease               types.NamespacedName
	election            leaderelection.Options
	verbosity           int
}

func parse(args []string) (*flags, error) {
	o := &flags{}
	f := pflag.NewFlagSet("operator", pflag.ContinueOnError)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; empty means $KUBECONFIG, ~/.kube/config, or the pod's service account")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig; empty means the current one")
	f.BoolVar(&o.leaderElect, "leader-elect", true, "take a lease before working, so that several replicas may run")
	f.DurationVar(&o.election.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long others wait after the leader's last renewal")
	f.DurationVar(&o.election.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader continues without a renewal")
	f.DurationVar(&o.election.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "time between attempts to take or renew the lease")
	f.StringVar(&o.lease.Namespace, "leader-elect-resource-namespace", "default", "namespace of the lease")
	f.StringVar(&o.lease.Name, "leader-elect-resource-name", "website-operator", "name of the lease")
	f.StringVar(&o.pages, "health-address", "127.0.0.1:8081", "host and port of /livez, /readyz and /metrics over plain HTTP; empty turns them off")
	f.IntVarP(&o.verbosity, "v", "v", 2, "log verbosity: 0 warnings, 2 information, 4 debugging")
	f.Usage = func() {
		fmt.Printf("Runs the controller of websites.demo.keelson.dev.\n\nUsage: operator [flags]\n\n%s", f.FlagUsages())
	}
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w; see --help", err)
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn - slog.Level(min(o.verbosity, 4)/2*4)}))
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: o.kubeconfig, Context: o.context})
	if err != nil {
		return err
	}
	// The scheme of the connection: the built-in kinds and ours.
	cfg.Scheme = api.Scheme().Clone()
	if err := website.Register(cfg.Scheme); err != nil {
		return err
	}
	cfg.UserAgent = "website-operator"
	measured := metrics.New()
	conn, err := rest.New(cfg, rest.Options{Logger: log, Metrics: measured.Client()})
	if err != nil {
		return err
	}
	defer conn.Close()
	mo := manager.Options{Logger: log, Monitor: measured, Informers: informers.SetOptions{Metrics: measured.Informers()}}
	pages := health.New(health.Options{Addr: o.pages, Logger: log})
	pages.Handle("GET /metrics", measured)
	if o.leaderElect {
		mo.Lease, mo.Election = o.lease, o.election
	}
	m := manager.New(conn, mo)
	if elector := m.LeaderElector(); elector != nil {
		pages.Live("leader-election", func(context.Context) error { return elector.Healthy(20 * time.Second) })
	}
	pages.Ready("informers", func(context.Context) error { return m.Informers().Ready() })
	if o.pages != "" {
		m.AddWithoutLeaderElection("health", pages)
	}
	if err := website.Add(m); err != nil {
		return err
	}
	log.Info("website operator starts", "server", cfg.Host, "leaderElection", o.leaderElect)
	return m.Run(ctx)
}
