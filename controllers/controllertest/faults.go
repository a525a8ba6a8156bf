package controllertest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authz"
)

// Requests selects requests to the API server, of any client. A request must match every field that is set;
// the zero value selects all.
type Requests struct {
	// Verbs are API verbs: get, list, watch, create, update, patch, delete, deletecollection.
	Verbs []string
	// Resource is a resource, with or without its group and subresource: pods, deployments.apps, pods/status.
	// Without a subresource it selects requests for none; pods/* selects those for the pods and for all of
	// their subresources.
	Resource string
	// Namespace and Name of the object. A create that lets the server generate the name has none.
	Namespace, Name string
	// User is the name of the caller, after impersonation.
	User string
	// Matches is a further condition, which must be safe for concurrent use.
	Matches func(a authz.Attributes) bool
	// Webhook selects, in place of requests to the API server, its calls of Options.Webhooks whose URL path
	// begins with it; "/" selects all. It is for Inject and Hold, and must be the only field.
	Webhook string
}

// ofWebhook reports whether calls of webhooks are selected.
func (q *Requests) ofWebhook() bool { return q.Webhook != "" }

// onlyWebhook reports whether no other field is set.
func (q *Requests) onlyWebhook() bool {
	return len(q.Verbs) == 0 && q.Resource == "" && q.Namespace == "" && q.Name == "" && q.User == "" && q.Matches == nil
}

func (q *Requests) match(a *authz.Attributes) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return !q.ofWebhook() && (len(q.Verbs) == 0 || slices.Contains(q.Verbs, a.Verb)) && q.matchResource(a) && is(q.Namespace, a.Namespace) && is(q.Name, a.Name) &&
		(q.User == "" || a.User != nil && a.User.Name == q.User) && (q.Matches == nil || q.Matches(*a))
}

func (q *Requests) matchResource(a *authz.Attributes) bool {
	if q.Resource == "" {
		return true
	}
	name, sub, _ := strings.Cut(q.Resource, "/")
	name, group, grouped := strings.Cut(name, ".")
	return a.ResourceRequest && name == a.Resource && (!grouped || group == a.APIGroup) && (sub == "*" || sub == a.Subresource)
}

// similarity is how many of the fields that are set a request has.
func (q *Requests) similarity(a *authz.Attributes) (n int) {
	for _, one := range []Requests{{Verbs: q.Verbs}, {Resource: q.Resource}, {Namespace: q.Namespace}, {Name: q.Name}, {User: q.User}} {
		if one.match(a) {
			n++
		}
	}
	return n
}

// String describes what is selected: "create pods/status default/web-0 by ann".
func (q *Requests) String() string {
	words := []string{strings.Join(q.Verbs, "|"), q.Resource, strings.Trim(q.Namespace+"/"+q.Name, "/")}
	if q.User != "" {
		words = append(words, "by "+q.User)
	}
	if q.ofWebhook() {
		return "of calls of the webhook " + q.Webhook
	}
	if q.Matches != nil {
		words = append(words, "with a condition")
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(q.Verbs) == 0 && q.Resource == "" {
		words = append([]string{"requests"}, words...)
	}
	return "of " + strings.Join(words, " ")
}

// describe describes a request in the same way.
func describe(a *authz.Attributes) string {
	if !a.ResourceRequest {
		return a.Verb + " " + a.Path
	}
	resource := schema.GroupResource{Group: a.APIGroup, Resource: a.Resource}.String()
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	q := Requests{Verbs: []string{a.Verb}, Resource: resource, Namespace: a.Namespace, Name: a.Name}
	if a.User != nil {
		q.User = a.User.Name
	}
	return strings.TrimPrefix(q.String(), "of ")
}

// Fault is what happens to some requests.
type Fault struct {
	Requests
	// Skip is how many requests pass before the first one that the fault applies to.
	Skip int
	// Times is to how many requests it applies; 0 means all.
	Times int
	// Effect replaces the serving of the request.
	Effect Effect
	// Optional is for faults that need not occur. Any other fails the test if it has applied to no request
	// by the end, and the requests that were most similar are reported.
	Optional bool
}

// Effect serves a request in place of next, which serves it as if there were no fault. An effect must return
// when the context of the request ends. It is called concurrently.
type Effect func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc)

// Fail refuses the request with err: with the Status of an *apierrors.StatusError, or else with 500.
func Fail(err error) Effect {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { writeError(w, err) }
}

// Conflict refuses the request with 409, as if the object had changed.
func Conflict() Effect {
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		a := apiserver.AttributesOf(r)
		writeError(w, apierrors.NewConflict(schema.GroupResource{Group: a.APIGroup, Resource: a.Resource}, a.Name, errors.New("the object has been modified; please apply your changes to the latest version and try again")))
	}
}

// Expired refuses a list or watch with 410, as if its version had been compacted.
func Expired() Effect {
	return Fail(apierrors.NewResourceExpired("too old resource version"))
}

// Drop breaks the connection in place of serving the request.
func Drop() Effect {
	return func(http.ResponseWriter, *http.Request, http.HandlerFunc) { panic(http.ErrAbortHandler) }
}

// LoseReply serves the request and breaks the connection in place of a response: the client cannot know that
// a write took effect.
func LoseReply() Effect {
	return func(_ http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		next(&lostReply{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}
}

// Delay serves the request after some time.
func Delay(d time.Duration) Effect {
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		select {
		case <-time.After(d):
			next(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// lostReply discards a response.
type lostReply struct{ header http.Header }

func (l *lostReply) Header() http.Header         { return l.header }
func (l *lostReply) Write(p []byte) (int, error) { return len(p), nil }
func (l *lostReply) WriteHeader(int)             {}
func (l *lostReply) FlushError() error           { return nil }

func writeError(w http.ResponseWriter, err error) {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	s := status.ErrStatus
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := codec.Marshal(&s)
	if err != nil {
		panic(err) // a Status can always be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(s.Code))
	_, _ = w.Write(body)
}

// Inject makes a fault apply to requests that begin from now on, those of managers, of clients over TLS, of
// client-go and of the test itself. Of several faults the one that was injected last, and still applies to a
// request, decides what happens to it.
func (c *Cluster) Inject(f Fault) *Injected {
	switch {
	case f.Effect == nil:
		panic("controllertest: a Fault without an Effect")
	case f.ofWebhook() && !f.onlyWebhook():
		panic("controllertest: Requests.Webhook is not the only field")
	case f.ofWebhook() && c.hooks == nil:
		panic("controllertest: Requests.Webhook, but Options.Webhooks.Handler is nil")
	}
	i := &Injected{fault: f, gate: &c.gate}
	c.gate.add(i)
	return i
}

// Partition separates the clients whose requests match from the server until [Injected.Remove]: their open
// requests, such as watches, end and new ones fail, all without a response.
func (c *Cluster) Partition(q Requests) *Injected {
	i := c.Inject(Fault{Requests: q, Effect: Drop()})
	broken := c.Break(q)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.broken = broken
	return i
}

// Break breaks the connections of open watches that match, and returns how many there were.
func (c *Cluster) Break(q Requests) int { return c.gate.breakWatches(&q) }

// Open returns the open watches that match, each as "USER (AGENT) RESOURCE" with the namespace it is limited
// to, sorted: after a manager has stopped there are none of its user left.
func (c *Cluster) Open(q Requests) []string { return c.gate.openWatches(&q) }

// Hold makes requests that match wait until [Held.Release].
func (c *Cluster) Hold(q Requests) *Held {
	h := &Held{released: make(chan struct{})}
	h.fault = c.Inject(Fault{Requests: q, Effect: h.wait})
	return h
}

// Injected is a fault of a cluster. It is safe for concurrent use.
type Injected struct {
	fault Fault
	gate  *gate

	mu     sync.Mutex
	seen   int // requests that matched
	hits   int // of those, the ones it applied to
	broken int // watches that a partition ended
	// Requests that did not match, by how many fields of the fault they have; until the first hit.
	near map[string]int
}

// take reports whether the fault applies to the request, and counts it.
func (i *Injected) take(a *authz.Attributes) bool {
	matches := i.fault.match(a)
	i.mu.Lock()
	defer i.mu.Unlock()
	if !matches {
		i.miss(a)
		return false
	}
	return i.hit()
}

// takeWebhook is take for a call of a webhook.
func (i *Injected) takeWebhook(path string) bool {
	if !i.fault.ofWebhook() || !strings.HasPrefix(path, i.fault.Webhook) {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hit()
}

// hit counts a request that matches. The lock is held.
func (i *Injected) hit() bool {
	i.seen++
	if i.seen <= i.fault.Skip || i.fault.Times > 0 && i.hits == i.fault.Times {
		return false
	}
	i.hits++
	i.near = nil
	return true
}

// keepNear is how many different requests of those that nearly matched are kept.
const keepNear = 200

// miss notes a request that does not match, as long as none does. The lock is held.
func (i *Injected) miss(a *authz.Attributes) {
	if i.hits > 0 || i.fault.Optional || i.fault.ofWebhook() {
		return
	}
	if i.near == nil {
		i.near = map[string]int{}
	}
	if text := describe(a); len(i.near) < keepNear || i.near[text] > 0 {
		i.near[text] = i.fault.similarity(a)
	}
}

// unused says that the fault has applied to nothing, or "".
func (i *Injected) unused() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.hits+i.broken > 0 || i.fault.Optional:
		return ""
	case i.seen > 0:
		return fmt.Sprintf("the fault %s has applied to no request: %d matched, and it skips %d", &i.fault.Requests, i.seen, i.fault.Skip)
	case len(i.near) == 0:
		return fmt.Sprintf("the fault %s has applied to no request: there were none while it was injected", &i.fault.Requests)
	}
	nearest := slices.SortedFunc(maps.Keys(i.near), func(a, b string) int {
		return cmp.Or(cmp.Compare(i.near[b], i.near[a]), strings.Compare(a, b))
	})
	nearest = nearest[:min(len(nearest), 3)]
	return fmt.Sprintf("the fault %s has applied to no request; the most similar were: %s", &i.fault.Requests, strings.Join(nearest, "; "))
}

// Hits is the number of requests that the fault has applied to.
func (i *Injected) Hits() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hits
}

// Remove ends the fault for requests that begin later.
func (i *Injected) Remove() { i.gate.remove(i) }

// Held are requests that wait. It is safe for concurrent use.
type Held struct {
	fault    *Injected
	released chan struct{}
	once     sync.Once

	mu      sync.Mutex
	waiting int
}

func (h *Held) wait(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	h.count(1)
	select {
	case <-h.released:
		h.count(-1)
		next(w, r)
	case <-r.Context().Done():
		h.count(-1)
		panic(http.ErrAbortHandler)
	}
}

func (h *Held) count(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting += n
}

// Waiting is the number of requests that wait now.
func (h *Held) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

// Release serves the requests that wait, and holds no others.
func (h *Held) Release() {
	h.once.Do(func() {
		h.fault.Remove()
		close(h.released)
	})
}

// gate is passed by every request to the API server whose caller is known.
type gate struct {
	mu         sync.Mutex
	faults     []*Injected // the latest last
	injected   []*Injected // all that there have been
	recordings []*Recording
	watches    map[*openWatch]bool
	order      order        // set before the first request
	pending    atomic.Int64 // deliveries that are late because of it
}

type openWatch struct {
	authz.Attributes
	agent string
	end   context.CancelFunc
}

func (w *openWatch) String() string {
	user := ""
	if w.User != nil {
		user = w.User.Name
	}
	text := user + " (" + w.agent + ") " + schema.GroupResource{Group: w.APIGroup, Resource: w.Resource}.String()
	if w.Namespace != "" {
		text += " in " + w.Namespace
	}
	return text
}

func (g *gate) add(i *Injected) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, i)
	g.injected = append(g.injected, i)
}

func (g *gate) remove(i *Injected) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = slices.DeleteFunc(slices.Clone(g.faults), func(other *Injected) bool { return other == i })
}

// unused says which faults have applied to nothing.
func (g *gate) unused() (texts []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, i := range g.injected {
		if text := i.unused(); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func (g *gate) breakWatches(q *Requests) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for w := range g.watches {
		if q.match(&w.Attributes) {
			n++
			w.end()
		}
	}
	return n
}

func (g *gate) openWatches(q *Requests) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var open []string
	for w := range g.watches {
		if q.match(&w.Attributes) {
			open = append(open, w.String())
		}
	}
	slices.Sort(open)
	return open
}

// intercept returns what the API server calls for each request, and which calls inner, unless it is nil, in
// place of serving it.
func (g *gate) intercept(inner func(http.ResponseWriter, *http.Request, http.HandlerFunc)) func(http.ResponseWriter, *http.Request, http.HandlerFunc) {
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		if r.Method != http.MethodGet {
			r = withOrigin(r)
		}
		serve := next
		if inner != nil {
			serve = func(w http.ResponseWriter, r *http.Request) { inner(w, r, next) }
		}
		g.mu.Lock()
		faults, recordings := g.faults, g.recordings
		g.mu.Unlock()
		isWatch := strings.Contains(r.URL.RawQuery, "watch=") || strings.Contains(r.URL.Path, "/watch/")
		if len(faults)+len(recordings) == 0 && !isWatch {
			serve(w, r)
			return
		}
		a := apiserver.AttributesOf(r)
		for _, rec := range recordings {
			if rec.of.match(&a) {
				w = rec.begin(w, &a)
			}
		}
		if a.Verb == "watch" {
			serve = g.following(a, serve)
		}
		for _, f := range slices.Backward(faults) {
			if f.take(&a) {
				f.fault.Effect(w, r, serve)
				return
			}
		}
		if a.Verb == "watch" {
			serve = g.order.late(&a, r.UserAgent(), &g.pending, serve)
		}
		serve(w, r)
	}
}

// interceptWebhook passes calls of webhooks to next, or to the effect of a fault.
func (g *gate) interceptWebhook(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		faults := g.faults
		g.mu.Unlock()
		for _, f := range slices.Backward(faults) {
			if f.takeWebhook(r.URL.Path) {
				// Over HTTP/1.1 the context ends with the connection only after the body has been read.
				body, err := io.ReadAll(r.Body)
				if err != nil {
					panic(http.ErrAbortHandler)
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				f.fault.Effect(w, r, next.ServeHTTP)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// following serves a watch that breakWatches can end.
func (g *gate) following(a authz.Attributes, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancelCause(r.Context())
		broken := errors.New("the watch is broken")
		open := &openWatch{a, r.UserAgent(), func() { cancel(broken) }}
		g.mu.Lock()
		if g.watches == nil {
			g.watches = map[*openWatch]bool{}
		}
		g.watches[open] = true
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			delete(g.watches, open)
			g.mu.Unlock()
			if context.Cause(ctx) == broken {
				panic(http.ErrAbortHandler)
			}
			cancel(nil)
		}()
		serve(w, r.WithContext(ctx))
	}
}
