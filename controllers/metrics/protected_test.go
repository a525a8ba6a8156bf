package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// TestProtected: the page is for those to whom the API server allows the path: no token gets 401, that of an
// account without the right 403, and that of an account with it the page.
func TestProtected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := metrics.New()
		mgr := manager.New(c.Conn(), manager.Options{Monitor: m})
		done := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
		_, err := controllers.Add(mgr, "maps", done, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
		require.NoError(t, err)
		c.Run(mgr)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")})
		c.Settle()

		conn := c.Admin() // in an operator: a connection with the rights of system:auth-delegator
		page := delegated.Gate{
			Authenticate: delegated.NewAuthenticator(conn, delegated.AuthenticatorOptions{}).Authenticate,
			Authorize:    delegated.NewAuthorizer(conn, delegated.AuthorizerOptions{}).Authorize,
			Attributes:   delegated.ByPath,
		}.Wrap(m)
		get := func(token string) (int, string) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			page.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		token := func(account string) string {
			controllertest.Create(c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", account)})
			seconds := int64(3600)
			issued, err := client.Subresource[*authenticationv1.TokenRequest](client.For[*corev1.ServiceAccount](conn), "token").Create(t.Context(),
				types.NamespacedName{Namespace: "default", Name: account}, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}})
			require.NoError(t, err)
			return issued.Status.Token
		}
		controllertest.Create(c, &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "metrics"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}}})
		controllertest.Create(c, &rbacv1.ClusterRoleBinding{ObjectMeta: controllertest.Name("", "metrics"),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: "metrics"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "prometheus"}}})

		for _, wrong := range []string{"", "guess"} {
			code, text := get(wrong)
			require.Equal(t, http.StatusUnauthorized, code, text)
		}
		code, text := get(token("other"))
		require.Equal(t, http.StatusForbidden, code)
		require.Equal(t, "Forbidden (user=system:serviceaccount:default:other, verb=get, path=/metrics)", text)
		code, text = get(token("prometheus"))
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, text, `controller_runtime_reconcile_total{controller="maps",result="success"} `)
	})
}
