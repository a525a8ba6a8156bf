package admissionpolicystatus_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// A policy with a misspelt field.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})
		controllertest.Create(c, about("few-replicas", "apps", "deployments", "object.spec.replcas <= 5"))
		c.Settle()
		for _, w := range controllertest.Get[*policy](c, "", "few-replicas").Status.TypeChecking.ExpressionWarnings {
			fmt.Println(w.FieldRef)
			fmt.Println(w.Warning)
		}
	})
	// Output:
	// spec.validations[0].expression
	// apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replcas'
	//  | object.spec.replcas <= 5
	//  | ...........^
}
