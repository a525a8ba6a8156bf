package endpointslice

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/internal/creation"
	"github.com/keelson-dev/keelson/controllers/internal/parallel"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// slicesAPI writes slices. The answer of a creation that is lost makes no second slice.
type slicesAPI struct {
	*client.Client[*discoveryv1.EndpointSlice]
	copies informers.Lister[*discoveryv1.EndpointSlice]
}

func newSlicesAPI(m *manager.Manager) slicesAPI {
	return slicesAPI{client.For[*discoveryv1.EndpointSlice](m.Conn()), informers.For[*discoveryv1.EndpointSlice](m.Informers()).Lister()}
}

func (a slicesAPI) create(ctx context.Context, s *discoveryv1.EndpointSlice) error {
	_, err := creation.Create(ctx, a.Client, a.copies, s)
	return err
}

// apply does what a plan says, all of it even if some fails, and returns the first error: it creates slices,
// then updates others, then deletes, so that an endpoint that moves between two is in one of them at any
// time. Writes of one kind are independent of each other and done at once. stamp, if not nil, is called for
// each slice that is about to be written. After an error the next reconcile makes another plan.
func apply(ctx context.Context, api slicesAPI, plan []write, stamp func(*discoveryv1.EndpointSlice)) error {
	var first error
	for _, kind := range []struct {
		has func(w write) bool
		do  func(w write) error
	}{
		{func(w write) bool { return w.have == nil }, func(w write) error { return api.create(ctx, w.next) }},
		{func(w write) bool { return w.have != nil && w.next != nil }, func(w write) error { _, err := api.Update(ctx, w.next); return err }},
		{func(w write) bool { return w.next == nil }, func(w write) error { return api.Delete(ctx, w.have.Key()) }},
	} {
		writes := slices.DeleteFunc(slices.Clone(plan), func(w write) bool { return !kind.has(w) })
		for _, w := range writes {
			if w.next != nil && stamp != nil {
				stamp(w.next)
			}
		}
		err := parallel.First(len(writes), func(i int) error {
			err := kind.do(writes[i])
			if apierrors.IsNotFound(err) || apierrors.HasCause(err, "NamespaceTerminating") {
				return nil
			}
			return err
		})
		if first == nil {
			first = err
		}
	}
	return first
}
