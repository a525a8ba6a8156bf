package managedfields

import "github.com/keelson-dev/keelson/apimachinery/metav1"

// Version is another version of the kind that is written, in which some managers own fields. Its paths are
// not those of the written version where the conversion renames, joins or splits fields.
type Version struct {
	// Type is the kind's in this version.
	Type *Type
	// To converts an object of the written version to this one, From converts back. They do not change their
	// argument.
	To, From func(metav1.Object) (metav1.Object, error)
}

// transition is a write as each version of the kind sees it.
type transition struct {
	w *Write
	// before and after are the object in the written version; after is made when another version is needed.
	// before is nil for a new object.
	before metav1.Object
	after  func() (metav1.Object, error)
	found  *changes // in the written version
	others map[string]*changes
}

// version returns the other version that an entry is of, or nil if its paths are those of the written one.
func (w *Write) version(e *entry) *Version {
	if e.version == w.APIVersion || w.Version == nil {
		return nil
	}
	return w.Version(e.version)
}

// of returns the changes as the version of an entry has them. A version that an object cannot be converted to
// is taken to have the same paths.
func (t *transition) of(e *entry) *changes {
	if t.before == nil {
		return t.found
	}
	v := t.w.version(e)
	if v == nil {
		return t.found
	}
	if known := t.others[e.version]; known != nil {
		return known
	}
	found := t.found
	if after, err := t.after(); err == nil {
		if c, err := v.compare(t.before, after); err == nil {
			c.without(t.w.Reset)
			found = c
		}
	}
	if t.others == nil {
		t.others = map[string]*changes{}
	}
	t.others[e.version] = found
	return found
}

// compare finds the changes between two objects of the written version in this one.
func (v *Version) compare(l, r metav1.Object) (*changes, error) {
	l, err := v.To(l)
	if err != nil {
		return nil, err
	}
	if r, err = v.To(r); err != nil {
		return nil, err
	}
	return v.Type.compareObjects(l, r)
}

// translate returns which fields of live, in the written version of type t, the paths of s in this version
// stand for: those that change when the latter are removed.
func (v *Version) translate(t *Type, live metav1.Object, s *Set) (*Set, error) {
	there, err := v.To(live)
	if err != nil {
		return nil, err
	}
	all, err := root(there)
	if err != nil {
		return nil, err
	}
	rest, _ := v.Type.remove(all, s.Difference(untrackedSet)).(map[string]any)
	if rest == nil {
		rest = map[string]any{}
	}
	clean(rest)
	without, err := v.Type.fromRoot(there, all, rest)
	if err != nil {
		return nil, err
	}
	// Compared with live converted there and back, so that what a conversion does not keep is no difference.
	if there, err = v.From(there); err != nil {
		return nil, err
	}
	if without, err = v.From(without); err != nil {
		return nil, err
	}
	found, err := t.compareObjects(there, without)
	if err != nil {
		return nil, err
	}
	return found.removed.Union(&found.taken), nil
}
