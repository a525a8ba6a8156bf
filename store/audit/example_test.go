package audit_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/audit"
)

// A server whose events go to a function.
func Example() {
	policy, err := audit.ParsePolicy([]byte(`
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`))
	if err != nil {
		panic(err)
	}
	print := audit.Func(func(_ context.Context, events ...*auditv1.Event) error {
		for _, e := range events {
			fmt.Println(e.User.Username, e.Verb, e.RequestURI, e.ResponseStatus.Code)
		}
		return nil
	})
	s, err := apiserver.New(apiserver.Options{Audit: audit.Options{Policy: policy, Backend: print}})
	if err != nil {
		panic(err)
	}
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/version", nil))
	// Output: system:unsecured get /version 200
}
