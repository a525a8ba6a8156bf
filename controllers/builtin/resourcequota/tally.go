package resourcequota

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// tally has sums of what the objects of each namespace use, kept up to date by events, so that a change of
// one object does not lead to a look at all of them. It is compared whenever they are counted one by one, and
// used while it was equal the last time. Safe for concurrent use.
type tally struct {
	mu sync.Mutex
	of map[string]*account // by namespace
}

// account is the part of a namespace.
type account struct {
	sums map[group]*sum
	// alone are the objects whose usage is not always the same, which are in no sum.
	alone map[place]metav1.Object
	holds bool // it was equal to the objects the last time
}

// place is that of an object of a kind in a namespace.
type place struct{ kind, name string }

// isAlone reports whether what an object uses depends on more than the object: that of a pod that is being
// deleted on the time, that of a claim which has been made for a pod on the pod.
func isAlone(obj metav1.Object) bool {
	switch o := obj.(type) {
	case *corev1.Pod:
		return o.DeletionTimestamp != nil
	case *resourcev1.ResourceClaim:
		return quota.IsForPod(o)
	}
	return false
}

// group are the objects of a kind that are in the same scopes.
type group struct{ kind, scopes string }

// sum is what the objects of a group use, of which example is or was one.
type sum struct {
	example metav1.Object
	n       int
	used    corev1.ResourceList
}

// add takes in an object, or takes it out if sign is negative.
func (t *tally) add(kind string, obj metav1.Object, sign int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of[obj.GetNamespace()]
	if a == nil {
		a = &account{sums: map[group]*sum{}, alone: map[place]metav1.Object{}}
		t.of[obj.GetNamespace()] = a
	}
	defer func() {
		if len(a.sums) == 0 && len(a.alone) == 0 {
			delete(t.of, obj.GetNamespace())
		}
	}()
	if at := (place{kind, obj.GetName()}); isAlone(obj) {
		if delete(a.alone, at); sign > 0 {
			a.alone[at] = obj
		}
		return
	}
	key := group{kind, quota.ScopeKey(obj)}
	s := a.sums[key]
	if s == nil {
		s = &sum{example: obj, used: corev1.ResourceList{}}
		a.sums[key] = s
	}
	for name, n := range quota.Usage(kind, obj) {
		total := s.used[name]
		if sign > 0 {
			total.Add(n)
		} else {
			total.Sub(n)
		}
		s.used[name] = total
	}
	if s.n += sign; s.n == 0 {
		delete(a.sums, key)
	}
}

// each calls f with the objects of a kind and what they use, those of a group as one. It is nil for those
// whose usage is not always the same.
func (t *tally) each(namespace, kind string, f func(obj metav1.Object, used corev1.ResourceList)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of[namespace]
	if a == nil {
		return nil
	}
	// In order, because the first quantity decides on the form of the sum.
	for _, key := range slices.SortedFunc(maps.Keys(a.sums), func(a, b group) int { return strings.Compare(a.scopes, b.scopes) }) {
		if key.kind == kind {
			f(a.sums[key].example, a.sums[key].used)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(a.alone), func(a, b place) int { return strings.Compare(a.name, b.name) }) {
		if at.kind == kind {
			f(a.alone[at], nil)
		}
	}
	return nil
}

// holds reports whether the sums of a namespace were equal to its objects the last time.
func (t *tally) holds(namespace string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of[namespace]
	return a != nil && a.holds
}

// compared notes whether the sums of a namespace are equal to its objects.
func (t *tally) compared(namespace string, equal bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.of[namespace]; a != nil {
		a.holds = equal
	}
}

// tallied returns a function that keeps the sums of a kind, and then returns what of returns for the
// namespace if an object is gone or uses another amount, or is in another scope, than before.
func tallied[T metav1.Object](t *tally, kind string, of func(namespace string) []reconcile.Request) func(informers.Event[T]) []reconcile.Request {
	return func(e informers.Event[T]) []reconcile.Request {
		var none T
		before, after := e.Old(), e.New()
		known, there := any(before) != any(none), any(after) != any(none)
		if known {
			t.add(kind, before, -1)
		}
		if there {
			t.add(kind, after, 1)
		}
		if e.Type == informers.Deleted || e.Type == informers.Updated && known && there && !(quota.ScopeKey(before) == quota.ScopeKey(after) && sameUsage(quota.Usage(kind, before), quota.Usage(kind, after))) {
			return of(e.Key.Namespace)
		}
		return nil
	}
}

// sameUsage compares quantities, not their forms.
func sameUsage(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}
