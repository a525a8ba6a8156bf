package aggregation_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/registry"
)

// A server without the policy of package controlplane that passes requests on by APIService objects.
func Example() {
	var g *aggregation.Aggregator
	s, err := apiserver.New(apiserver.Options{Secure: func(a registry.Access) (apiserver.Security, error) {
		g = aggregation.New(a, aggregation.Options{})
		return apiserver.Security{Aggregation: g}, nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Registry().Resource(aggregation.Resource) != nil, len(g.Aggregated().Versions))
	// Output:
	// true 0
}
