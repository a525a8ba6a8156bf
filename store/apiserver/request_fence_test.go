package apiserver_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

func TestFencing(t *testing.T) {
	s := start(t, apiserver.Options{})
	leases := "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	got := s.do("POST", leases, `{"metadata":{"name":"kcm"},"spec":{"holderIdentity":"a","leaseTransitions":1}}`)
	got.ok(201)
	require.Equal(t, fence.Enforced, got.header.Get(fence.Header))
	token := func(holder string, n int32) string {
		return fence.Token{Lease: types.NamespacedName{Namespace: "kube-system", Name: "kcm"}, Holder: holder, Transitions: n}.String()
	}
	s.do("POST", configMaps, configMap("a"), fence.Header, token("a", 1)).ok(201)
	// A renewal changes the lease's version but not the term.
	s.do("PATCH", leases+"/kcm", `{"spec":{"renewTime":"2024-01-01T00:00:00.000000Z"}}`, "Content-Type", "application/merge-patch+json").ok(200)
	s.do("PUT", configMaps+"/a", configMap("a", "k", "1"), fence.Header, token("a", 1)).ok(200)
	s.do("PATCH", leases+"/kcm", `{"spec":{"holderIdentity":"b","leaseTransitions":2}}`, "Content-Type", "application/merge-patch+json").ok(200)
	for _, no := range []object{
		s.do("PUT", configMaps+"/a", configMap("a", "k", "2"), fence.Header, token("a", 1)).ok(409),
		s.do("DELETE", configMaps+"/a", nil, fence.Header, token("a", 1)).ok(409),
		s.do("POST", configMaps, configMap("b"), fence.Header, token("a", 2)).ok(409),
	} {
		require.Equal(t, "Fenced", no.str("reason"))
	}
	require.Equal(t, "1", s.do("GET", configMaps+"/a", nil).ok(200).str("data.k"))
	s.do("POST", configMaps, configMap("b"), fence.Header, token("b", 2)).ok(201)
	s.do("POST", configMaps, configMap("c"), fence.Header, "nonsense").ok(400)
}
