package accounts

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// issuer is a server that has no service account until one is created, and issues numbered tokens for an
// hour.
type issuer struct {
	client.Conn
	exists bool
	asked  []string
}

func (*issuer) Scheme() *scheme.Scheme { return api.Scheme() }

func (i *issuer) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	i.asked = append(i.asked, fmt.Sprintf("%s %s/%s", r.Method, r.Resource.Resource, r.Subresource))
	switch {
	case r.Subresource == "" && r.Method == "POST":
		i.exists = true
		return &client.Response{Code: 201, ContentType: "application/json", Body: []byte(`{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"x"}}`)}, nil
	case !i.exists:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, r.Name)
	}
	return &client.Response{Code: 201, ContentType: "application/json", Body: fmt.Appendf(nil,
		`{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"t%d","expirationTimestamp":%q}}`,
		len(i.asked), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))}, nil
}

func TestTokensOfAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &issuer{}
		a := &account{key: types.NamespacedName{Namespace: "kube-system", Name: "x"}, accounts: client.For[*corev1.ServiceAccount](server)}
		token := func(rejected *rest.Credential) *rest.Credential {
			c, err := a.Credential(t.Context(), rejected)
			require.NoError(t, err)
			return c
		}
		first := token(nil)
		require.Equal(t, []string{"POST serviceaccounts/token", "POST serviceaccounts/", "POST serviceaccounts/token"}, server.asked, "the account is made")
		require.Equal(t, "t3", first.Token)
		time.Sleep(47 * time.Minute)
		require.Same(t, first, token(nil), "it serves for most of its life")
		time.Sleep(2 * time.Minute)
		second := token(nil)
		require.Equal(t, "t4", second.Token, "and is renewed before its end")
		require.Equal(t, "t5", token(second).Token, "what the server refused is not offered again")
		require.Equal(t, "t5", token(second).Token, "whoever heard of that later gets the new one")
		require.Len(t, server.asked, 5)
	})
}
