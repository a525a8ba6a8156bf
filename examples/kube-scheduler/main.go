// Command kube-scheduler assigns pods to nodes.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

const protobuf = "application/vnd.kubernetes.protobuf"

func main() { component.Exit("kube-scheduler", run(os.Args[1:])) }

// configuration is KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1). An unknown field is an error,
// and so is a value that this scheduler does not support; see refuse.
type configuration struct {
	metav1.TypeMeta  `json:",inline"`
	ClientConnection struct {
		Kubeconfig         string   `json:"kubeconfig,omitempty"`
		AcceptContentTypes string   `json:"acceptContentTypes,omitempty"`
		ContentType        string   `json:"contentType,omitempty"`
		QPS                *float64 `json:"qps,omitempty"`
		Burst              *int     `json:"burst,omitempty"`
	} `json:"clientConnection,omitempty"`
	LeaderElection struct {
		LeaderElect       *bool            `json:"leaderElect,omitempty"`
		ResourceLock      string           `json:"resourceLock,omitempty"`
		LeaseDuration     *metav1.Duration `json:"leaseDuration,omitempty"`
		RenewDeadline     *metav1.Duration `json:"renewDeadline,omitempty"`
		RetryPeriod       *metav1.Duration `json:"retryPeriod,omitempty"`
		ResourceNamespace string           `json:"resourceNamespace,omitempty"`
		ResourceName      string           `json:"resourceName,omitempty"`
	} `json:"leaderElection,omitempty"`

	Parallelism               *int       `json:"parallelism,omitempty"`
	PercentageOfNodesToScore  *int       `json:"percentageOfNodesToScore,omitempty"`
	PodInitialBackoffSeconds  *int64     `json:"podInitialBackoffSeconds,omitempty"`
	PodMaxBackoffSeconds      *int64     `json:"podMaxBackoffSeconds,omitempty"`
	Profiles                  []profile  `json:"profiles,omitempty"`
	Extenders                 []extender `json:"extenders,omitempty"`
	DelayCacheUntilActive     bool       `json:"delayCacheUntilActive,omitempty"`
	EnableProfiling           *bool      `json:"enableProfiling,omitempty"`
	EnableContentionProfiling bool       `json:"enableContentionProfiling,omitempty"`
}

// refuse says what of a valid configuration this scheduler does not do.
func (c *configuration) refuse() error {
	switch {
	case c.DelayCacheUntilActive:
		return errors.New("delayCacheUntilActive: a scheduler that is not the leader always keeps its cache, so that it can take over at once")
	case c.EnableContentionProfiling:
		return errors.New("enableContentionProfiling: the profile of locks is not turned on")
	case c.LeaderElection.ResourceLock != "" && c.LeaderElection.ResourceLock != "leases":
		return fmt.Errorf("leaderElection.resourceLock: %q: want leases", c.LeaderElection.ResourceLock)
	case c.Parallelism != nil && *c.Parallelism < 1:
		return fmt.Errorf("parallelism: %d: want a positive number", *c.Parallelism)
	}
	return nil
}

// newFlags registers the flags.
func newFlags(o *component.Options, config *string) *pflag.FlagSet {
	f := pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)
	o.Flags(f)
	f.StringVar(config, "config", "", "KubeSchedulerConfiguration file; flags override it")
	f.Var(featuregate.New(featuregate.MajorMinor(1, 36)), "feature-gates", "features to switch, as name=true,...: this scheduler has none")
	component.Fix(f, map[string]component.Fixed{"pod-max-in-unschedulable-pods-duration": {Values: []string{"5m0s", "5m", "300s"},
		Why: "a pod that no event concerns is tried again after five minutes"}})
	component.Refuse(f, map[string]string{"write-config-to": "defaults are not written: the file of --config is all that is read"})
	return f
}

func run(args []string) error {
	o := component.Options{Name: "kube-scheduler", SecurePort: 10259}
	var config string
	f := newFlags(&o, &config)
	if err := component.Parse(f, "Gives pods nodes.", args); err != nil {
		return err
	}
	if o.PrintVersion(os.Stdout) {
		return nil
	}
	var opts scheduler.Options
	if config != "" {
		var err error
		if opts, err = apply(config, &o, f); err != nil {
			return fmt.Errorf("%s: %w", config, err)
		}
	}
	measured := newMetrics()
	opts.Metrics, o.Collectors = measured.functions(), measured.all
	ctx, stop := component.Context()
	defer stop()
	return o.Run(ctx, o.Logger(), func(_ client.Conn, m *manager.Manager) error {
		s, err := scheduler.New(m, opts)
		if err == nil {
			measured.follow(s)
		}
		return err
	})
}

// apply reads the file into o where no flag was given, and returns the options of the scheduler.
func apply(file string, o *component.Options, f *pflag.FlagSet) (opts scheduler.Options, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return opts, err
	}
	var c configuration
	if err := strict(data, &c); err != nil {
		return opts, err
	}
	if c.APIVersion != "kubescheduler.config.k8s.io/v1" || c.Kind != "KubeSchedulerConfiguration" {
		return opts, fmt.Errorf("want kind KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, got %s of %s", c.Kind, c.APIVersion)
	}
	if err := c.refuse(); err != nil {
		return opts, err
	}
	if c.Parallelism != nil {
		o.Logger().Warn("parallelism has no effect: one goroutine decides")
	}
	unset := func(flag string) bool { return !f.Changed(flag) }
	if c.ClientConnection.Kubeconfig != "" && unset("kubeconfig") {
		o.Kubeconfig = c.ClientConnection.Kubeconfig
	}
	if err := c.rate(o, unset); err != nil {
		return opts, err
	}
	c.elect(o, unset)
	if c.EnableProfiling != nil {
		o.NoProfiling = !*c.EnableProfiling
	}
	return c.options()
}

// elect reads how the leader is elected.
func (c *configuration) elect(o *component.Options, unset func(flag string) bool) {
	le := &c.LeaderElection
	if le.LeaderElect != nil && unset("leader-elect") {
		o.LeaderElect = *le.LeaderElect
	}
	if le.LeaseDuration != nil && unset("leader-elect-lease-duration") {
		o.LeaseDuration = le.LeaseDuration.Duration
	}
	if le.RenewDeadline != nil && unset("leader-elect-renew-deadline") {
		o.RenewDeadline = le.RenewDeadline.Duration
	}
	if le.RetryPeriod != nil && unset("leader-elect-retry-period") {
		o.RetryPeriod = le.RetryPeriod.Duration
	}
	if le.ResourceNamespace != "" && unset("leader-elect-resource-namespace") {
		o.LeaseNamespace = le.ResourceNamespace
	}
	if le.ResourceName != "" && unset("leader-elect-resource-name") {
		o.LeaseName = le.ResourceName
	}
}

// Upstream's limits where the file gives only one of the two.
const (
	defaultQPS   = 50
	defaultBurst = 100
)

// rate reads the limits of the connection. As upstream, a negative qps lifts the limit.
func (c *configuration) rate(o *component.Options, unset func(flag string) bool) error {
	cc := &c.ClientConnection
	for name, v := range map[string]string{"acceptContentTypes": cc.AcceptContentTypes, "contentType": cc.ContentType} {
		if v != "" && !strings.Contains(v, protobuf) {
			return fmt.Errorf("clientConnection.%s: %q: want %s, which is used where the server takes it, or nothing", name, v, protobuf)
		}
	}
	if cc.QPS == nil && cc.Burst == nil {
		return nil
	}
	qps, burst := float64(defaultQPS), defaultBurst
	if cc.QPS != nil && *cc.QPS != 0 {
		qps = *cc.QPS
	}
	if cc.Burst != nil && *cc.Burst != 0 {
		burst = *cc.Burst
	}
	switch {
	case burst < 0:
		return fmt.Errorf("clientConnection.burst: %d: want no negative number", burst)
	case qps < 0:
		qps, burst = 0, 0
	}
	if unset("kube-api-qps") {
		o.QPS = qps
	}
	if unset("kube-api-burst") {
		o.Burst = burst
	}
	return nil
}
