package kubelet

import (
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubelet/podobjects"
)

// ObjectStrategy says how the kubelet follows the ConfigMaps and Secrets that its pods refer to.
type ObjectStrategy string

// The strategies.
const (
	// ObjectsCached reads an object at most once per TTL: that of the node's annotation
	// node.alpha.kubernetes.io/ttl in seconds, or else a quarter of [Options].SyncInterval.
	ObjectsCached ObjectStrategy = "Cache"
	// ObjectsWatched keeps a watch per object. Volumes follow a change at once, at most once a second for one
	// object.
	ObjectsWatched ObjectStrategy = "Watch"
	// ObjectsFetched reads it each time.
	ObjectsFetched ObjectStrategy = "Get"
)

// objects keeps the configMaps and secrets that the pods of this node refer to, for as long as a pod does.
type objects struct {
	configMaps *podobjects.Manager[*corev1.ConfigMap]
	secrets    *podobjects.Manager[*corev1.Secret]
}

func newObjects(k *Kubelet) *objects {
	ttl := func() time.Duration { return k.objectTTL() }
	return &objects{
		configMaps: podobjects.NewManager(objectStore(k, ttl, func(c *corev1.ConfigMap) bool { return c.Immutable != nil && *c.Immutable }),
			func(pod *corev1.Pod) map[string]bool { names, _ := references(pod); return names }),
		secrets: podobjects.NewManager(objectStore(k, ttl, func(s *corev1.Secret) bool { return s.Immutable != nil && *s.Immutable }),
			func(pod *corev1.Pod) map[string]bool { _, names := references(pod); return names }),
	}
}

func objectStore[T metav1.Object](k *Kubelet, ttl func() time.Duration, immutable func(T) bool) podobjects.Store[T] {
	switch k.opts.Objects {
	case ObjectsWatched:
		return podobjects.NewWatch(k.m.Informers(), podobjects.WatchOptions[T]{Immutable: immutable, Changed: k.contentChanged})
	case ObjectsFetched:
		return podobjects.NewGet(client.For[T](k.m.Conn()))
	}
	return podobjects.NewCache(client.For[T](k.m.Conn()), podobjects.CacheOptions[T]{TTL: ttl, Immutable: immutable})
}

// annotationTTL is how long objects may be cached on a node, in seconds. A controller sets it by the size of
// the cluster.
const annotationTTL = "node.alpha.kubernetes.io/ttl"

// objectTTL is how long an object is used before it is read again.
func (k *Kubelet) objectTTL() time.Duration {
	if node := k.node.object(); node != nil {
		if n, err := strconv.ParseUint(node.Annotations[annotationTTL], 10, 31); err == nil {
			return time.Duration(n) * time.Second
		}
	}
	return objectTTL(k.opts.SyncInterval)
}

// use keeps what a pod refers to. What is new to the pod is read again when it is next needed, so that a pod
// that starts sees what is there now.
func (o *objects) use(pod *corev1.Pod) {
	o.configMaps.RegisterPod(pod)
	o.secrets.RegisterPod(pod)
}

// release drops what no other pod refers to.
func (o *objects) release(pod *corev1.Pod) {
	o.configMaps.UnregisterPod(pod)
	o.secrets.UnregisterPod(pod)
}

// references are the names of the configMaps and secrets in a pod's volumes and variables, and of those it
// pulls images with.
func references(pod *corev1.Pod) (configMaps, secrets map[string]bool) {
	configMaps, secrets = map[string]bool{}, map[string]bool{}
	for _, ref := range pod.Spec.ImagePullSecrets {
		if ref.Name != "" {
			secrets[ref.Name] = true
		}
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.ConfigMap != nil {
			configMaps[v.ConfigMap.Name] = true
		}
		if v.Secret != nil {
			secrets[v.Secret.SecretName] = true
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil {
				configMaps[s.ConfigMap.Name] = true
			}
			if s.Secret != nil {
				secrets[s.Secret.Name] = true
			}
		}
	}
	for c := range allContainers(pod) {
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil {
				configMaps[from.ConfigMapRef.Name] = true
			}
			if from.SecretRef != nil {
				secrets[from.SecretRef.Name] = true
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
				configMaps[e.ValueFrom.ConfigMapKeyRef.Name] = true
			}
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				secrets[e.ValueFrom.SecretKeyRef.Name] = true
			}
		}
	}
	return configMaps, secrets
}
