// Package builtin lists the controllers of kube-controller-manager, each of which is a package below this
// one, and adds them to a manager by name.
//
// A controller has one name, which --controllers of kube-controller-manager takes, as it does the shorter
// names of earlier versions. Without the ending -controller it is the name in metrics and logs. Upstream
// gives some of them another name as a service account, which is in the list too: the rights of an account
// are those of the ClusterRole system:controller:ACCOUNT, which package store/authz defines because servers
// create it.
package builtin

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/admissionpolicystatus"
	"github.com/keelson-dev/keelson/controllers/builtin/attachdetach"
	"github.com/keelson-dev/keelson/controllers/builtin/bootstraptokens"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/builtin/clusterroleaggregation"
	"github.com/keelson-dev/keelson/controllers/builtin/cronjob"
	"github.com/keelson-dev/keelson/controllers/builtin/daemonset"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/devicetainteviction"
	"github.com/keelson-dev/keelson/controllers/builtin/disruption"
	"github.com/keelson-dev/keelson/controllers/builtin/endpointslice"
	"github.com/keelson-dev/keelson/controllers/builtin/ephemeralvolume"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/horizontalpodautoscaler"
	"github.com/keelson-dev/keelson/controllers/builtin/job"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/builtin/nodeipam"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/nodettl"
	"github.com/keelson-dev/keelson/controllers/builtin/podgc"
	"github.com/keelson-dev/keelson/controllers/builtin/podgroupprotection"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/builtin/resourceclaim"
	"github.com/keelson-dev/keelson/controllers/builtin/resourcepoolstatusrequest"
	"github.com/keelson-dev/keelson/controllers/builtin/resourcequota"
	"github.com/keelson-dev/keelson/controllers/builtin/selinuxwarning"
	"github.com/keelson-dev/keelson/controllers/builtin/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/builtin/servicecidr"
	"github.com/keelson-dev/keelson/controllers/builtin/statefulset"
	"github.com/keelson-dev/keelson/controllers/builtin/storageversiongc"
	"github.com/keelson-dev/keelson/controllers/builtin/storageversionmigrator"
	"github.com/keelson-dev/keelson/controllers/builtin/tainteviction"
	"github.com/keelson-dev/keelson/controllers/builtin/ttlafterfinished"
	"github.com/keelson-dev/keelson/controllers/builtin/volumebinder"
	"github.com/keelson-dev/keelson/controllers/builtin/volumeexpand"
	"github.com/keelson-dev/keelson/controllers/builtin/volumeprotection"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// Options of the controllers.
type Options struct {
	// Controllers names those to add: "*" is all but bootstrap-signer-controller, selinux-warning-controller
	// and token-cleaner-controller, "-name" excludes one, and the ending -controller may be left out. The
	// names of the controllers of cloud providers are accepted and select none: those are in package cloud.
	// Nil means "*".
	Controllers []string
	// RootCA is published in every namespace and, where ClusterTrustBundles are served, in one; empty
	// publishes nothing.
	RootCA []byte
	// TokenKey signs the tokens in secrets of service accounts; without one there are none. RootCA is in the
	// secrets too.
	TokenKey crypto.Signer
	// UnusedTokens is how long a token in a secret is not used before it is refused, and then until it is
	// deleted; 0 means 365 days.
	UnusedTokens time.Duration
	// Concurrency is the number of objects that a controller reconciles concurrently, by its name; others
	// have their own default. It is an error for a controller that does not have the choice.
	Concurrency map[string]int
	// MaxEndpoints is the maximum number of endpoints in a slice, 1 to 1000; 0 means 100.
	MaxEndpoints int
	// TerminatedPods is the number of terminated pods that are kept; 0 means 12,500, a negative value means
	// all.
	TerminatedPods int
	// QuotaResyncPeriod is the time between recalculations of a quota; 0 means 5 minutes.
	QuotaResyncPeriod time.Duration
	// NodeLifecycle are the options of the node lifecycle controller.
	NodeLifecycle nodelifecycle.Options
	// NodeIPAM are the options of the controller that gives nodes ranges of addresses; without ClusterCIDRs
	// nodes get none.
	NodeIPAM nodeipam.Options
	// HorizontalPodAutoscaler are the options of the controller that scales by metrics.
	HorizontalPodAutoscaler horizontalpodautoscaler.Options
	// VolumeBinder and AttachDetach are the options of the controllers of volumes.
	VolumeBinder volumebinder.Options
	AttachDetach attachdetach.Options
	// SELinuxWarning are the options of the controller that reports pods whose SELinux labels exclude each
	// other.
	SELinuxWarning selinuxwarning.Options
	// UnusedClaims maintains the condition Unused of claims, True while no pod names them: the feature
	// PersistentVolumeClaimUnusedSinceTime.
	UnusedClaims bool
	// Signing are the options of the signing controllers; without an authority nothing is signed.
	Signing certificates.SigningOptions
	// Gated are the features, as in api.AllGated, whose kinds are served because they were switched on. The
	// controllers of the others are not added.
	Gated []string
	// Connect, if not nil, returns the connection by which a controller writes, as a service account of the
	// namespace kube-system. Informers use the manager's connection, as do writes if it is nil.
	Connect func(account string) (client.Conn, error)
}

// entry is a controller of the list.
type entry struct {
	name    string
	account string // empty: it writes as the user of the manager
	// add adds it. workers is its concurrency, 0 for its default.
	add func(m *manager.Manager, o *Options, workers int) error
}

// all are the controllers, in the order in which they are added.
var all = []entry{
	{"serviceaccount-controller", "service-account-controller", func(m *manager.Manager, _ *Options, _ int) error {
		return serviceaccount.AddAccounts(m, serviceaccount.Options{})
	}},
	{"serviceaccount-token-controller", "", func(m *manager.Manager, o *Options, workers int) error {
		if o.TokenKey == nil {
			return nil
		}
		return serviceaccount.AddTokens(m, serviceaccount.TokenOptions{Key: o.TokenKey, RootCA: o.RootCA, Concurrency: workers})
	}},
	{"legacy-serviceaccount-token-cleaner-controller", "legacy-service-account-token-cleaner", func(m *manager.Manager, o *Options, _ int) error {
		return serviceaccount.AddCleaner(m, serviceaccount.CleanerOptions{Unused: o.UnusedTokens})
	}},
	{"root-ca-certificate-publisher-controller", "root-ca-cert-publisher", func(m *manager.Manager, o *Options, _ int) error {
		if len(o.RootCA) == 0 {
			return nil
		}
		return serviceaccount.AddRootCA(m, o.RootCA)
	}},
	{"deployment-controller", "deployment-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return deployment.Add(m, deployment.Options{Concurrency: workers})
	}},
	{"replicaset-controller", "replicaset-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return replicaset.Add(m, replicaset.Options{Concurrency: workers})
	}},
	{"replicationcontroller-controller", "replication-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return replicaset.AddReplicationControllers(m, replicaset.Options{Concurrency: workers})
	}},
	{"daemonset-controller", "daemon-set-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return daemonset.Add(m, daemonset.Options{Concurrency: workers})
	}},
	{"statefulset-controller", "statefulset-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return statefulset.Add(m, statefulset.Options{Concurrency: workers})
	}},
	{"job-controller", "job-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return job.Add(m, job.Options{Concurrency: workers})
	}},
	{"cronjob-controller", "cronjob-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return cronjob.Add(m, cronjob.Options{Concurrency: workers})
	}},
	{"ttl-after-finished-controller", "ttl-after-finished-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return ttlafterfinished.Add(m, ttlafterfinished.Options{Concurrency: workers})
	}},
	{"ephemeral-volume-controller", "ephemeral-volume-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return ephemeralvolume.Add(m, ephemeralvolume.Options{Concurrency: workers})
	}},
	{"resourceclaim-controller", "resource-claim-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return resourceclaim.Add(m, resourceclaim.Options{Concurrency: workers})
	}},
	{"resourcepoolstatusrequest-controller", "resourcepoolstatusrequest-controller", func(m *manager.Manager, o *Options, _ int) error {
		if !o.serves("DRAResourcePoolStatus") {
			return nil
		}
		return resourcepoolstatusrequest.Add(m)
	}},
	{"horizontal-pod-autoscaler-controller", "horizontal-pod-autoscaler", func(m *manager.Manager, o *Options, workers int) error {
		opts := o.HorizontalPodAutoscaler
		opts.Concurrency = cmp.Or(workers, opts.Concurrency)
		return horizontalpodautoscaler.Add(m, opts)
	}},
	{"disruption-controller", "disruption-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return disruption.Add(m, disruption.Options{Concurrency: workers})
	}},
	{"pod-garbage-collector-controller", "pod-garbage-collector", func(m *manager.Manager, o *Options, _ int) error {
		return podgc.Add(m, podgc.Options{TerminatedThreshold: o.TerminatedPods})
	}},
	{"resourcequota-controller", "resourcequota-controller", func(m *manager.Manager, o *Options, workers int) error {
		return resourcequota.Add(m, resourcequota.Options{Concurrency: workers, ResyncPeriod: o.QuotaResyncPeriod})
	}},
	{"endpointslice-controller", "endpointslice-controller", func(m *manager.Manager, o *Options, workers int) error {
		return endpointslice.Add(m, endpointslice.Options{Concurrency: workers, MaxEndpoints: o.MaxEndpoints})
	}},
	{"endpointslice-mirroring-controller", "endpointslicemirroring-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return endpointslice.AddMirroring(m, endpointslice.MirroringOptions{Concurrency: workers})
	}},
	{"endpoints-controller", "endpoint-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return endpointslice.AddEndpoints(m, endpointslice.EndpointsOptions{Concurrency: workers})
	}},
	{"namespace-controller", "namespace-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return namespace.Add(m, namespace.Options{Concurrency: workers})
	}},
	{"persistentvolume-binder-controller", "persistent-volume-binder", func(m *manager.Manager, o *Options, _ int) error {
		return volumebinder.Add(m, o.VolumeBinder)
	}},
	{"persistentvolume-attach-detach-controller", "attachdetach-controller", func(m *manager.Manager, o *Options, _ int) error {
		return attachdetach.Add(m, o.AttachDetach)
	}},
	{"persistentvolume-expander-controller", "expand-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return volumeexpand.Add(m, volumeexpand.Options{Concurrency: workers})
	}},
	{"persistentvolumeclaim-protection-controller", "pvc-protection-controller", func(m *manager.Manager, o *Options, workers int) error {
		return volumeprotection.AddClaims(m, volumeprotection.ClaimOptions{Concurrency: workers, UnusedSince: o.UnusedClaims})
	}},
	{"persistentvolume-protection-controller", "pv-protection-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return volumeprotection.AddVolumes(m, volumeprotection.Options{Concurrency: workers})
	}},
	{"volumeattributesclass-protection-controller", "volumeattributesclass-protection-controller", func(m *manager.Manager, _ *Options, workers int) error {
		return volumeprotection.AddClasses(m, volumeprotection.Options{Concurrency: workers})
	}},
	{"garbage-collector-controller", "generic-garbage-collector", func(m *manager.Manager, _ *Options, workers int) error {
		return garbagecollector.Add(m, garbagecollector.Options{Concurrency: workers})
	}},
	{"node-ipam-controller", "node-controller", func(m *manager.Manager, o *Options, _ int) error {
		if len(o.NodeIPAM.ClusterCIDRs) == 0 {
			return nil
		}
		return nodeipam.Add(m, o.NodeIPAM)
	}},
	{"node-lifecycle-controller", "node-controller", func(m *manager.Manager, o *Options, _ int) error { return nodelifecycle.Add(m, o.NodeLifecycle) }},
	{"bootstrap-signer-controller", "bootstrap-signer", func(m *manager.Manager, _ *Options, _ int) error { return bootstraptokens.AddSigner(m) }},
	{"selinux-warning-controller", "selinux-warning-controller", func(m *manager.Manager, o *Options, _ int) error {
		return selinuxwarning.Add(m, o.SELinuxWarning)
	}},
	{"token-cleaner-controller", "token-cleaner", func(m *manager.Manager, _ *Options, _ int) error { return bootstraptokens.AddCleaner(m) }},
	{"ttl-controller", "ttl-controller", func(m *manager.Manager, _ *Options, _ int) error { return nodettl.Add(m, nodettl.Options{}) }},
	{"clusterrole-aggregation-controller", "clusterrole-aggregation-controller", func(m *manager.Manager, _ *Options, _ int) error {
		return clusterroleaggregation.Add(m)
	}},
	{"service-cidr-controller", "service-cidrs-controller", func(m *manager.Manager, _ *Options, _ int) error { return servicecidr.Add(m) }},
	{"certificatesigningrequest-signing-controller", "certificate-controller", func(m *manager.Manager, o *Options, _ int) error {
		if !o.Signing.Enabled() {
			return nil
		}
		return certificates.AddSigning(m, o.Signing)
	}},
	{"certificatesigningrequest-approving-controller", "certificate-controller", func(m *manager.Manager, _ *Options, _ int) error {
		return certificates.AddApproving(m)
	}},
	{"certificatesigningrequest-cleaner-controller", "certificate-controller", func(m *manager.Manager, _ *Options, _ int) error {
		return certificates.AddCleaner(m)
	}},
	{"podcertificaterequest-cleaner-controller", "podcertificaterequestcleaner", func(m *manager.Manager, o *Options, _ int) error {
		if !o.serves("PodCertificateRequest") {
			return nil
		}
		return certificates.AddPodCleaner(m)
	}},
	{"kube-apiserver-serving-clustertrustbundle-publisher-controller", "kube-apiserver-serving-clustertrustbundle-publisher", func(m *manager.Manager, o *Options, _ int) error {
		if !o.serves("ClusterTrustBundle") || len(o.RootCA) == 0 {
			return nil
		}
		return certificates.AddBundlePublisher(m, certificates.BundleOptions{Signer: certificates.ServingSigner, Bundle: o.RootCA})
	}},
	{"validatingadmissionpolicy-status-controller", "validatingadmissionpolicy-status-controller", func(m *manager.Manager, _ *Options, _ int) error {
		return admissionpolicystatus.Add(m, admissionpolicystatus.Options{})
	}},
	{"podgroup-protection-controller", "podgroup-protection-controller", func(m *manager.Manager, o *Options, _ int) error {
		if !o.serves("GenericWorkload") {
			return nil
		}
		return podgroupprotection.Add(m)
	}},
	{"storageversion-garbage-collector-controller", "storage-version-garbage-collector", func(m *manager.Manager, o *Options, _ int) error {
		if !o.serves("StorageVersionAPI") {
			return nil
		}
		return storageversiongc.Add(m)
	}},
	{"storage-version-migrator-controller", "storage-version-migrator-controller", func(m *manager.Manager, o *Options, _ int) error {
		if !o.serves("StorageVersionMigrator") {
			return nil
		}
		return storageversionmigrator.Add(m, storageversionmigrator.Options{})
	}},
	{"device-taint-eviction-controller", "device-taint-eviction-controller", func(m *manager.Manager, o *Options, workers int) error {
		return devicetainteviction.Add(m, devicetainteviction.Options{Concurrency: workers, Rules: o.serves("DRADeviceTaintRules")})
	}},
	{"taint-eviction-controller", "node-controller", func(m *manager.Manager, _ *Options, _ int) error { return tainteviction.Add(m) }},
}

// serves reports whether the kinds of a feature are served.
func (o *Options) serves(feature string) bool { return slices.Contains(o.Gated, feature) }

// offByDefault are the controllers that "*" leaves out.
var offByDefault = []string{"bootstrap-signer-controller", "selinux-warning-controller", "token-cleaner-controller"}

// hasConcurrency are the controllers whose concurrency is an option.
var hasConcurrency = []string{
	"cronjob-controller", "daemonset-controller", "deployment-controller", "device-taint-eviction-controller", "disruption-controller", "endpoints-controller",
	"endpointslice-controller", "endpointslice-mirroring-controller", "ephemeral-volume-controller", "garbage-collector-controller",
	"horizontal-pod-autoscaler-controller", "job-controller", "namespace-controller", "persistentvolume-expander-controller",
	"persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller", "replicaset-controller",
	"replicationcontroller-controller", "resourceclaim-controller", "resourcequota-controller", "serviceaccount-token-controller", "statefulset-controller",
	"ttl-after-finished-controller",
}

// aliases are names of earlier versions of Kubernetes that differ in more than the ending.
var aliases = map[string]string{
	"attachdetach":                         "persistentvolume-attach-detach-controller",
	"bootstrapsigner":                      "bootstrap-signer-controller",
	"csrapproving":                         "certificatesigningrequest-approving-controller",
	"csrcleaner":                           "certificatesigningrequest-cleaner-controller",
	"csrsigning":                           "certificatesigningrequest-signing-controller",
	"endpoint":                             "endpoints-controller",
	"endpointslicemirroring":               "endpointslice-mirroring-controller",
	"legacy-service-account-token-cleaner": "legacy-serviceaccount-token-cleaner-controller",
	"garbagecollector":                     "garbage-collector-controller",
	"horizontalpodautoscaling":             "horizontal-pod-autoscaler-controller",
	"nodeipam":                             "node-ipam-controller",
	"nodelifecycle":                        "node-lifecycle-controller",
	"podgc":                                "pod-garbage-collector-controller",
	"pv-protection":                        "persistentvolume-protection-controller",
	"pvc-protection":                       "persistentvolumeclaim-protection-controller",
	"resource-claim-controller":            "resourceclaim-controller",
	"root-ca-cert-publisher":               "root-ca-certificate-publisher-controller",
	"route":                                "node-route-controller",
	"service":                              "service-lb-controller",
	"storage-version-gc":                   "storageversion-garbage-collector-controller",
	"svm":                                  "storage-version-migrator-controller",
	"tokencleaner":                         "token-cleaner-controller",
}

// ofClouds are the controllers that kube-controller-manager has only with a built-in cloud provider, of which
// there are none any more.
var ofClouds = []string{"cloud-node-lifecycle-controller", "node-route-controller", "service-lb-controller"}

// Names returns the names of all controllers.
func Names() []string {
	var out []string
	for _, e := range all {
		out = append(out, e.name)
	}
	return out
}

// Add adds the selected controllers to m. A controller that its options leave without work is not added.
func Add(m *manager.Manager, opts Options) error {
	selected, err := selection(opts.Controllers)
	if err != nil {
		return err
	}
	var errs []error
	for name, n := range opts.Concurrency {
		if n < 1 || !slices.Contains(hasConcurrency, name) {
			errs = append(errs, fmt.Errorf("concurrency of %s: %d: want a positive number for one of %s", name, n, strings.Join(hasConcurrency, ", ")))
		}
	}
	for _, e := range all {
		if !selected[e.name] {
			continue
		}
		if err := e.addAs(m, &opts); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.name, err))
		}
	}
	return errors.Join(errs...)
}

// Health returns a check for each controller that Add has added to m, by the name of the controller, for
// health.Server.Live. A check fails when its controller has returned, which it does while m runs only if it
// was removed or has failed. The checks may be called concurrently, also before m runs.
func Health(m *manager.Manager) map[string]health.Check {
	checks := map[string]health.Check{}
	for _, e := range all {
		runnable := e.name
		if !m.Has(runnable) {
			runnable = strings.TrimSuffix(e.name, "-controller")
		}
		if !m.Has(runnable) {
			continue
		}
		checks[e.name] = func(context.Context) error {
			if !m.Has(runnable) {
				return errors.New("the controller has returned")
			}
			return nil
		}
	}
	return checks
}

// addAs adds a controller that writes as its account.
func (e *entry) addAs(m *manager.Manager, opts *Options) error {
	if opts.Connect == nil || e.account == "" {
		return e.add(m, opts, opts.Concurrency[e.name])
	}
	conn, err := opts.Connect(e.account)
	if err != nil {
		return err
	}
	return e.add(m.As(conn), opts, opts.Concurrency[e.name])
}

// selection resolves Options.Controllers.
func selection(list []string) (map[string]bool, error) {
	if len(list) == 0 {
		list = []string{"*"}
	}
	names := Names()
	out := map[string]bool{}
	if slices.Contains(list, "*") {
		for _, n := range names {
			out[n] = !slices.Contains(offByDefault, n)
		}
	}
	for _, item := range list {
		if item == "*" {
			continue
		}
		name, off := strings.CutPrefix(item, "-")
		name = cmp.Or(aliases[name], name)
		if !slices.Contains(names, name) && !slices.Contains(ofClouds, name) {
			name += "-controller"
		}
		if slices.Contains(ofClouds, name) {
			continue
		}
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%q is not a controller; known are %s", item, strings.Join(names, ", "))
		}
		out[name] = !off
	}
	return out, nil
}
