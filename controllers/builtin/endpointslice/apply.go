package endpointslice

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
)

// apply does what a plan says, all of it even if some fails, and returns the first error. stamp, if not
// nil, is called for each slice that is about to be written. After an error the next reconcile makes
// another plan.
func apply(ctx context.Context, api *client.Client[*discoveryv1.EndpointSlice], plan []write, stamp func(*discoveryv1.EndpointSlice)) (first error) {
	for _, w := range plan {
		if w.next != nil && stamp != nil {
			stamp(w.next)
		}
		var err error
		switch {
		case w.have == nil:
			_, err = api.Create(ctx, w.next)
		case w.next == nil:
			err = api.Delete(ctx, w.have.Key())
		default:
			_, err = api.Update(ctx, w.next)
		}
		if first == nil && !apierrors.IsNotFound(err) && !apierrors.HasCause(err, "NamespaceTerminating") {
			first = err
		}
	}
	return first
}
