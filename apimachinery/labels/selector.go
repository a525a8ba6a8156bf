package labels

import (
	"slices"
	"strings"
)

// Selector is a conjunction of requirements. The zero value selects everything.
// It is immutable and copied by assignment; compare with Equal.
type Selector struct {
	reqs []Requirement // sorted by key
	// needed is how many keys have a requirement that only an object with the label meets; counted if there
	// are many requirements.
	needed  int
	nothing bool
}

// many is how many requirements there are for each label of an object before those of its labels are looked
// up one by one.
const many = 16

// Everything selects all objects; it is the zero value.
func Everything() Selector { return Selector{} }

// Nothing selects no object.
func Nothing() Selector { return Selector{nothing: true} }

// NewSelector selects what meets all requirements.
func NewSelector(reqs ...Requirement) Selector { return Selector{}.Add(reqs...) }

// Add is s with further requirements. Nothing stays nothing.
func (s Selector) Add(reqs ...Requirement) Selector {
	if s.nothing || len(reqs) == 0 {
		return s
	}
	all := slices.Concat(s.reqs, reqs)
	if byKey := func(a, b Requirement) int { return strings.Compare(a.key, b.key) }; !slices.IsSortedFunc(all, byKey) {
		slices.SortStableFunc(all, byKey)
	}
	out := Selector{reqs: all}
	if len(all) > many {
		last := ""
		for i := range all {
			if r := &all[i]; r.key != last && r.needsLabel() {
				out.needed++
				last = r.key
			}
		}
	}
	return out
}

// Empty reports whether s selects everything.
func (s Selector) Empty() bool { return !s.nothing && len(s.reqs) == 0 }

// SelectsNothing reports whether s is Nothing.
func (s Selector) SelectsNothing() bool { return s.nothing }

// Matches reports whether the labels meet all requirements.
func (s Selector) Matches(labels map[string]string) bool {
	if len(s.reqs) > many*max(len(labels), 1) {
		return !s.nothing && s.matchesFew(labels)
	}
	var value string
	var ok bool
	for i := range s.reqs {
		r := &s.reqs[i]
		if i == 0 || r.key != s.reqs[i-1].key { // a key with many requirements is looked up once
			value, ok = labels[r.key]
		}
		if !r.matches(value, ok) {
			return false
		}
	}
	return !s.nothing
}

// matchesFew is Matches for many more requirements than labels, whose cost follows the labels.
func (s Selector) matchesFew(labels map[string]string) bool {
	found := 0
	for key, value := range labels {
		i, _ := slices.BinarySearchFunc(s.reqs, key, func(r Requirement, key string) int { return strings.Compare(r.key, key) })
		needs := false
		for ; i < len(s.reqs) && s.reqs[i].key == key; i++ {
			r := &s.reqs[i]
			if !r.matches(value, true) {
				return false
			}
			needs = needs || r.needsLabel()
		}
		if needs {
			found++
		}
	}
	return found == s.needed
}

// MatchesFunc is Matches for labels that are not in a map: get gives the value of
// a label and whether it is there.
func (s Selector) MatchesFunc(get func(key string) (string, bool)) bool {
	var value string
	var ok bool
	for i := range s.reqs {
		r := &s.reqs[i]
		if i == 0 || r.key != s.reqs[i-1].key {
			value, ok = get(r.key)
		}
		if !r.matches(value, ok) {
			return false
		}
	}
	return !s.nothing
}

// Requirements are the conditions, sorted by key, and whether s can select
// anything: false for Nothing. The slice is a copy.
func (s Selector) Requirements() (reqs []Requirement, selectable bool) {
	return slices.Clone(s.reqs), !s.nothing
}

// RequiresExactMatch returns the single value that the selector requires of the label, if there is one, so
// that an index can be used.
func (s Selector) RequiresExactMatch(key string) (value string, found bool) {
	for i := range s.reqs {
		r := &s.reqs[i]
		if r.key != key {
			continue
		}
		if value, found = r.ExactValue(); found {
			return value, true
		}
	}
	return "", false
}

// Equal reports whether both are the same conditions written the same way.
func (s Selector) Equal(other Selector) bool {
	return s.nothing == other.nothing && slices.EqualFunc(s.reqs, other.reqs, Requirement.Equal)
}

// String is the canonical text: requirements sorted by key, values sorted,
// nothing but needed spaces. It is empty for Everything and for Nothing, which
// has no text form.
func (s Selector) String() string {
	var b strings.Builder
	for i := range s.reqs {
		if i > 0 {
			b.WriteByte(',')
		}
		s.reqs[i].appendTo(&b)
	}
	return b.String()
}
