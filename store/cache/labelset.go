package cache

// LabelSet is a Bloom filter of labels with two bits for each. It rules out most objects that a selector does
// not match without reading their labels.
type LabelSet uint64

// With returns the set with one more label.
func (s LabelSet) With(key, value string) LabelSet {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
	}
	h *= prime // separates key and value
	for i := range len(value) {
		h = (h ^ uint64(value[i])) * prime
	}
	return s | 1<<(h>>58) | 1<<(h>>52&63)
}

func labelSetOf(labels map[string]string) (s LabelSet) {
	for key, value := range labels {
		s = s.With(key, value)
	}
	return s
}

// MayHave reports false only if the object lacks one of the labels.
func (o *Object) MayHave(s LabelSet) bool {
	return o.labels&s == s || o.labels == 0 // also zero if a cache did not make the object
}
