package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/examples/operator/website"
	"github.com/keelson-dev/keelson/leaderelection"
)

// usage is the beginning of --help.
const usage = `Runs the controller and the webhooks of websites.demo.keelson.dev.

Usage:
  operator [flags]              runs
  operator manifests [flags]    prints what an installation needs, for kubectl apply -f -
  operator certificate [flags]  keeps the webhooks' certificate with the rights of whoever runs it, for an operator
                                that has a Role only and so may not change the webhook configurations itself

`

// flags of the command.
type flags struct {
	command string // "", manifests or certificate

	kubeconfig, context string
	namespace           string
	watched             []string
	domain              string
	pages               string
	metrics             bool
	verbosity           int

	leaderElect bool
	lease       types.NamespacedName
	election    leaderelection.Options

	webhooks    bool
	webhookAddr string
	certDir     string
	validity    time.Duration
	once        bool

	image string
}

// commands have the flags that they do not share with the others.
var commands = map[string][]string{
	"": {"leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period", "leader-elect-resource-name",
		"webhooks", "webhook-address", "webhook-cert-dir", "health-address", "metrics", "domain", "watch-namespaces", "kubeconfig", "context", "certificate-validity"},
	"manifests":   {"image", "domain", "watch-namespaces"},
	"certificate": {"once", "kubeconfig", "context", "certificate-validity"},
}

func parse(args []string) (*flags, error) {
	o := &flags{}
	if len(args) > 0 && args[0] != "" && commands[args[0]] != nil {
		o.command, args = args[0], args[1:]
	}
	all := o.all()
	f := pflag.NewFlagSet("operator "+o.command, pflag.ContinueOnError)
	for _, name := range append(commands[o.command], "namespace", "v") {
		f.AddFlag(all.Lookup(name))
	}
	f.Usage = func() { fmt.Printf("%sFlags:\n%s", usage, f.FlagUsages()) }
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w; see --help", err)
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	}
	if !o.webhooks && (f.Changed("webhook-cert-dir") || f.Changed("webhook-address")) {
		return nil, errors.New("--webhook-cert-dir and --webhook-address have no effect with --webhooks=false")
	}
	if f.Changed("metrics") && o.metrics && !o.webhooks && o.pages == "" {
		return nil, errors.New("--metrics has no effect with --webhooks=false and an empty --health-address")
	}
	o.lease.Namespace = o.namespace
	return o, nil
}

// all are the flags of all commands.
func (o *flags) all() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; empty means $KUBECONFIG, ~/.kube/config, or the pod's service account")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig; empty means the current one")
	f.StringVar(&o.namespace, "namespace", env("POD_NAMESPACE", defaultNamespace), "the operator's own namespace, with its lease, service and certificate; by default that of $POD_NAMESPACE")
	f.StringSliceVar(&o.watched, "watch-namespaces", nil, "namespaces whose websites are served, for which Roles are enough; empty means all, which needs a ClusterRole")
	f.StringVar(&o.domain, "domain", website.DefaultDomain, "domain of the hosts of websites that name none")
	f.StringVar(&o.pages, "health-address", "127.0.0.1:8081", "host and port of /livez and /readyz over plain HTTP; empty turns them off")
	f.BoolVar(&o.metrics, "metrics", true, "serve /metrics to those whose token and rights the API server confirms, for which the operator needs the ClusterRole system:auth-delegator: over HTTPS at --webhook-address; with --webhooks=false over plain HTTP at --health-address")
	f.IntVarP(&o.verbosity, "v", "v", 2, "log verbosity: 0 warnings, 2 information, 4 debugging")
	f.BoolVar(&o.leaderElect, "leader-elect", true, "take a lease before working, so that several replicas may run")
	f.DurationVar(&o.election.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long others wait after the leader's last renewal")
	f.DurationVar(&o.election.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader continues without a renewal")
	f.DurationVar(&o.election.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "time between attempts to take or renew the lease")
	f.StringVar(&o.lease.Name, "leader-elect-resource-name", operatorName, "name of the lease")
	f.BoolVar(&o.webhooks, "webhooks", true, "serve the webhooks; without them only version v1 works, and only where no configuration names them")
	f.StringVar(&o.webhookAddr, "webhook-address", ":9443", "host and port of the webhooks")
	f.StringVar(&o.certDir, "webhook-cert-dir", "", "folder with tls.crt and tls.key of the webhooks; empty means that the operator makes and replaces them itself")
	f.DurationVar(&o.validity, "certificate-validity", 90*24*time.Hour, "how long a certificate that the operator makes is valid; it is replaced after two thirds of that")
	f.BoolVar(&o.once, "once", false, "end when the certificate is in place, instead of replacing it in time")
	f.StringVar(&o.image, "image", defaultImage, "image of the operator")
	return f
}

// env returns a variable of the environment, or a default for one that is not set.
func env(name, other string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return other
}
