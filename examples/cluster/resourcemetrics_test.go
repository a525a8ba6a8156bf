//go:build unix

package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/metricsapi"
)

// The cluster serves the metrics of its fake nodes, through the kubelet API and with the rights that it
// grants, and stops when an APIService with a service has a version of the group.
func TestClusterServesResourceMetrics(t *testing.T) {
	conn := startTestCluster(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Annotations: map[string]string{
		fakenode.UsageAnnotation: "cpu=250m,memory=64Mi", metricsapi.CustomAnnotation + "requests": "5"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "a", Image: "i"}}
	_, err := client.For[*corev1.Pod](conn).Create(t.Context(), pod)
	require.NoError(t, err)
	get := func(path string, as *client.User) (out struct {
		Usage      map[string]string
		Containers []struct{ Usage map[string]string }
		Items      []struct{ Value string }
	}, err error) {
		resp, err := conn.Do(t.Context(), &client.Request{Path: "/apis/" + path, Impersonate: as})
		if err == nil {
			err = json.Unmarshal(resp.Body, &out)
		}
		return out, err
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		m, err := get("metrics.k8s.io/v1beta1/namespaces/default/pods/web", nil)
		require.NoError(t, err)
		require.Equal(t, "65536Ki", m.Containers[0].Usage["memory"])
		require.Regexp(t, `^2[45]\d{7}n$`, m.Containers[0].Usage["cpu"])
	}, time.Minute, 100*time.Millisecond)
	node, err := get("metrics.k8s.io/v1beta1/nodes/node-0", nil)
	require.NoError(t, err)
	require.NotEmpty(t, node.Usage["cpu"])
	values, err := get("custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/requests", nil)
	require.NoError(t, err)
	require.Equal(t, "5", values.Items[0].Value)
	_, err = get("metrics.k8s.io/v1beta1/nodes", &client.User{Name: "ann", Groups: []string{"system:authenticated"}})
	require.True(t, apierrors.IsForbidden(err), err)
	find := discovery.New(conn, discovery.Options{})
	r, err := find.Find(t.Context(), "nodes.metrics.k8s.io")
	require.NoError(t, err)
	require.Equal(t, "NodeMetrics", r.GVK.Kind)

	service := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1beta1.metrics.k8s.io"}, Spec: apiregistrationv1.APIServiceSpec{
		Group: "metrics.k8s.io", Version: "v1beta1", GroupPriorityMinimum: 100, VersionPriority: 100, InsecureSkipTLSVerify: true,
		Service: &apiregistrationv1.ServiceReference{Namespace: "kube-system", Name: "metrics-server"}}}
	services := client.For[*apiregistrationv1.APIService](conn)
	_, err = services.Create(t.Context(), service)
	require.NoError(t, err)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, err := get("metrics.k8s.io/v1beta1/nodes", nil)
		require.True(t, apierrors.IsServiceUnavailable(err), err)
	}, time.Minute, 10*time.Millisecond)
	_, err = get("custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/requests", nil)
	require.NoError(t, err, "the other groups stay")
	require.NoError(t, services.Delete(t.Context(), types.NamespacedName{Name: service.Name}, client.DeleteOptions{}))
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, err := get("metrics.k8s.io/v1beta1/nodes", nil)
		require.NoError(t, err)
	}, time.Minute, 10*time.Millisecond)
}
