// Command kube-scheduler assigns pods to nodes.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/examples/internal/schedulerconfig"
)

const protobuf = "application/vnd.kubernetes.protobuf"

func main() { component.Exit("kube-scheduler", run(os.Args[1:])) }

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
	c, err := schedulerconfig.Read(data)
	if err != nil {
		return opts, err
	}
	if c.Parallelism != nil {
		o.Logger().Warn("parallelism has no effect: one goroutine decides")
	}
	unset := func(flag string) bool { return !f.Changed(flag) }
	if c.ClientConnection.Kubeconfig != "" && unset("kubeconfig") {
		o.Kubeconfig = c.ClientConnection.Kubeconfig
	}
	if err := rate(c, o, unset); err != nil {
		return opts, err
	}
	elect(c, o, unset)
	if c.EnableProfiling != nil {
		o.NoProfiling = !*c.EnableProfiling
	}
	return c.Options()
}

// elect reads how the leader is elected.
func elect(c *schedulerconfig.Configuration, o *component.Options, unset func(flag string) bool) {
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
func rate(c *schedulerconfig.Configuration, o *component.Options, unset func(flag string) bool) error {
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
