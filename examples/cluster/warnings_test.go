package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// The reply to the create of an object on which nothing acts says so. Later updates of the object have no
// warning, and neither have objects on which a controller acts.
func TestWarningOfUnreconciledKinds(t *testing.T) {
	conn := startTestCluster(t)
	send := func(method, path, contentType, body string) []string {
		t.Helper()
		resp, err := conn.Do(t.Context(), &client.Request{Method: method, Path: path, ContentType: contentType, Body: []byte(body)})
		require.NoError(t, err)
		return resp.Warnings
	}
	create := func(path, body string) []string { return send("POST", path, "application/json", body) }
	merge := func(path, body string) []string { return send("PATCH", path, "application/merge-patch+json", body) }
	const services, networking = "/api/v1/namespaces/default/services", "/apis/networking.k8s.io/v1/namespaces/default/"
	const ports = `"ports":[{"port":80}]`
	ingress := withoutEffect(&networkingv1.Ingress{})
	balancer := withoutEffect(&corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}})

	require.Equal(t, []string{ingress}, create(networking+"ingresses", `{"metadata":{"name":"a"},"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":80}}}}}`))
	require.Empty(t, merge(networking+"ingresses/a", `{"metadata":{"labels":{"a":"b"}}}`))
	require.Equal(t, []string{withoutEffect(&networkingv1.NetworkPolicy{})}, create(networking+"networkpolicies", `{"metadata":{"name":"a"},"spec":{"podSelector":{}}}`))

	require.Empty(t, create(services, `{"metadata":{"name":"plain"},"spec":{`+ports+`}}`))
	require.Equal(t, []string{balancer}, create(services, `{"metadata":{"name":"lb"},"spec":{"type":"LoadBalancer",`+ports+`}}`))
	require.Empty(t, create(services, `{"metadata":{"name":"own"},"spec":{"type":"LoadBalancer","loadBalancerClass":"example.com/own",`+ports+`}}`))
	require.Equal(t, []string{balancer}, merge(services+"/plain", `{"spec":{"type":"LoadBalancer"}}`))
	require.Empty(t, merge(services+"/plain", `{"metadata":{"labels":{"a":"b"}}}`))
	require.Empty(t, merge(services+"/plain/status", `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`))

	// The objects are there as any other: a warning refuses nothing.
	list, err := client.For[*corev1.Service](conn).List(t.Context(), client.ListOptions{Namespace: metav1.NamespaceDefault})
	require.NoError(t, err)
	require.Len(t, list.Items, 4)
}
