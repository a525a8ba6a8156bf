package podobjects

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Store keeps objects that pods refer to. References are counted per object and pod: adding one twice is like
// adding it once.
type Store[T metav1.Object] interface {
	// AddReference says that a pod refers to an object. The next Get reads the object again, so that a pod
	// that starts sees what is there now.
	AddReference(key types.NamespacedName, pod types.UID)
	// DeleteReference says that a pod no longer refers to an object. What no pod refers to is dropped.
	DeleteReference(key types.NamespacedName, pod types.UID)
	// Get returns an object, which is shared and must not be changed. The error wraps [ErrNotRegistered] if
	// no pod refers to it.
	Get(ctx context.Context, key types.NamespacedName) (T, error)
}

// ErrNotRegistered reports that no pod refers to an object.
var ErrNotRegistered = errors.New("not registered")

func notRegistered(key types.NamespacedName) error {
	return fmt.Errorf("object %q/%q %w", key.Namespace, key.Name, ErrNotRegistered)
}

// Manager registers with a store what pods refer to.
type Manager[T metav1.Object] struct {
	store Store[T]
	names func(*corev1.Pod) map[string]bool

	mu   sync.Mutex
	pods map[types.UID]registered
}

// registered is what one pod refers to.
type registered struct {
	namespace string
	names     map[string]bool
}

// NewManager returns a manager over a store. Names returns the names of the objects that a pod refers to, all
// of them in the pod's namespace.
func NewManager[T metav1.Object](store Store[T], names func(*corev1.Pod) map[string]bool) *Manager[T] {
	return &Manager[T]{store: store, names: names, pods: map[types.UID]registered{}}
}

// RegisterPod registers what a pod refers to. For a pod that is registered it replaces that, and what the pod
// referred to before is read again only if another pod starts to refer to it.
func (m *Manager[T]) RegisterPod(pod *corev1.Pod) {
	m.set(pod.UID, registered{pod.Namespace, m.names(pod)})
}

// UnregisterPod drops what only this pod refers to. A pod that is not registered is ignored.
func (m *Manager[T]) UnregisterPod(pod *corev1.Pod) { m.set(pod.UID, registered{}) }

func (m *Manager[T]) set(uid types.UID, now registered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.pods[uid]
	for name := range now.names {
		if !before.names[name] {
			m.store.AddReference(types.NamespacedName{Namespace: now.namespace, Name: name}, uid)
		}
	}
	for name := range before.names {
		if !now.names[name] {
			m.store.DeleteReference(types.NamespacedName{Namespace: before.namespace, Name: name}, uid)
		}
	}
	if len(now.names) == 0 {
		delete(m.pods, uid)
	} else {
		m.pods[uid] = now
	}
}

// GetObject returns an object that a registered pod refers to. It is shared and must not be changed.
func (m *Manager[T]) GetObject(ctx context.Context, namespace, name string) (T, error) {
	return m.store.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name})
}
