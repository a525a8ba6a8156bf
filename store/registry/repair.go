package registry

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
)

var servicesGVR = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// Repair brings allocations back into agreement with the services there are. Writes of services keep the two
// together; what comes apart does so by hand, by a restored backup, or by a server of another make. Every
// correction is guarded with the state it was worked out from, so a race leaves it to the next run. It
// returns what could not be corrected.
func (r *Registry) Repair(ctx context.Context) error {
	services, addresses := r.Resource(servicesGVR), r.Resource(addressesGVR)
	if services == nil || addresses == nil {
		return nil
	}
	all, err := services.decodeAll(ctx)
	if err != nil {
		return err
	}
	known, err := addresses.decodeAll(ctx)
	if err != nil {
		return err
	}
	return errors.Join(r.repairMissing(ctx, all, known), r.repairLeaked(ctx, all, known), r.repairPorts(ctx, all))
}

// decodeAll reads all objects of the resource by key.
func (r *Resource) decodeAll(ctx context.Context) (map[types.NamespacedName]*state, error) {
	snap, err := r.Snapshot(ctx, Freshness{})
	if err != nil {
		return nil, err
	}
	out := make(map[types.NamespacedName]*state, snap.Len())
	for o := range snap.Range(r.prefix, "") {
		obj, err := r.decode(o.Value, o.Revision)
		if err != nil {
			continue // its readers are told
		}
		out[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = &state{obj: obj, raw: o.Value, revision: o.Revision}
	}
	return out, nil
}

// repairMissing makes the addresses that services hold without an object.
func (r *Registry) repairMissing(ctx context.Context, services, addresses map[types.NamespacedName]*state) error {
	var errs []error
	for key, st := range services {
		svc := st.obj.(*corev1.Service)
		for _, text := range owned(svc) {
			ip, err := netip.ParseAddr(text)
			if err != nil || addresses[types.NamespacedName{Name: ip.String()}] != nil {
				continue
			}
			op, err := r.addrs.op(svc, ip)
			if err == nil {
				_, err = r.store.Txn(ctx, []store.Op{op}, []store.Guard{{Key: r.Resource(servicesGVR).key(key), Revision: st.revision}})
			}
			errs = append(errs, notARace(err))
		}
	}
	return errors.Join(errs...)
}

// repairLeaked deletes the addresses of services that are gone or hold another address.
func (r *Registry) repairLeaked(ctx context.Context, services, addresses map[types.NamespacedName]*state) error {
	var errs []error
	for key, st := range addresses {
		addr := st.obj.(*networkingv1.IPAddress)
		ref := addr.Spec.ParentRef
		if addr.Labels[networkingv1.LabelManagedBy] != "ipallocator.k8s.io" || ref == nil || ref.Group != "" || ref.Resource != "services" {
			continue // somebody's own
		}
		parent := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
		guard := store.Guard{Key: r.Resource(servicesGVR).key(parent), Revision: store.Absent}
		if svc := services[parent]; svc != nil {
			if holds(svc.obj.(*corev1.Service), addr.Name) {
				continue
			}
			guard.Revision = svc.revision
		}
		_, err := r.store.Txn(ctx, []store.Op{store.DeleteOp(r.Resource(addressesGVR).key(key), st.revision)}, []store.Guard{guard})
		errs = append(errs, notARace(err))
	}
	return errors.Join(errs...)
}

func holds(svc *corev1.Service, address string) bool {
	for _, text := range owned(svc) {
		if ip, err := netip.ParseAddr(text); err == nil && ip.String() == address {
			return true
		}
	}
	return false
}

// repairPorts makes the map of node ports what the services say.
func (r *Registry) repairPorts(ctx context.Context, services map[types.NamespacedName]*state) error {
	m, err := r.ports.load(ctx)
	if err != nil {
		return err
	}
	want := &portMap{ports: m.ports, revision: m.revision}
	for _, st := range services {
		svc := st.obj.(*corev1.Service)
		for _, port := range held(svc) {
			if err := want.take(port); err != nil && !errors.Is(err, errPortTaken) {
				r.logger.Warn("a service has a node port outside of the range", "service", fmt.Sprint(metav1.KeyOf(svc)), "port", port)
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
	// The services were read before the map; had one changed its ports since, the map would have changed with
	// it.
	later, err := r.ports.load(ctx)
	if err != nil || later.revision != m.revision {
		return err
	}
	fresh, err := r.Resource(servicesGVR).decodeAll(ctx)
	if err != nil || !sameStates(services, fresh) {
		return err
	}
	_, err = r.store.Txn(ctx, []store.Op{op}, nil)
	return notARace(err)
}

func sameStates(a, b map[types.NamespacedName]*state) bool {
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

// notARace drops errors that say that somebody was faster.
func notARace(err error) error {
	if _, ok := errors.AsType[*store.GuardError](err); ok || raced(err) {
		return nil
	}
	if _, ok := errors.AsType[*store.ExistsError](err); ok {
		return nil
	}
	return err
}
