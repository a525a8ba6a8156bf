package endpointslice

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// write is a write of a plan.
type write struct {
	have *discoveryv1.EndpointSlice // nil: create next
	next *discoveryv1.EndpointSlice // nil: delete have
}

// decide returns the writes, as few as it can, that change the slices that are there into those that should
// be. Of want there is one slice, however long, for each address family and each set of ports; most is how
// many endpoints a slice may have. Annotations of want that are nil are left as they are.
func decide(have, want []*discoveryv1.EndpointSlice, most int) (plan []write) {
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
		for i, next := range spread(old, one, most) {
			switch {
			case i >= len(old):
				plan = append(plan, write{next: next})
			case next == nil || !codec.Equal(next, old[i]):
				plan = append(plan, write{have: old[i], next: next})
			}
		}
	}
	for _, h := range have {
		if !used[h] {
			plan = append(plan, write{have: h})
		}
	}
	return reuse(plan)
}

// reuse makes one update of a creation and the deletion of another slice of the same family and owner, so
// that clients never see the Service without it and names stay.
func reuse(plan []write) []write {
	for i := range plan {
		next := plan[i].next
		if plan[i].have != nil || next == nil {
			continue
		}
		j := slices.IndexFunc(plan, func(w write) bool {
			return w.have != nil && w.next == nil && w.have.AddressType == next.AddressType && codec.Equal(&w.have.OwnerReferences, &next.OwnerReferences)
		})
		if j < 0 {
			continue
		}
		have := plan[j].have
		other := codec.DeepCopy(have)
		other.Endpoints, other.Ports, other.Labels = next.Endpoints, next.Ports, next.Labels
		if next.Annotations != nil {
			other.Annotations = next.Annotations
		}
		plan[i] = write{have: have, next: other}
		plan[j] = write{}
	}
	return slices.DeleteFunc(plan, func(w write) bool { return w == write{} })
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
func spread(old []*discoveryv1.EndpointSlice, one *discoveryv1.EndpointSlice, most int) []*discoveryv1.EndpointSlice {
	wanted := map[string]*discoveryv1.Endpoint{}
	for i := range one.Endpoints {
		wanted[endpointKey(&one.Endpoints[i])] = &one.Endpoints[i]
	}
	out := make([]*discoveryv1.EndpointSlice, len(old))
	changed := make([]bool, len(old))
	for i, h := range old {
		out[i], changed[i] = kept(h, one, wanted, most)
	}
	var rest []discoveryv1.Endpoint
	for i := range one.Endpoints {
		if wanted[endpointKey(&one.Endpoints[i])] != nil {
			rest = append(rest, one.Endpoints[i])
		}
	}
	fill := func(i int) {
		n := min(len(rest), most-len(out[i].Endpoints))
		out[i].Endpoints = append(out[i].Endpoints, rest[:n]...)
		rest = rest[n:]
	}
	for i := range out {
		if changed[i] {
			fill(i)
		}
	}
	for len(rest) > 0 {
		if i := room(out[:len(old)], len(rest), most); i >= 0 {
			fill(i)
			continue
		}
		n := min(len(rest), most)
		next := codec.DeepCopy(one)
		next.Endpoints = rest[:n:n]
		out, rest = append(out, next), rest[n:]
	}
	return withoutEmpty(out, len(old), one)
}

// kept returns a slice with those of its endpoints that are wanted, which it removes from wanted, and whether
// they are others than before.
func kept(have, one *discoveryv1.EndpointSlice, wanted map[string]*discoveryv1.Endpoint, most int) (*discoveryv1.EndpointSlice, bool) {
	next := codec.DeepCopy(have)
	next.Endpoints, next.Labels, next.OwnerReferences = nil, one.Labels, one.OwnerReferences
	if one.Annotations != nil {
		next.Annotations = one.Annotations
	}
	for j := range have.Endpoints {
		key := endpointKey(&have.Endpoints[j])
		if e := wanted[key]; e != nil && len(next.Endpoints) < most {
			next.Endpoints = append(next.Endpoints, *e)
			delete(wanted, key)
		}
	}
	return next, !codec.Equal(&next.Endpoints, &have.Endpoints)
}

// room returns the fullest slice that has room for n endpoints, -1 if none has.
func room(in []*discoveryv1.EndpointSlice, n, most int) int {
	best := -1
	for i := range in {
		if len(in[i].Endpoints)+n <= most && (best < 0 || len(in[i].Endpoints) > len(in[best].Endpoints)) {
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
