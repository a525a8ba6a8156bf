package controllers

import (
	"reflect"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/informers"
)

// Labelled finds the objects of type T that a label selector selects, at a cost that follows how many have
// the rarest of the labels that it requires. It is made by [LabelledIn], and safe for concurrent use.
type Labelled[T metav1.Object] struct {
	all     informers.Lister[T]
	byLabel informers.Index[T]
}

// labelIndexes has the index definition of each type, so that an informer has the index once.
var labelIndexes sync.Map // reflect.Type -> *informers.IndexDefinition[T]

// LabelledIn returns the Labelled of a set's informer for T, and adds the index that it needs.
func LabelledIn[T metav1.Object](set *informers.Set) Labelled[T] {
	definition, _ := labelIndexes.LoadOrStore(reflect.TypeFor[T](), informers.DefineIndex("labels", labelPlaces[T]))
	inf := informers.For[T](set)
	return Labelled[T]{all: inf.Lister(), byLabel: inf.Index(definition.(*informers.IndexDefinition[T]))}
}

// Select returns the objects of a namespace that selector selects, by name, shared and read-only. A selector
// that requires no label to have one of some values is compared with all objects of the namespace.
func (l Labelled[T]) Select(namespace string, selector labels.Selector) ([]T, error) {
	if selector.SelectsNothing() {
		return nil, nil
	}
	var out []T
	take := func(obj T) bool {
		if selector.Matches(obj.GetLabels()) {
			out = append(out, obj)
		}
		return true
	}
	places, ok := rarest(l.byLabel, namespace, selector)
	if !ok {
		return out, l.all.ViewAll(informers.ListOptions{Namespace: namespace, LabelSelector: selector}, func(obj T) bool {
			out = append(out, obj)
			return true
		})
	}
	for _, place := range places {
		if err := l.byLabel.View(place, take); err != nil {
			return out, err
		}
	}
	if len(places) > 1 {
		slices.SortFunc(out, func(a, b T) int { return metav1.KeyOf(a).Compare(metav1.KeyOf(b)) })
	}
	return out, nil
}

// labelPlace is where objects of a namespace with a label are filed.
func labelPlace(namespace, key, value string) string { return namespace + "/" + key + "=" + value }

// labelPlaces returns the places of an object's labels.
func labelPlaces[T metav1.Object](obj T) []string {
	out := make([]string, 0, len(obj.GetLabels()))
	for key, value := range obj.GetLabels() {
		out = append(out, labelPlace(obj.GetNamespace(), key, value))
	}
	slices.Sort(out)
	return out
}

// requiredPlaces returns the places of the values of which a requirement needs one; ok is false if it does
// not need one.
func requiredPlaces(namespace string, r labels.Requirement) (places []string, ok bool) {
	switch r.Operator() {
	case labels.Equals, labels.DoubleEquals, labels.In:
		for _, value := range slices.Compact(r.Values()) {
			places = append(places, labelPlace(namespace, r.Key(), value))
		}
		return places, true
	}
	return nil, false
}

// rarest returns the places of the requirement with the fewest objects; ok is false if no requirement needs
// one of some values.
func rarest[T metav1.Object](ix informers.Index[T], namespace string, selector labels.Selector) (places []string, ok bool) {
	reqs, _ := selector.Requirements()
	least := 0
	for _, r := range reqs {
		p, exact := requiredPlaces(namespace, r)
		if !exact {
			continue
		}
		n := 0
		for _, place := range p {
			n += ix.Len(place)
		}
		if !ok || n < least {
			places, least, ok = p, n, true
		}
	}
	return places, ok
}

// SelectorDefinition says which label selector an object has. It is made by [DefineSelector], usually once in
// a package, and is immutable.
type SelectorDefinition[T metav1.Object] struct {
	selector func(T) (labels.Selector, error)
	index    *informers.IndexDefinition[T]
}

// DefineSelector returns a definition for [SelectorsIn]. selector must not change the object; an object for
// which it returns an error selects nothing.
func DefineSelector[T metav1.Object](selector func(T) (labels.Selector, error)) *SelectorDefinition[T] {
	return &SelectorDefinition[T]{selector: selector, index: informers.DefineIndex("selector", func(obj T) []string {
		s, err := selector(obj)
		if err != nil {
			return nil
		}
		return selectorPlaces(obj.GetNamespace(), s)
	})}
}

// selectorPlaces returns the places of which any labels that the selector selects have one: those of the
// requirement with the fewest values, or else the namespace.
func selectorPlaces(namespace string, s labels.Selector) []string {
	reqs, selectable := s.Requirements()
	if !selectable {
		return nil
	}
	var out []string
	found := false
	for _, r := range reqs {
		if p, ok := requiredPlaces(namespace, r); ok && (!found || len(p) < len(out)) {
			out, found = p, true
		}
	}
	if !found {
		return []string{namespace}
	}
	return out
}

// Selectors finds the objects of type T whose selectors select given labels, such as the Services of a pod,
// at a cost that follows how many selectors require one of the labels. It is made by [SelectorsIn], and safe
// for concurrent use.
type Selectors[T metav1.Object] struct {
	selector   func(T) (labels.Selector, error)
	bySelector informers.Index[T]
}

// SelectorsIn returns the Selectors of a set's informer for T, and adds the index that it needs.
func SelectorsIn[T metav1.Object](set *informers.Set, definition *SelectorDefinition[T]) Selectors[T] {
	return Selectors[T]{definition.selector, informers.For[T](set).Index(definition.index)}
}

// Of returns the keys of the objects of a namespace whose selectors select one of the sets of labels, each
// once, in no particular order. With an error they are those that could be read.
func (s Selectors[T]) Of(namespace string, sets ...map[string]string) (keys []types.NamespacedName, err error) {
	places := []string{namespace}
	for _, set := range sets {
		for key, value := range set {
			if place := labelPlace(namespace, key, value); !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	slices.Sort(places[1:])
	seen := map[types.NamespacedName]bool{}
	for _, place := range places {
		viewErr := s.bySelector.View(place, func(obj T) bool {
			key := metav1.KeyOf(obj)
			selector, invalid := s.selector(obj)
			if invalid == nil && !seen[key] && slices.ContainsFunc(sets, selector.Matches) {
				seen[key] = true
				keys = append(keys, key)
			}
			return true
		})
		if err == nil {
			err = viewErr
		}
	}
	return keys, err
}
