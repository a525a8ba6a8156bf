package profiles_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/controllers/profiles"
)

func Example() {
	pages := health.New(health.Options{})
	pages.Handle(profiles.Path, profiles.Handler())
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/goroutine?debug=1", nil))
	fmt.Println(w.Code)
	// Output: 200
}

// TestProtected: there are no profiles unless the program serves them, and then they are for those to whom
// the API server allows the path.
func TestProtected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		controllertest.Create(c, &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "profiles"), Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, NonResourceURLs: []string{"/debug/pprof/*"}}}})
		controllertest.Create(c, &rbacv1.ClusterRoleBinding{ObjectMeta: controllertest.Name("", "profiles"),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: "profiles"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "alice"}}})
		var user string
		get := func(pages http.Handler, path string) (int, []byte) {
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			return w.Code, w.Body.Bytes()
		}
		without := health.New(health.Options{})
		code, _ := get(without, "/debug/pprof/heap")
		require.Equal(t, http.StatusNotFound, code)

		pages := health.New(health.Options{})
		pages.Handle(profiles.Path, delegated.Gate{
			Authenticate: func(*http.Request) (*authenticationv1.UserInfo, bool, error) {
				return &authenticationv1.UserInfo{Username: user}, user != "", nil
			},
			Authorize:  delegated.NewAuthorizer(c.Conn(client.User{Name: "operator", Groups: []string{"system:masters"}}), delegated.AuthorizerOptions{}).Authorize,
			Attributes: delegated.ByPath,
		}.Wrap(profiles.Handler()))
		for _, path := range []string{"", "heap", "goroutine", "cmdline", "symbol", "allocs"} {
			for _, want := range []struct {
				user string
				code int
			}{{"", http.StatusUnauthorized}, {"bob", http.StatusForbidden}, {"alice", http.StatusOK}} {
				user = want.user
				code, text := get(pages, profiles.Path+path)
				require.Equal(t, want.code, code, "%s %s: %s", want.user, path, text)
			}
		}
		_, heap := get(pages, profiles.Path+"heap")
		r, err := gzip.NewReader(bytes.NewReader(heap))
		require.NoError(t, err, "a profile is compressed")
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Contains(t, string(text), "inuse_space")
		code, _ = get(pages, "/livez")
		require.Equal(t, http.StatusOK, code, "the probes are not protected")
	})
}
