package delegated_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/client/delegated"
)

// The metrics of a component are for those who may get the path /metrics, as the API server says.
func Example() {
	reviews := &reviewer{token: knows(map[string]string{"s3cret": "prometheus"}),
		access: func(r *authorizationv1.SubjectAccessReview) {
			r.Status.Allowed = r.Spec.NonResourceAttributes.Path == "/metrics"
		}}
	conn := reviews.conn(new(testing.T)) // a connection to the API server
	gate := delegated.Gate{
		Authenticate: delegated.NewAuthenticator(conn, delegated.AuthenticatorOptions{}).Authenticate,
		Authorize:    delegated.NewAuthorizer(conn, delegated.AuthorizerOptions{}).Authorize,
		Attributes:   delegated.ByPath,
	}
	metrics := gate.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1") }))

	get := func(path, token string) {
		r := httptest.NewRequest("GET", path, nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		metrics.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	get("/metrics", "s3cret")
	get("/debug", "s3cret")
	get("/metrics", "guess")
	get("/metrics", "")
	// Output:
	// 200 up 1
	// 403 Forbidden (user=prometheus, verb=get, path=/debug)
	// 401 Unauthorized
	// 401 Unauthorized
}
