package workqueue

import (
	"math/bits"
	"math/rand/v2"
)

// ready keeps the ready entries in hand-out order: in each priority a ring of tenants, for each tenant a list
// by age, and over the priorities in use a set for the highest one and a heap for the one with the
// oldest entry. An entry is only ever appended, with the next place, so lists are sorted by place.
type ready[K comparable] struct {
	limit   int // see Options.PassOver
	passed  int // hand-outs that passed over the oldest entry, since it was last its turn
	tenants bool
	rng     *rand.Rand // nil unless Options.Seed is set

	n       int
	used    priorities
	heap    []*class[K]         // of the priorities in use
	normal  *class[K]           // priority 0
	classes map[int32]*class[K] // all the others that were ever used
	spare   *flow[K]            // flows for reuse, through next
}

// priorities is a set of priorities.
type priorities struct {
	words   [(2*MaxPriority + 64) / 64]uint64
	nonZero uint32 // which words are not zero
}

func (s *priorities) add(p int32) {
	i := p + MaxPriority
	s.words[i/64] |= 1 << (i % 64)
	s.nonZero |= 1 << (i / 64)
}

func (s *priorities) remove(p int32) {
	i := p + MaxPriority
	if s.words[i/64] &^= 1 << (i % 64); s.words[i/64] == 0 {
		s.nonZero &^= 1 << (i / 64)
	}
}

// highest returns the highest priority of a set that is not empty.
func (s *priorities) highest() int32 {
	w := bits.Len32(s.nonZero) - 1
	return int32(w*64+bits.Len64(s.words[w])-1) - MaxPriority
}

// class is the ready entries of one priority.
type class[K comparable] struct {
	priority int32
	index    int     // in ready.heap, -1 if empty
	all      list[K] // by age, of all tenants

	flows      map[string]*flow[K] // of tenants that have entries
	turn, last *flow[K]            // ring of flows as a list, next to serve first
}

// flow is the entries of one tenant in one class.
type flow[K comparable] struct {
	tenant     string
	head, tail *entry[K]
	prev, next *flow[K]
}

// push makes e the youngest entry of its priority.
func (r *ready[K]) push(e *entry[K]) {
	c := r.class(e.priority)
	e.class = c
	c.all.push(e)
	if r.tenants {
		c.joinFlow(r, e)
	}
	r.n++
	if c.index < 0 {
		c.index = len(r.heap)
		r.heap = append(r.heap, c)
		r.up(c.index)
		r.used.add(c.priority)
	}
}

// next is the priority to serve: the highest, unless the oldest entry has been passed over often enough.
func (r *ready[K]) next() *class[K] {
	oldest := r.heap[0]
	if len(r.heap) == 1 {
		return oldest
	}
	top := r.class(r.used.highest())
	switch {
	case top == oldest || r.limit < 0:
		return top
	case r.passed < r.limit:
		r.passed++
		return top
	}
	r.passed = 0
	return oldest
}

// pop removes and returns the entry to hand out next.
func (r *ready[K]) pop() *entry[K] {
	c := r.next()
	e := c.all.head
	switch {
	case r.rng != nil:
		e = r.draw(c)
	case r.tenants:
		e = c.turn.head
	}
	f := e.flow
	r.remove(e)
	// A tenant that was served and has more waits for its next turn.
	if f != nil && f.head != nil && f != c.last {
		c.unlinkFlow(f)
		c.linkFlow(f)
	}
	return e
}

// remove removes e from the order.
func (r *ready[K]) remove(e *entry[K]) {
	c, oldest := e.class, e.prev == nil
	c.all.remove(e)
	e.class = nil
	if e.flow != nil {
		c.leaveFlow(r, e)
	}
	r.n--
	switch {
	case c.all.head == nil:
		r.removeClass(c)
	case oldest && len(r.heap) > 1:
		r.down(c.index)
	}
}

func (r *ready[K]) class(priority int32) *class[K] {
	if priority == 0 {
		return r.normal
	}
	c := r.classes[priority]
	if c == nil {
		c = &class[K]{priority: priority, index: -1}
		r.classes[priority] = c
	}
	return c
}

// less reports whether the class a has an older entry than b.
func (r *ready[K]) less(a, b *class[K]) bool { return a.all.head.place < b.all.head.place }

func (r *ready[K]) removeClass(c *class[K]) {
	i, n := c.index, len(r.heap)-1
	r.swap(i, n)
	r.heap[n] = nil
	r.heap = r.heap[:n]
	c.index = -1
	r.used.remove(c.priority)
	if i < n {
		r.down(i)
		r.up(i)
	}
}

func (r *ready[K]) swap(i, j int) {
	h := r.heap
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (r *ready[K]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !r.less(r.heap[i], r.heap[parent]) {
			return
		}
		r.swap(i, parent)
		i = parent
	}
}

func (r *ready[K]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(r.heap) {
			return
		}
		if right := child + 1; right < len(r.heap) && r.less(r.heap[right], r.heap[child]) {
			child = right
		}
		if !r.less(r.heap[child], r.heap[i]) {
			return
		}
		r.swap(i, child)
		i = child
	}
}

// maxDraw is how many of the oldest entries, and of the tenants, a seeded queue
// chooses among.
const maxDraw = 64

func (r *ready[K]) draw(c *class[K]) *entry[K] {
	if !r.tenants {
		n := 0
		for e := c.all.head; e != nil && n < maxDraw; e = e.next {
			n++
		}
		e := c.all.head
		for range r.rng.IntN(n) {
			e = e.next
		}
		return e
	}
	f := c.turn
	for range r.rng.IntN(min(len(c.flows), maxDraw)) {
		f = f.next
	}
	n := 0
	for e := f.head; e != nil && n < maxDraw; e = e.fnext {
		n++
	}
	e := f.head
	for range r.rng.IntN(n) {
		e = e.fnext
	}
	return e
}

// joinFlow appends e to its tenant's flow.
func (c *class[K]) joinFlow(r *ready[K], e *entry[K]) {
	f := c.flows[e.tenant]
	if f == nil {
		if f = r.spare; f != nil {
			r.spare, f.next = f.next, nil
		} else {
			f = &flow[K]{}
		}
		f.tenant = e.tenant
		if c.flows == nil {
			c.flows = map[string]*flow[K]{}
		}
		c.flows[e.tenant] = f
		c.linkFlow(f)
	}
	e.flow = f
	e.fprev, e.fnext = f.tail, nil
	if f.tail == nil {
		f.head = e
	} else {
		f.tail.fnext = e
	}
	f.tail = e
}

// leaveFlow removes e from its tenant's flow, and an emptied flow from the ring.
func (c *class[K]) leaveFlow(r *ready[K], e *entry[K]) {
	f := e.flow
	if e.fprev == nil {
		f.head = e.fnext
	} else {
		e.fprev.fnext = e.fnext
	}
	if e.fnext == nil {
		f.tail = e.fprev
	} else {
		e.fnext.fprev = e.fprev
	}
	e.flow, e.fprev, e.fnext = nil, nil, nil
	if f.head == nil {
		c.unlinkFlow(f)
		delete(c.flows, f.tenant)
		*f = flow[K]{next: r.spare}
		r.spare = f
	}
}

func (c *class[K]) linkFlow(f *flow[K]) {
	f.prev, f.next = c.last, nil
	if c.last == nil {
		c.turn = f
	} else {
		c.last.next = f
	}
	c.last = f
}

func (c *class[K]) unlinkFlow(f *flow[K]) {
	if f.prev == nil {
		c.turn = f.next
	} else {
		f.prev.next = f.next
	}
	if f.next == nil {
		c.last = f.prev
	} else {
		f.next.prev = f.prev
	}
	f.prev, f.next = nil, nil
}
