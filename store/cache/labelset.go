package cache

// LabelSet stands for some labels, each by two of its bits. Whether an object may have them is seen without
// looking at its labels, which for most objects that a selector leaves out is all there is to see.
type LabelSet uint64

// With returns the set with one more label.
func (s LabelSet) With(key, value string) LabelSet {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
	}
	h *= prime // sets key and value apart
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
	return o.labels&s == s || o.labels == 0 // zero also if it was not made by a cache
}
