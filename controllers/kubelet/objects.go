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

// objects keeps the configMaps and secrets that pods use for a while, and for ever if they are immutable.
type objects struct {
	configMaps *kept[*corev1.ConfigMap]
	secrets    *kept[*corev1.Secret]
}

func newObjects(c client.Conn, ttl time.Duration) *objects {
	return &objects{
		configMaps: &kept[*corev1.ConfigMap]{client: client.For[*corev1.ConfigMap](c), ttl: ttl, byKey: map[types.NamespacedName]*fetched[*corev1.ConfigMap]{},
			frozen: func(c *corev1.ConfigMap) bool { return c.Immutable != nil && *c.Immutable }},
		secrets: &kept[*corev1.Secret]{client: client.For[*corev1.Secret](c), ttl: ttl, byKey: map[types.NamespacedName]*fetched[*corev1.Secret]{},
			frozen: func(s *corev1.Secret) bool { return s.Immutable != nil && *s.Immutable }},
	}
}

// forget makes the next use of anything in a namespace look again, for a pod that starts.
func (o *objects) forget(namespace string) {
	o.configMaps.forget(namespace)
	o.secrets.forget(namespace)
}

type kept[T metav1.Object] struct {
	client *client.Client[T]
	ttl    time.Duration
	frozen func(T) bool

	mu    sync.Mutex
	byKey map[types.NamespacedName]*fetched[T]
}

type fetched[T any] struct {
	obj T
	err error
	at  time.Time
}

// get returns a shared object that must not be changed. When the server cannot be asked, what was there before serves on.
func (k *kept[T]) get(ctx context.Context, key types.NamespacedName) (T, error) {
	k.mu.Lock()
	f := k.byKey[key]
	k.mu.Unlock()
	if f != nil && f.err == nil && (k.frozen(f.obj) || time.Since(f.at) < k.ttl/2) {
		return f.obj, nil
	}
	obj, err := k.client.Get(ctx, key)
	if err != nil && !apierrors.IsNotFound(err) && f != nil && f.err == nil {
		return f.obj, nil
	}
	k.mu.Lock()
	if err == nil {
		k.byKey[key] = &fetched[T]{obj: obj, at: time.Now()}
	} else {
		delete(k.byKey, key)
	}
	for other, f := range k.byKey {
		if time.Since(f.at) > 10*k.ttl {
			delete(k.byKey, other)
		}
	}
	k.mu.Unlock()
	return obj, err
}

func (k *kept[T]) forget(namespace string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, f := range k.byKey {
		if key.Namespace == namespace && !k.frozen(f.obj) {
			delete(k.byKey, key)
		}
	}
}
