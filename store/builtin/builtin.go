package builtin

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/registry"
)

// Options configure the built-in kinds. The zero value works.
type Options struct {
	// EventTTL is how long Events are kept. Zero means an hour.
	EventTTL time.Duration
	// ServiceCIDR is the range of cluster IPs, or two of different families separated by a comma. Empty means
	// DefaultServiceCIDR.
	ServiceCIDR string
	// NodePorts is the range of node ports. Zero means 30000 to 32767.
	NodePorts PortRange
	// TopologyConstraints keeps spec.schedulingConstraints of PodGroups, and those of the templates of
	// Workloads: the feature TopologyAwareWorkloadScheduling of Kubernetes. Otherwise new objects lose it.
	TopologyConstraints bool
	// NoTrustBundleVolumes removes the sources clusterTrustBundle of projected volumes from new objects also
	// where ClusterTrustBundles are served: the feature ClusterTrustBundleProjection of Kubernetes is off.
	// Where a kind is not served new objects never have the fields of pods that refer to it.
	NoTrustBundleVolumes bool
	// GroupPriority keeps disruptionMode, priorityClassName and priority of PodGroups, and those of the
	// templates of Workloads: the feature WorkloadAwarePreemption of Kubernetes. Otherwise new objects lose
	// them.
	GroupPriority bool
	// Metrics are called as addresses and ports of services are allocated and repaired, and as certificates
	// are issued.
	Metrics Metrics
	// Logger receives what cannot be returned. Nil discards.
	Logger *slog.Logger
}

// Kinds are the built-in kinds over one registry, with the allocators that their strategies use. All methods
// are safe for concurrent use.
type Kinds struct {
	registry  *registry.Registry
	logger    *slog.Logger
	eventTTL  time.Duration
	metrics   Metrics
	addresses *addressAllocator
	ports     *portAllocator
	topology  bool // Options.TopologyConstraints
	priority  bool // Options.GroupPriority
	noBundles bool // Options.NoTrustBundleVolumes
}

// New returns the built-in kinds for r, which serves none of them before [registry.Registry.Add].
func New(r *registry.Registry, opts Options) (*Kinds, error) {
	k := &Kinds{registry: r, logger: opts.Logger, metrics: opts.Metrics, eventTTL: opts.EventTTL, topology: opts.TopologyConstraints, priority: opts.GroupPriority,
		noBundles: opts.NoTrustBundleVolumes}
	if k.logger == nil {
		k.logger = slog.New(slog.DiscardHandler)
	}
	if k.eventTTL == 0 {
		k.eventTTL = time.Hour
	}
	var err error
	if k.addresses, err = newAddressAllocator(r, opts.ServiceCIDR); err != nil {
		return nil, err
	}
	k.ports, err = newPortAllocator(r, opts.NodePorts)
	return k, err
}

// rows returns the definitions of the built-in kinds of s that do not depend on options. Those of kinds that
// s lacks have no Info.
func rows(s *scheme.Scheme) []registry.Definition {
	var out []registry.Definition
	for _, group := range []func(*scheme.Scheme) []registry.Definition{
		core, apps, batch, autoscaling, policy, networking, discovery, rbac, coordination, storage, scheduling,
		node, certificates, flowcontrol, resources, admissionregistration, apiextensions, apiregistration,
		storagemigration, apiserverinternal,
	} {
		out = append(out, group(s)...)
	}
	if fields := uselessFields(s); len(fields) > 0 {
		for i := range out {
			drop(&out[i].Strategy, fields)
		}
	}
	return out
}

// Definitions returns the definitions of the stored kinds of s, which are those that can be listed and
// created: of the built-in kinds as they are here, of any other kind by [registry.Define]. The definitions in
// more replace those of their resources. What the result points to must not be changed: servers of one frozen
// scheme share it.
func (k *Kinds) Definitions(s *scheme.Scheme, more ...registry.Definition) ([]*registry.Definition, error) {
	shared, err := sharedDefinitions(s)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(shared)
	for _, d := range slices.Concat(k.coreOptions(s), k.events(s), k.groups(s), k.signings(s), more) {
		if d.Info == nil {
			continue
		}
		if err := checkStored(&d); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(out, func(other *registry.Definition) bool { return other.Info.GVR == d.Info.GVR })
		if i >= 0 {
			out[i] = &d
		}
	}
	if k.noBundles && servesBundles(s) {
		for i, d := range out {
			without := *d
			drop(&without.Strategy, []gatedField{bundleField})
			out[i] = &without
		}
	}
	return out, nil
}

// checkStored refuses a definition that converts from a kind that is not registered.
func checkStored(d *registry.Definition) error {
	if d.FromStored != nil && d.Stored == nil {
		return fmt.Errorf("builtin: %v is stored as a kind that is not registered", d.Info.GVR)
	}
	return nil
}

// sharedKinds are the definitions of a frozen scheme that do not depend on options.
type sharedKinds struct {
	scheme *scheme.Scheme
	defs   []*registry.Definition
}

// lastShared are those of the frozen scheme that was used last, which is the only one of most programs: to
// make them takes as long as all the rest of a start.
var lastShared atomic.Pointer[sharedKinds]

// sharedDefinitions returns the definitions of the stored kinds of s, in the order of registration. Those
// that depend on options are still to be replaced.
func sharedDefinitions(s *scheme.Scheme) ([]*registry.Definition, error) {
	if last := lastShared.Load(); last != nil && last.scheme == s {
		return last.defs, nil
	}
	byGVR := map[schema.GroupVersionResource]*registry.Definition{}
	for _, d := range rows(s) {
		if d.Info == nil {
			continue
		}
		if err := checkStored(&d); err != nil {
			return nil, err
		}
		byGVR[d.Info.GVR] = &d
	}
	var out []*registry.Definition
	for _, info := range s.All() {
		if !info.HasVerb("create") || !info.HasVerb("list") {
			continue
		}
		d := byGVR[info.GVR]
		if d == nil {
			defined := registry.Define(info)
			d = &defined
		}
		out = append(out, d)
	}
	if s.Frozen() {
		registry.Prepare(out...)
		lastShared.Store(&sharedKinds{s, out})
	}
	return out, nil
}

// kind returns the registration of a Go type in s at that version, or nil.
func kind[T metav1.Object](s *scheme.Scheme, gv schema.GroupVersion) *scheme.Info {
	info, err := scheme.InfoFor[T](s)
	if err != nil || info.GVK.GroupVersion() != gv {
		return nil
	}
	return info
}

// on adapts a function about one Go type.
func on[T metav1.Object](f func(obj T)) func(context.Context, metav1.Object) {
	return func(_ context.Context, obj metav1.Object) { f(obj.(T)) }
}

// onBoth adapts a function about a new and an old object of one Go type.
func onBoth[T metav1.Object](f func(obj, old T)) func(context.Context, metav1.Object, metav1.Object) {
	return func(_ context.Context, obj, old metav1.Object) { f(obj.(T), old.(T)) }
}

// edit adapts a function that restricts a change of one Go type.
func edit[T metav1.Object](f func(obj, old T)) func(obj, old metav1.Object) {
	return func(obj, old metav1.Object) { f(obj.(T), old.(T)) }
}

// check adapts a validation of one Go type.
func check[T metav1.Object](f func(obj, old T) validation.ErrorList) func(obj, old metav1.Object) validation.ErrorList {
	return func(obj, old metav1.Object) validation.ErrorList { return f(obj.(T), old.(T)) }
}

// unchecked is the validation of a write that cannot change what the kind's rules are about.
func unchecked(_, _ metav1.Object) validation.ErrorList { return nil }

// field returns the field selectors of a kind with one field, which is named after its path.
func field[T metav1.Object](name string, value func(obj T) string) registry.Fields {
	return registry.Fields{Names: []string{name}, Of: func(obj metav1.Object, add func(name, value string)) {
		add(name, value(obj.(T)))
	}}
}
