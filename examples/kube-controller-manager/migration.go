package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin"
)

// migration are the flags of leader migration: controllers that move from one program to another run, in
// either, under a second lease, so that never both programs run them.
type migration struct {
	enabled bool
	file    string
	migrationConfig
}

// migrationConfig is LeaderMigrationConfiguration (controllermanager.config.k8s.io, all versions).
type migrationConfig struct {
	metav1.TypeMeta   `json:",inline"`
	LeaderName        string             `json:"leaderName"`
	ResourceLock      string             `json:"resourceLock,omitempty"` // not in v1
	ControllerLeaders []controllerLeader `json:"controllerLeaders"`
}

// controllerLeader is a controller and the program that runs it, under the lease of the migration; * is every
// program that takes part.
type controllerLeader struct {
	Name      string `json:"name"`
	Component string `json:"component"`
}

func (x *migration) flags(f *pflag.FlagSet) {
	f.BoolVar(&x.enabled, "enable-leader-migration", false, "run the controllers of --leader-migration-config under a lease that other programs take too")
	f.StringVar(&x.file, "leader-migration-config", "", "file of kind LeaderMigrationConfiguration (controllermanager.config.k8s.io/v1): which program runs which controllers (empty: those of cloud providers, in every program)")
}

const migrationGroup = "controllermanager.config.k8s.io"

// complete reads the file. elect is --leader-elect.
func (x *migration) complete(elect bool) error {
	switch {
	case !x.enabled && x.file != "":
		return errors.New("--leader-migration-config needs --enable-leader-migration")
	case !x.enabled:
		return nil
	case !elect:
		return errors.New("--enable-leader-migration needs --leader-elect")
	case x.file == "":
		x.LeaderName, x.ResourceLock = "cloud-provider-extraction-migration", "leases"
		for _, name := range []string{"route-controller", "service-controller", "cloud-node-lifecycle-controller"} {
			x.ControllerLeaders = append(x.ControllerLeaders, controllerLeader{Name: name, Component: "*"})
		}
		return nil
	}
	data, err := os.ReadFile(x.file)
	if err == nil {
		err = x.read(data)
	}
	if err != nil {
		return fmt.Errorf("--leader-migration-config: %w", err)
	}
	return nil
}

func (x *migration) read(data []byte) error {
	c := &x.migrationConfig
	issues, err := codec.UnmarshalYAML(data, c, codec.DecodeOptions{Strict: true})
	if err != nil {
		return err
	}
	if len(issues) > 0 {
		return fmt.Errorf("%v", issues[0])
	}
	group, version, _ := strings.Cut(c.APIVersion, "/")
	if group != migrationGroup || !slices.Contains([]string{"v1", "v1beta1", "v1alpha1"}, version) || c.Kind != "LeaderMigrationConfiguration" {
		return fmt.Errorf("want kind LeaderMigrationConfiguration of %s/v1, v1beta1 or v1alpha1, got %s of %s", migrationGroup, c.Kind, c.APIVersion)
	}
	if version == "v1" {
		if c.ResourceLock != "" {
			return errors.New("resourceLock: not in version v1, in which the lock is a Lease")
		}
		c.ResourceLock = "leases"
	}
	if c.LeaderName == "" {
		return errors.New("leaderName: required")
	}
	if c.ResourceLock != "leases" {
		return fmt.Errorf("resourceLock: %q: want leases", c.ResourceLock)
	}
	for i, l := range c.ControllerLeaders {
		if l.Name == "" || l.Component == "" {
			return fmt.Errorf("controllerLeaders[%d]: name and component are required", i)
		}
	}
	return nil
}

// alwaysMain is the controller that never moves: the accounts of the others need its tokens.
const alwaysMain = "serviceaccount-token-controller"

// split divides the controllers of this program: main are those to leave out under its own lease, migrated
// those to leave out under the lease of the migration, both in the form of builtin.Options.Controllers.
// Controllers that another program runs are left out under both. absent are names that no controller here
// has. Of several entries with one name the last counts.
func (x *migration) split(program string) (main, migrated, absent []string) {
	here := map[string]bool{} // of the names of the file
	for _, l := range x.ControllerLeaders {
		here[l.Name] = l.Component == program || l.Component == "*"
		if !slices.Contains(builtin.Names(), l.Name) && !slices.Contains(absent, l.Name) {
			absent = append(absent, l.Name)
		}
	}
	for _, name := range builtin.Names() {
		runs, moves := here[name]
		if moves && name != alwaysMain {
			main = append(main, "-"+name)
		}
		if !runs || name == alwaysMain {
			migrated = append(migrated, "-"+name)
		}
	}
	return main, migrated, absent
}
