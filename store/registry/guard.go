package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
)

var leasesGVR = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// guardsOf returns the guards of a write under the fence token in ctx, if there is one: the lease must be
// unchanged since its holder and transitions were compared with the token's, which makes the comparison and
// the write one transaction. With first the cached lease may be used; after a guard has failed the lease is
// read from the store, because it may only have been renewed.
func (r *Registry) guardsOf(ctx context.Context, first bool) ([]store.Guard, error) {
	token, fenced := fence.FromContext(ctx)
	if !fenced {
		return nil, nil
	}
	leases := r.Resource(leasesGVR)
	if leases == nil {
		return nil, fencedError(token)
	}
	f := Freshness{Any: first}
	o, err := leases.Get(ctx, token.Lease, f)
	if first && (err != nil || !sameTerm(leases, o.Value, token)) {
		o, err = leases.Get(ctx, token.Lease, Freshness{}) // the cache may be behind
	}
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return nil, err
	case err != nil || !sameTerm(leases, o.Value, token):
		return nil, fencedError(token)
	}
	return []store.Guard{{Key: o.Key, Revision: o.Revision}}, nil
}

// sameTerm reports whether a stored lease is in the token's term.
func sameTerm(leases *Resource, value []byte, token fence.Token) bool {
	obj, err := leases.decodeStored(value)
	if err != nil {
		return false
	}
	lease, ok := obj.(*coordinationv1.Lease)
	if !ok || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != token.Holder {
		return false
	}
	var transitions int32
	if lease.Spec.LeaseTransitions != nil {
		transitions = *lease.Spec.LeaseTransitions
	}
	return transitions == token.Transitions
}

// fencedError returns the error of a fenced write. It does not distinguish a missing lease from one of
// another holder or term: a client may send any token without the right to read leases.
func fencedError(token fence.Token) error {
	err := apierrors.New(409, apierrors.ReasonFenced, fmt.Sprintf("the write was made as the leader %q of lease %s/%s, term %d, which does not hold it",
		token.Holder, token.Lease.Namespace, token.Lease.Name, token.Transitions))
	err.ErrStatus.Details = &metav1.StatusDetails{Name: token.Lease.Name, Group: leasesGVR.Group, Kind: leasesGVR.Resource}
	return err
}

// isGuardFailure reports that a write failed because the lease was written meanwhile.
func isGuardFailure(err error) bool {
	_, ok := errors.AsType[*store.GuardError](err)
	return ok
}
