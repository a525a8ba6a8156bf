// Package component holds what the programs share: the lifecycle from start to SIGTERM, logging, serving over
// TLS, files that are read again when they change, who may read a program's own pages and what these are, and
// flags that are refused. Options has all of it, with a connection and leader election, for programs that run
// controllers; other programs take the parts: [Logging], [TLS], [Access], [Pages], [Reloaded] and [Refuse].
package component

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/examples/internal/flagname"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/candidate"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
)

// Options are the common flags.
type Options struct {
	Name       string // of the component, and of its lease
	Kubeconfig string
	Master     string
	// QPS caps the requests per second, with bursts of Burst; 0 sets no cap, and the connection adapts to the
	// server.
	QPS   float64
	Burst int

	LeaderElect                               bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	LeaseNamespace, LeaseName                 string
	// Coordinated has the API server choose the holder of the lease among those that have a LeaseCandidate,
	// which it must serve (see package candidate).
	Coordinated bool

	BindAddress string
	SecurePort  int
	Logging
	TLS    TLS
	Access Access
	// Configz returns the effective configuration by its name, for the page /configz; nil leaves it out.
	Configz func() map[string]any
	// NoProfiling leaves out /debug/pprof/.
	NoProfiling bool
	// Grace is how long work in progress may take at the end; 0 means manager.DefaultGrace.
	Grace time.Duration
	// Ready are further checks of /readyz, by name, and Live those of /healthz, /livez and /readyz. The
	// function that Run calls may set them.
	Ready, Live map[string]health.Check
	// Collectors are served at /metrics beside those that all components have.
	Collectors []prometheus.Collector

	flags    *pflag.FlagSet
	process  process
	electors []*leaderelection.Elector
}

// Flags registers the common flags with their upstream names and defaults.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file of the API server (empty: in-cluster configuration)")
	f.StringVar(&o.Master, "master", "", "address of the API server, instead of the kubeconfig's")
	f.Float64Var(&o.QPS, "kube-api-qps", 0, "most requests per second to the API server; 0: no fixed number, as many as it answers in good time")
	f.IntVar(&o.Burst, "kube-api-burst", 0, "how many requests may go beyond --kube-api-qps at once; 0: as many as that")
	f.BoolVar(&o.LeaderElect, "leader-elect", true, "take a lease before working, so that several replicas may run")
	f.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long others wait after the leader's last renewal")
	f.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader continues without a renewal")
	f.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "time between attempts to take or renew the lease")
	f.StringVar(&o.LeaseNamespace, "leader-elect-resource-namespace", "kube-system", "namespace of the lease")
	f.StringVar(&o.LeaseName, "leader-elect-resource-name", o.Name, "name of the lease")
	f.StringVar(&o.BindAddress, "bind-address", "127.0.0.1", "address of the program's own pages; on a loopback address, without --authentication-kubeconfig, --authorization-kubeconfig and --client-ca-file, everyone may read all")
	f.IntVar(&o.SecurePort, "secure-port", o.SecurePort, "port of the program's own pages (https); 0 turns it off")
	o.TLS.CertName = o.Name
	o.TLS.Flags(f)
	o.Access.Flags(f)
	o.Logging.Flags(f)
	o.processFlags(f)
	o.flags = f
}

// Parse parses the arguments; an unknown flag or a stray argument is an error that names the closest known
// flag and points to --help, which prints all flags. It adds the flag --version, which prints the version.
// After both of them the error is [pflag.ErrHelp], and the program has nothing to do.
func Parse(f *pflag.FlagSet, what string, args []string) error {
	if f.Lookup("version") == nil { // f is parsed for the first time
		f.Bool("version", false, "print the version, and exit")
	}
	f.SortFlags = true
	f.Usage = func() {
		fmt.Fprintf(os.Stdout, "%s\n\nUsage: %s [flags]\n\n%s", what, f.Name(), f.FlagUsages())
	}
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w; see --help", flagname.Closest(f, err))
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	}
	if version, _ := f.GetBool("version"); version {
		fmt.Fprintf(os.Stdout, "Kubernetes v%s.0\n", release)
		return pflag.ErrHelp
	}
	return nil
}

// Exit ends a program with the exit code for err: --help is no failure.
func Exit(name string, err error) {
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(1)
}

// Context ends with SIGINT or SIGTERM.
func Context() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// Config returns the configuration for connections to the API server.
func (o *Options) Config() (rest.Config, error) {
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: o.Kubeconfig, Paths: []string{}})
	if err != nil {
		return cfg, err
	}
	if o.Master != "" {
		cfg.Host = o.Master
	}
	cfg.UserAgent = o.Name
	return cfg, nil
}

// Run connects, builds a manager and runs it until ctx ends or leadership is lost.
func (o *Options) Run(ctx context.Context, log *slog.Logger, build func(conn client.Conn, m *manager.Manager) error) error {
	if err := errors.Join(o.TLS.Validate(), o.Logging.Validate()); err != nil {
		return err
	}
	cfg, err := o.Config()
	if err != nil {
		return err
	}
	if o.QPS < 0 || o.Burst < 0 {
		return fmt.Errorf("%g requests per second with bursts of %d: want no negative numbers", o.QPS, o.Burst)
	}
	if o.Burst == 0 {
		o.Burst = int(math.Ceil(o.QPS))
	}
	measured := metrics.New()
	measured.Registry().MustRegister(o.Collectors...)
	conn, err := rest.New(cfg, rest.Options{Logger: log, Warnings: rest.NoWarnings, Metrics: measured.Client(), QPS: o.QPS, Burst: o.Burst})
	if err != nil {
		return err
	}
	defer conn.Close()
	o.profile()
	mo := manager.Options{Logger: log, Monitor: measured, Grace: o.Grace, Informers: informers.SetOptions{Metrics: measured.Informers()}}
	recorder := events.New(conn, events.Options{Component: o.Name, Logger: log})
	var stand *candidate.Candidate
	if o.LeaderElect {
		e, err := o.elector(conn, o.LeaseName, o.Coordinated, recorder, measured, log)
		if err != nil {
			return err
		}
		mo.Elector = e
		if o.Coordinated {
			key := types.NamespacedName{Namespace: o.LeaseNamespace, Name: e.Identity()}
			if stand, err = candidate.New(conn, key, o.LeaseName, candidate.Options{BinaryVersion: release + ".0", Logger: log}); err != nil {
				return err
			}
		}
	}
	m := manager.New(conn, mo)
	if stand != nil {
		m.AddWithoutLeaderElection("lease candidate", stand)
	}
	m.AddWithoutLeaderElection("events of leader election", recorder)
	if err := build(conn, m); err != nil {
		return err
	}
	if o.SecurePort != 0 {
		pages, err := o.pages(ctx, log, m, measured)
		if err != nil {
			return err
		}
		m.AddWithoutLeaderElection("health server", pages)
	}
	return m.Run(ctx)
}

// elector returns the elector of a lease.
func (o *Options) elector(conn client.Conn, lease string, coordinated bool, recorder *events.Recorder, measured *metrics.Metrics, log *slog.Logger) (*leaderelection.Elector, error) {
	lock := leaselock.New(conn, types.NamespacedName{Namespace: o.LeaseNamespace, Name: lease}, leaselock.Options{
		Event: func(lease *coordinationv1.Lease, reason, message string) {
			recorder.Event(lease, events.Normal, reason, message)
		},
	})
	e, err := leaderelection.New(lock, leaderelection.Options{
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod, Logger: log, Coordinated: coordinated,
		OnNewLeader: func(identity string) { log.Info("new leader", "lease", lease, "identity", identity) },
		Metrics:     measured.Leader(lease),
	})
	if err == nil {
		o.electors = append(o.electors, e)
	}
	return e, err
}

// Under returns a view of m, the manager that Run made, whose runnables need a second lease, which is taken
// only while m leads. The function that Run calls may call it.
func (o *Options) Under(m *manager.Manager, lease string) (*manager.Manager, error) {
	e, err := o.elector(m.Conn(), lease, false, m.Recorder(o.Name), m.Monitor().(*metrics.Metrics), m.Logger())
	if err != nil {
		return nil, err
	}
	return m.Under("lease "+lease, e), nil
}

// leading checks that what a lost lease has stopped does not go on.
func (o *Options) leading(context.Context) error {
	var errs []error
	for _, e := range o.electors {
		errs = append(errs, e.Healthy(20*time.Second))
	}
	return errors.Join(errs...)
}

// pages returns the server of the program's own port.
func (o *Options) pages(ctx context.Context, log *slog.Logger, m *manager.Manager, measured *metrics.Metrics) (*health.Server, error) {
	cfg, err := o.TLS.Config(log, Generated(o.Name, "localhost", "localhost", "127.0.0.1", o.BindAddress))
	if err != nil {
		return nil, err
	}
	cfg.NextProtos = []string{"h2", "http/1.1"}
	if o.process.noHTTP2 {
		cfg.NextProtos = []string{"http/1.1"}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(o.BindAddress, strconv.Itoa(o.SecurePort)))
	if err != nil {
		return nil, err
	}
	ho := health.Options{Listener: tls.NewListener(l, cfg), Logger: log}
	if !o.open() {
		gate, err := o.Access.Open(ctx, o.Name, log)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		m.AddWithoutLeaderElection("authorities of callers", gate)
		ho.Wrap = gate.Wrap
	}
	h := health.New(ho)
	if o.LeaderElect {
		h.Live("leaderElection", o.leading)
	}
	h.Ready("informer-sync", func(context.Context) error { return m.Informers().Ready() })
	for _, name := range slices.Sorted(maps.Keys(o.Ready)) {
		h.Ready(name, o.Ready[name])
	}
	for _, name := range slices.Sorted(maps.Keys(o.Live)) {
		h.Live(name, o.Live[name])
	}
	h.Handle("GET /metrics", measured)
	h.Handle("GET /debug/queues", measured.Queues())
	pages := Pages{Name: o.Name, Flags: o.flags, Config: o.Configz, Profiles: !o.NoProfiling,
		Paths: []string{"/debug/queues", "/healthz", "/livez", "/metrics", "/readyz"}}
	pages.Register(h.Handle)
	return h, nil
}

// release is the version of Kubernetes that the programs are for.
const release = "1.36"

// open reports whether every caller may read all pages: those of this machine may if no API server decides.
func (o *Options) open() bool {
	ip := net.ParseIP(o.BindAddress)
	return o.Access.AuthenticationKubeconfig == "" && o.Access.AuthorizationKubeconfig == "" && o.Access.ClientCAFile == "" && ip != nil && ip.IsLoopback()
}
