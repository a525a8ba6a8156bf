package informers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers/reflector"
)

// model is a naive collection with its whole history, served with faults.
type model struct {
	rng     *rand.Rand // of the goroutine that changes and upsets, used with mu held
	answers *rand.Rand // drawn in the reflector's goroutine

	mu      sync.Mutex
	rev     uint64
	objs    map[types.NamespacedName]*corev1.ConfigMap
	log     []modelEvent
	floor   uint64 // versions below are compacted
	streams map[*modelStream]bool
	faulty  bool
	noWL    bool
	spoils  bool
	late    *rand.Rand // of the times by which responses are late, used with mu held; nil: they are not
	leaves  bool       // the resource is removed and comes back
	missing bool
	lists   int
	watches int
}

type modelEvent struct {
	rev       uint64
	typ       client.EventType
	obj, prev *corev1.ConfigMap
}

func newModel(seed uint64) *model {
	return &model{rng: seeds.Stream(seed, 1), answers: seeds.Stream(seed, 5), rev: 10, objs: map[types.NamespacedName]*corev1.ConfigMap{}, streams: map[*modelStream]bool{}}
}

func (m *model) write(typ client.EventType, obj *corev1.ConfigMap) {
	m.rev++
	obj.ResourceVersion = strconv.FormatUint(m.rev, 10)
	m.log = append(m.log, modelEvent{m.rev, typ, obj, m.objs[obj.Key()]})
	if typ == client.Deleted {
		delete(m.objs, obj.Key())
	} else {
		m.objs[obj.Key()] = obj
	}
	for s := range m.streams {
		s.poke()
	}
}

// step makes one random change.
func (m *model) step() {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := types.NamespacedName{Namespace: "ns" + strconv.Itoa(m.rng.IntN(2)), Name: "o" + strconv.Itoa(m.rng.IntN(6))}
	old := m.objs[key]
	switch {
	case old == nil:
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name, cm.UID = key.Namespace, key.Name, types.UID(fmt.Sprintf("uid-%d", m.rev))
		cm.Data = map[string]string{"v": strconv.FormatUint(m.rev, 10)}
		cm.Labels = map[string]string{"parity": strconv.FormatUint(m.rev%2, 10)}
		m.spoil(cm)
		m.write(client.Added, cm)
	case m.rng.IntN(4) == 0:
		m.write(client.Deleted, codec.DeepCopy(old))
	default:
		cm := codec.DeepCopy(old)
		cm.Data = map[string]string{"v": strconv.FormatUint(m.rev, 10)}
		m.spoil(cm)
		m.write(client.Modified, cm)
	}
}

// spoil makes a state one that cannot be decoded, now and then.
func (m *model) spoil(cm *corev1.ConfigMap) {
	if m.spoils && m.rng.IntN(3) == 0 {
		cm.Data[spoiled] = "yes"
	}
}

// upset injects one random fault.
func (m *model) upset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch m.rng.IntN(6) {
	case 4:
		if !m.leaves {
			return
		}
		m.missing = !m.missing
		for s := range m.streams {
			s.fail(io.EOF)
		}
	case 0:
		m.floor = m.rev - uint64(m.rng.IntN(3))
	case 1:
		for s := range m.streams {
			s.fail(io.EOF)
		}
	case 2:
		for s := range m.streams {
			s.fail(io.ErrUnexpectedEOF)
		}
	case 3:
		for s := range m.streams {
			s.stalled = true
		}
	}
}

func (m *model) fault() error {
	if m.missing {
		return apierrors.NewNotFound(corev1.GroupVersion.WithResource("configmaps").GroupResource(), "")
	}
	if !m.faulty {
		return nil
	}
	switch m.answers.IntN(8) {
	case 3:
		// A proxy, while the resource is served all the time.
		return apierrors.NewNotFound(corev1.GroupVersion.WithResource("configmaps").GroupResource(), "")
	case 0:
		return apierrors.NewTooManyRequests("slow down", 1)
	case 1:
		return errors.New("connection refused")
	case 2:
		return apierrors.NewInternalError(errors.New("boom"))
	}
	return nil
}

// spoiled marks a state that the server sends in bytes that cannot be decoded.
const spoiled = "spoiled"

func encode(obj *corev1.ConfigMap) client.Encoded {
	e, err := client.EncodeObject(obj, client.Protobuf, false)
	if err == nil && obj.Data[spoiled] != "" {
		// An entry of data that is cut off.
		e, err = client.ScanEncoded(client.Protobuf, append(e.Body, 0x12, 0x01, 0xff))
	}
	if err != nil {
		panic(err)
	}
	return e
}

func (m *model) List(ctx context.Context, opts client.ListOptions) (*client.EncodedList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(); err != nil {
		return nil, err
	}
	m.lists++
	l := &client.EncodedList{ResourceVersion: strconv.FormatUint(m.rev, 10)}
	keys := slices.SortedFunc(maps.Keys(m.objs), types.NamespacedName.Compare)
	for _, k := range keys {
		if !opts.LabelSelector.Matches(m.objs[k].Labels) {
			continue
		}
		l.Items = append(l.Items, encode(m.objs[k]))
	}
	return l, nil
}

func (m *model) Served(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.faulty && m.answers.IntN(3) == 0 {
		return false, errors.New("connection refused")
	}
	return !m.missing, nil
}

func (m *model) Watch(ctx context.Context, opts client.EncodedWatchOptions) (reflector.Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(); err != nil {
		return nil, err
	}
	m.watches++
	s := &modelStream{m: m, sel: opts.LabelSelector, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	if opts.SendInitialEvents {
		if m.noWL {
			return nil, apierrors.New(422, metav1.StatusReasonInvalid, "no watch-list here")
		}
		for _, key := range slices.SortedFunc(maps.Keys(m.objs), types.NamespacedName.Compare) {
			obj := m.objs[key]
			if !opts.LabelSelector.Matches(obj.Labels) {
				continue
			}
			s.initial = append(s.initial, client.EncodedEvent{Type: client.Added, Object: encode(obj)})
		}
		bm := &corev1.ConfigMap{}
		bm.ResourceVersion = strconv.FormatUint(m.rev, 10)
		bm.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		s.initial = append(s.initial, client.EncodedEvent{Type: client.Bookmark, Object: encode(bm)})
		s.next = m.rev + 1
	} else {
		v, err := strconv.ParseUint(opts.ResourceVersion, 10, 64)
		if err != nil {
			return nil, apierrors.NewBadRequest("bad version")
		}
		if v < m.floor {
			return nil, apierrors.NewResourceExpired("too old")
		}
		// Sometimes a server repeats events.
		s.next = v + 1 - min(v, uint64(m.answers.IntN(3)))
	}
	m.streams[s] = true
	return s, nil
}

type modelStream struct {
	m       *model
	sel     labels.Selector
	wake    chan struct{}
	closed  chan struct{}
	once    sync.Once
	initial []client.EncodedEvent
	next    uint64
	err     error
	stalled bool
}

func (s *modelStream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *modelStream) fail(err error) { s.err = err; s.poke() }

func (s *modelStream) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Next returns events with random delays; a stalled stream returns nothing until it is considered dead.
func (s *modelStream) Next() (client.EncodedEvent, error) {
	for {
		s.m.mu.Lock()
		stalled := s.stalled
		var ev *client.EncodedEvent
		err := s.err
		switch {
		case stalled, err != nil:
		case len(s.initial) > 0:
			ev = &s.initial[0]
			s.initial = s.initial[1:]
		default:
			for _, e := range s.m.log {
				if e.rev < s.next {
					continue
				}
				s.next = e.rev + 1
				if ev = s.selected(e); ev != nil {
					break
				}
			}
		}
		if ev == nil && err == nil && !stalled && s.m.answers.IntN(4) == 0 {
			bm := &corev1.ConfigMap{}
			bm.ResourceVersion = strconv.FormatUint(s.next-1, 10)
			ev = &client.EncodedEvent{Type: client.Bookmark, Object: encode(bm)}
		}
		delay := time.Duration(1+s.m.answers.IntN(50)) * time.Millisecond
		s.m.mu.Unlock()
		if ev != nil {
			select {
			case <-time.After(delay):
				return *ev, nil
			case <-s.closed:
				return client.EncodedEvent{}, errors.New("closed")
			}
		}
		if err != nil {
			s.m.mu.Lock()
			delete(s.m.streams, s)
			s.m.mu.Unlock()
			return client.EncodedEvent{}, err
		}
		if stalled {
			select {
			case <-time.After(9 * time.Second):
				return client.EncodedEvent{}, client.ErrSilent
			case <-s.closed:
				return client.EncodedEvent{}, errors.New("closed")
			}
		}
		select {
		case <-s.wake:
		case <-time.After(3 * time.Second):
		case <-s.closed:
			return client.EncodedEvent{}, errors.New("closed")
		}
	}
}

// selected is an event as a watch with a selector sends it: leaving the selection is a deletion.
func (s *modelStream) selected(e modelEvent) *client.EncodedEvent {
	was := e.prev != nil && s.sel.Matches(e.prev.Labels)
	is := e.typ != client.Deleted && s.sel.Matches(e.obj.Labels)
	switch {
	case is && was:
		return &client.EncodedEvent{Type: client.Modified, Object: encode(e.obj)}
	case is:
		return &client.EncodedEvent{Type: client.Added, Object: encode(e.obj)}
	case was:
		last := codec.DeepCopy(e.prev)
		last.ResourceVersion = e.obj.ResourceVersion
		return &client.EncodedEvent{Type: client.Deleted, Object: encode(last)}
	}
	return nil
}

// modelInformer is an informer fed by a model.
func modelInformer(m *model, o SetOptions, opts Options[*corev1.ConfigMap]) (*Set, *Informer[*corev1.ConfigMap]) {
	s := NewSet(schemeConn{do: m.answer}, o)
	i := For(s, opts)
	for _, src := range i.core.sources {
		src.reflector = reflector.New(m, src, reflector.Options{NoWatchList: o.NoWatchList, OnError: src.failed, List: client.ListOptions{LabelSelector: opts.LabelSelector}})
	}
	return s, i
}

// follower is a handler that rebuilds the collection from events and checks each against its copy.
type follower struct {
	t     *testing.T
	mu    sync.Mutex
	known map[types.NamespacedName]*corev1.ConfigMap
	calls int
	slow  func() time.Duration
	// added is true once the handler is; unseen are the states that readers have got since, and the handler
	// has not.
	added  bool
	seen   map[string]bool
	unseen map[string]bool
}

func newFollower(t *testing.T) *follower {
	return &follower{t: t, known: map[types.NamespacedName]*corev1.ConfigMap{}, seen: map[string]bool{}, unseen: map[string]bool{}}
}

// read is called with what a reader has got.
func (f *follower) read(objs ...*corev1.ConfigMap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range objs {
		if state := string(o.UID) + "@" + o.ResourceVersion; f.added && !f.seen[state] {
			f.unseen[state] = true
		}
	}
}

func (f *follower) handle(ev Event[*corev1.ConfigMap]) {
	if f.slow != nil {
		time.Sleep(f.slow())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if ev.Type != Deleted {
		state := string(ev.UID) + "@" + ev.ResourceVersion
		f.seen[state] = true
		delete(f.unseen, state)
	}
	old := f.known[ev.Key]
	switch ev.Type {
	case Added:
		require.Nil(f.t, old, "%s added twice", ev.Key)
		require.Nil(f.t, ev.Old())
		f.known[ev.Key] = ev.New()
	case Updated:
		require.NotNil(f.t, old, "%s updated before it was added", ev.Key)
		require.Equal(f.t, old.ResourceVersion, ev.Old().ResourceVersion, "old is what was delivered before")
		require.Equal(f.t, old.UID, ev.New().UID)
		if !ev.Resync {
			require.Greater(f.t, num(ev.New().ResourceVersion), num(old.ResourceVersion), "delivered twice or backwards")
		}
		f.known[ev.Key] = ev.New()
	case Deleted:
		require.NotNil(f.t, old, "%s deleted before it was added", ev.Key)
		require.Equal(f.t, old.UID, ev.UID)
		require.Nil(f.t, ev.New())
		require.Equal(f.t, old.UID, ev.Old().UID)
		delete(f.known, ev.Key)
	}
}

func num(v string) uint64 {
	n, _ := strconv.ParseUint(v, 10, 64)
	return n
}

// TestRandomHistories runs an informer against a server that changes and fails at random. Handlers fast and
// slow, early and late must each see a consistent sequence with every state that a reader has got, and
// everything must agree in the end.
func TestRandomHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newHistory(t, seed).run() })
		})
		if !ok {
			return
		}
	}
}

// history is one history of [TestRandomHistories].
type history struct {
	t     *testing.T
	rng   *rand.Rand
	m     *model
	set   *Set
	inf   *Informer[*corev1.ConfigMap]
	byV   Index[*corev1.ConfigMap]
	regs  []*Registration
	waits *seeds.Draws // how long the informer waits

	fast, slow, late *follower
}

func newHistory(t *testing.T, seed uint64) *history {
	rng, m := seeds.Stream(seed, 2), newModel(seed)
	m.faulty = true
	m.noWL = rng.IntN(2) == 0
	m.spoils, m.leaves = rng.IntN(2) == 0, rng.IntN(2) == 0
	for range rng.IntN(10) {
		m.step()
	}
	h := &history{t: t, rng: rng, m: m, waits: seeds.NewDraws(seed)}
	h.set, h.inf = modelInformer(m, SetOptions{NoWatchList: rng.IntN(4) == 0, Decoded: rng.IntN(4) == 0, DetectMutations: rng.IntN(4) == 0}, Options[*corev1.ConfigMap]{})
	h.byV = h.inf.Index(DefineIndex("v", func(cm *corev1.ConfigMap) []string { return []string{cm.Data["v"]} }))
	h.fast, h.slow, h.late = newFollower(t), newFollower(t), newFollower(t)
	slowRNG := seeds.Stream(seed, 3)
	h.slow.slow = func() time.Duration { return time.Duration(slowRNG.IntN(400)) * time.Millisecond }
	return h
}

func (h *history) run() {
	ctx, cancel := context.WithCancel(backoff.WithJitter(h.t.Context(), func() float64 { return h.waits.For("wait").Float64() }))
	done := make(chan struct{})
	h.inf.AddHandler(h.fast.handle, HandlerOptions{})
	h.fast.added, h.slow.added = true, true
	h.regs = []*Registration{h.inf.AddHandler(h.slow.handle, HandlerOptions{Resync: time.Duration(h.rng.IntN(2)) * 7 * time.Second})}
	go func() { defer close(done); _ = h.set.Run(ctx) }()
	h.steps()
	h.m.mu.Lock()
	h.m.faulty, h.m.missing = false, false
	h.m.mu.Unlock()
	require.NoError(h.t, h.set.WaitForSync(ctx))
	// A stalled stream takes 9 s to be noticed, a backoff up to 30 s.
	time.Sleep(2 * time.Minute)
	h.m.mu.Lock()
	want, bad := maps.Clone(h.m.objs), map[types.NamespacedName]*corev1.ConfigMap{}
	h.m.mu.Unlock()
	require.Equal(h.t, len(want), h.inf.Status().Objects)
	for k, o := range want {
		if o.Data[spoiled] != "" {
			bad[k] = o
			delete(want, k)
		}
	}
	h.followersAgree(want, bad)
	h.readsAgree(want, bad)
	if !h.m.noWL && h.m.lists == 0 {
		require.Positive(h.t, h.m.watches)
	}
	cancel()
	<-done
}

// steps changes the collection and lets the server fail. The late handler is added at one of the steps.
func (h *history) steps() {
	steps := 20 + h.rng.IntN(60)
	lateAt := h.rng.IntN(steps)
	for i := range steps {
		time.Sleep(time.Duration(h.rng.IntN(200)) * time.Millisecond)
		h.m.step()
		if h.rng.IntN(8) == 0 {
			h.m.upset()
		}
		if i == lateAt {
			h.regs = append(h.regs, h.inf.AddHandler(h.late.handle, HandlerOptions{}))
			h.late.added = true
		}
		if h.rng.IntN(3) == 0 {
			// With an error, the list has what could be read.
			objs, _ := h.inf.Lister().List(ListOptions{})
			for _, f := range []*follower{h.fast, h.slow, h.late} {
				f.read(objs...)
			}
		}
		if h.rng.IntN(30) == 0 {
			h.inf.core.sources[0].reflector.Relist("")
		}
	}
}

// followersAgree checks that every handler knows want, and of the objects of bad, which cannot be decoded, an
// earlier state or none.
func (h *history) followersAgree(want, bad map[types.NamespacedName]*corev1.ConfigMap) {
	for _, f := range []*follower{h.fast, h.slow, h.late} {
		f.mu.Lock()
		known := maps.Clone(f.known)
		for k, o := range bad {
			if old := known[k]; old != nil {
				require.Equal(h.t, o.UID, old.UID)
				require.NotEqual(h.t, o.ResourceVersion, old.ResourceVersion)
				delete(known, k)
			}
		}
		require.Equal(h.t, versions(want), versions(known))
		require.Empty(h.t, f.unseen, "readers got these states")
		f.mu.Unlock()
	}
	for _, r := range h.regs {
		require.True(h.t, r.HasSynced())
	}
}

// readsAgree checks that lister and index return want, with errors that name the objects of bad.
func (h *history) readsAgree(want, bad map[types.NamespacedName]*corev1.ConfigMap) {
	t, l := h.t, h.inf.Lister()
	got := map[types.NamespacedName]*corev1.ConfigMap{}
	listed, err := l.List(ListOptions{})
	leavesOut(t, bad, err)
	for _, cm := range listed {
		got[cm.Key()] = cm
		keys, err := h.byV.Keys(cm.Data["v"])
		leavesOut(t, bad, err)
		require.Equal(t, []types.NamespacedName{cm.Key()}, keys)
	}
	require.Equal(t, versions(want), versions(got))
	values, err := h.byV.Values()
	leavesOut(t, bad, err)
	require.Len(t, values, len(want))
	require.Len(t, must(l.Keys(ListOptions{})), len(want)+len(bad))
	for k := range bad {
		require.True(t, must(l.Has(k)))
		_, err := l.Get(k)
		require.ErrorAs(t, err, new(*client.DecodeError))
	}
}

// leavesOut checks that a result without some objects has an error that names them.
func leavesOut(t *testing.T, bad map[types.NamespacedName]*corev1.ConfigMap, err error) {
	if len(bad) == 0 {
		require.NoError(t, err)
		return
	}
	var partial *client.PartialError
	require.ErrorAs(t, err, &partial)
	require.Len(t, partial.Items, len(bad))
	for _, item := range partial.Items {
		require.Contains(t, bad, item.Key)
	}
}

func versions(m map[types.NamespacedName]*corev1.ConfigMap) map[types.NamespacedName]string {
	out := map[types.NamespacedName]string{}
	for k, o := range m {
		out[k] = string(o.UID) + "@" + o.ResourceVersion + "=" + o.Data["v"]
	}
	return out
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
