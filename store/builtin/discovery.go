package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// discovery returns the kinds of the group discovery.k8s.io.
func discovery(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info: kind[*discoveryv1.EndpointSlice](s, discoveryv1.GroupVersion), Table: endpointSliceTable,
		Strategy: registry.Strategy{Generation: registry.OnSpec, PrepareCreate: on(func(e *discoveryv1.EndpointSlice) {
			for i := range e.Endpoints {
				e.Endpoints[i].DeprecatedTopology = nil // set by v1beta1 only
			}
		})},
	}}
}
