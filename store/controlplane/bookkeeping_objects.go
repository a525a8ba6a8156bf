package controlplane

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/flowcontrol"
)

// kubernetesService is the name of the service by which pods reach the server.
const kubernetesService = "kubernetes"

// essentialObjects returns the objects without which the server or its nodes do not work, as they are in a
// new cluster.
func essentialObjects(s *apiserver.Server) []metav1.Object {
	_, port := s.Advertised()
	var objs []metav1.Object
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		objs = append(objs, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	var cidrs []string
	for _, p := range s.Kinds().ServiceRanges() {
		cidrs = append(cidrs, p.String())
	}
	return append(objs, &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: kubernetesService},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: cidrs},
		Status: networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
			Reason: "Configured", Message: "The service range the server was started with.", LastTransitionTime: metav1.Now().Truncated()}}},
	}, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: kubernetesService, Namespace: metav1.NamespaceDefault,
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: s.Kinds().ServiceAddress(1).String(),
			Ports: []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP,
				TargetPort: intstr.FromInt32(int32(port))}},
		},
	})
}

// clusterObjects returns the objects that every cluster has, as they are in a new one.
func clusterObjects(s *apiserver.Server) []metav1.Object {
	objs := essentialObjects(s)
	for _, gv := range localVersions(s) {
		objs = append(objs, apiService(gv))
	}
	schemas, levels := flowcontrol.Defaults()
	for _, l := range levels {
		objs = append(objs, l)
	}
	for _, f := range schemas {
		f.Status.Conditions = []flowcontrolv1.FlowSchemaCondition{flowcontrol.Dangling(f, true)}
		objs = append(objs, f)
	}
	for _, c := range []struct {
		name  string
		value int32
		text  string
	}{
		{"system-node-critical", 2000001000, "Used for system critical pods that must not be moved from their current node."},
		{"system-cluster-critical", 2000000000, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."},
	} {
		objs = append(objs, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Value: c.value, Description: c.text})
	}
	return append(objs, tokenTracking())
}

// tokenTracking records since when the last use of tokens in secrets is recorded, which those that delete
// unused ones have to know.
func tokenTracking() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: corev1.TokenTrackingName},
		Data:       map[string]string{"since": time.Now().UTC().Format(time.DateOnly)},
	}
}
