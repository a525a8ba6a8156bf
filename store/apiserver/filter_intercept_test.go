package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
)

// Intercept sees requests of known callers, as the user they act as, and may answer in place of the server.
func TestIntercept(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := start(t, apiserver.Options{
		Authenticator: authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
			name := r.Header.Get("X-User")
			return &authn.Response{User: &authn.User{Name: name, Groups: []string{authn.GroupMasters}}}, name != "", nil
		}),
		Intercept: func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			mu.Lock()
			seen = append(seen, fmt.Sprint(r.Method, " ", r.URL.Path, " ", authn.UserFrom(r.Context()).Name))
			mu.Unlock()
			switch {
			case r.Header.Get("X-Fault") == "429":
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
			case r.Header.Get("X-Fault") == "lost":
				next(lost{http.Header{}}, r)
				panic(http.ErrAbortHandler)
			default:
				next(w, r)
			}
		}})
	s.do("GET", configMaps, nil).ok(401)
	s.do("GET", configMaps, nil, "X-User", "ann").ok(200)
	s.do("GET", configMaps, nil, "X-User", "ann", "Impersonate-User", "bob").ok(200)
	require.Equal(t, "7", s.do("POST", configMaps, configMap("a"), "X-User", "ann", "X-Fault", "429").header.Get("Retry-After"))
	r, err := http.NewRequest("POST", "http://server"+configMaps, strings.NewReader(`{"metadata":{"name":"b"}}`))
	require.NoError(t, err)
	r.Header = http.Header{"X-User": {"ann"}, "X-Fault": {"lost"}, "Content-Type": {"application/json"}}
	_, err = s.client.Do(r)
	require.Error(t, err)
	s.do("GET", configMaps+"/a", nil, "X-User", "ann").ok(404)
	s.do("GET", configMaps+"/b", nil, "X-User", "ann").ok(200)
	require.Equal(t, []string{
		"GET " + configMaps + " ann", "GET " + configMaps + " bob", "POST " + configMaps + " ann", "POST " + configMaps + " ann",
		"GET " + configMaps + "/a ann", "GET " + configMaps + "/b ann",
	}, seen)
}

// lost is a response that gets lost.
type lost struct{ header http.Header }

func (l lost) Header() http.Header       { return l.header }
func (lost) WriteHeader(int)             {}
func (lost) Write(p []byte) (int, error) { return len(p), nil }
