// Package ordered is an immutable sorted map with string keys: a B-tree whose writers copy
// the path they change and share the rest. A Map may be read by any number of goroutines at any time; a
// changed Map costs a few small copies, and counting a range costs no more than finding its ends.
package ordered

import (
	"iter"
	"sort"
	"strings"
)

// width is the greatest number of entries of a node. Wider nodes make reading and
// bulk building cheaper and single changes more expensive; 32 keeps a change of a map of
// 10,000 keys near two kilobytes of copying.
const width = 32

// Map is an immutable sorted map. The zero value is empty.
type Map[V any] struct{ root *node[V] }

// node is a leaf (vals set, kids nil) or an inner node (kids set). In an inner node
// keys[i] is a lower bound of everything in kids[i] and an upper bound (exclusive) of
// kids[i-1]; keys[0] is never read.
type node[V any] struct {
	edit *edit
	keys []string
	vals []V
	kids []*node[V]
	size int // entries in the whole subtree
}

func (n *node[V]) leaf() bool { return n.kids == nil }

// find returns the position of the first key in a leaf that is not below key.
func (n *node[V]) find(key string) (int, bool) {
	i := sort.SearchStrings(n.keys, key)
	return i, i < len(n.keys) && n.keys[i] == key
}

// child returns the position of the kid that would hold key.
func (n *node[V]) child(key string) int {
	lo, hi := 1, len(n.keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n.keys[mid] <= key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// Len returns the number of keys.
func (m Map[V]) Len() int {
	if m.root == nil {
		return 0
	}
	return m.root.size
}

// Get returns the value of key.
func (m Map[V]) Get(key string) (V, bool) {
	n := m.root
	if n == nil {
		var zero V
		return zero, false
	}
	for !n.leaf() {
		n = n.kids[n.child(key)]
	}
	if i, ok := n.find(key); ok {
		return n.vals[i], true
	}
	var zero V
	return zero, false
}

// Rank returns the number of keys below key.
func (m Map[V]) Rank(key string) int {
	n, rank := m.root, 0
	if n == nil {
		return 0
	}
	for !n.leaf() {
		c := n.child(key)
		for _, kid := range n.kids[:c] {
			rank += kid.size
		}
		n = n.kids[c]
	}
	i, _ := n.find(key)
	return rank + i
}

// Count returns the number of keys in [from, to); an empty to means no end.
func (m Map[V]) Count(from, to string) int {
	end := m.Len()
	if to != "" {
		end = m.Rank(to)
	}
	return max(0, end-m.Rank(from))
}

// Range iterates over the keys in [from, to) in ascending order; an empty to means no
// end.
func (m Map[V]) Range(from, to string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if m.root != nil && (to == "" || from < to) {
			m.root.walk(from, to, yield)
		}
	}
}

// walk visits the subtree's entries in [from, to). Bounds that cannot cut a kid are not
// handed down to it, so only the edges of the range compare keys.
func (n *node[V]) walk(from, to string, yield func(string, V) bool) bool {
	if n.leaf() {
		start, end := 0, len(n.keys)
		if from != "" {
			start, _ = n.find(from)
		}
		if to != "" {
			end, _ = n.find(to)
		}
		for i := start; i < end; i++ {
			if !yield(n.keys[i], n.vals[i]) {
				return false
			}
		}
		return true
	}
	first := 0
	if from != "" {
		first = n.child(from)
	}
	for i := first; i < len(n.kids); i++ {
		if i > first {
			from = ""
			if to != "" && n.keys[i] >= to {
				return true
			}
		}
		end := to
		if end != "" && i+1 < len(n.kids) && n.keys[i+1] <= end {
			end = ""
		}
		if !n.kids[i].walk(from, end, yield) {
			return false
		}
	}
	return true
}

// PrefixEnd returns the end (exclusive) of the keys that start with prefix, or an
// empty string if there is none.
func PrefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

// After returns the smallest key above key.
func After(key string) string { return key + "\x00" }

// Bounds returns the range of keys that start with prefix and are above after (all of
// them if after is empty).
func Bounds(prefix, after string) (from, to string, ok bool) {
	from, to = prefix, PrefixEnd(prefix)
	if after != "" && after >= prefix {
		from = After(after)
		if !strings.HasPrefix(after, prefix) {
			return "", "", false // behind the whole prefix
		}
	}
	return from, to, true
}
