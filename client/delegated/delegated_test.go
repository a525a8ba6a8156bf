package delegated_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/delegated"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/certs"
)

// reviewer answers reviews in the place of an API server.
type reviewer struct {
	token  func(*authenticationv1.TokenReview)
	access func(*authorizationv1.SubjectAccessReview)
	delay  time.Duration
	down   bool

	mu    sync.Mutex
	asked int
}

func (v *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Header.Get("Content-Type"), "protobuf") {
		w.WriteHeader(http.StatusUnsupportedMediaType) // the client continues with JSON
		return
	}
	b, _ := io.ReadAll(r.Body)
	v.mu.Lock()
	v.asked++
	v.mu.Unlock()
	if backoff.Sleep(r.Context(), v.delay) != nil {
		return
	}
	if v.down {
		http.Error(w, "down", http.StatusInternalServerError)
		return
	}
	answer := func(obj any) {
		b, _ := codec.Marshal(obj)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(b)
	}
	if strings.HasSuffix(r.URL.Path, "tokenreviews") {
		review := &authenticationv1.TokenReview{}
		_ = codec.Unmarshal(b, review)
		v.token(review)
		answer(review)
		return
	}
	review := &authorizationv1.SubjectAccessReview{}
	_ = codec.Unmarshal(b, review)
	v.access(review)
	answer(review)
}

func (v *reviewer) reviews() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.asked
	v.asked = 0
	return n
}

func (v *reviewer) conn(t *testing.T) *rest.Conn {
	s := clienttest.Start(t, clienttest.Options{Handler: v})
	return s.Conn(t, rest.Options{})
}

// knows returns a token review with the tokens of one user each.
func knows(users map[string]string) func(*authenticationv1.TokenReview) {
	return func(r *authenticationv1.TokenReview) {
		if u, ok := users[r.Spec.Token]; ok {
			r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: r.Spec.Audiences,
				User: authenticationv1.UserInfo{Username: u, UID: "7", Groups: []string{"dev"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}}
		}
	}
}

func withToken(token string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &reviewer{token: knows(map[string]string{"good": "ann"})}
		a := delegated.NewAuthenticator(v.conn(t), delegated.AuthenticatorOptions{})
		for range 2 {
			u, ok, err := a.Authenticate(withToken("good"))
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, &authenticationv1.UserInfo{Username: "ann", UID: "7", Groups: []string{"dev", "system:authenticated"},
				Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}, u)
			_, ok, err = a.Authenticate(withToken("bad"))
			require.False(t, ok)
			require.ErrorIs(t, err, delegated.ErrInvalidToken)
		}
		require.Equal(t, 2, v.reviews(), "one for each token, the bad one too")
		_, ok, err := a.Authenticate(withToken(""))
		require.False(t, ok)
		require.NoError(t, err)

		time.Sleep(2 * time.Minute)
		v.down = true
		_, ok, err = a.Authenticate(withToken("good"))
		require.False(t, ok, "without a reply there is no user")
		require.Error(t, err)
		v.down = false
		_, ok, _ = a.Authenticate(withToken("good"))
		require.True(t, ok, "a failed review is not kept")

		v.token = func(r *authenticationv1.TokenReview) { r.Status.Authenticated = true }
		_, ok, err = a.Authenticate(withToken("nameless"))
		require.False(t, ok)
		require.ErrorContains(t, err, "has no user")

		// A server that does not support audiences has not checked them.
		v.token = func(r *authenticationv1.TokenReview) {
			r.Status.Authenticated, r.Status.User.Username = true, "ann"
		}
		strict := delegated.NewAuthenticator(v.conn(t), delegated.AuthenticatorOptions{Audiences: []string{"metrics"}})
		_, ok, _ = strict.Authenticate(withToken("good"))
		require.False(t, ok)

		none := delegated.NewAuthenticator(v.conn(t), delegated.AuthenticatorOptions{NoTokens: true})
		_, ok, err = none.Authenticate(withToken("good"))
		require.False(t, ok)
		require.NoError(t, err)
	})
}

// Many requests with one token make one review; one that ends early does not affect the others.
func TestOneReviewForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &reviewer{token: knows(map[string]string{"good": "ann"}), delay: time.Second}
		a := delegated.NewAuthenticator(v.conn(t), delegated.AuthenticatorOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, ok, err := a.Authenticate(withToken("good").WithContext(ctx))
			require.False(t, ok)
			require.Error(t, err)
		})
		synctest.Wait()
		for range 20 {
			all.Go(func() {
				_, ok, err := a.Authenticate(withToken("good"))
				require.NoError(t, err)
				require.True(t, ok)
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		require.Equal(t, 2, v.reviews())

		v.down = true
		began := time.Now()
		for range 20 {
			all.Go(func() { _, _, _ = a.Authenticate(withToken("other")) })
		}
		all.Wait()
		require.Less(t, time.Since(began), 30*time.Second, "one failure is the answer to all who waited")
	})
}

func TestCertificates(t *testing.T) {
	ca, err := certs.NewAuthority("ca")
	require.NoError(t, err)
	other, err := certs.NewAuthority("other")
	require.NoError(t, err)
	v := &reviewer{token: knows(nil)}
	pool := ca.Pool()
	a := delegated.NewAuthenticator(v.conn(t), delegated.AuthenticatorOptions{ClientCAs: func() *x509.CertPool { return pool }})
	with := func(p *certs.Pair, err error) *http.Request {
		require.NoError(t, err)
		r := withToken("")
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{p.Cert}}
		return r
	}
	u, ok, err := a.Authenticate(with(ca.Client("ann", "dev")))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "ann", u.Username)
	require.Equal(t, []string{"dev", "system:authenticated"}, u.Groups)
	for what, r := range map[string]*http.Request{"foreign": with(other.Client("ann")), "serving": with(ca.Serving("ann", "h"))} {
		_, ok, err = a.Authenticate(r)
		require.False(t, ok, what)
		require.Error(t, err, what)
	}
	u, ok, err = a.Authenticate(with(ca.Client("eve", "system:unauthenticated")))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"system:unauthenticated"}, u.Groups)
	_, ok, err = a.Authenticate(with(ca.Client("")))
	require.False(t, ok, "no name")
	require.NoError(t, err)
	pool = nil // never the authorities of web sites
	_, ok, _ = a.Authenticate(with(ca.Client("ann")))
	require.False(t, ok)
	require.Zero(t, v.reviews())
}

func TestAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allowed := true
		var last authorizationv1.SubjectAccessReviewSpec
		v := &reviewer{access: func(r *authorizationv1.SubjectAccessReview) { last, r.Status.Allowed = r.Spec, allowed }}
		a := delegated.NewAuthorizer(v.conn(t), delegated.AuthorizerOptions{})
		spec := authorizationv1.SubjectAccessReviewSpec{User: "ann", Groups: []string{"dev"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes", Subresource: "metrics", Name: "n1"}}
		is := func(want bool, reviews int) {
			t.Helper()
			got, _, err := a.Authorize(t.Context(), spec)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, reviews, v.reviews())
		}
		is(true, 1)
		require.Equal(t, spec, last)
		allowed = false
		is(true, 0)
		time.Sleep(5 * time.Minute)
		is(false, 1)
		allowed = true
		is(false, 0)
		time.Sleep(30 * time.Second)
		is(true, 1)

		for _, change := range []func(*authorizationv1.SubjectAccessReviewSpec){
			func(s *authorizationv1.SubjectAccessReviewSpec) { s.User = "bob" },
			func(s *authorizationv1.SubjectAccessReviewSpec) { s.Groups = nil },
			func(s *authorizationv1.SubjectAccessReviewSpec) { s.Extra = nil },
			func(s *authorizationv1.SubjectAccessReviewSpec) { s.ResourceAttributes.Name = "n2" },
			func(s *authorizationv1.SubjectAccessReviewSpec) { s.ResourceAttributes.Verb = "create" },
		} {
			change(&spec)
			is(true, 1)
		}

		v.down = true
		spec.User = "carol"
		got, _, err := a.Authorize(t.Context(), spec)
		require.Error(t, err)
		require.False(t, got)
		v.down = false
		v.access = func(r *authorizationv1.SubjectAccessReview) { r.Status.Allowed, r.Status.Denied = true, true }
		v.reviews()
		is(false, 1)
		v.access = func(r *authorizationv1.SubjectAccessReview) { r.Status.Allowed = true }
		spec.Groups = []string{strings.Repeat("g", 10_000)}
		is(true, 1)
		is(true, 1) // too long to be kept
	})
}

// Unauthenticated clients with many different tokens neither fill the memory nor overload the API server.
func TestStrangersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &reviewer{token: knows(nil), delay: time.Minute}
		a := delegated.NewAuthenticator(v.conn(t), delegated.AuthenticatorOptions{Timeout: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() { _, _, _ = a.Authenticate(withToken(fmt.Sprint(i)).WithContext(ctx)) })
		}
		time.Sleep(time.Second)
		require.LessOrEqual(t, v.reviews(), 32)
		cancel()
		all.Wait()
	})
}
