package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// coordination returns the kinds of the group coordination.k8s.io.
func coordination(s *scheme.Scheme) []registry.Definition {
	candidates := kind[*coordinationv1beta1.LeaseCandidate](s, coordinationv1beta1.GroupVersion)
	leases := registry.Strategy{CreateOnUpdate: true, VersionRequired: true, BareFinalizers: true}
	if candidates == nil {
		leases.PrepareCreate = on(func(l *coordinationv1.Lease) { dropCoordination(l, &coordinationv1.Lease{}) })
		leases.PrepareUpdate = onBoth(dropCoordination)
	}
	return []registry.Definition{{
		Info: kind[*coordinationv1.Lease](s, coordinationv1.GroupVersion), Table: leaseTable, Strategy: leases,
	}, {
		Info: candidates, Table: leaseCandidateTable,
		Strategy: registry.Strategy{CreateOnUpdate: true, VersionRequired: true},
		Fields: registry.Fields{
			Names: []string{"spec.leaseName"},
			Of: func(obj metav1.Object, add func(name, value string)) {
				add("spec.leaseName", obj.(*coordinationv1beta1.LeaseCandidate).Spec.LeaseName)
			},
		},
	}}
}

// dropCoordination clears the fields of coordinated leader election, which is not served, unless the stored
// object has them.
func dropCoordination(l, old *coordinationv1.Lease) {
	if old.Spec.Strategy == nil {
		l.Spec.Strategy = nil
	}
	if old.Spec.PreferredHolder == nil {
		l.Spec.PreferredHolder = nil
	}
}
