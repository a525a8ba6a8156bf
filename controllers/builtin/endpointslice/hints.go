package endpointslice

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
)

// byCapacity reports whether the endpoints of a Service are divided among the zones in proportion to their
// CPUs. The older annotation wins.
func byCapacity(svc *corev1.Service) bool {
	mode, ok := svc.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	if !ok {
		mode = svc.Annotations[corev1.AnnotationTopologyMode]
	}
	return mode == "Auto" || mode == "auto"
}

// near returns the hints of a ready endpoint for the traffic distribution of its Service: that clients in its
// zone use it, or on its node. Nil if there is nothing to prefer.
func near(svc *corev1.Service, ep *discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	if svc.Spec.TrafficDistribution == nil || byCapacity(svc) {
		return nil
	}
	hints := &discoveryv1.EndpointHints{}
	switch *svc.Spec.TrafficDistribution {
	case corev1.ServiceTrafficDistributionPreferSameNode:
		if ep.NodeName != nil {
			hints.ForNodes = []discoveryv1.ForNode{{Name: *ep.NodeName}}
		}
	case corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone:
	default:
		return nil
	}
	if ep.Zone != nil {
		hints.ForZones = forZone(*ep.Zone)
	}
	if len(hints.ForZones)+len(hints.ForNodes) == 0 {
		return nil
	}
	return hints
}

func forZone(zone string) []discoveryv1.ForZone { return []discoveryv1.ForZone{{Name: zone}} }

// overload is how much more traffic than on average an endpoint may get because of hints.
const overload = 0.2

// Reasons why endpoints are not divided among zones, in upstream's words.
const (
	noCapacity     = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
	tooFew         = "Insufficient number of endpoints (%d endpoints, %d zones)"
	tooUneven      = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (%d endpoints, %d zones)"
	zoneIsNotKnown = "One or more endpoints do not have a zone specified"
)

// divide gives the ready endpoints of one address family a hint of a zone each, so that the number of every
// zone is in proportion to its part of the CPUs, and otherwise in the endpoint's own zone. before are the
// zones of the hints that were there, by endpointKey. They stay as they are if no zone gets too much traffic:
// if sticky also when endpoints have come or gone. If the endpoints cannot be divided, none gets a hint, and
// the result is the reason.
func divide(endpoints []*discoveryv1.Endpoint, before map[string]string, parts map[string]float64, sticky bool) (problem string) {
	switch {
	case len(parts) < 2:
		return noCapacity
	case len(endpoints) < len(parts):
		return fmt.Sprintf(tooFew, len(endpoints), len(parts))
	}
	zones := slices.Sorted(maps.Keys(parts))
	least, spare := map[string]int{}, len(endpoints)
	for _, z := range zones {
		least[z] = int(math.Ceil(parts[z] * float64(len(endpoints)) / (1 + overload)))
		spare -= least[z]
	}
	if spare < 0 {
		return fmt.Sprintf(tooUneven, len(endpoints), len(parts))
	}
	if slices.ContainsFunc(endpoints, func(e *discoveryv1.Endpoint) bool { return e.Zone == nil }) {
		return zoneIsNotKnown
	}
	if !keep(endpoints, before, least, spare, sticky) {
		rebalance(endpoints, zones, func(z string) float64 { return max(parts[z]*float64(len(endpoints)), float64(least[z])) })
	}
	return ""
}

// keep gives the endpoints the hints of before, and new ones those of their own zones, and reports whether
// each zone has enough and none too many with them.
func keep(endpoints []*discoveryv1.Endpoint, before map[string]string, least map[string]int, spare int, sticky bool) bool {
	count, found := map[string]int{}, 0
	for _, e := range endpoints {
		zone, ok := before[endpointKey(e)]
		if _, counts := least[zone]; !ok || !counts {
			zone, ok = *e.Zone, false
		}
		if ok {
			found++
		}
		count[zone]++
		e.Hints = &discoveryv1.EndpointHints{ForZones: forZone(zone)}
	}
	if found == 0 || !sticky && (found < len(endpoints) || len(before) > found) {
		return false
	}
	for zone, n := range least {
		if count[zone] < n || count[zone] > n+spare {
			return false
		}
	}
	return true
}

// rebalance gives the endpoints the hints of their own zones, and then some of zones with more than they
// should have to zones with less: to those first that lack most.
func rebalance(endpoints []*discoveryv1.Endpoint, zones []string, should func(zone string) float64) {
	surplus := map[string]float64{}
	for _, e := range endpoints {
		surplus[*e.Zone]++
		e.Hints = &discoveryv1.EndpointHints{ForZones: forZone(*e.Zone)}
	}
	for _, z := range zones {
		surplus[z] -= should(z)
	}
	for {
		giver, taker := zones[0], zones[0]
		for _, z := range zones {
			if surplus[z] > surplus[giver] {
				giver = z
			}
			if surplus[z] < surplus[taker] {
				taker = z
			}
		}
		give, take := surplus[giver], -surplus[taker]
		i := slices.IndexFunc(endpoints, func(e *discoveryv1.Endpoint) bool { return *e.Zone == giver && e.Hints.ForZones[0].Name == giver })
		if i < 0 || give < 1 && take < 1 || give < 0.5 || take < 0.5 {
			return
		}
		endpoints[i].Hints = &discoveryv1.EndpointHints{ForZones: forZone(taker)}
		surplus[giver]--
		surplus[taker]++
	}
}
