package load

import (
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Pod is a pod as the controller of a ReplicaSet makes it: one container with a probe, resources and a mount,
// and an owner. With the defaults, the records and the token volume of a server it is 4 kB of JSON and 2.6 kB
// of protobuf.
func Pod(namespace string, n int) *corev1.Pod {
	number := strconv.Itoa(n)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "pod-" + number, GenerateName: "web-5d4f8c7b9-",
		Labels:      map[string]string{"app": "web-" + number, "pod-template-hash": "5d4f8c7b9", "tier": "backend", "shard": strconv.Itoa(n % shards)},
		Annotations: map[string]string{"example.com/checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f8c7b9", UID: types.UID("0c2e0d0e-55cf-4b6e-9d0e-6f0c3c7b2a11"),
		}},
	}}
	probe := &corev1.Probe{TimeoutSeconds: 1, PeriodSeconds: 5, SuccessThreshold: 1, FailureThreshold: 3}
	probe.HTTPGet = &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}
	name := corev1.EnvVar{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}
	p.Spec.Containers = []corev1.Container{{
		Name: "app", Image: "registry.example/web:1.2.3", Env: []corev1.EnvVar{name, {Name: "A", Value: "1"}},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("256Mi")},
		},
		ReadinessProbe: probe,
		VolumeMounts:   []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
	}}
	tmp := corev1.Volume{Name: "tmp"}
	tmp.EmptyDir = &corev1.EmptyDirVolumeSource{}
	p.Spec.Volumes = []corev1.Volume{tmp}
	p.Spec.NodeName = "node-" + strconv.Itoa(n%100)
	return p
}
