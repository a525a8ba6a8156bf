package servicecidr_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/controllers/builtin/servicecidr"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// More addresses for services.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{servicecidr.Add}})
		controllertest.Create(c, rangeOf("more", "10.250.0.0/24"))
		c.Settle()
		fmt.Println(ready(t, c, "more").Message)
		fmt.Println(controllertest.Create(c, serviceAt("web", "10.250.0.7")).Spec.ClusterIP)
	})
	// Output:
	// Kubernetes Service CIDR is ready
	// 10.250.0.7
}
