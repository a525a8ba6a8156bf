// Command kube-scheduler assigns pods to nodes.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/examples/internal/schedulerconfig"
)

const protobuf = "application/vnd.kubernetes.protobuf"

func main() { component.Exit("kube-scheduler", run(os.Args[1:])) }

// options are what the flags and the file say.
type options struct {
	component.Options
	configFile, writeTo string
	// config is the file, with the defaults once complete has returned.
	config *schedulerconfig.Configuration
	gates  *featuregate.Gate
}

// newFlags registers the flags.
func newFlags(o *options) *pflag.FlagSet {
	f := pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)
	o.Flags(f)
	f.StringVar(&o.configFile, "config", "", "KubeSchedulerConfiguration file; flags override it")
	f.StringVar(&o.writeTo, "write-config-to", "", "write the KubeSchedulerConfiguration of --config and the flags to this file, with all defaults, and exit")
	o.gates = features()
	f.Var(o.gates, "feature-gates", "features to switch, as name=true,...: NominatedNodeNameForExpectation, OpportunisticBatching, StorageCapacityScoring; those that concern PodGroups, which the API server must serve: "+
		"GenericWorkload, GangScheduling, TopologyAwareWorkloadScheduling, WorkloadAwarePreemption; the others that this scheduler has are locked")
	component.Fix(f, map[string]component.Fixed{"pod-max-in-unschedulable-pods-duration": {Values: []string{"5m0s", "5m", "300s"},
		Why: "a pod that no event concerns is tried again after five minutes"}})
	return f
}

func run(args []string) error {
	o := options{Options: component.Options{Name: "kube-scheduler", SecurePort: 10259}}
	f := newFlags(&o)
	if err := component.Parse(f, "Gives pods nodes.", args); err != nil {
		return err
	}
	opts, err := o.complete(f)
	if err != nil {
		return err
	}
	if o.writeTo != "" {
		data, err := o.config.YAML()
		if err != nil {
			return err
		}
		return os.WriteFile(o.writeTo, data, 0o644)
	}
	measured := newMetrics(opts.PodGroups)
	opts.Metrics, o.Collectors = measured.functions(), append(measured.all, kubefeatures.Metric(o.gates))
	ctx, stop := component.Context()
	defer stop()
	return o.Run(ctx, o.Logger(), func(_ client.Conn, m *manager.Manager) error {
		s, err := scheduler.New(m, opts)
		if err == nil {
			measured.follow(s)
			m.AddWithoutLeaderElection("dump", newDumper(s, m.Logger()))
		}
		return err
	})
}

// complete reads the file, and returns the options of the scheduler.
func (o *options) complete(f *pflag.FlagSet) (opts scheduler.Options, err error) {
	if err := o.gates.CheckNeeds(needs); err != nil {
		return opts, fmt.Errorf("--feature-gates: %w", err)
	}
	o.config = schedulerconfig.New()
	o.enable()
	switch {
	case o.configFile != "":
		opts, err = o.read(f)
	case o.gates.Enabled(genericWorkload), o.gates.Enabled(storageScores):
		// The default profile of the scheduler has neither.
		opts, err = o.config.Options()
	}
	if err != nil {
		return opts, fmt.Errorf("%s: %w", o.configFile, err)
	}
	if err := o.config.Complete(); err != nil {
		return opts, fmt.Errorf("%s: %w", o.configFile, err)
	}
	o.inForce(f)
	o.Configz = func() map[string]any { return map[string]any{configzName: o.config} }
	opts.NoBatching = !o.gates.Enabled(batching)
	opts.NoExpectedNode = !o.gates.Enabled(expectedNode)
	opts.PodGroups, opts.PodGroupPreemption = o.gates.Enabled(genericWorkload), o.gates.Enabled(groupPreemption)
	return opts, nil
}

func (o *options) enable() {
	o.config.Enable(schedulerconfig.Features{GangScheduling: o.gates.Enabled(gangScheduling), TopologyAwareWorkloadScheduling: o.gates.Enabled(topologyAware),
		StorageCapacityScoring: o.gates.Enabled(storageScores)})
}

// read reads the file into o where no flag was given, and returns the options of the scheduler.
func (o *options) read(f *pflag.FlagSet) (opts scheduler.Options, err error) {
	data, err := os.ReadFile(o.configFile)
	if err != nil {
		return opts, err
	}
	if o.config, err = schedulerconfig.Read(data); err != nil {
		return opts, err
	}
	o.enable()
	c, unset := o.config, func(flag string) bool { return !f.Changed(flag) }
	if c.ClientConnection.Kubeconfig != "" && unset("kubeconfig") {
		o.Kubeconfig = c.ClientConnection.Kubeconfig
	}
	if err := rate(c, &o.Options, unset); err != nil {
		return opts, err
	}
	elect(c, &o.Options, unset)
	for flag, v := range map[string]*bool{"profiling": c.EnableProfiling, "contention-profiling": c.EnableContentionProfiling} {
		if v != nil && unset(flag) {
			if err := f.Lookup(flag).Value.Set(strconv.FormatBool(*v)); err != nil {
				return opts, err
			}
		}
	}
	return c.Options()
}

// configzName is the name of the configuration at /configz, as upstream.
const configzName = "componentconfig"

// inForce lets the configuration say what the flags make of it.
func (o *options) inForce(f *pflag.FlagSet) {
	c := o.config
	c.ClientConnection.Kubeconfig = o.Kubeconfig
	c.ClientConnection.QPS, c.ClientConnection.Burst = &o.QPS, &o.Burst
	if o.QPS == 0 {
		c.ClientConnection.QPS = new(-1.0) // no limit
	}
	le := &c.LeaderElection
	le.LeaderElect = &o.LeaderElect
	le.LeaseDuration = &metav1.Duration{Duration: o.LeaseDuration}
	le.RenewDeadline = &metav1.Duration{Duration: o.RenewDeadline}
	le.RetryPeriod = &metav1.Duration{Duration: o.RetryPeriod}
	le.ResourceNamespace, le.ResourceName = o.LeaseNamespace, o.LeaseName
	c.EnableProfiling = new(!o.NoProfiling)
	c.EnableContentionProfiling = new(f.Lookup("contention-profiling").Value.String() == "true")
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
