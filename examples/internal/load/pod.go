package load

import (
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Pod is a pod as real ones are: two containers with environment, resources, probes and mounts, about 3 kB of JSON.
func Pod(namespace string, n int) *corev1.Pod {
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
		Limits:   corev1.ResourceList{"memory": resource.MustParse("256Mi")},
	}
	probe := &corev1.Probe{PeriodSeconds: 10}
	probe.HTTPGet = &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}
	var env []corev1.EnvVar
	for i := range 8 {
		env = append(env, corev1.EnvVar{Name: "SETTING_" + strconv.Itoa(i), Value: strings.Repeat("v", 20)})
	}
	app := corev1.Container{
		Name: "app", Image: "registry.example/team/app:v1.2.3", Args: []string{"--listen=:8080", "--log-level=info"}, Env: env, Resources: resources,
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}, LivenessProbe: probe, ReadinessProbe: probe,
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}, {Name: "cache", MountPath: "/var/cache/app"}},
	}
	side := corev1.Container{Name: "sidecar", Image: "registry.example/team/sidecar:v4", Env: env[:3], Resources: resources}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "pod-" + strconv.Itoa(n),
		Labels: map[string]string{"app": "loadtest", "shard": strconv.Itoa(n % shards), "tier": "backend"},
	}}
	p.Spec.Containers = []corev1.Container{app, side}
	config := corev1.Volume{Name: "config"}
	config.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}
	cache := corev1.Volume{Name: "cache"}
	cache.EmptyDir = &corev1.EmptyDirVolumeSource{}
	p.Spec.Volumes = []corev1.Volume{config, cache}
	return p
}
