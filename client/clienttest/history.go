package clienttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// HistoryOptions configure the random clients of a History.
type HistoryOptions struct {
	// Namespace the clients work in, which must exist; empty means default.
	Namespace string
	// Prefix of the names the clients use; empty means history-SEED-. Other programs must not write such
	// ConfigMaps.
	Prefix string
	// Clients is the number of concurrent clients; 0 means 4. Client i uses connection i modulo their number.
	Clients int
	// Calls is the number of calls of each client; 0 means 30, negative means until the context of Record
	// ends.
	Calls int
	// Keys is the number of ConfigMaps that they all write; 0 means 3.
	Keys int
	// Watchers is the number of watchers, which follow all ConfigMaps from a list on; 0 means 2.
	Watchers int
	// Pause is the longest time a client waits between two calls; 0 means no pause.
	Pause time.Duration
	// CallTimeout limits one call, after which its outcome is unknown; 0 means 5 s.
	CallTimeout time.Duration
	// Patience is how long servers may take, once the clients have finished, to accept one last write and to
	// deliver it to every watcher; 0 means a minute.
	Patience time.Duration
}

func (opts *HistoryOptions) fill(seed uint64) {
	fill := func(n *int, usual int) {
		if *n == 0 {
			*n = usual
		}
	}
	fill(&opts.Clients, 4)
	fill(&opts.Calls, 30)
	fill(&opts.Keys, 3)
	fill(&opts.Watchers, 2)
	if opts.Namespace == "" {
		opts.Namespace = "default"
	}
	if opts.Prefix == "" {
		opts.Prefix = fmt.Sprintf("history-%d-", seed)
	}
	if opts.CallTimeout == 0 {
		opts.CallTimeout = 5 * time.Second
	}
	if opts.Patience == 0 {
		opts.Patience = time.Minute
	}
}

// History holds the calls of concurrent clients of one or several API servers, their replies, and what
// watchers received. Check reports whether a correct Kubernetes API can have replied so.
type History struct {
	opts  HistoryOptions
	conns []client.Conn

	// clock orders calls: a call that returned before another began has the smaller number, independent of
	// time. So histories recorded in a bubble, where no time passes, are as precise as others.
	clock atomic.Int64

	mu       sync.Mutex
	calls    []porcupine.Operation
	unknown  int
	listings []listing
	streams  []*watchStream
}

// listing is the reply to a LIST: the state at a revision.
type listing struct {
	revision int64
	items    map[string]item
}

// item is an object as it was read.
type item struct {
	revision int64
	value    string
}

// watchStream is one watch, from the list it began with to its end. No event may be missing in it.
type watchStream struct {
	from   listing
	events []watchEvent
	// seen is the newest revision up to which the watcher has received everything.
	seen int64
	// begun is the time of the clock of the history at which from had been read.
	begun int64
}

// watchEvent is one event of a watch.
type watchEvent struct {
	revision int64
	kind     client.EventType
	key      string
	value    string
}

// Record runs random clients on the servers behind conns, at least one, and returns their history. Which
// calls they make depends on seed only. An error means that the servers did not recover within
// HistoryOptions.Patience: the last write was not accepted, or a watcher did not receive it.
func Record(ctx context.Context, seed uint64, opts HistoryOptions, conns ...client.Conn) (*History, error) {
	opts.fill(seed)
	h := &History{opts: opts, conns: conns}
	watching, stopWatching := context.WithCancelCause(context.WithoutCancel(ctx))
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stopWatching(nil)
	begun, reached := make(chan struct{}, opts.Watchers), make(chan struct{}, opts.Watchers)
	for i := range opts.Watchers {
		watchers.Go(func() { h.watch(watching, conns[i%len(conns)], opts.Prefix+"last", begun, reached) })
	}
	h.await(begun)
	var clients sync.WaitGroup
	for i := range opts.Clients {
		clients.Go(func() { h.work(ctx, seeds.Rand(seed+uint64(i)<<40), i) })
	}
	clients.Wait()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.Patience)
	defer cancel()
	if err := h.finish(patience); err != nil {
		return h, err
	}
	for n := range opts.Watchers {
		select {
		case <-reached:
		case <-patience.Done():
			return h, fmt.Errorf("after %v only %d of %d watchers have received the last write", opts.Patience, n, opts.Watchers)
		}
	}
	return h, nil
}

// await waits until every watcher has made its first list, so that all of them receive later changes; the
// watcher of an unavailable server is not waited for.
func (h *History) await(begun <-chan struct{}) {
	late := time.After(h.opts.CallTimeout)
	for range h.opts.Watchers {
		select {
		case <-begun:
		case <-late:
			return
		}
	}
}

// Calls returns the number of calls, and of those with an unknown outcome.
func (h *History) Calls() (all, unknown int) { return len(h.calls), h.unknown }

// Events returns the number of events the watchers received, and of uninterrupted streams.
func (h *History) Events() (events, streams int) {
	for _, s := range h.streams {
		events += len(s.events)
	}
	return events, len(h.streams)
}

// work makes one client's calls.
func (h *History) work(ctx context.Context, r *rand.Rand, id int) {
	c := client.For[*corev1.ConfigMap](h.conns[id%len(h.conns)])
	known := map[string]int64{} // what this client last read, to write with and without luck
	for n := 0; (h.opts.Calls < 0 || n < h.opts.Calls) && ctx.Err() == nil; n++ {
		in := call{key: h.opts.Prefix + strconv.Itoa(r.IntN(h.opts.Keys)), value: fmt.Sprintf("%d.%d", id, n)}
		switch p := r.IntN(100); {
		case p < 15:
			in.verb = "get"
		case p < 25:
			h.list(ctx, c, r.IntN(2) == 0)
			continue
		case p < 50:
			in.verb = "create"
		case p < 85:
			in.verb, in.expected = "update", known[in.key]
		default:
			in.verb = "delete"
			if r.IntN(2) == 0 {
				in.expected = known[in.key]
			}
		}
		if in.verb == "update" && in.expected == 0 {
			in.verb = "get"
		}
		out := h.call(ctx, c, in, id)
		if out.revision != 0 {
			known[in.key] = out.revision
		}
		rest := time.Duration(r.Int64N(int64(h.opts.Pause) + 1))
		if out.failed {
			rest += time.Duration(r.IntN(50)) * time.Millisecond
		}
		if backoff.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// call makes one call and records it with its reply. A read without a reply is omitted;
// a write without one may still take effect at any later time.
func (h *History) call(ctx context.Context, c *client.Client[*corev1.ConfigMap], in call, id int) reply {
	// The call outlives ctx: the end of the run must not make its outcome unknown.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.opts.CallTimeout)
	defer cancel()
	op := porcupine.Operation{ClientId: id, Input: in, Call: h.clock.Add(1)}
	out := h.send(ctx, c, in)
	op.Output, op.Return = out, h.clock.Add(1)
	if out.failed && (in.verb == "get" || out.refused) {
		return out
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if out.failed {
		h.unknown++
		op.Return = 1 << 62
	}
	h.calls = append(h.calls, op)
	return out
}

func (h *History) send(ctx context.Context, c *client.Client[*corev1.ConfigMap], in call) reply {
	key := types.NamespacedName{Namespace: h.opts.Namespace, Name: in.key}
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string]string{"value": in.value}}
	var err error
	switch in.verb {
	case "get":
		obj, err = c.Get(ctx, key)
	case "create":
		obj, err = c.Create(ctx, obj)
	case "update":
		obj.ResourceVersion = strconv.FormatInt(in.expected, 10)
		obj, err = c.Update(ctx, obj)
	case "delete":
		var o client.DeleteOptions
		if in.expected != 0 {
			version := strconv.FormatInt(in.expected, 10)
			o.Preconditions = &metav1.Preconditions{ResourceVersion: &version}
		}
		if err = c.Delete(ctx, key, o); err == nil {
			return reply{}
		}
	}
	switch {
	case err == nil:
		f, err := read(obj)
		return reply{item: f, failed: err != nil}
	case apierrors.IsNotFound(err):
		return reply{reason: metav1.StatusReasonNotFound}
	case apierrors.IsAlreadyExists(err):
		return reply{reason: metav1.StatusReasonAlreadyExists}
	case apierrors.IsConflict(err):
		return reply{reason: metav1.StatusReasonConflict}
	}
	return reply{failed: true, refused: apierrors.IsTooManyRequests(err)}
}

// read returns what the checker needs of an object. A ConfigMap always has a decimal version here.
func read(cm *corev1.ConfigMap) (item, error) {
	n, err := strconv.ParseInt(cm.ResourceVersion, 10, 64)
	return item{n, cm.Data["value"]}, err
}

// list reads everything, whole or in pages. A consistent list is also a read of each key.
func (h *History) list(ctx context.Context, c *client.Client[*corev1.ConfigMap], pages bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.opts.CallTimeout)
	defer cancel()
	begun := h.clock.Add(1)
	l, err := h.listOnce(ctx, c, pages)
	if err != nil {
		return
	}
	ended := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listings = append(h.listings, l)
	for i := range h.opts.Keys {
		key := h.opts.Prefix + strconv.Itoa(i)
		out := reply{reason: metav1.StatusReasonNotFound}
		if f, ok := l.items[key]; ok {
			out = reply{item: f}
		}
		// Each list is a client of its own: its reads overlap.
		h.calls = append(h.calls, porcupine.Operation{ClientId: h.opts.Clients + i, Input: call{verb: "get", key: key}, Call: begun, Output: out, Return: ended})
	}
}

func (h *History) listOnce(ctx context.Context, c *client.Client[*corev1.ConfigMap], pages bool) (listing, error) {
	l := listing{items: map[string]item{}}
	o := client.ListOptions{Namespace: h.opts.Namespace}
	if pages {
		o.Limit = 2
	}
	for {
		page, err := c.List(ctx, o)
		if err != nil {
			return l, err
		}
		for _, cm := range page.Items {
			f, err := read(cm)
			if err != nil {
				return l, err
			}
			if h.isOwn(cm.Name) {
				l.items[cm.Name] = f
			}
		}
		if l.revision, err = strconv.ParseInt(page.ResourceVersion, 10, 64); err != nil {
			return l, err
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return l, nil
		}
	}
}

func (h *History) isOwn(name string) bool {
	return len(name) >= len(h.opts.Prefix) && name[:len(h.opts.Prefix)] == h.opts.Prefix
}

// watch follows all ConfigMaps until ctx ends, in a new stream whenever the version of the last one has
// expired. It signals begun after its first list, and reached when it has received the object named last.
func (h *History) watch(ctx context.Context, conn client.Conn, last string, begun, reached chan<- struct{}) {
	c := client.For[*corev1.ConfigMap](conn)
	begin := sync.OnceFunc(func() { begun <- struct{}{} })
	tell := sync.OnceFunc(func() { reached <- struct{}{} })
	for ctx.Err() == nil {
		from, err := h.listOnce(ctx, c, false)
		if err != nil {
			_ = backoff.Sleep(ctx, 20*time.Millisecond)
			continue
		}
		s := &watchStream{from: from, seen: from.revision, begun: h.clock.Add(1)}
		h.mu.Lock()
		h.streams = append(h.streams, s)
		h.mu.Unlock()
		begin()
		if _, ok := from.items[last]; ok {
			tell()
		}
		for e, err := range c.Watch(ctx, client.WatchOptions{Namespace: h.opts.Namespace, ResourceVersion: strconv.FormatInt(from.revision, 10), Bookmarks: true}) {
			if err != nil {
				break // too old, or the first request failed: list again
			}
			f, err := read(e.Object)
			if err != nil {
				break
			}
			h.mu.Lock()
			if e.Type != client.Bookmark && h.isOwn(e.Object.Name) {
				s.events = append(s.events, watchEvent{f.revision, e.Type, e.Object.Name, f.value})
			}
			s.seen = max(s.seen, f.revision)
			h.mu.Unlock()
			if e.Object.Name == last {
				tell()
			}
		}
	}
}

// finish makes the last write, and repeats it until a server accepts it.
func (h *History) finish(ctx context.Context) error {
	name := h.opts.Prefix + "last"
	for n := 0; ; n++ {
		c := client.For[*corev1.ConfigMap](h.conns[n%len(h.conns)])
		try, cancel := context.WithTimeout(ctx, h.opts.CallTimeout)
		_, err := c.Create(try, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.opts.Namespace, Name: name}})
		cancel()
		if err == nil || apierrors.IsAlreadyExists(err) {
			return nil
		}
		if backoff.Sleep(ctx, 20*time.Millisecond) != nil {
			return errors.Join(fmt.Errorf("no server accepted the last write within %v", h.opts.Patience), err)
		}
	}
}
