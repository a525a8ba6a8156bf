package api_test

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// A server gives its scheme the rules of the built-in kinds; a client does not, and links none of them.
func ExampleAddRules() {
	s := api.Scheme().Clone()
	if err := api.AddRules(s); err != nil {
		panic(err)
	}
	info, err := scheme.InfoFor[*appsv1.Deployment](s)
	if err != nil {
		panic(err)
	}
	d := &appsv1.Deployment{}
	info.Rules.Default(d)
	fmt.Println(*d.Spec.Replicas, d.Spec.Strategy.Type)
	for _, e := range info.Rules.Validate(d) {
		fmt.Println(e.Field, e.Type)
	}
	// Output:
	// 1 RollingUpdate
	// spec.selector Required value
	// spec.template.metadata.labels Invalid value
	// spec.template.spec.containers Required value
}
