package resourcequota

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
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
	// ending are the pods that are being deleted: what they use depends on the time.
	ending map[types.NamespacedName]*corev1.Pod
	holds  bool // it was equal to the objects the last time
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
		a = &account{sums: map[group]*sum{}, ending: map[types.NamespacedName]*corev1.Pod{}}
		t.of[obj.GetNamespace()] = a
	}
	defer func() {
		if len(a.sums) == 0 && len(a.ending) == 0 {
			delete(t.of, obj.GetNamespace())
		}
	}()
	if pod, ok := obj.(*corev1.Pod); ok && pod.DeletionTimestamp != nil {
		if delete(a.ending, pod.Key()); sign > 0 {
			a.ending[pod.Key()] = pod
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

// each calls f with the objects of a kind, those of a group as one.
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
	if kind == pods {
		for _, key := range slices.SortedFunc(maps.Keys(a.ending), types.NamespacedName.Compare) {
			f(a.ending[key], quota.Usage(kind, a.ending[key]))
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

// tallied returns a function that keeps the sums of a kind, and then returns what of returns.
func tallied[T metav1.Object](t *tally, kind string, of func(informers.Event[T]) []reconcile.Request) func(informers.Event[T]) []reconcile.Request {
	return func(e informers.Event[T]) []reconcile.Request {
		var none T
		if before := e.Old(); e.Type != informers.Added && any(before) != any(none) {
			t.add(kind, before, -1)
		}
		if after := e.New(); e.Type != informers.Deleted && any(after) != any(none) {
			t.add(kind, after, 1)
		}
		return of(e)
	}
}

// sameUsage compares quantities, not their forms.
func sameUsage(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}
