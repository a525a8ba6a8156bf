package informers

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers/reflector"
)

// core is the copy of one collection and everything that hangs on it.
type core[T metav1.Object] struct {
	set    *Set
	client *client.Client[T]
	o      Options[T]
	err    error

	mu sync.RWMutex
	// spaces is the copy as the server has told it: namespace, name, object.
	byNamespace map[string]map[string]*object[T]
	count       int
	bytes       int64
	overlay     overlay[T]
	// sources are the reflectors that feed the copy, one per namespace.
	sources  []*source[T]
	handlers []*registration[T]
	// indexes are replaced, never changed, and only grow. indexing is held while one is being filled.
	indexes  []*index[T]
	indexing sync.Mutex
	synced   bool
	// buried are the incarnations the watch has told the end of lately.
	recentlyDeleted deletedUIDs
	// gate is closed and replaced whenever a version is reached.
	gate chan struct{}
	// syncGate is closed when synced first becomes true.
	syncGate chan struct{}
	// absentGate is closed when the server has first been found not to serve the resource; absent is true
	// while it does not.
	absentGate chan struct{}
	absentOnce sync.Once
	absent     bool
	// spawn starts a goroutine of the informer; nil until it runs.
	spawn func(func(ctx context.Context))
}

// source is one reflector's part of a copy: all of it, or one namespace.
type source[T metav1.Object] struct {
	core      *core[T]
	namespace string // empty for all
	r         *reflector.Reflector
	// The rest is guarded by core.mu.
	version   string
	number    uint64 // version, if it is a decimal number
	begun     uint64 // readings begun and, of these, the latest one committed
	committed uint64
	at        time.Time // of the last sign of life
	synced    bool
	lastErr   error
	// unread is what could not be read at all: items of the latest reading, and events since.
	unread []*client.DecodeError
}

func decimal(version string) (uint64, bool) {
	if version == "" || version[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(version, 10, 64)
	return n, err == nil
}

func (c *core[T]) name() string { return c.client.Resource().GVR.GroupResource().String() }

// base returns the state of a key that the server has sent last. The lock is held.
func (c *core[T]) base(key types.NamespacedName) *object[T] {
	return c.byNamespace[key.Namespace][key.Name]
}

// get returns the state readers see. The lock is held.
func (c *core[T]) get(key types.NamespacedName) *object[T] {
	b := c.base(key)
	if len(c.overlay.byKey) == 0 {
		return b
	}
	return c.overlay.visible(key, b)
}

func (c *core[T]) putBase(o *object[T]) {
	m := c.byNamespace[o.key.Namespace]
	if m == nil {
		m = map[string]*object[T]{}
		// A copy, because the name outlives the object.
		c.byNamespace[strings.Clone(o.key.Namespace)] = m
	}
	if old := m[o.key.Name]; old != nil {
		c.weigh(-len(old.body))
	} else {
		c.count++
	}
	// Assigning replaces the key too, so the old object's memory is let go.
	m[o.key.Name] = o
	c.weigh(len(o.body))
}

// weigh counts bytes kept. The lock is held.
func (c *core[T]) weigh(n int) {
	c.bytes += int64(n)
}

func (c *core[T]) deleteBase(key types.NamespacedName) {
	m := c.byNamespace[key.Namespace]
	if old := m[key.Name]; old != nil {
		c.count--
		c.weigh(-len(old.body))
		delete(m, key.Name)
		if len(m) == 0 {
			delete(c.byNamespace, key.Namespace)
		}
	}
}

// notify queues a change for every handler; final is the last state of a deleted object, nil if that is old.
// The lock is held; the handlers must be signalled without it.
func (c *core[T]) notify(old, now, final *object[T], initial, unknown bool) {
	if old != nil && now != nil && old.uid != now.uid {
		// Another incarnation: the old one's end was missed.
		c.notify(old, nil, nil, false, true)
		old = nil
	}
	for _, h := range c.handlers {
		h.q.put(old, now, final, initial, unknown)
	}
}

func (c *core[T]) signal(hs []*registration[T]) {
	for _, h := range hs {
		h.signal()
	}
}

// fail reports an error that does not stop the informer.
func (c *core[T]) fail(err error) {
	c.set.fail(c.name(), err)
}
