package builtin

import (
	"context"
	"errors"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/registry"
)

var servicesGVR = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// RepairServices makes the allocations of addresses and node ports agree with the stored services. Writes of
// services keep the two consistent; they diverge when the store is edited by hand, restored from a backup, or
// written by another implementation. Every correction is guarded with the state it was computed from, so a
// race leaves it to the next call. It returns what could not be corrected.
func (k *Kinds) RepairServices(ctx context.Context) error {
	services, addresses := k.registry.Resource(servicesGVR), k.registry.Resource(addressesGVR)
	if services == nil || addresses == nil {
		return nil
	}
	svcs, err := readAll[*corev1.Service](ctx, services)
	if err != nil {
		return err
	}
	addrs, err := readAll[*networkingv1.IPAddress](ctx, addresses)
	if err != nil {
		return err
	}
	found := errors.Join(k.repairMissing(ctx, svcs, addrs), k.repairLeaked(ctx, svcs, addrs))
	return errors.Join(k.unrepaired(false, found), k.unrepaired(true, k.repairPorts(ctx, svcs)))
}

// stored is an object with the key and the revision it was read at.
type stored[T metav1.Object] struct {
	obj      T
	key      string
	revision int64
}

// readAll reads all objects of a resource but those that cannot be decoded.
func readAll[T metav1.Object](ctx context.Context, res *registry.Resource) (map[types.NamespacedName]*stored[T], error) {
	snap, err := res.Snapshot(ctx, registry.Freshness{})
	if err != nil {
		return nil, err
	}
	out := make(map[types.NamespacedName]*stored[T], snap.Len())
	for o := range snap.Range(res.Prefix(), "") {
		if obj, err := res.Decode(ctx, o); err == nil {
			out[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = &stored[T]{obj: obj.(T), key: o.Key, revision: o.Revision}
		}
	}
	return out, nil
}

// repairMissing creates the IPAddress objects of allocated addresses that have none.
func (k *Kinds) repairMissing(ctx context.Context, services map[types.NamespacedName]*stored[*corev1.Service], addresses map[types.NamespacedName]*stored[*networkingv1.IPAddress]) error {
	var errs []error
	for _, svc := range services {
		for _, text := range addressesOf(svc.obj) {
			ip, err := netip.ParseAddr(text)
			if err != nil || addresses[types.NamespacedName{Name: ip.String()}] != nil {
				continue
			}
			k.repaired(false, Missing)
			op, err := k.addresses.op(ctx, svc.obj, ip)
			if err == nil {
				_, err = k.registry.Store().Txn(ctx, []store.Op{op}, []store.Guard{{Key: svc.key, Revision: svc.revision}})
			}
			errs = append(errs, ignoreRace(err))
		}
	}
	return errors.Join(errs...)
}

// repairLeaked deletes the IPAddress objects of services that are deleted or have another address.
func (k *Kinds) repairLeaked(ctx context.Context, services map[types.NamespacedName]*stored[*corev1.Service], addresses map[types.NamespacedName]*stored[*networkingv1.IPAddress]) error {
	var errs []error
	for _, addr := range addresses {
		ref := addr.obj.Spec.ParentRef
		if addr.obj.Labels[networkingv1.LabelManagedBy] != addressManager || ref == nil || ref.Group != "" || ref.Resource != "services" {
			continue // not made by the allocator
		}
		parent := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
		guard := store.Guard{Key: k.registry.Resource(servicesGVR).Key(parent), Revision: store.Absent}
		if svc := services[parent]; svc != nil {
			if holds(svc.obj, addr.obj.Name) {
				continue
			}
			guard.Revision = svc.revision
		}
		k.repaired(false, Leaked)
		_, err := k.registry.Store().Txn(ctx, []store.Op{store.DeleteOp(addr.key, addr.revision)}, []store.Guard{guard})
		errs = append(errs, ignoreRace(err))
	}
	return errors.Join(errs...)
}

func holds(svc *corev1.Service, address string) bool {
	for _, text := range addressesOf(svc) {
		if ip, err := netip.ParseAddr(text); err == nil && ip.String() == address {
			return true
		}
	}
	return false
}

// repairPorts makes the map of node ports agree with the services.
func (k *Kinds) repairPorts(ctx context.Context, services map[types.NamespacedName]*stored[*corev1.Service]) error {
	m, err := k.ports.load(ctx)
	if err != nil {
		return err
	}
	want := &portMap{ports: m.ports, revision: m.revision}
	for _, svc := range services {
		for _, port := range nodePortsOf(svc.obj) {
			if err := want.take(port); err != nil && !errors.Is(err, errPortTaken) {
				k.logger.Warn("a service has a node port outside of the range", "namespace", svc.obj.Namespace, "name", svc.obj.Name, "port", port)
				k.repaired(true, OutOfRange)
			}
		}
	}
	if want.bits.Cmp(&m.bits) == 0 {
		return nil
	}
	op, err := want.op()
	if err != nil {
		return err
	}
	// The services were read before the map: if one had changed its ports since, so would the map have.
	later, err := k.ports.load(ctx)
	if err != nil || later.revision != m.revision {
		return err
	}
	again, err := readAll[*corev1.Service](ctx, k.registry.Resource(servicesGVR))
	if err != nil || !sameRevisions(services, again) {
		return err
	}
	for i := range int(m.ports.Last-m.ports.First) + 1 {
		switch now := want.bits.Bit(i); {
		case now == m.bits.Bit(i):
		case now == 1:
			k.repaired(true, Missing)
		default:
			k.repaired(true, Leaked)
		}
	}
	_, err = k.registry.Store().Txn(ctx, []store.Op{op}, nil)
	return ignoreRace(err)
}

func sameRevisions(a, b map[types.NamespacedName]*stored[*corev1.Service]) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w := b[k]; w == nil || w.revision != v.revision {
			return false
		}
	}
	return true
}

// ignoreRace returns nil for errors that say that another write came first.
func ignoreRace(err error) error {
	if _, ok := errors.AsType[*store.GuardError](err); ok {
		return nil
	}
	if _, ok := errors.AsType[*store.ConflictError](err); ok {
		return nil
	}
	if _, ok := errors.AsType[*store.ExistsError](err); ok {
		return nil
	}
	return err
}
