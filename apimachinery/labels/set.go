package labels

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Set is a set of labels. A plain map[string]string is assignable to Set.
type Set map[string]string

// Has reports whether the label is there.
func (s Set) Has(key string) bool {
	_, ok := s[key]
	return ok
}

// Get is the value of the label, empty if it is not there.
func (s Set) Get(key string) string { return s[key] }

// String is "a=b,c=d", sorted by key.
func (s Set) String() string {
	pairs := make([]string, 0, len(s))
	for _, key := range slices.Sorted(maps.Keys(s)) {
		pairs = append(pairs, key+"="+s[key])
	}
	return strings.Join(pairs, ",")
}

// AsSelector selects what has all the labels. Keys and values are not checked;
// for labels from outside use ValidatedSelectorFromSet.
func (s Set) AsSelector() Selector { return SelectorFromSet(s) }

// SelectorFromSet selects objects that have all the labels; an empty set selects everything. Keys and values
// are not checked: invalid labels select nothing.
func SelectorFromSet(s Set) Selector {
	reqs := make([]Requirement, 0, len(s))
	for key, value := range s {
		reqs = append(reqs, Requirement{key: key, op: Equals, values: []string{value}})
	}
	return NewSelector(reqs...)
}

// ValidatedSelectorFromSet is SelectorFromSet with an error for labels that no
// object can have.
func ValidatedSelectorFromSet(s Set) (Selector, error) {
	reqs := make([]Requirement, 0, len(s))
	for _, key := range slices.Sorted(maps.Keys(s)) {
		r, err := NewRequirement(key, Equals, []string{s[key]})
		if err != nil {
			return Selector{}, err
		}
		reqs = append(reqs, *r)
	}
	return NewSelector(reqs...), nil
}

// ParseSet reads "a=b,c=d", the inverse of Set.String. Keys and values are
// checked.
func ParseSet(s string) (Set, error) {
	set := Set{}
	if s == "" {
		return set, nil
	}
	for pair := range strings.SplitSeq(s, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("invalid label %q: must be key=value", pair)
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if messages := validation.IsQualifiedName(key); messages != nil {
			return nil, fmt.Errorf("invalid label key %q: %s", key, strings.Join(messages, "; "))
		}
		if messages := validation.IsLabelValue(value); messages != nil {
			return nil, fmt.Errorf("invalid label value %q: %s", value, strings.Join(messages, "; "))
		}
		set[key] = value
	}
	return set, nil
}

// Merge has the labels of both; those of b win.
func Merge(a, b Set) Set {
	out := make(Set, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// Equals reports whether both have the same labels. Nil and empty are equal.
func (s Set) Equals(other Set) bool { return maps.Equal(s, other) }
