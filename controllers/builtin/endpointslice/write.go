package endpointslice

import (
	"context"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
)

// writer writes slices of at most max endpoints.
type writer struct {
	client *client.Client[*discoveryv1.EndpointSlice]
	max    int
}

// write changes the slices that are there into those that should be with as few writes as it can. Of want
// there is one slice, however long, for each address family and each set of ports. Annotations that are nil
// are left as they are. stamp, if not nil, is called for each slice that is about to be written.
func (w *writer) write(ctx context.Context, have, want []*discoveryv1.EndpointSlice, stamp func(*discoveryv1.EndpointSlice)) error {
	if stamp == nil {
		stamp = func(*discoveryv1.EndpointSlice) {}
	}
	var first error
	keep := func(err error) {
		if first == nil && err != nil && !apierrors.IsNotFound(err) && !apierrors.HasCause(err, "NamespaceTerminating") {
			first = err
		}
	}
	slices.SortFunc(have, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	used := map[*discoveryv1.EndpointSlice]bool{}
	for _, one := range want {
		var old []*discoveryv1.EndpointSlice
		for _, h := range have {
			if !used[h] && h.AddressType == one.AddressType && samePorts(h.Ports, one.Ports) {
				used[h] = true
				old = append(old, h)
			}
		}
		for i, next := range w.spread(old, one) {
			switch {
			case i >= len(old):
				stamp(next)
				_, err := w.client.Create(ctx, next)
				keep(err)
			case next == nil:
				keep(w.client.Delete(ctx, old[i].Key()))
			case !codec.Equal(next, old[i]):
				stamp(next)
				_, err := w.client.Update(ctx, next)
				keep(err)
			}
		}
	}
	for _, h := range have {
		if !used[h] {
			keep(w.client.Delete(ctx, h.Key()))
		}
	}
	return first
}

// samePorts compares ports whatever their order; none and an empty list are the same.
func samePorts(a, b []discoveryv1.EndpointPort) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !slices.ContainsFunc(b, func(p discoveryv1.EndpointPort) bool { return codec.Equal(&p, &a[i]) }) {
			return false
		}
	}
	return true
}

// spread distributes the endpoints of one over the slices that hold such endpoints already: each stays where
// it is, new ones go first into slices that change anyway, then all that are left into one other slice if one
// has room, and else into new slices. The result begins with the new states of the old slices, nil for one to
// delete, and goes on with slices to create.
func (w *writer) spread(old []*discoveryv1.EndpointSlice, one *discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	wanted := map[string]*discoveryv1.Endpoint{}
	for i := range one.Endpoints {
		wanted[endpointKey(&one.Endpoints[i])] = &one.Endpoints[i]
	}
	out := make([]*discoveryv1.EndpointSlice, len(old))
	changed := make([]bool, len(old))
	for i, h := range old {
		out[i], changed[i] = w.kept(h, one, wanted)
	}
	var rest []discoveryv1.Endpoint
	for i := range one.Endpoints {
		if wanted[endpointKey(&one.Endpoints[i])] != nil {
			rest = append(rest, one.Endpoints[i])
		}
	}
	fill := func(i int) {
		n := min(len(rest), w.max-len(out[i].Endpoints))
		out[i].Endpoints = append(out[i].Endpoints, rest[:n]...)
		rest = rest[n:]
	}
	for i := range out {
		if changed[i] {
			fill(i)
		}
	}
	for len(rest) > 0 {
		if i := w.room(out[:len(old)], len(rest)); i >= 0 {
			fill(i)
			continue
		}
		n := min(len(rest), w.max)
		next := codec.DeepCopy(one)
		next.Endpoints = rest[:n:n]
		out, rest = append(out, next), rest[n:]
	}
	return withoutEmpty(out, len(old), one)
}

// kept returns a slice with those of its endpoints that are wanted, which it removes from wanted, and whether
// they are others than before.
func (w *writer) kept(have, one *discoveryv1.EndpointSlice, wanted map[string]*discoveryv1.Endpoint) (*discoveryv1.EndpointSlice, bool) {
	next := codec.DeepCopy(have)
	next.Endpoints, next.Labels, next.OwnerReferences = nil, one.Labels, one.OwnerReferences
	if one.Annotations != nil {
		next.Annotations = one.Annotations
	}
	for j := range have.Endpoints {
		key := endpointKey(&have.Endpoints[j])
		if e := wanted[key]; e != nil && len(next.Endpoints) < w.max {
			next.Endpoints = append(next.Endpoints, *e)
			delete(wanted, key)
		}
	}
	return next, !codec.Equal(&next.Endpoints, &have.Endpoints)
}

// room returns the fullest slice that has room for n endpoints, -1 if none has.
func (w *writer) room(in []*discoveryv1.EndpointSlice, n int) int {
	best := -1
	for i := range in {
		if len(in[i].Endpoints)+n <= w.max && (best < 0 || len(in[i].Endpoints) > len(in[best].Endpoints)) {
			best = i
		}
	}
	return best
}

// withoutEmpty replaces old slices that are empty now by nil, but leaves one slice in any case.
func withoutEmpty(out []*discoveryv1.EndpointSlice, old int, one *discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	if len(out) == 0 {
		return append(out, one)
	}
	filled := slices.ContainsFunc(out, func(s *discoveryv1.EndpointSlice) bool { return len(s.Endpoints) > 0 })
	for i := range old {
		if len(out[i].Endpoints) == 0 && (filled || i > 0) {
			out[i] = nil
		}
	}
	return out
}

// endpointKey identifies an endpoint within a Service.
func endpointKey(e *discoveryv1.Endpoint) string {
	key := strings.Join(e.Addresses, ",")
	if e.TargetRef != nil {
		key += "/" + string(e.TargetRef.UID)
	}
	return key
}
