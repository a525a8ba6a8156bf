package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/dynamic"
)

// sentConn records what would be sent.
type sentConn struct{ sent []string }

func (*sentConn) Scheme() *scheme.Scheme { return api.Scheme() }

func (c *sentConn) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	c.sent = append(c.sent, r.Verb()+" "+r.URLPath())
	return nil, context.Canceled
}

func (c *sentConn) Stream(_ context.Context, r *client.Request) (*client.Stream, error) {
	c.sent = append(c.sent, r.Verb()+" "+r.URLPath())
	return nil, context.Canceled
}

// TestInNamespace: what is sent and what is refused, of every kind of request.
func TestInNamespace(t *testing.T) {
	inner := &sentConn{}
	conn := client.InNamespace(inner, "shop")
	pods, nodes := client.For[*corev1.Pod](conn), client.For[*corev1.Node](conn)
	unknown := dynamic.For(conn, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"})
	ctx := t.Context()
	pod := func(namespace string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	}
	key := func(namespace string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: "a"}
	}
	for _, test := range []struct {
		want string // what is sent, or the error
		do   func() error
	}{
		{"get /api/v1/namespaces/shop/pods/a", func() error { _, err := pods.Get(ctx, key("shop")); return err }},
		{"client: get pods other/a: the connection is limited to namespace shop", func() error { _, err := pods.Get(ctx, key("other")); return err }},
		{"create /api/v1/namespaces/shop/pods", func() error { _, err := pods.Create(ctx, pod("shop")); return err }},
		{"client: create pods in namespace other: the connection is limited to namespace shop", func() error { _, err := pods.Create(ctx, pod("other")); return err }},
		{"client: delete pods other/a: the connection is limited to namespace shop", func() error { return pods.Delete(ctx, key("other")) }},
		{"list /api/v1/namespaces/shop/pods", func() error { _, err := pods.List(ctx, client.ListOptions{}); return err }},
		{"client: list pods in namespace other: the connection is limited to namespace shop", func() error { _, err := pods.List(ctx, client.ListOptions{Namespace: "other"}); return err }},
		{"deletecollection /api/v1/namespaces/shop/pods", func() error {
			return pods.DeleteCollection(ctx, client.ListOptions{Namespace: "shop"}, client.DeleteOptions{})
		}},
		{"list /api/v1/nodes", func() error { _, err := nodes.List(ctx, client.ListOptions{}); return err }},
		{"get /api/v1/nodes/a", func() error { _, err := nodes.Get(ctx, key("")); return err }},
		{"client: delete nodes a: the connection is limited to namespace shop", func() error { return nodes.Delete(ctx, key("")) }},
		{"client: create nodes: the connection is limited to namespace shop", func() error {
			_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			return err
		}},
		{"create /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func() error {
			_, err := client.For[*authorizationv1.SelfSubjectAccessReview](conn).Create(ctx, &authorizationv1.SelfSubjectAccessReview{})
			return err
		}},
		{"client: list things.example.com: the connection is limited to namespace shop", func() error { _, err := unknown.List(ctx, client.ListOptions{}); return err }},
		{"list /apis/example.com/v1/namespaces/shop/things", func() error { _, err := unknown.List(ctx, client.ListOptions{Namespace: "shop"}); return err }},
		{"get /version", func() error { _, err := conn.Do(ctx, &client.Request{Path: "/version"}); return err }},
		{"client: create /api/v1/nodes: the connection is limited to namespace shop", func() error {
			_, err := conn.Do(ctx, &client.Request{Method: "POST", Path: "/api/v1/nodes"})
			return err
		}},
		{"watch /api/v1/namespaces/shop/pods", func() error {
			_, err := conn.Stream(ctx, &client.Request{Resource: corev1.GroupVersion.WithResource("pods"), Query: map[string][]string{"watch": {"1"}}})
			return err
		}},
	} {
		inner.sent = nil
		err := test.do()
		if len(inner.sent) > 0 {
			require.Equal(t, []string{test.want}, inner.sent)
			continue
		}
		var refused *client.NamespaceError
		require.ErrorAs(t, err, &refused, test.want)
		require.EqualError(t, refused, test.want)
	}
	_, err := client.For[*corev1.Pod](client.InNamespace(inner, "")).Get(ctx, key("shop"))
	require.Error(t, err, "without a namespace nothing is inside")
}
