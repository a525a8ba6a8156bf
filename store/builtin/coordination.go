package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// coordination returns the kinds of the group coordination.k8s.io.
func coordination(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info: kind[*coordinationv1.Lease](s, coordinationv1.GroupVersion), Table: leaseTable,
		Strategy: registry.Strategy{
			CreateOnUpdate: true, VersionRequired: true, BareFinalizers: true,
			PrepareCreate: on(func(l *coordinationv1.Lease) { dropCoordination(l, &coordinationv1.Lease{}) }),
			PrepareUpdate: onBoth(dropCoordination),
		},
	}}
}

// dropCoordination clears the fields of coordinated leader election, which is not served, unless the stored
// object has them.
func dropCoordination(l, old *coordinationv1.Lease) {
	if old.Spec.Strategy == nil && old.Spec.PreferredHolder == nil {
		l.Spec.Strategy, l.Spec.PreferredHolder = nil, nil
	}
}
