package controlplane

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// EndpointsMode says how a server keeps its address in the endpoints of the service kubernetes.
type EndpointsMode string

// The modes, whose values are those of the flag --endpoint-reconciler-type.
const (
	// EndpointsLease is the default: over a shared store each server has a key that expires, and the
	// endpoints are the addresses that have one. Over a store of its own a server is the only endpoint.
	EndpointsLease EndpointsMode = "lease"
	// EndpointsCount adds the address of the server and keeps at most BookkeepingOptions.Servers, so that the
	// address of a server that crashed remains until another one takes its place.
	EndpointsCount EndpointsMode = "master-count"
	// EndpointsNone leaves the endpoints to others.
	EndpointsNone EndpointsMode = "none"
)

// BookkeepingOptions say what a server writes about itself. The zero value is that of a server which others
// find by its address only.
type BookkeepingOptions struct {
	// Endpoints is how the endpoints of the service kubernetes are kept; empty means EndpointsLease.
	Endpoints EndpointsMode
	// Servers is the number of servers, for EndpointsCount; zero means 1.
	Servers int
	// Hostname is that of the machine. With it the server keeps a lease in kube-system that carries the label
	// apiserver.kubernetes.io/identity=kube-apiserver while it runs, and deletes those of servers that have
	// not renewed theirs for an hour. Its name is derived from the host, as that of Kubernetes is, so that
	// servers of one host share one. Empty means none.
	Hostname string
	// PeerAddress, IP:PORT, is the address at which other servers over the store pass on requests for
	// resources that only this one serves, see package peers. While the server runs it is in the annotation
	// kubernetes.io/peer-advertise-address of its lease, and in a key of the store that expires. It needs a
	// Hostname and a store that servers share. Empty means none.
	PeerAddress string
	// StorageVersions makes the server report, once it has that lease, in which versions it stores and serves
	// each built-in resource, in StorageVersions of internal.apiserver.k8s.io/v1alpha1. Until it has, writes
	// of these resources are refused and /readyz fails. It has no effect without a Hostname, or if the server
	// does not serve StorageVersions.
	StorageVersions bool
}

// IdentityName is the name of the server's lease; empty without a Hostname.
func (o BookkeepingOptions) IdentityName() string {
	if o.Hostname == "" {
		return ""
	}
	return identityName(o.Hostname)
}

// Bookkeeping returns the start hook that keeps the objects every cluster has: system namespaces, the service
// kubernetes with its endpoints, the service range, priority classes, the default configuration of priority
// and fairness, and an APIService of every served version. It is a hook of one server. [New] sets it; it is
// exported for servers made with package apiserver.
func Bookkeeping(o BookkeepingOptions) apiserver.StartHook { return newBookkeeping(o, nil) }

type bookkeeping struct {
	opts BookkeepingOptions
	// Another server has written the objects: those of any cluster, and the APIServices of the versions that
	// are served at the start.
	written, agree bool
	services       apiServices
	versions       *storageVersions // nil if they are not reported
}

// newBookkeeping returns the hook of a server that begins with an image, which may be nil.
func newBookkeeping(o BookkeepingOptions, from *Image) *bookkeeping {
	if o.Endpoints == "" {
		o.Endpoints = EndpointsLease
	}
	o.Servers = max(o.Servers, 1)
	b := &bookkeeping{opts: o, written: from != nil, agree: from != nil && from.agree}
	if o.StorageVersions && o.Hostname != "" {
		b.versions = &storageVersions{}
	}
	return b
}

// Start implements apiserver.StartHook: it writes the objects that are missing, in one transaction, and
// publishes the address of the server.
func (b *bookkeeping) Start(ctx context.Context, s *apiserver.Server) error {
	if m := b.opts.Endpoints; !slices.Contains([]EndpointsMode{EndpointsLease, EndpointsCount, EndpointsNone}, m) {
		return fmt.Errorf("controlplane: bootstrap: %q is no mode of endpoints", m)
	}
	if err := b.opts.checkPeerAddress(); err != nil {
		return fmt.Errorf("controlplane: bootstrap: %w", err)
	}
	b.services.server = s
	if b.versions != nil {
		b.versions.init(s, identityName(b.opts.Hostname))
	}
	if !b.written {
		if err := s.Registry().Seed(ctx, clusterObjects(s)...); err != nil {
			return fmt.Errorf("controlplane: bootstrap: %w", err)
		}
	}
	if e := newEndpoints(s, b.opts); e.published() {
		if err := e.publish(ctx); err != nil {
			return fmt.Errorf("controlplane: bootstrap: %w", err)
		}
	}
	return nil
}

// Run implements apiserver.StartHook.
func (b *bookkeeping) Run(ctx context.Context, s *apiserver.Server) {
	if b.agree {
		b.services.agreed.Store(s.Registry().Generation())
	}
	var tasks sync.WaitGroup
	tasks.Go(func() { newEndpoints(s, b.opts).run(ctx) })
	tasks.Go(func() { b.services.run(ctx) })
	tasks.Go(func() { restoreObjects(ctx, s) })
	tasks.Go(func() { keepFlows(ctx, s) })
	if b.opts.PeerAddress != "" {
		tasks.Go(func() { publishPeerAddress(ctx, s, b.opts) })
	}
	if b.opts.Hostname != "" {
		tasks.Go(func() { newIdentity(s, b.opts).run(ctx) })
	}
	if b.versions != nil {
		tasks.Go(func() { b.versions.run(ctx) })
	}
	tasks.Wait()
}

// restoreInterval is how often it is checked whether a client has deleted an object without which the server
// or its nodes do not work.
const restoreInterval = 10 * time.Second

// restoreObjects creates the namespaces, the service range and the service kubernetes again when they have
// been deleted, until ctx ends.
func restoreObjects(ctx context.Context, s *apiserver.Server) {
	for backoff.Sleep(ctx, restoreInterval) == nil {
		var gone []metav1.Object
		for _, obj := range essentialObjects(s) {
			resource := corev1.GroupVersion.WithResource("namespaces")
			switch obj.(type) {
			case *corev1.Service:
				resource = corev1.GroupVersion.WithResource("services")
			case *networkingv1.ServiceCIDR:
				resource = networkingv1.GroupVersion.WithResource("servicecidrs")
			}
			if isGone(ctx, s, resource, obj) {
				gone = append(gone, obj)
			}
		}
		if len(gone) == 0 {
			continue
		}
		if err := s.Registry().Seed(ctx, gone...); err != nil && ctx.Err() == nil {
			s.Logger().Warn("objects that every cluster has could not be created again", "err", err)
		}
	}
}

// isGone reports whether obj is served and not stored, by the cache.
func isGone(ctx context.Context, s *apiserver.Server, resource schema.GroupVersionResource, obj metav1.Object) bool {
	if s.Registry().Resource(resource) == nil {
		return false
	}
	_, err := s.Access().View(ctx, resource, metav1.KeyOf(obj))
	return apierrors.IsNotFound(err)
}

// setLabel sets a label of an object that may have none.
func setLabel(m *metav1.ObjectMeta, key, value string) {
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	m.Labels[key] = value
}
