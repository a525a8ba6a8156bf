package builtin_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

func Example() {
	r, err := registry.New(memory.New(memory.Options{}), registry.Options{})
	if err != nil {
		panic(err)
	}
	kinds, err := builtin.New(r, builtin.Options{ServiceCIDR: "10.32.0.0/24"})
	if err != nil {
		panic(err)
	}
	defs, err := kinds.Definitions(api.Scheme())
	if err != nil {
		panic(err)
	}
	resources, err := r.Add(defs...)
	if err != nil {
		panic(err)
	}
	for _, res := range resources[:3] {
		fmt.Println(res.GroupResource(), res.Prefix())
	}
	fmt.Println(kinds.ServiceAddress(1))
	// Output:
	// configmaps /configmaps/
	// endpoints /services/endpoints/
	// events /events/
	// 10.32.0.1
}
