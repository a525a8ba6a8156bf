package managedfields

import (
	"errors"
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/internal/mem"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// changes are the paths at which two objects differ: those the newer one adds or sets to another value
// (taken), and those it no longer has (removed).
type changes struct {
	taken, removed Set
}

func (c *changes) none() bool { return c.taken.Empty() && c.removed.Empty() }

// comparer finds changes. Only subtrees that differ are visited.
type comparer struct {
	changes
	path Path
	// goTyped is set when a configuration was merged into an object of a Go type, in which null means not
	// set.
	goTyped bool
	// nested is set when the path does not begin at an object, which alone has fields that are not tracked.
	nested bool
}

// untracked are the metadata fields that have no owner.
var untracked = []string{
	"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion",
}

// untrackedSet has the paths that have no owner.
var untrackedSet = func() *Set {
	s := NewSet(Path{Field("apiVersion")}, Path{Field("kind")}, Path{Field("metadata")})
	for _, name := range untracked {
		s.Insert(Path{Field("metadata"), Field(name)})
	}
	return s
}()

func (c *comparer) skips(name string) bool {
	if c.nested {
		return false
	}
	switch len(c.path) {
	case 0:
		return atRoot.skips(name)
	case 1:
		return c.path[0].kind == fieldKind && c.path[0].text == "metadata" && inMetadata.skips(name)
	}
	return false
}

// compareObjects finds the changes from l to r, objects of one Go type.
func (t *Type) compareObjects(l, r metav1.Object) (*changes, error) {
	c := &comparer{path: make(Path, 0, 16)}
	if lu, ok := l.(*metav1.Unstructured); ok {
		ru, ok := r.(*metav1.Unstructured)
		if !ok {
			return nil, errors.New("managedfields: objects of different types")
		}
		return &c.changes, c.unstructured(t, lu, ru)
	}
	if t.goType == nil || reflect.TypeOf(l) != reflect.TypeOf(r) || reflect.TypeOf(l).Elem() != t.goType {
		lv, err := root(l)
		if err != nil {
			return nil, err
		}
		rv, err := root(r)
		if err != nil {
			return nil, err
		}
		c.walk(t, lv, rv)
		return &c.changes, nil
	}
	err := c.typed(t, reflect.ValueOf(l).UnsafePointer(), reflect.ValueOf(r).UnsafePointer())
	return &c.changes, err
}

// unstructured compares the metadata as typed and the rest as JSON values.
func (c *comparer) unstructured(t *Type, l, r *metav1.Unstructured) error {
	if f, ok := t.field("metadata"); ok && f.typ.goType != nil {
		c.path = append(c.path, Field("metadata"))
		if err := c.typed(f.typ, mem.Of(&l.ObjectMeta), mem.Of(&r.ObjectMeta)); err != nil {
			return err
		}
		c.path = c.path[:0]
	}
	c.members(t, l.Fields, r.Fields)
	return nil
}

// walk compares two JSON values of type t.
func (c *comparer) walk(t *Type, l, r any) {
	if same(l, r) || c.goTyped && unset(l) && unset(r) {
		return
	}
	if c.leaf(t, l, r) {
		switch {
		case isAbsent(l):
			c.taken.Insert(c.path)
		case isAbsent(r):
			c.removed.Insert(c.path)
		case !equalValues(l, r):
			c.taken.Insert(c.path)
		}
		return
	}
	switch t.shape {
	case structure, dictionary, deduced:
		lm, _ := object(l)
		rm, _ := object(r)
		c.members(t, lm, rm)
	default:
		ll, _ := array(l)
		rl, _ := array(r)
		c.items(t, ll, rl)
	}
	switch {
	case len(c.path) == 0:
	case isAbsent(l):
		c.taken.Insert(c.path)
	case isAbsent(r):
		c.removed.Insert(c.path)
	}
}

// unset reports whether v is null or absent.
func unset(v any) bool { return v == nil || isAbsent(v) }

// leaf reports whether the pair is compared as a whole: by its type, because both are empty, or or because
// they have different shapes.
func (c *comparer) leaf(t *Type, l, r any) bool {
	switch t.shape {
	case structure, dictionary, deduced:
		lm, lok := object(l)
		rm, rok := object(r)
		return !lok || !rok || len(lm)+len(rm) == 0
	case keyedList, setList:
		ll, lok := array(l)
		rl, rok := array(r)
		return !lok || !rok || len(ll)+len(rl) == 0
	}
	return true
}

// fewItems is the number of items up to which the order of insertion into a set does not matter. Beyond,
// members and items are visited in order, so that each is appended and big objects do not cost the square of
// their size.
const fewItems = 16

func (c *comparer) members(t *Type, l, r map[string]any) {
	if len(l)+len(r) > fewItems {
		c.manyMembers(t, l, r)
		return
	}
	for name, lv := range l {
		rv, ok := r[name]
		if !ok {
			rv = absent
		}
		c.member(t, name, lv, rv)
	}
	for name, rv := range r {
		if _, ok := l[name]; !ok {
			c.member(t, name, absent, rv)
		}
	}
}

func (c *comparer) manyMembers(t *Type, l, r map[string]any) {
	names := make([]string, 0, len(l)+len(r))
	for name := range l {
		names = append(names, name)
	}
	for name := range r {
		if _, ok := l[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		lv, ok := l[name]
		if !ok {
			lv = absent
		}
		rv, ok := r[name]
		if !ok {
			rv = absent
		}
		c.member(t, name, lv, rv)
	}
}

func (c *comparer) member(t *Type, name string, l, r any) {
	if c.skips(name) {
		return
	}
	c.path = append(c.path, Field(name))
	c.walk(t.child(name), l, r)
	c.path = c.path[:len(c.path)-1]
}

// items compares lists whose items have keys. Items that occur more than once are compared all together.
func (c *comparer) items(t *Type, l, r []any) {
	if items, ok := t.pairs(l, r); ok {
		for i, el := range items {
			if !same(l[i], r[i]) {
				c.item(t, el, l[i:i+1], r[i:i+1])
			}
		}
		return
	}
	li, lorder, lok := t.index(l)
	ri, rorder, rok := t.index(r)
	if !lok || !rok {
		if !equalValues(any(l), any(r)) {
			c.taken.Insert(c.path)
		}
		return
	}
	all := lorder
	for _, el := range rorder {
		if _, ok := li[el.text]; !ok {
			all = append(all, el)
		}
	}
	if len(all) > fewItems {
		slices.SortFunc(all, func(a, b Element) int { return compareElements(&a, &b) })
	}
	for _, el := range all {
		c.item(t, el, li[el.text], ri[el.text])
	}
}

func (c *comparer) item(t *Type, el Element, l, r []any) {
	c.path = append(c.path, el)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	if len(l) > 1 || len(r) > 1 {
		switch {
		case len(l) == 0:
			c.taken.Insert(c.path)
		case len(r) == 0:
			c.removed.Insert(c.path)
		case !equalValues(l, r):
			c.taken.Insert(c.path)
		}
		return
	}
	lv, rv := absent, absent
	if len(l) > 0 {
		lv = l[0]
	}
	if len(r) > 0 {
		rv = r[0]
	}
	c.walk(t.elem, lv, rv)
}

// pairs returns the elements of two short lists that have the same items in the same places, none twice.
func (t *Type) pairs(l, r []any) (items []Element, ok bool) {
	if len(l) != len(r) || len(l) > fewItems {
		return nil, false
	}
	items = make([]Element, len(l))
	for i := range l {
		el, err := t.element(l[i])
		if err != nil || slices.ContainsFunc(items[:i], func(o Element) bool { return o.text == el.text }) {
			return nil, false
		}
		if !same(l[i], r[i]) {
			if other, err := t.element(r[i]); err != nil || other.text != el.text {
				return nil, false
			}
		}
		items[i] = el
	}
	return items, true
}

// index groups a list's items by element, in order of first occurrence. ok is false if an item has no keys.
func (t *Type) index(list []any) (byText map[string][]any, order []Element, ok bool) {
	byText = make(map[string][]any, len(list))
	for _, it := range list {
		el, err := t.element(it)
		if err != nil {
			return nil, nil, false
		}
		if _, seen := byText[el.text]; !seen {
			order = append(order, el)
		}
		byText[el.text] = append(byText[el.text], it)
	}
	return byText, order, true
}
