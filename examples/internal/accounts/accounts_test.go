package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// bench is a server with the connections of accounts, and what was sent to it for them.
type bench struct {
	*controllertest.Cluster
	t        *testing.T
	accounts *Accounts
	sent     *controllertest.Recording
}

func start(t *testing.T, f func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		a := c.Access()
		b := &bench{Cluster: c, t: t, accounts: New(rest.Config{Host: a.Host, Dial: a.Dial, TLS: rest.TLSConfig{CAData: a.CA}}, c.Admin(), slog.New(slog.DiscardHandler))}
		b.fault(controllertest.Requests{}, 0, func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) { next(w, r) })
		stop := c.Run(b.accounts)
		b.sent = c.Record(controllertest.Requests{Resource: "serviceaccounts/*", Namespace: accountNamespace})
		f(t, b)
		stop()
	})
}

// fault injects a fault of requests about the accounts. All of them take a moment, in which others begin.
func (b *bench) fault(q controllertest.Requests, times int, effect controllertest.Effect) *controllertest.Injected {
	q.Resource, q.Namespace = cmp.Or(q.Resource, "serviceaccounts/*"), accountNamespace
	return b.Inject(controllertest.Fault{Requests: q, Times: times, Effect: func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		controllertest.Delay(time.Millisecond)(w, r, func(w http.ResponseWriter, r *http.Request) { effect(w, r, next) })
	}})
}

// use makes ten requests at a time as each account, by connections of their own, and returns their errors.
func (b *bench) use(names ...string) []error {
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for _, name := range names {
		for range 10 {
			all.Go(func() {
				err := b.review(name)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					errs = append(errs, err)
				}
			})
		}
	}
	all.Wait()
	return errs
}

// review checks that the server identifies an account by its connection.
func (b *bench) review(name string) error {
	conn, err := b.accounts.Conn(name)
	if err != nil {
		return err
	}
	r, err := client.For[*authenticationv1.SelfSubjectReview](conn).Create(b.t.Context(), &authenticationv1.SelfSubjectReview{})
	if err != nil {
		return err
	}
	if want := "system:serviceaccount:kube-system:" + name; r.Status.UserInfo.Username != want {
		return fmt.Errorf("the server takes %s for %s", want, r.Status.UserInfo.Username)
	}
	return nil
}

// calls counts the requests since it was called last, as "VERB RESOURCE CODE".
func (b *bench) calls() map[string]int {
	n := map[string]int{}
	for _, c := range b.sent.Calls() {
		resource := c.Resource
		if c.Subresource != "" {
			resource += "/" + c.Subresource
		}
		n[fmt.Sprintf("%s %s %d", c.Verb, resource, c.Code)]++
	}
	b.sent.Stop()
	b.sent = b.Record(controllertest.Requests{Resource: "serviceaccounts/*", Namespace: accountNamespace})
	return n
}

// An account is created once and has one token, however many requests and controllers begin at the same time;
// its token is requested after it exists, and one that exists is not created.
func TestOneTokenOfAnAccount(t *testing.T) {
	start(t, func(t *testing.T, b *bench) {
		controllertest.Create(b.Cluster, &corev1.ServiceAccount{ObjectMeta: controllertest.Name(accountNamespace, "old")})
		b.calls()
		require.Empty(t, b.use("one", "two", "old"))
		require.Equal(t, map[string]int{"get serviceaccounts 404": 2, "create serviceaccounts 201": 2, "get serviceaccounts 200": 1,
			"create serviceaccounts/token 201": 3}, b.calls())
		b.Sleep(47 * time.Minute)
		require.Empty(t, b.use("one", "two"))
		require.Empty(t, b.calls(), "tokens serve for most of their lives")
		b.Sleep(2 * time.Minute)
		require.Empty(t, b.use("one", "two"))
		require.Equal(t, map[string]int{"create serviceaccounts/token 201": 2}, b.calls(), "and are renewed before their ends")
	})
}

// An account that is deleted while it is used is created again, once.
func TestDeletedAccount(t *testing.T) {
	start(t, func(t *testing.T, b *bench) {
		require.Empty(t, b.use("one"))
		controllertest.Delete[*corev1.ServiceAccount](b.Cluster, accountNamespace, "one")
		b.Sleep(time.Minute) // deleted accounts are known to the server
		b.calls()
		require.Empty(t, b.use("one"))
		require.Equal(t, map[string]int{"create serviceaccounts/token 404": 1, "get serviceaccounts 404": 1, "create serviceaccounts 201": 1,
			"create serviceaccounts/token 201": 1}, b.calls())
	})
}

// An account that may not be created fails the requests that need it, together, and later ones try again.
func TestQuota(t *testing.T) {
	start(t, func(t *testing.T, b *bench) {
		full := b.fault(controllertest.Requests{Verbs: []string{"create"}, Resource: "serviceaccounts"}, 0, controllertest.Fail(
			apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "one", errors.New("exceeded quota: few"))))
		errs := b.use("one")
		require.Len(t, errs, 10)
		require.ErrorContains(t, errs[0], "exceeded quota")
		require.Equal(t, map[string]int{"get serviceaccounts 404": 1, "create serviceaccounts 403": 1}, b.calls())
		full.Remove()
		require.Empty(t, b.use("one"))
		require.Equal(t, map[string]int{"get serviceaccounts 404": 1, "create serviceaccounts 201": 1, "create serviceaccounts/token 201": 1}, b.calls())
	})
}

// After a lost answer nothing is created again that exists.
func TestLostAnswers(t *testing.T) {
	for _, lost := range []string{"serviceaccounts", "serviceaccounts/token"} {
		start(t, func(t *testing.T, b *bench) {
			b.fault(controllertest.Requests{Verbs: []string{"create"}, Resource: lost}, 1, controllertest.LoseReply())
			require.Len(t, b.use("one"), 10, lost)
			b.calls()
			require.Empty(t, b.use("one"), lost)
			require.NotContains(t, slices.Collect(maps.Keys(b.calls())), "create serviceaccounts 409")
			require.Len(t, controllertest.List[*corev1.ServiceAccount](b.Cluster, accountNamespace), 1)
		})
	}
}

// While tokens cannot be renewed, requests go on with the old one until it ends, and renewals are not tried
// at every request.
func TestFailedRenewal(t *testing.T) {
	start(t, func(t *testing.T, b *bench) {
		require.Empty(t, b.use("one"))
		b.Sleep(50 * time.Minute)
		b.calls()
		broken := b.fault(controllertest.Requests{Resource: "serviceaccounts/token"}, 0, controllertest.Fail(
			apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "one", errors.New("not now"))))
		for range 10 {
			require.Empty(t, b.use("one"))
			b.Sleep(time.Second)
		}
		require.Equal(t, map[string]int{"create serviceaccounts/token 403": 1}, b.calls())
		b.Sleep(11 * time.Minute)
		require.Len(t, b.use("one"), 10)
		broken.Remove()
		require.Empty(t, b.use("one"))
	})
}

// Clocks that differ by more than the life of a token do not make every request fetch one.
func TestClocksDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		past := time.Now().Add(-2 * time.Hour)
		server := &issuer{expires: past}
		source := newAccount(server, "one")
		for range 3 {
			c, err := source.Credential(context.Background(), nil)
			require.NoError(t, err)
			require.Equal(t, "t1", c.Token)
		}
	})
}

// issuer is a server that has every account, and whose tokens end at a time.
type issuer struct {
	client.Conn
	expires time.Time
	issued  int
}

func (*issuer) Scheme() *scheme.Scheme { return api.Scheme() }

func (i *issuer) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	if r.Subresource == "" {
		return &client.Response{Code: 200, ContentType: "application/json", Body: []byte(`{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"one"}}`)}, nil
	}
	i.issued++
	return &client.Response{Code: 201, ContentType: "application/json", Body: fmt.Appendf(nil,
		`{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"t%d","expirationTimestamp":%q}}`,
		i.issued, i.expires.UTC().Format(time.RFC3339))}, nil
}
