// Command kube-scheduler gives pods nodes.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/component"
)

const protobuf = "application/vnd.kubernetes.protobuf"

func main() { component.Exit("kube-scheduler", run(os.Args[1:])) }

// configuration is the part of KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) this scheduler
// knows; anything else in the file is an error.
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
		LeaseDuration     *metav1.Duration `json:"leaseDuration,omitempty"`
		RenewDeadline     *metav1.Duration `json:"renewDeadline,omitempty"`
		RetryPeriod       *metav1.Duration `json:"retryPeriod,omitempty"`
		ResourceNamespace string           `json:"resourceNamespace,omitempty"`
		ResourceName      string           `json:"resourceName,omitempty"`
	} `json:"leaderElection,omitempty"`
	Profiles []struct {
		SchedulerName string `json:"schedulerName,omitempty"`
	} `json:"profiles,omitempty"`
}

func run(args []string) error {
	o := component.Options{Name: "kube-scheduler", SecurePort: 10259}
	var config string
	f := pflag.NewFlagSet(o.Name, pflag.ContinueOnError)
	o.Flags(f)
	f.StringVar(&config, "config", "", "KubeSchedulerConfiguration file; flags override it")
	if err := component.Parse(f, "Gives pods nodes.", args); err != nil {
		return err
	}
	names := []string{scheduler.DefaultName}
	if config != "" {
		var err error
		if names, err = apply(config, &o, f); err != nil {
			return fmt.Errorf("%s: %w", config, err)
		}
	}
	ctx, stop := component.Context()
	defer stop()
	return o.Run(ctx, component.Logger(o.Verbosity), func(_ client.Conn, m *manager.Manager) error {
		return scheduler.Add(m, scheduler.Options{Names: names})
	})
}

// apply reads the file into o where no flag was given, and returns the scheduler names of the profiles.
func apply(file string, o *component.Options, f *pflag.FlagSet) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var c configuration
	issues, err := codec.UnmarshalYAML(data, &c, codec.DecodeOptions{Strict: true})
	if err != nil {
		return nil, err
	}
	if len(issues) > 0 {
		return nil, fmt.Errorf("%v", issues[0])
	}
	if c.APIVersion != "kubescheduler.config.k8s.io/v1" || c.Kind != "KubeSchedulerConfiguration" {
		return nil, fmt.Errorf("want kind KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, got %s of %s", c.Kind, c.APIVersion)
	}
	unset := func(flag string) bool { return !f.Changed(flag) }
	if c.ClientConnection.Kubeconfig != "" && unset("kubeconfig") {
		o.Kubeconfig = c.ClientConnection.Kubeconfig
	}
	if err := c.rate(o, unset); err != nil {
		return nil, err
	}
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
	names := []string{scheduler.DefaultName}
	if len(c.Profiles) > 0 {
		names = nil
		for _, p := range c.Profiles {
			name := p.SchedulerName
			if name == "" {
				name = scheduler.DefaultName
			}
			names = append(names, name)
		}
	}
	return names, nil
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
