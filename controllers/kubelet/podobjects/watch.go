package podobjects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/informers"
)

// watchPatience is how long a Get waits for the first state of an object.
const watchPatience = 5 * time.Second

// WatchOptions of a store with [NewWatch].
type WatchOptions[T metav1.Object] struct {
	// Immutable reports that an object never changes, so that its watch is ended; nil means none is.
	Immutable func(T) bool
	// Changed is called with each pod that refers to an object when that is created, changed or deleted.
	// Changes of one object that are less than a second apart are combined. It must not block; nil means no
	// call.
	Changed func(pod types.UID)
}

// changePause is how far apart two calls of Changed for one object are at least.
const changePause = time.Second

// watch keeps a watch per object.
type watch[T metav1.Object] struct {
	set  *informers.Set
	opts WatchOptions[T]

	mu    sync.Mutex
	byKey map[types.NamespacedName]*watched[T]
}

// watched is an object that pods refer to. The lock of watch guards it.
type watched[T metav1.Object] struct {
	users    references
	informer *informers.Informer[T] // nil once the object is known never to change
	frozen   T
	// pause is running after a call of Changed; nil while none is. pending is true if there was a change
	// since.
	pause   *time.Timer
	pending bool
}

// NewWatch returns a store that watches each object that a pod refers to, with an informer of the set, which
// must be running. An object that is known never to change is kept and no longer watched.
func NewWatch[T metav1.Object](set *informers.Set, opts WatchOptions[T]) Store[T] {
	if opts.Immutable == nil {
		opts.Immutable = func(T) bool { return false }
	}
	return &watch[T]{set: set, opts: opts, byKey: map[types.NamespacedName]*watched[T]{}}
}

// AddReference implements Store.
func (s *watch[T]) AddReference(key types.NamespacedName, pod types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.byKey[key]
	if w == nil {
		w = &watched[T]{users: references{}}
		s.byKey[key] = w
	}
	if w.informer == nil {
		// Also for an object that never changes: another one may have taken its name.
		w.informer = informers.For[T](s.set, informers.Options[T]{Namespaces: []string{key.Namespace}, FieldSelector: fields.OneEqual("metadata.name", key.Name)})
		if s.opts.Changed != nil {
			w.informer.AddHandler(func(e informers.Event[T]) {
				if !e.Initial && !e.Resync {
					s.changed(key, w)
				}
			}, informers.HandlerOptions{Name: "pods that refer to " + key.String()})
		}
	}
	w.users.add(pod)
}

// changed calls Changed for the pods of an object, now or at the end of the pause.
func (s *watch[T]) changed(key types.NamespacedName, w *watched[T]) {
	s.mu.Lock()
	if s.byKey[key] != w || w.pause != nil {
		w.pending = w.pause != nil
		s.mu.Unlock()
		return
	}
	w.pause = time.AfterFunc(changePause, func() {
		s.mu.Lock()
		again := w.pending
		w.pause, w.pending = nil, false
		s.mu.Unlock()
		if again {
			s.changed(key, w)
		}
	})
	pods := slices.Collect(maps.Keys(w.users))
	s.mu.Unlock()
	for _, pod := range pods {
		s.opts.Changed(pod)
	}
}

// DeleteReference implements Store.
func (s *watch[T]) DeleteReference(key types.NamespacedName, pod types.UID) {
	s.mu.Lock()
	w := s.byKey[key]
	if w == nil || !w.users.remove(pod) {
		s.mu.Unlock()
		return
	}
	delete(s.byKey, key)
	i := w.informer
	if w.pause != nil {
		w.pause.Stop()
	}
	s.mu.Unlock()
	if i != nil {
		i.Release()
	}
}

// Get implements Store. It waits up to 5 s for the first state.
func (s *watch[T]) Get(ctx context.Context, key types.NamespacedName) (T, error) {
	var none T
	s.mu.Lock()
	w := s.byKey[key]
	if w == nil {
		s.mu.Unlock()
		return none, notRegistered(key)
	}
	i, frozen := w.informer, w.frozen
	s.mu.Unlock()
	if i == nil {
		return frozen, nil
	}
	waiting, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	if err := i.WaitForSync(waiting); err != nil {
		return none, fmt.Errorf("watch of object %q/%q has no state yet: %w", key.Namespace, key.Name, err)
	}
	obj, err := i.Lister().Get(key)
	if err == nil && s.opts.Immutable(obj) {
		s.freeze(w, i, obj)
	}
	return obj, err
}

// freeze ends the watch of an object that never changes.
func (s *watch[T]) freeze(w *watched[T], i *informers.Informer[T], obj T) {
	s.mu.Lock()
	mine := w.informer == i && len(w.users) > 0
	if mine {
		w.informer, w.frozen = nil, obj
	}
	s.mu.Unlock()
	if mine {
		i.Release()
	}
}
