package registry

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/authn"
)

// otherStrategy is the strategy of the remaining kinds that need one.
func otherStrategy(_ *Registry, obj metav1.Object) (Strategy, bool) {
	switch obj.(type) {
	case *coordinationv1.Lease:
		return Strategy{PrepareCreate: on(func(l *coordinationv1.Lease) { dropCoordination(l, &coordinationv1.Lease{}) }), PrepareUpdate: onBoth(dropCoordination)}, true
	case *storagev1.CSIDriver:
		return Strategy{PrepareCreate: on(func(d *storagev1.CSIDriver) { d.Spec.PreventPodSchedulingIfMissing = nil })}, true
	case *discoveryv1.EndpointSlice:
		return Strategy{PrepareCreate: on(func(e *discoveryv1.EndpointSlice) {
			for i := range e.Endpoints {
				e.Endpoints[i].DeprecatedTopology = nil // of the older version: nobody sets it any more
			}
		})}, true
	case *flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration, *networkingv1.ServiceCIDR, *resourcev1.ResourceClaim:
		return Strategy{StatusOnly: true}, true
	case *certificatesv1.CertificateSigningRequest:
		return Strategy{PrepareCreate: prepareCSR, PrepareUpdate: onBoth(func(csr, old *certificatesv1.CertificateSigningRequest) {
			csr.Spec = old.Spec
		}), PrepareStatus: func(_ context.Context, obj, old metav1.Object) {
			csr, before := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
			csr.Status.Conditions = keepApproval(csr.Status.Conditions, before.Status.Conditions)
		}}, true
	}
	return Strategy{}, false
}

// dropCoordination takes away what is for coordinated leader election, which is not served; an object that
// has it keeps it.
func dropCoordination(l, old *coordinationv1.Lease) {
	if old.Spec.Strategy == nil && old.Spec.PreferredHolder == nil {
		l.Spec.Strategy, l.Spec.PreferredHolder = nil, nil
	}
}

// prepareCSR writes who asks into the request: what a signer decides by must not be the client's own claim.
func prepareCSR(ctx context.Context, obj metav1.Object) {
	csr := obj.(*certificatesv1.CertificateSigningRequest)
	csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups, csr.Spec.Extra = "", "", nil, nil
	if u := authn.UserFrom(ctx); u != nil {
		csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups = u.Name, u.UID, u.Groups
		for k, v := range u.Extra {
			if csr.Spec.Extra == nil {
				csr.Spec.Extra = map[string]certificatesv1.ExtraValue{}
			}
			csr.Spec.Extra[k] = v
		}
	}
}

// keepApproval lets the status subresource add anything but approvals and denials, which have a subresource
// of their own.
func keepApproval(now, before []certificatesv1.CertificateSigningRequestCondition) []certificatesv1.CertificateSigningRequestCondition {
	isVerdict := func(t certificatesv1.RequestConditionType) bool {
		return t == certificatesv1.CertificateApproved || t == certificatesv1.CertificateDenied
	}
	var out []certificatesv1.CertificateSigningRequestCondition
	for _, c := range before {
		if isVerdict(c.Type) {
			out = append(out, c)
		}
	}
	for _, c := range now {
		if !isVerdict(c.Type) {
			out = append(out, c)
		}
	}
	return out
}
