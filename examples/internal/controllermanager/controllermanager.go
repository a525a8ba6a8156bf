// Package controllermanager knows the built-in controllers by the names kube-controller-manager gives them.
package controllermanager

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/controllers/builtin/admissionpolicystatus"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/builtin/clusterroleaggregation"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/disruption"
	"github.com/keelson-dev/keelson/controllers/builtin/endpointslice"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/job"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/podgc"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/builtin/resourcequota"
	"github.com/keelson-dev/keelson/controllers/builtin/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/builtin/servicecidr"
	"github.com/keelson-dev/keelson/controllers/builtin/storageversionmigrator"
	"github.com/keelson-dev/keelson/controllers/builtin/tainteviction"
	"github.com/keelson-dev/keelson/controllers/builtin/volumeprotection"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// Options of the controllers.
type Options struct {
	// Controllers names what to run: "*" is everything, "-name" leaves one out. Nil means "*".
	Controllers []string
	// RootCA is published in every namespace; empty publishes nothing.
	RootCA []byte
	// NodeLifecycle is passed on.
	NodeLifecycle nodelifecycle.Options
	// Signing is passed on; without a certificate nothing is signed.
	Signing certificates.SigningOptions
	// StorageVersionMigrator runs storage-version-migrator-controller too. Its API has to be served.
	StorageVersionMigrator bool
	// Accounts, if set, has each controller write as its own service account of kube-system, whose rights are
	// those of the ClusterRole system:controller:ACCOUNT. Informers stay with the manager's user.
	Accounts *Accounts
}

type entry struct {
	name    string
	account string
	add     func(m *manager.Manager, o *Options) error
}

var all = []entry{
	{"serviceaccount-controller", "service-account-controller", func(m *manager.Manager, _ *Options) error {
		return serviceaccount.AddAccounts(m, serviceaccount.Options{})
	}},
	{"root-ca-certificate-publisher-controller", "root-ca-cert-publisher", func(m *manager.Manager, o *Options) error {
		if len(o.RootCA) == 0 {
			return nil
		}
		return serviceaccount.AddRootCA(m, o.RootCA)
	}},
	{"deployment-controller", "deployment-controller", func(m *manager.Manager, _ *Options) error { return deployment.Add(m, deployment.Options{}) }},
	{"replicaset-controller", "replicaset-controller", func(m *manager.Manager, _ *Options) error { return replicaset.Add(m, replicaset.Options{}) }},
	{"job-controller", "job-controller", func(m *manager.Manager, _ *Options) error { return job.Add(m, job.Options{}) }},
	{"disruption-controller", "disruption-controller", func(m *manager.Manager, _ *Options) error { return disruption.Add(m, disruption.Options{}) }},
	{"pod-garbage-collector-controller", "pod-garbage-collector", func(m *manager.Manager, _ *Options) error { return podgc.Add(m, podgc.Options{}) }},
	{"resourcequota-controller", "resourcequota-controller", func(m *manager.Manager, _ *Options) error { return resourcequota.Add(m, resourcequota.Options{}) }},
	{"endpointslice-controller", "endpointslice-controller", func(m *manager.Manager, _ *Options) error { return endpointslice.Add(m, endpointslice.Options{}) }},
	{"namespace-controller", "namespace-controller", func(m *manager.Manager, _ *Options) error { return namespace.Add(m, namespace.Options{}) }},
	{"persistentvolumeclaim-protection-controller", "pvc-protection-controller", func(m *manager.Manager, _ *Options) error {
		return volumeprotection.AddClaims(m, volumeprotection.Options{})
	}},
	{"persistentvolume-protection-controller", "pv-protection-controller", func(m *manager.Manager, _ *Options) error {
		return volumeprotection.AddVolumes(m, volumeprotection.Options{})
	}},
	{"garbage-collector-controller", "generic-garbage-collector", func(m *manager.Manager, _ *Options) error {
		return garbagecollector.Add(m, garbagecollector.Options{})
	}},
	{"node-lifecycle-controller", "node-controller", func(m *manager.Manager, o *Options) error { return nodelifecycle.Add(m, o.NodeLifecycle) }},
	{"clusterrole-aggregation-controller", "clusterrole-aggregation-controller", func(m *manager.Manager, _ *Options) error { return clusterroleaggregation.Add(m) }},
	{"service-cidr-controller", "service-cidrs-controller", func(m *manager.Manager, _ *Options) error { return servicecidr.Add(m) }},
	{"certificatesigningrequest-signing-controller", "certificate-controller", func(m *manager.Manager, o *Options) error {
		if o.Signing.Cert == nil {
			return nil
		}
		return certificates.AddSigning(m, o.Signing)
	}},
	{"certificatesigningrequest-approving-controller", "certificate-controller", func(m *manager.Manager, _ *Options) error { return certificates.AddApproving(m) }},
	{"certificatesigningrequest-cleaner-controller", "certificate-controller", func(m *manager.Manager, _ *Options) error { return certificates.AddCleaner(m) }},
	{"validatingadmissionpolicy-status-controller", "validatingadmissionpolicy-status-controller", func(m *manager.Manager, _ *Options) error {
		return admissionpolicystatus.Add(m, admissionpolicystatus.Options{})
	}},
	{"storage-version-migrator-controller", "storage-version-migrator-controller", func(m *manager.Manager, o *Options) error {
		if !o.StorageVersionMigrator {
			return nil
		}
		return storageversionmigrator.Add(m, storageversionmigrator.Options{})
	}},
	{"taint-eviction-controller", "node-controller", func(m *manager.Manager, _ *Options) error { return tainteviction.Add(m) }},
}

// Names are the controllers there are.
func Names() []string {
	var out []string
	for _, e := range all {
		out = append(out, e.name)
	}
	return out
}

// Add adds the selected controllers to m.
func Add(m *manager.Manager, o Options) error {
	selected, err := selection(o.Controllers)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range all {
		if !selected[e.name] {
			continue
		}
		if err := e.addAs(m, &o); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.name, err))
		}
	}
	return errors.Join(errs...)
}

// addAs adds a controller that writes as its account.
func (e *entry) addAs(m *manager.Manager, o *Options) error {
	if o.Accounts == nil {
		return e.add(m, o)
	}
	conn, err := o.Accounts.Conn(e.account)
	if err != nil {
		return err
	}
	return e.add(m.As(conn), o)
}

// selection resolves the value of --controllers. Names without "-controller" are accepted, as the short forms
// of older releases.
func selection(list []string) (map[string]bool, error) {
	if len(list) == 0 {
		list = []string{"*"}
	}
	names := Names()
	out := map[string]bool{}
	if slices.Contains(list, "*") {
		for _, n := range names {
			out[n] = true
		}
	}
	for _, item := range list {
		if item == "*" {
			continue
		}
		name, off := strings.CutPrefix(item, "-")
		if !slices.Contains(names, name) {
			name += "-controller"
		}
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%q is not a controller; known are %s", item, strings.Join(names, ", "))
		}
		out[name] = !off
	}
	return out, nil
}
