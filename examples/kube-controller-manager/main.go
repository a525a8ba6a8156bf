// Command kube-controller-manager runs the built-in controllers against an API server.
package main

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/builtin/selinuxwarning"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/examples/internal/accounts"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/authn"
)

func main() { component.Exit("kube-controller-manager", run(os.Args[1:])) }

// options are the flags.
type options struct {
	component.Options
	builtin     builtin.Options
	gates       *featuregate.Gate
	needs       map[featuregate.Feature][]featuregate.Feature
	nodes       ranges
	migration   migration
	signing     authorities
	noCollector bool

	rootCA, tokenKey string
	ownAccounts      bool
}

func newOptions() (*options, *pflag.FlagSet, error) {
	o := &options{Options: component.Options{Name: "kube-controller-manager", SecurePort: 10257}}
	c, f := &o.builtin, pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	o.Flags(f)
	f.DurationVar(&o.Grace, "controller-shutdown-timeout", manager.DefaultGrace, "how long controllers may finish their work at the end")
	f.StringSliceVar(&c.Controllers, "controllers", []string{"*"}, "controllers to run: * is all but bootstrap-signer-controller, selinux-warning-controller and token-cleaner-controller, -name leaves one out")
	f.StringVar(&o.rootCA, "root-ca-file", "", "certificate published in every namespace as config map kube-root-ca.crt")
	f.StringVar(&o.tokenKey, "service-account-private-key-file", "", "PEM file of the key that signs the tokens in secrets of service accounts (empty: none are written)")
	o.signing.flags(f)
	f.DurationVar(&c.Signing.Duration, "cluster-signing-duration", 8760*time.Hour, "default and maximum lifetime of signed certificates")
	f.BoolVar(&o.ownAccounts, "use-service-account-credentials", false, "each controller writes as its own service account in kube-system")
	component.OnUnless(f, &o.noCollector, "enable-garbage-collector", "run the garbage collector; API servers must have the same value")
	f.DurationVar(&c.NodeLifecycle.GracePeriod, "node-monitor-grace-period", 50*time.Second, "time without a heartbeat after which a node is Unknown")
	f.DurationVar(&c.NodeLifecycle.StartupGracePeriod, "node-startup-grace-period", time.Minute, "the same for a node that has not reported yet")
	f.DurationVar(&c.NodeLifecycle.Period, "node-monitor-period", 5*time.Second, "how often nodes are checked")
	f.Float64Var(&c.NodeLifecycle.EvictionRate, "node-eviction-rate", 0.1, "nodes per second and zone that get NoExecute taints")
	controllerFlags(f, c)
	o.nodes.flags(f)
	o.migration.flags(f)
	o.Configz = func() map[string]any { return o.configz(f) }
	var err error
	if o.gates, o.needs, err = newFeatures(); err != nil {
		return o, f, err
	}
	f.Var(o.gates, "feature-gates", "features to switch, as name=true,...: "+switched()+"; others have one value here, or concern other components and have no effect")
	component.Fix(f, fixedFlags)
	component.NoEffect(f, ignoredFlags)
	component.Refuse(f, refusedFlags)
	return o, f, nil
}

// complete reads the files that the flags name.
func (o *options) complete() (err error) {
	c := &o.builtin
	if err := o.gates.CheckNeeds(o.needs); err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	c.SELinuxWarning.Conflicts = &selinuxwarning.Conflicts{}
	o.Collectors = append(o.Collectors, kubefeatures.Metric(o.gates), labelConflicts{c.SELinuxWarning.Conflicts})
	o.Coordinated, c.UnusedClaims = o.gates.Enabled(coordinated), o.gates.Enabled(unusedClaims)
	for _, g := range api.AllGated() {
		if o.gates.Enabled(featuregate.Feature(g.Feature)) {
			c.Gated = append(c.Gated, g.Feature)
		}
	}
	if !o.gates.Enabled(deviceTaints) {
		c.Controllers = append(c.Controllers, "-device-taint-eviction-controller")
	}
	if o.noCollector {
		c.Controllers = append(c.Controllers, "-garbage-collector-controller")
	}
	if c.UnusedTokens <= 0 {
		return fmt.Errorf("--legacy-service-account-token-clean-up-period: %v: want a positive time", c.UnusedTokens)
	}
	if c.TerminatedPods <= 0 {
		c.TerminatedPods = -1
	}
	if err := o.migration.complete(o.LeaderElect); err != nil {
		return err
	}
	if c.NodeIPAM, err = o.nodes.options(); err != nil {
		return err
	}
	if o.rootCA != "" {
		if c.RootCA, err = os.ReadFile(o.rootCA); err != nil {
			return fmt.Errorf("--root-ca-file: %w", err)
		}
	}
	if o.tokenKey != "" {
		if c.TokenKey, err = readTokenKey(o.tokenKey); err != nil {
			return fmt.Errorf("--service-account-private-key-file: %w", err)
		}
	}
	return o.signing.load(&c.Signing)
}

func parse(args []string) (*options, error) {
	o, f, err := newOptions()
	if err != nil {
		return nil, err
	}
	return o, component.Parse(f, "Runs the built-in controllers against an API server.", args)
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := o.complete(); err != nil {
		return err
	}
	ctx, stop := component.Context()
	defer stop()
	return o.start(ctx)
}

// start runs the controllers until ctx ends or leadership is lost.
func (o *options) start(ctx context.Context) error {
	log := o.Logger()
	return o.Run(ctx, log, func(conn client.Conn, m *manager.Manager) error {
		c := o.builtin
		if o.ownAccounts {
			cfg, err := o.Config()
			if err != nil {
				return err
			}
			own := accounts.New(cfg, conn, log)
			m.AddWithoutLeaderElection("connections of service accounts", own)
			c.Connect = own.Conn
		}
		return o.add(m, c)
	})
}

// add adds the controllers to the manager, those of a leader migration under its lease.
func (o *options) add(m *manager.Manager, c builtin.Options) error {
	if !o.migration.enabled {
		err := builtin.Add(m, c)
		o.Live = builtin.Health(m)
		return err
	}
	main, migrated, absent := o.migration.split(o.Name)
	if len(absent) > 0 {
		m.Logger().Info("the leader migration names controllers that this program does not have", "controllers", absent)
	}
	second, err := o.Under(m, o.migration.LeaderName)
	if err != nil {
		return err
	}
	selected := c.Controllers
	c.Controllers = slices.Concat(selected, main)
	err = builtin.Add(m, c)
	c.Controllers = slices.Concat(selected, migrated)
	err = errors.Join(err, builtin.Add(second, c))
	o.Live = builtin.Health(m)
	maps.Copy(o.Live, builtin.Health(second))
	return err
}

// readTokenKey returns the first key of a file, which must be a private one.
func readTokenKey(path string) (crypto.Signer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	keys, err := authn.ParseKeys(data)
	if err != nil {
		return nil, err
	}
	key, ok := keys[0].(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s has a public key; give the private one", path)
	}
	return key, nil
}
