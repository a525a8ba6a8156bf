package controllertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/diff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// History is what has happened in a cluster since its start: the writes of objects, and the reconciles of its
// managers. It holds the last 65,536 writes, or 32 MiB of them, and at least the last 10,000 reconciles.
type History struct {
	// Began is when the cluster started.
	Began time.Time
	// From is the revision after which all writes are in the history: that of the start, or a later one if
	// earlier writes are not kept any more.
	From int64
	// Writes in the order of their revisions.
	Writes []Write
	// Runs of reconcilers in the order in which they began.
	Runs []Run

	title  string
	cut    bool // earlier writes are left out
	scheme *scheme.Scheme
	runs   map[string]int // indexes of Runs by ID
}

// Write is a change of one object.
type Write struct {
	Revision int64
	// At is when it was made; zero for the end of an object's time to live.
	At time.Time
	// Verb is create, update or delete.
	Verb string
	// Resource and Key of the object.
	Resource schema.GroupResource
	Key      types.NamespacedName
	// User and Agent are those of the request; empty for what the server did by itself.
	User, Agent string
	// Request is the method and path of the request.
	Request string
	// Run is the ID of the reconcile that sent the request; empty for requests of others, and of clients
	// that are not connected in process.
	Run string

	order         int64
	resource      *registry.Resource
	before, after *store.KV
}

// Run is one call of a reconciler by a manager of the cluster.
type Run struct {
	Controller string
	// Key is as in reconcile.Run.
	Key any
	// Number counts the runs of the controller for that key, from 1.
	Number int
	// ID is that of reconcile.ID.
	ID string
	// Began and Ended are when it ran; Ended is zero while it runs.
	Began, Ended time.Time
	// Causes are the events that enqueued the key since its previous run, 100 at most.
	Causes []Cause
	// After is the previous run if there are no causes: a retry, or a requeue that it wanted.
	After *Run
	// Result and Err are what the reconciler returned.
	Result reconcile.Result
	Err    error

	order, until int64
}

// Cause is an event that enqueued a key.
type Cause struct {
	Type informers.EventType
	// Kind and Key of the object that changed.
	Kind string
	Key  types.NamespacedName
	// Revision of the change; of a deletion that of the object's last state or of the deletion.
	Revision int64
	// At is when the controller's handler got the event.
	At time.Time

	order int64
}

// History returns what has happened until now. Call it after Settle; otherwise writes in progress may be
// missing.
func (c *Cluster) History() *History {
	c.t.Helper()
	h, err := c.history(context.Background())
	if err != nil {
		c.t.Fatalf("controllertest: history: %v", err)
	}
	return h
}

// HistoryOf returns what has happened to one object: the writes of it, and those reconciles that wrote it or
// that have its key and failed.
func HistoryOf[T metav1.Object](c *Cluster, namespace, name string) *History {
	c.t.Helper()
	info, err := scheme.InfoFor[T](c.conn.Scheme())
	if err != nil {
		c.t.Fatalf("controllertest: history: %v", err)
	}
	return c.History().of(c.prefix(info.GVR), types.NamespacedName{Namespace: namespace, Name: name})
}

func (c *cluster) history(ctx context.Context) (*History, error) {
	from, events, err := c.events(ctx)
	if err != nil {
		return nil, err
	}
	h := &History{Began: c.trace.began, From: from, cut: from > c.from, scheme: c.opts.Scheme, runs: map[string]int{}}
	if named, ok := c.owner.(interface{ Name() string }); ok {
		h.title = named.Name()
	}
	var first int64
	var commits []commit
	h.Runs, first, commits = c.trace.recorded()
	for i := range h.Runs {
		h.runs[h.Runs[i].ID] = i
	}
	kinds := c.kinds()
	for _, e := range events {
		w, ok := writeOf(e, kinds)
		if !ok {
			continue // bookkeeping of the server, such as allocated addresses
		}
		if i := w.Revision - first; i >= 0 && i < int64(len(commits)) {
			w.add(&commits[i])
		}
		h.Writes = append(h.Writes, w)
	}
	return h, nil
}

// errRead ends a watch that has read everything.
var errRead = errors.New("read")

// events returns the changes since the start, or those that the store has kept and the revision before them.
func (c *cluster) events(ctx context.Context) (from int64, events []store.Event, err error) {
	to, err := c.store.Progress(ctx, "")
	if err != nil {
		return 0, nil, err
	}
	for from = c.from; from < to; {
		err := c.store.Watch(ctx, "", from, store.WatchOptions{Prev: true}, func(b store.Batch) error {
			events = append(events, b.Events...)
			if b.Revision >= to {
				return errRead
			}
			return nil
		})
		expired, ok := errors.AsType[*store.ExpiredError](err)
		switch {
		case ok && expired.Compacted > from:
			from, events = expired.Compacted, nil
		case errors.Is(err, errRead):
			return from, events, nil
		default:
			return 0, nil, err
		}
	}
	return from, events, nil
}

// prefix returns the prefix of the keys of a resource; "" if it is not served.
func (c *cluster) prefix(gvr schema.GroupVersionResource) string {
	if r := c.server.Registry().Resource(gvr); r != nil {
		return r.Prefix()
	}
	return ""
}

// kinds returns the resources by the prefixes of their keys. Of several it is one of the group that objects
// are stored in, and if possible one whose type is known.
func (c *cluster) kinds() map[string]*registry.Resource {
	kinds := map[string]*registry.Resource{}
	for _, r := range c.server.Registry().Resources() {
		known := c.opts.Scheme.ForResource(r.Info().GVR) != nil
		if r.Stored() == r.GroupResource() && (known || kinds[r.Prefix()] == nil) {
			kinds[r.Prefix()] = r
		}
	}
	return kinds
}

// writeOf returns the write of an event. ok is false if it is not of an object.
func writeOf(e store.Event, kinds map[string]*registry.Resource) (w Write, ok bool) {
	key := e.KV.Key
	for end := strings.LastIndexByte(key, '/'); end >= 0; end = strings.LastIndexByte(key[:end], '/') {
		r := kinds[key[:end+1]]
		if r == nil {
			continue
		}
		w = Write{Revision: e.KV.Revision, Verb: "update", Resource: r.GroupResource(), resource: r, before: e.Prev, after: &e.KV}
		if w.Key.Name = key[end+1:]; r.Info().Namespaced {
			w.Key.Namespace, w.Key.Name, _ = strings.Cut(w.Key.Name, "/")
		}
		switch {
		case e.Type == store.Delete:
			w.Verb, w.after = "delete", nil
		case e.Prev == nil:
			w.Verb = "create"
		}
		return w, true
	}
	return w, false
}

func (w *Write) add(c *commit) {
	if w.At, w.order = c.at, c.order; c.by != nil {
		w.User, w.Agent, w.Request, w.Run = c.by.user, c.by.agent, c.by.method+" "+c.by.path, c.by.run
	}
}

// Objects returns the states before and after the write; nil if there was none.
func (w *Write) Objects() (before, after metav1.Object, err error) {
	if before, err = w.decode(w.before); err != nil {
		return nil, nil, err
	}
	after, err = w.decode(w.after)
	return before, after, err
}

func (w *Write) decode(kv *store.KV) (metav1.Object, error) {
	if kv == nil {
		return nil, nil
	}
	o := &cache.Object{Key: kv.Key, Namespace: w.Key.Namespace, Name: w.Key.Name, Revision: kv.Revision, CreateRevision: kv.CreateRevision, Value: kv.Value}
	return w.resource.Decode(context.Background(), o)
}

// diff returns what the write has changed, as [Diff] does, but with the data of Secrets masked.
func (h *History) diff(w *Write) string {
	before, after, err := w.Objects()
	if err != nil {
		return err.Error() + "\n"
	}
	return h.compare(before, after)
}

// state returns the fields of an object after a write, with the data of Secrets masked.
func (h *History) state(w *Write) string {
	_, after, err := w.Objects()
	switch {
	case err != nil:
		return err.Error() + "\n"
	case after == nil:
		return ""
	}
	lines := strings.SplitAfter(h.compare(nil, after), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "+ ")
	}
	return strings.Join(lines, "")
}

func (h *History) compare(before, after metav1.Object) string {
	changes, err := diff.Objects(before, after, diff.Options{Scheme: h.scheme})
	if err != nil {
		return err.Error() + "\n"
	}
	return diff.Text(changes)
}

// of returns the part of the history that [HistoryOf] is about.
func (h *History) of(prefix string, key types.NamespacedName) *History {
	part := *h
	part.Writes, part.Runs, part.runs = nil, nil, map[string]int{}
	wrote := map[string]bool{}
	for _, w := range h.Writes {
		if w.resource.Prefix() == prefix && w.Key == key {
			part.Writes = append(part.Writes, w)
			wrote[w.Run] = true
		}
	}
	for _, r := range h.Runs {
		if wrote[r.ID] || r.Err != nil && r.Key == any(key) {
			part.runs[r.ID] = len(part.Runs)
			part.Runs = append(part.Runs, r)
		}
	}
	return &part
}

// run returns the reconcile that made a write, or nil.
func (h *History) run(w *Write) *Run {
	if i, ok := h.runs[w.Run]; ok && w.Run != "" {
		return &h.Runs[i]
	}
	return nil
}

// last returns the history of the last n writes, and of the reconciles since the first of them.
func (h *History) last(n int) *History {
	if len(h.Writes) <= n {
		return h
	}
	part := *h
	part.Writes = h.Writes[len(h.Writes)-n:]
	part.cut = true
	since := slices.IndexFunc(h.Runs, func(r Run) bool { return r.until == 0 || r.until > part.Writes[0].order })
	if since < 0 {
		since = len(h.Runs)
	}
	part.Runs, part.runs = h.Runs[since:], map[string]int{}
	for i := range part.Runs {
		part.runs[part.Runs[i].ID] = i
	}
	return &part
}
