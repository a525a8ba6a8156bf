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
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// HistoryOptions choose what the random clients of a History do.
type HistoryOptions struct {
	// Namespace the clients work in, which must exist; empty means default.
	Namespace string
	// Prefix of the names the clients use; empty means history-SEED-. Nobody else may write such ConfigMaps.
	Prefix string
	// Clients ask at the same time; 0 means 4. Client i uses connection i modulo their number.
	Clients int
	// Calls each client makes; 0 means 30, negative means until the context of Record ends.
	Calls int
	// Keys is how many ConfigMaps they all fight about; 0 means 3.
	Keys int
	// Watchers follow everything from a list on; 0 means 2.
	Watchers int
	// Pause is the longest time a client rests between two calls; 0 means it does not.
	Pause time.Duration
	// CallTimeout bounds one call, after which its outcome is unknown; 0 means 5 s.
	CallTimeout time.Duration
	// Patience is how long servers may take, once the clients have finished, to accept one last write and to
	// bring it to every watcher; 0 means a minute.
	Patience time.Duration
}

func (o *HistoryOptions) fill(seed uint64) {
	fill := func(n *int, usual int) {
		if *n == 0 {
			*n = usual
		}
	}
	fill(&o.Clients, 4)
	fill(&o.Calls, 30)
	fill(&o.Keys, 3)
	fill(&o.Watchers, 2)
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.Prefix == "" {
		o.Prefix = fmt.Sprintf("history-%d-", seed)
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 5 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
}

// History is what concurrent clients of one or several API servers asked, what they were told, and what
// watchers saw. Check says whether a correct Kubernetes API can have answered so.
type History struct {
	o     HistoryOptions
	conns []client.Conn

	// clock orders calls: a call that returned before another began has the smaller number, whatever clocks
	// do. So histories recorded in a bubble, where no time passes, are as sharp as others.
	clock atomic.Int64

	mu       sync.Mutex
	calls    []porcupine.Operation
	unknown  int
	listings []listing
	streams  []*following
}

// listing is the answer to a LIST: the state at a revision.
type listing struct {
	revision int64
	items    map[string]found
}

// found is an object as a reader found it.
type found struct {
	revision int64
	value    string
}

// following is one watch, from the list it began with to its end. Between the two nothing may be missing.
type following struct {
	from   listing
	events []happening
	// seen is the newest revision the watcher knows to have everything up to.
	seen int64
}

// happening is one event of a watch.
type happening struct {
	revision int64
	kind     client.EventType
	key      string
	value    string
}

// Record lets random clients work on the servers behind conns, at least one, and returns what happened. Which
// calls they make depends on seed only. An error means that the servers did not come back within
// HistoryOptions.Patience: the last write was not accepted, or a watcher never saw it.
func Record(ctx context.Context, seed uint64, o HistoryOptions, conns ...client.Conn) (*History, error) {
	o.fill(seed)
	h := &History{o: o, conns: conns}
	watching, stopWatching := context.WithCancelCause(context.WithoutCancel(ctx))
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stopWatching(nil)
	begun, reached := make(chan struct{}, o.Watchers), make(chan struct{}, o.Watchers)
	for i := range o.Watchers {
		watchers.Go(func() { h.watch(watching, conns[i%len(conns)], o.Prefix+"last", begun, reached) })
	}
	h.await(begun)
	var clients sync.WaitGroup
	for i := range o.Clients {
		clients.Go(func() { h.work(ctx, seeds.Rand(seed+uint64(i)<<40), i) })
	}
	clients.Wait()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Patience)
	defer cancel()
	if err := h.finish(patience); err != nil {
		return h, err
	}
	for n := range o.Watchers {
		select {
		case <-reached:
		case <-patience.Done():
			return h, fmt.Errorf("after %v only %d of %d watchers have seen the last write", o.Patience, n, o.Watchers)
		}
	}
	return h, nil
}

// await lets every watcher make its first list, so that all of them see what follows; one whose server is
// away may come later.
func (h *History) await(begun <-chan struct{}) {
	late := time.After(h.o.CallTimeout)
	for range h.o.Watchers {
		select {
		case <-begun:
		case <-late:
			return
		}
	}
}

// Calls returns how many calls were made, and how many of them have an unknown outcome.
func (h *History) Calls() (all, unknown int) { return len(h.calls), h.unknown }

// Events returns how many events the watchers saw, and in how many uninterrupted streams.
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
	for n := 0; (h.o.Calls < 0 || n < h.o.Calls) && ctx.Err() == nil; n++ {
		in := call{key: h.o.Prefix + strconv.Itoa(r.IntN(h.o.Keys)), value: fmt.Sprintf("%d.%d", id, n)}
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
		out := h.ask(ctx, c, in, id)
		if out.revision != 0 {
			known[in.key] = out.revision
		}
		rest := time.Duration(r.Int64N(int64(h.o.Pause) + 1))
		if out.failed {
			rest += time.Duration(r.IntN(50)) * time.Millisecond
		}
		if rest > 0 && !pause(ctx, rest) {
			return
		}
	}
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// ask makes one call and records it with its answer. A read without an answer tells nothing and is left out;
// a write without one may still happen at any later time.
func (h *History) ask(ctx context.Context, c *client.Client[*corev1.ConfigMap], in call, id int) answer {
	// The call outlives ctx: the end of the run must not make its outcome unknown.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.o.CallTimeout)
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

func (h *History) send(ctx context.Context, c *client.Client[*corev1.ConfigMap], in call) answer {
	key := types.NamespacedName{Namespace: h.o.Namespace, Name: in.key}
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
			return answer{}
		}
	}
	switch {
	case err == nil:
		f, err := read(obj)
		return answer{found: f, failed: err != nil}
	case apierrors.IsNotFound(err):
		return answer{reason: metav1.StatusReasonNotFound}
	case apierrors.IsAlreadyExists(err):
		return answer{reason: metav1.StatusReasonAlreadyExists}
	case apierrors.IsConflict(err):
		return answer{reason: metav1.StatusReasonConflict}
	}
	return answer{failed: true, refused: apierrors.IsTooManyRequests(err)}
}

// read takes from an object what the checker needs. A ConfigMap always has a decimal version here.
func read(cm *corev1.ConfigMap) (found, error) {
	n, err := strconv.ParseInt(cm.ResourceVersion, 10, 64)
	return found{n, cm.Data["value"]}, err
}

// list reads everything, whole or in pages. A consistent list is also a read of each key.
func (h *History) list(ctx context.Context, c *client.Client[*corev1.ConfigMap], pages bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.o.CallTimeout)
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
	for i := range h.o.Keys {
		key := h.o.Prefix + strconv.Itoa(i)
		out := answer{reason: metav1.StatusReasonNotFound}
		if f, ok := l.items[key]; ok {
			out = answer{found: f}
		}
		// Each list is a client of its own: its reads overlap.
		h.calls = append(h.calls, porcupine.Operation{ClientId: h.o.Clients + i, Input: call{verb: "get", key: key}, Call: begun, Output: out, Return: ended})
	}
}

func (h *History) listOnce(ctx context.Context, c *client.Client[*corev1.ConfigMap], pages bool) (listing, error) {
	l := listing{items: map[string]found{}}
	o := client.ListOptions{Namespace: h.o.Namespace}
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
			if h.ours(cm.Name) {
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

func (h *History) ours(name string) bool {
	return len(name) >= len(h.o.Prefix) && name[:len(h.o.Prefix)] == h.o.Prefix
}

// watch follows everything until ctx ends, in a new stream whenever the server has forgotten where the last
// one stood. It tells begun of its first list, and reached when it has seen the object named last.
func (h *History) watch(ctx context.Context, conn client.Conn, last string, begun, reached chan<- struct{}) {
	c := client.For[*corev1.ConfigMap](conn)
	begin := sync.OnceFunc(func() { begun <- struct{}{} })
	tell := sync.OnceFunc(func() { reached <- struct{}{} })
	for ctx.Err() == nil {
		from, err := h.listOnce(ctx, c, false)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		s := &following{from: from, seen: from.revision}
		h.mu.Lock()
		h.streams = append(h.streams, s)
		h.mu.Unlock()
		begin()
		if _, ok := from.items[last]; ok {
			tell()
		}
		for e, err := range c.Watch(ctx, client.WatchOptions{Namespace: h.o.Namespace, ResourceVersion: strconv.FormatInt(from.revision, 10), Bookmarks: true}) {
			if err != nil {
				break // too old, or the first request failed: list again
			}
			f, err := read(e.Object)
			if err != nil {
				break
			}
			h.mu.Lock()
			if e.Type != client.Bookmark && h.ours(e.Object.Name) {
				s.events = append(s.events, happening{f.revision, e.Type, e.Object.Name, f.value})
			}
			s.seen = max(s.seen, f.revision)
			h.mu.Unlock()
			if e.Object.Name == last {
				tell()
			}
		}
	}
}

// finish makes the last write, again and again until a server takes it.
func (h *History) finish(ctx context.Context) error {
	name := h.o.Prefix + "last"
	for n := 0; ; n++ {
		c := client.For[*corev1.ConfigMap](h.conns[n%len(h.conns)])
		try, cancel := context.WithTimeout(ctx, h.o.CallTimeout)
		_, err := c.Create(try, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.o.Namespace, Name: name}})
		cancel()
		if err == nil || apierrors.IsAlreadyExists(err) {
			return nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			return errors.Join(fmt.Errorf("no server took the last write within %v", h.o.Patience), err)
		}
	}
}
