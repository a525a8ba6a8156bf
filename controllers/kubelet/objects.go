package kubelet

import (
	"context"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// objects keeps the configMaps and secrets that the pods of this node refer to, for as long as a pod does.
type objects struct {
	configMaps *kept[*corev1.ConfigMap]
	secrets    *kept[*corev1.Secret]
}

func newObjects(c client.Conn, ttl time.Duration) *objects {
	return &objects{
		configMaps: newKept(client.For[*corev1.ConfigMap](c), ttl, func(c *corev1.ConfigMap) bool { return c.Immutable != nil && *c.Immutable }),
		secrets:    newKept(client.For[*corev1.Secret](c), ttl, func(s *corev1.Secret) bool { return s.Immutable != nil && *s.Immutable }),
	}
}

// use keeps what a pod refers to. What is new to the pod is read again when it is next needed, so that a pod
// that starts sees what is there now.
func (o *objects) use(pod *corev1.Pod) {
	configMaps, secrets := references(pod)
	o.configMaps.use(pod.UID, pod.Namespace, configMaps)
	o.secrets.use(pod.UID, pod.Namespace, secrets)
}

// release drops what no other pod refers to.
func (o *objects) release(pod types.UID) {
	o.configMaps.use(pod, "", nil)
	o.secrets.use(pod, "", nil)
}

// references are the names of the configMaps and secrets in a pod's volumes and variables.
func references(pod *corev1.Pod) (configMaps, secrets map[string]bool) {
	configMaps, secrets = map[string]bool{}, map[string]bool{}
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
	each := func(c *corev1.Container) {
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
	for i := range pod.Spec.InitContainers {
		each(&pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		each(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.EphemeralContainers {
		each(ephemeral(&pod.Spec.EphemeralContainers[i]))
	}
	return configMaps, secrets
}

const (
	// serverPause is how long the server is left alone after it did not answer for an object that is kept.
	serverPause = 10 * time.Second
	// serverPatience is how long it gets to answer for one.
	serverPatience = 5 * time.Second
)

// kept keeps the objects of one kind. Safe for concurrent use.
type kept[T metav1.Object] struct {
	client *client.Client[T]
	ttl    time.Duration
	frozen func(T) bool

	mu    sync.Mutex
	byKey map[types.NamespacedName]*fetched[T]
	users map[types.UID]map[types.NamespacedName]bool
}

// fetched is an object that pods refer to, and what is known of it. The lock of kept guards it.
type fetched[T any] struct {
	users int
	obj   T
	there bool
	// at is when the server last said that obj is the object, zero when that has to be asked. tried is when
	// the server last failed to say.
	at, tried time.Time
}

func newKept[T metav1.Object](c *client.Client[T], ttl time.Duration, frozen func(T) bool) *kept[T] {
	return &kept[T]{client: c, ttl: ttl, frozen: frozen, byKey: map[types.NamespacedName]*fetched[T]{}, users: map[types.UID]map[types.NamespacedName]bool{}}
}

// use replaces what a pod refers to.
func (k *kept[T]) use(pod types.UID, namespace string, names map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, now := k.users[pod], map[types.NamespacedName]bool{}
	for name := range names {
		key := types.NamespacedName{Namespace: namespace, Name: name}
		now[key] = true
		if before[key] {
			continue
		}
		f := k.byKey[key]
		if f == nil {
			f = &fetched[T]{}
			k.byKey[key] = f
		}
		f.users++
		f.at, f.tried = time.Time{}, time.Time{}
	}
	for key := range before {
		if now[key] {
			continue
		}
		if f := k.byKey[key]; f.users > 1 {
			f.users--
		} else {
			delete(k.byKey, key)
		}
	}
	k.users[pod] = now
	if len(now) == 0 {
		delete(k.users, pod)
	}
}

// get returns a shared object that must not be changed. When the server cannot be asked, what was there
// before serves on.
func (k *kept[T]) get(ctx context.Context, key types.NamespacedName) (T, error) {
	k.mu.Lock()
	f := k.byKey[key]
	if f == nil {
		k.mu.Unlock()
		return k.client.Get(ctx, key)
	}
	have, there, at, tried := f.obj, f.there, f.at, f.tried
	k.mu.Unlock()
	if there && (!at.IsZero() && (k.frozen(have) || time.Since(at) < k.ttl) || time.Since(tried) < serverPause) {
		return have, nil
	}
	call := ctx
	if there {
		var cancel context.CancelFunc
		call, cancel = context.WithTimeout(ctx, serverPatience)
		defer cancel()
	}
	obj, latest, err := k.fetch(call, key, at.IsZero())
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		if !latest && f.there && older(obj, f.obj) {
			f.at = time.Time{} // the server's memory lags behind; ask for the latest next time
			return f.obj, nil
		}
		f.obj, f.there, f.at, f.tried = obj, true, time.Now(), time.Time{}
	case apierrors.IsNotFound(err):
		var none T
		f.obj, f.there, f.at = none, false, time.Time{}
	case f.there && ctx.Err() == nil:
		f.tried = time.Now()
		return f.obj, nil
	}
	return obj, err
}

// fetch reads the latest state of an object if that is asked, else one that the server has at hand. That it
// is gone is true only of the latest.
func (k *kept[T]) fetch(ctx context.Context, key types.NamespacedName, want bool) (obj T, latest bool, err error) {
	if !want {
		if obj, err := k.client.Get(ctx, key, client.GetOptions{ResourceVersion: "0"}); !apierrors.IsNotFound(err) {
			return obj, false, err
		}
	}
	obj, err = k.client.Get(ctx, key)
	return obj, true, err
}

// older tells that a is an older state than b: versions of one resource have an order, whichever object they
// are of.
func older(a, b metav1.Object) bool {
	order, err := metav1.CompareResourceVersions(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
