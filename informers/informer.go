package informers

import (
	"context"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// Informer holds a copy of one collection; see the package comment for what it promises.
type Informer[T metav1.Object] struct {
	core *core[T]
	id   identity
	// The rest is guarded by the set's mu.
	refs     int
	cancel   context.CancelFunc
	released bool
}

// AddHandler adds a handler, at any time. It is called with every object there is as Added with Initial set,
// ordered by namespace and name or as the server lists them, then with changes. If T is not registered it is
// never called.
func (i *Informer[T]) AddHandler(h Handler[T], o HandlerOptions) *Registration {
	r := newRegistration(i.core, h, o)
	i.core.add(r)
	return &r.Registration
}

// Index returns the index of a definition, at any time. The first call for a definition adds it, and returns
// when every object the informer holds is in it.
func (i *Informer[T]) Index(d *IndexDefinition[T]) Index[T] { return Index[T]{i.core, i.core.index(d)} }

// Lister returns the reading side.
func (i *Informer[T]) Lister() Lister[T] { return Lister[T]{i.core} }

// HasSynced reports whether the copy has been complete.
func (i *Informer[T]) HasSynced() bool { return i.hasSynced() }

// WaitForSync waits until HasSynced. The error of ctx is wrapped with the last failure.
func (i *Informer[T]) WaitForSync(ctx context.Context) error { return i.core.waitForSync(ctx) }

// WaitForSyncOrAbsent waits until HasSynced, or until the server has said that it does not serve the resource (its
// CustomResourceDefinition is not installed): then there are no objects, so that the empty copy is right, and
// the informer goes on waiting for it. It lets a program work that can do without.
func (i *Informer[T]) WaitForSyncOrAbsent(ctx context.Context) error {
	return i.core.waitForSyncOrAbsent(ctx)
}

// Client returns a client for the informer's resource whose writes the informer shows at once.
func (i *Informer[T]) Client() *client.Client[T] { return i.core.client }

// Release gives the informer back. When everybody who got it from For has, it stops and forgets its copy, and
// its handlers are called no more.
func (i *Informer[T]) Release() {
	s := i.core.set
	s.mu.Lock()
	i.refs--
	if i.refs > 0 || i.released {
		s.mu.Unlock()
		return
	}
	i.released = true
	if m, ok := s.informers[i.id]; ok && m == member(i) {
		delete(s.informers, i.id)
	}
	s.order = slices.DeleteFunc(slices.Clone(s.order), func(m member) bool { return m == member(i) })
	cancel := i.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Status describes an informer at one moment.
type Status struct {
	// Synced is true once the copy has been complete.
	Synced bool
	// NotServed is true while the server says that there is no such resource: its CustomResourceDefinition is
	// not installed, or the resource has another name. There are no Objects then.
	NotServed bool
	// Version the copy has reached; of several namespaces, that of the first.
	Version string
	// Silent is how long no event and no bookmark has come; of several namespaces, the longest. It is the
	// bound known on how stale the copy is.
	Silent time.Duration
	// Objects held and the Bytes of their encoded form.
	Objects int
	Bytes   int64
	// Overlay is how many own writes the watch has not told yet.
	Overlay int
	// LastError is the last failure since the last success.
	LastError error
}

// Status returns the informer's state, for metrics and health checks.
func (i *Informer[T]) Status() Status {
	c := i.core
	c.mu.RLock()
	defer c.mu.RUnlock()
	st := Status{Synced: c.synced, NotServed: c.absent, Objects: c.count, Bytes: c.bytes, Overlay: len(c.overlay.byKey), LastError: c.err}
	for n, s := range c.sources {
		if n == 0 {
			st.Version = s.version
		}
		if !s.at.IsZero() {
			st.Silent = max(st.Silent, time.Since(s.at))
		}
		if s.lastErr != nil {
			st.LastError = s.lastErr
		}
	}
	return st
}

func (i *Informer[T]) resource() client.Resource             { return i.core.client.Resource() }
func (i *Informer[T]) waitForSync(ctx context.Context) error { return i.core.waitForSync(ctx) }
func (i *Informer[T]) waitForSyncOrAbsent(ctx context.Context) error {
	return i.core.waitForSyncOrAbsent(ctx)
}

func (i *Informer[T]) hasSynced() bool {
	i.core.mu.RLock()
	defer i.core.mu.RUnlock()
	return i.core.synced
}

// begin starts the informer if the set is running.
func (i *Informer[T]) begin() {
	s := i.core.set
	parent := s.running()
	if parent == nil || i.core.err != nil {
		return
	}
	ctx, cancel := context.WithCancel(parent)
	s.mu.Lock()
	if i.released || i.cancel != nil {
		s.mu.Unlock()
		cancel()
		return
	}
	i.cancel = cancel
	s.mu.Unlock()
	i.core.start(func(f func(ctx context.Context)) { s.spawn(ctx, f) })
}

// ownWrite shows an own write to readers.
func (i *Informer[T]) observe(w client.Write) {
	c := i.core
	if w.Verb == "deletecollection" || len(c.o.Namespaces) > 0 && !slices.Contains(c.o.Namespaces, w.Key.Namespace) {
		return
	}
	e := &ownWrite[T]{key: w.Key, uid: w.UID, at: time.Now(), deleted: w.Removed}
	if w.Object != nil {
		e.number, _ = decimal(w.Object.ResourceVersion)
	}
	if !w.Removed {
		if w.Object == nil || len(w.Object.Body) == 0 {
			return
		}
		n, ok := decimal(w.Object.ResourceVersion)
		if !ok {
			return
		}
		e.number = n
		enc, ok := c.convert(*w.Object)
		if !ok {
			return
		}
		e.obj = c.accept(enc)
		e.key = e.obj.key
		c.lockWith(e.obj)
	} else {
		c.mu.Lock()
	}
	unclear := c.overlayWrite(e)
	c.mu.Unlock()
	if unclear != nil {
		unclear.r.Relist("")
	}
}

// overlayWrite notes an own write. It returns the source to be read again if only that can tell what is in
// sight now. The lock is held.
func (c *core[T]) overlayWrite(e *ownWrite[T]) *source[T] {
	s := c.sourceOf(e.key.Namespace)
	if s == nil || s.begun == 0 {
		// To be told by the first reading.
		return nil
	}
	e.begun = s.begun
	b, before := c.base(e.key), c.overlay.byKey[e.key]
	if e.deleted {
		if _, told := c.recentlyDeleted.has[e.uid]; told {
			return nil
		}
		return c.overlayDelete(e, b, before, s)
	}
	if s.number >= e.number {
		return nil
	}
	if b != nil {
		if n, ok := decimal(b.version); ok && n >= e.number {
			return nil
		}
	}
	if before != nil && (before.deleted && before.uid == e.uid || !before.deleted && before.number >= e.number) {
		return nil
	}
	if !c.o.LabelSelector.MatchesFunc(e.obj.label) {
		// The write took the object out of sight.
		e.obj = nil
	} else if !c.o.FieldSelector.Empty() && (b == nil || b.uid != e.uid) && !c.fieldsMatch(e.key) {
		// Whether the selector takes it only the server can say.
		return nil
	}
	c.overlay.put(e)
	c.reindex(e.key)
	return nil
}

// overlayDelete notes an own deletion.
func (c *core[T]) overlayDelete(e *ownWrite[T], b *object[T], before *ownWrite[T], s *source[T]) *source[T] {
	// Which incarnation was deleted, and up to which version, is known if the reply or an earlier write says
	// so.
	known := e.uid != "" && (e.number > 0 || before != nil && before.uid == e.uid)
	if before != nil {
		e.number = max(e.number, before.number)
	}
	var unclear *source[T]
	switch {
	case e.uid == "":
		e.all, unclear = true, s
	case b == nil:
	case b.uid == e.uid:
		n, _ := decimal(b.version)
		e.number = max(e.number, n)
	default:
		n, ok := decimal(b.version)
		if ok && known && n > e.number {
			// What is told came after the one deleted.
			return nil
		}
		if !known {
			// Is what is told an earlier one, or did it come since?
			e.all, unclear = true, s
		}
	}
	c.overlay.put(e)
	c.reindex(e.key)
	return unclear
}

// fieldsMatch reports whether the field selector is only about names and takes key.
func (c *core[T]) fieldsMatch(key types.NamespacedName) bool {
	for _, r := range c.o.FieldSelector.Requirements() {
		switch {
		case r.Field == "metadata.name" && r.Matches(key.Name):
		case r.Field == "metadata.namespace" && r.Matches(key.Namespace):
		default:
			return false
		}
	}
	return true
}

func (c *core[T]) sourceOf(namespace string) *source[T] {
	for _, s := range c.sources {
		if s.namespace == "" || s.namespace == namespace {
			return s
		}
	}
	return nil
}

// convert makes of a written object what the informer would have got: without managed fields, and as
// JSON if T has no protobuf form.
func (c *core[T]) convert(e client.Encoded) (client.Encoded, bool) {
	if e.Form == client.Protobuf && !c.client.Protobuf() {
		info := c.client.Conn().Scheme().ForResource(c.client.Resource().GVR)
		if info == nil {
			return e, false
		}
		obj := info.New()
		if err := codec.UnmarshalProto(e.Body, obj); err != nil {
			c.fail(err)
			return e, false
		}
		if e2, err := client.EncodeObject(obj, client.JSON, !c.set.o.KeepManagedFields); err == nil {
			return e2, true
		}
		return e, false
	}
	if c.set.o.KeepManagedFields {
		return e, true
	}
	e2, err := e.WithoutManagedFields()
	return e2, err == nil
}
