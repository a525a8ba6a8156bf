package apiserver

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// merge returns the document of /apis with the groups, versions and resources of the peers added to those of
// this server.
func (p *PeerDiscovery) merge(own *apidiscoveryv2.APIGroupDiscoveryList) *apidiscoveryv2.APIGroupDiscoveryList {
	if len(p.Peers) == 0 {
		return own
	}
	servers := maps.Clone(p.Peers)
	servers[p.Own] = own.Items
	var all [][]apidiscoveryv2.APIGroupDiscovery
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		all = append(all, servers[id])
	}
	out := *own
	out.Items = merged(all, func(g apidiscoveryv2.APIGroupDiscovery) string { return g.Name }, mergeGroup)
	return &out
}

// merged returns the elements of all lists, each name once and, as far as the lists agree, in their order.
// Elements of one name are merged, one list after the other.
func merged[T any](lists [][]T, name func(T) string, merge func(a, b T) T) []T {
	byName := map[string]T{}
	var names [][]string
	for _, list := range lists {
		var order []string
		for _, e := range list {
			n := name(e)
			if known, ok := byName[n]; ok {
				byName[n] = merge(known, e)
			} else {
				byName[n] = e
			}
			order = append(order, n)
		}
		names = append(names, order)
	}
	out := make([]T, 0, len(byName))
	for _, n := range commonOrder(names) {
		out = append(out, byName[n])
	}
	return out
}

// mergeGroup adds the versions of b to those of a.
func mergeGroup(a, b apidiscoveryv2.APIGroupDiscovery) apidiscoveryv2.APIGroupDiscovery {
	a.Versions = merged([][]apidiscoveryv2.APIVersionDiscovery{a.Versions, b.Versions},
		func(v apidiscoveryv2.APIVersionDiscovery) string { return v.Version }, mergeVersion)
	return a
}

// mergeVersion adds the resources of b to those of a.
func mergeVersion(a, b apidiscoveryv2.APIVersionDiscovery) apidiscoveryv2.APIVersionDiscovery {
	a.Resources = merged([][]apidiscoveryv2.APIResourceDiscovery{a.Resources, b.Resources},
		func(r apidiscoveryv2.APIResourceDiscovery) string { return r.Resource }, mergeResource)
	return a
}

// mergeResource adds the verbs and subresources of b to those of a, and orders both by name if b differs.
func mergeResource(a, b apidiscoveryv2.APIResourceDiscovery) apidiscoveryv2.APIResourceDiscovery {
	if sameResource(a, b) {
		return a
	}
	a.Verbs = slices.Concat(a.Verbs, b.Verbs)
	slices.Sort(a.Verbs)
	a.Verbs = slices.Compact(a.Verbs)
	subs := map[string]apidiscoveryv2.APISubresourceDiscovery{}
	for _, s := range slices.Concat(a.Subresources, b.Subresources) {
		subs[s.Subresource] = s // that of b counts
	}
	a.Subresources = slices.SortedFunc(maps.Values(subs), func(x, y apidiscoveryv2.APISubresourceDiscovery) int {
		return cmp.Compare(x.Subresource, y.Subresource)
	})
	return a
}

// sameResource reports whether two servers describe a resource in the same words.
func sameResource(a, b apidiscoveryv2.APIResourceDiscovery) bool {
	x, errX := codec.Marshal(&apidiscoveryv2.APIVersionDiscovery{Resources: []apidiscoveryv2.APIResourceDiscovery{a}})
	y, errY := codec.Marshal(&apidiscoveryv2.APIVersionDiscovery{Resources: []apidiscoveryv2.APIResourceDiscovery{b}})
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// commonOrder returns every name of the lists once. It is the first list that has all of them; otherwise what
// follows another name in a list follows it in the result, and where the lists leave a choice the order is
// that of the names. Where they contradict each other everything is in the order of the names.
func commonOrder(lists [][]string) []string {
	followers := map[string]map[string]bool{}
	before := map[string]int{} // of how many names each is a follower
	for _, list := range lists {
		for i, name := range list {
			if followers[name] == nil {
				followers[name] = map[string]bool{}
			}
			if i > 0 && !followers[list[i-1]][name] {
				followers[list[i-1]][name] = true
				before[name]++
			}
		}
	}
	for _, list := range lists {
		if distinct := slices.Compact(slices.Sorted(slices.Values(list))); len(list) == len(followers) && len(distinct) == len(list) {
			return list
		}
	}
	var free, out []string
	for name := range followers {
		if before[name] == 0 {
			free = append(free, name)
		}
	}
	for len(free) > 0 {
		at := slices.Index(free, slices.Min(free))
		next := free[at]
		free = slices.Delete(free, at, at+1)
		out = append(out, next)
		for name := range followers[next] {
			if before[name]--; before[name] == 0 {
				free = append(free, name)
			}
		}
	}
	if len(out) < len(followers) {
		return slices.Sorted(maps.Keys(followers))
	}
	return out
}
