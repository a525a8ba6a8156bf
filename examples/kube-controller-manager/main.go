// Command kube-controller-manager runs the built-in controllers against an API server.
package main

import (
	"crypto"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/examples/internal/controllermanager"
)

// migrator is the feature that carries out storage version migrations.
const migrator featuregate.Feature = "StorageVersionMigrator"

func main() { component.Exit("kube-controller-manager", run(os.Args[1:])) }

func run(args []string) error {
	o := component.Options{Name: "kube-controller-manager", SecurePort: 10257}
	var c controllermanager.Options
	var rootCA, signingCert, signingKey string
	var accounts bool
	f := pflag.NewFlagSet(o.Name, pflag.ContinueOnError)
	o.Flags(f)
	f.StringSliceVar(&c.Controllers, "controllers", []string{"*"}, "controllers to run: * is all, -name leaves one out")
	f.StringVar(&rootCA, "root-ca-file", "", "certificate published in every namespace as config map kube-root-ca.crt")
	f.StringVar(&signingCert, "cluster-signing-cert-file", "", "certificate of the authority that signs certificate requests (empty: none are signed)")
	f.StringVar(&signingKey, "cluster-signing-key-file", "", "key of --cluster-signing-cert-file")
	f.DurationVar(&c.Signing.Duration, "cluster-signing-duration", 8760*time.Hour, "default and maximum lifetime of signed certificates")
	f.BoolVar(&accounts, "use-service-account-credentials", false, "each controller writes as its own service account in kube-system")
	f.DurationVar(&c.NodeLifecycle.GracePeriod, "node-monitor-grace-period", 0, "time without a heartbeat after which a node is Unknown (default 50s)")
	f.DurationVar(&c.NodeLifecycle.StartupGracePeriod, "node-startup-grace-period", 0, "the same for a node that has not reported yet (default 1m)")
	f.DurationVar(&c.NodeLifecycle.Period, "node-monitor-period", 0, "how often nodes are checked (default 5s)")
	f.Float64Var(&c.NodeLifecycle.EvictionRate, "node-eviction-rate", 0, "nodes per second and zone that get NoExecute taints (default 0.1)")
	gates := featuregate.New(featuregate.MajorMinor(1, 36))
	if err := gates.Add(map[featuregate.Feature][]featuregate.Spec{migrator: {
		{Since: featuregate.MajorMinor(1, 30), Stage: featuregate.Alpha}, {Since: featuregate.MajorMinor(1, 35), Stage: featuregate.Beta},
	}}); err != nil {
		return err
	}
	f.Var(gates, "feature-gates", "features to switch, as name=true,...: StorageVersionMigrator (off), which needs the API storagemigration.k8s.io/v1beta1")
	if err := component.Parse(f, "Runs the built-in controllers against an API server.", args); err != nil {
		return err
	}
	c.StorageVersionMigrator = gates.Enabled(migrator)
	if rootCA != "" {
		data, err := os.ReadFile(rootCA)
		if err != nil {
			return err
		}
		c.RootCA = data
	}
	if signingCert != "" || signingKey != "" {
		pair, err := tls.LoadX509KeyPair(signingCert, signingKey)
		if err != nil {
			return fmt.Errorf("--cluster-signing-cert-file and --cluster-signing-key-file: %w", err)
		}
		// Every private key that crypto/tls loads is a crypto.Signer.
		c.Signing.Cert, c.Signing.Key = pair.Leaf, pair.PrivateKey.(crypto.Signer)
	}
	ctx, stop := component.Context()
	defer stop()
	log := component.Logger(o.Verbosity)
	return o.Run(ctx, log, func(conn client.Conn, m *manager.Manager) error {
		if accounts {
			cfg, err := o.Config()
			if err != nil {
				return err
			}
			c.Accounts = controllermanager.NewAccounts(cfg, conn, log)
			m.AddWithoutLeaderElection("connections of service accounts", c.Accounts)
		}
		return controllermanager.Add(m, c)
	})
}
