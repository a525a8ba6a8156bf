package workqueue

import "hash/maphash"

// table finds entries by key. It is a chained hash table through the entries
// themselves: an add hashes its key once, before it takes the lock, and dropping
// an entry needs no hashing at all, where a map would hash at every step.
type table[K comparable] struct {
	buckets []*entry[K] // a power of two
	n       int
	seed    maphash.Seed

	spare  *entry[K] // entries for reuse, through next
	spares int
}

const (
	minBuckets = 64

	// maxSpare is the number of entries kept for reuse, so that a queue that was
	// long releases its memory.
	maxSpare = 256
)

func (t *table[K]) init() {
	t.seed = maphash.MakeSeed()
	t.buckets = make([]*entry[K], minBuckets)
}

// hash may be called without the queue's lock.
func (t *table[K]) hash(k K) uint64 { return maphash.Comparable(t.seed, k) }

// find returns the entry of k, or nil.
func (t *table[K]) find(k K, hash uint64) *entry[K] {
	e := t.buckets[hash&uint64(len(t.buckets)-1)]
	for e != nil && (e.hash != hash || e.key != k) {
		e = e.chain
	}
	return e
}

// findOrAdd returns the entry of k, adding one if there is none.
func (t *table[K]) findOrAdd(k K, hash uint64) *entry[K] {
	if e := t.find(k, hash); e != nil {
		return e
	}
	e := t.spare
	if e != nil {
		t.spare, e.next = e.next, nil
		t.spares--
	} else {
		e = &entry[K]{heapIndex: -1}
	}
	e.key, e.hash = k, hash
	if t.n++; t.n > len(t.buckets) {
		t.resize(2 * len(t.buckets))
	}
	t.link(e)
	return e
}

// drop removes an entry that is neither ready, processing nor waiting.
func (t *table[K]) drop(e *entry[K]) {
	at := &t.buckets[e.hash&uint64(len(t.buckets)-1)]
	for *at != e {
		at = &(*at).chain
	}
	*at = e.chain
	if t.n--; t.n == 0 && len(t.buckets) > 16*minBuckets {
		t.buckets = make([]*entry[K], minBuckets)
	}
	if t.spares >= maxSpare {
		return
	}
	var none K
	e.key, e.tenant, e.cause, e.waitCause = none, "", "", ""
	e.chain, e.next = nil, t.spare
	t.spare = e
	t.spares++
}

func (t *table[K]) link(e *entry[K]) {
	bucket := &t.buckets[e.hash&uint64(len(t.buckets)-1)]
	e.chain, *bucket = *bucket, e
}

func (t *table[K]) resize(n int) {
	old := t.buckets
	t.buckets = make([]*entry[K], n)
	for _, e := range old {
		for e != nil {
			next := e.chain
			t.link(e)
			e = next
		}
	}
}
