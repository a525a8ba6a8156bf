package registry

import (
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type fieldRule struct {
	names       []string
	paths       []string // what fields looks at, where that is not the names
	fields      func(obj metav1.Object, add func(name, value string))
	noNamespace bool
}

func podFields(obj metav1.Object, add func(name, value string)) {
	pod := obj.(*corev1.Pod)
	add("spec.nodeName", pod.Spec.NodeName)
	add("spec.restartPolicy", string(pod.Spec.RestartPolicy))
	add("spec.schedulerName", pod.Spec.SchedulerName)
	add("spec.serviceAccountName", pod.Spec.ServiceAccountName)
	add("spec.hostNetwork", strconv.FormatBool(pod.Spec.HostNetwork))
	add("status.phase", string(pod.Status.Phase))
	ip := pod.Status.PodIP
	if ip == "" && len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	add("status.podIP", ip)
	add("status.nominatedNodeName", pod.Status.NominatedNodeName)
}

func eventFields(obj metav1.Object, add func(name, value string)) {
	e := obj.(*corev1.Event)
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	add("reason", e.Reason)
	add("reportingComponent", e.ReportingController)
	add("source", source)
	add("type", e.Type)
	refFields("involvedObject.", &e.InvolvedObject, add)
}

func refFields(prefix string, ref *corev1.ObjectReference, add func(name, value string)) {
	add(prefix+"kind", ref.Kind)
	add(prefix+"namespace", ref.Namespace)
	add(prefix+"name", ref.Name)
	add(prefix+"uid", string(ref.UID))
	add(prefix+"apiVersion", ref.APIVersion)
	add(prefix+"resourceVersion", ref.ResourceVersion)
	add(prefix+"fieldPath", ref.FieldPath)
}

var refNames = []string{"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"}

func prefixed(prefix string, names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = prefix + n
	}
	return out
}

// builtinFields returns the field selectors of a built-in kind.
func builtinFields(obj metav1.Object) fieldRule {
	switch obj.(type) {
	case *corev1.Pod:
		return fieldRule{names: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
			"spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"},
			paths: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
				"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"}, fields: podFields}
	case *corev1.Event:
		return fieldRule{names: append(prefixed("involvedObject.", refNames...), "reason", "reportingComponent", "source", "type"),
			paths: []string{"involvedObject", "reason", "reportingComponent", "source", "type"}, fields: eventFields}
	case *eventsv1.Event:
		return fieldRule{names: append(prefixed("regarding.", refNames...), "reason", "reportingController", "type"),
			paths: []string{"regarding", "reason", "reportingController", "type"}, fields: func(obj metav1.Object, add func(string, string)) {
				e := obj.(*eventsv1.Event)
				add("reason", e.Reason)
				add("reportingController", e.ReportingController)
				add("type", e.Type)
				refFields("regarding.", &e.Regarding, add)
			}}
	case *corev1.Namespace:
		return fieldRule{names: []string{"status.phase"}, noNamespace: true, fields: func(obj metav1.Object, add func(string, string)) {
			add("status.phase", string(obj.(*corev1.Namespace).Status.Phase))
		}}
	case *corev1.Node:
		return fieldRule{names: []string{"spec.unschedulable"}, noNamespace: true, fields: func(obj metav1.Object, add func(string, string)) {
			add("spec.unschedulable", strconv.FormatBool(obj.(*corev1.Node).Spec.Unschedulable))
		}}
	case *corev1.ReplicationController:
		return fieldRule{names: []string{"status.replicas"}, fields: func(obj metav1.Object, add func(string, string)) {
			add("status.replicas", strconv.Itoa(int(obj.(*corev1.ReplicationController).Status.Replicas)))
		}}
	case *corev1.Secret:
		return fieldRule{names: []string{"type"}, fields: func(obj metav1.Object, add func(string, string)) {
			add("type", string(obj.(*corev1.Secret).Type))
		}}
	case *corev1.Service:
		return fieldRule{names: []string{"spec.clusterIP", "spec.type"}, fields: func(obj metav1.Object, add func(string, string)) {
			svc := obj.(*corev1.Service)
			add("spec.clusterIP", svc.Spec.ClusterIP)
			add("spec.type", string(svc.Spec.Type))
		}}
	case *batchv1.Job:
		return fieldRule{names: []string{"status.successful"}, paths: []string{"status.succeeded"}, fields: func(obj metav1.Object, add func(string, string)) {
			add("status.successful", strconv.Itoa(int(obj.(*batchv1.Job).Status.Succeeded)))
		}}
	case *certificatesv1.CertificateSigningRequest:
		return fieldRule{names: []string{"spec.signerName"}, noNamespace: true, fields: func(obj metav1.Object, add func(string, string)) {
			add("spec.signerName", obj.(*certificatesv1.CertificateSigningRequest).Spec.SignerName)
		}}
	case *resourcev1.ResourceSlice:
		return fieldRule{names: []string{"spec.driver", "spec.nodeName"}, noNamespace: true, fields: func(obj metav1.Object, add func(string, string)) {
			slice := obj.(*resourcev1.ResourceSlice)
			node := ""
			if slice.Spec.NodeName != nil {
				node = *slice.Spec.NodeName
			}
			add("spec.driver", slice.Spec.Driver)
			add("spec.nodeName", node)
		}}
	}
	return fieldRule{}
}
