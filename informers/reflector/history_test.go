package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
)

// server is a collection with its whole history, served in pages and in streams that fail at random.
type server struct {
	mu      sync.Mutex
	rng     *rand.Rand // of the goroutine that changes and upsets
	answers *rand.Rand // drawn in the reflector's goroutine
	rev     uint64
	log     []happening // one for each version after the first
	floor   uint64      // versions below are compacted
	streams map[*stream]struct{}
	faulty  bool
	refuses bool // watch-list
	missing bool // the resource is not served
	absents int  // how often in a row discovery was queried for a missing resource
}

// happening is one change: the object after it, or for a deletion the last state with the version of the
// deletion.
type happening struct {
	rev uint64
	typ client.EventType
	key string
}

const firstVersion = 100

func newServer(seed uint64) *server {
	return &server{rng: seeds.Stream(seed, 1), answers: seeds.Stream(seed, 2), rev: firstVersion, streams: map[*stream]struct{}{}}
}

// at is the collection at a version: names and the version each was changed at.
func (s *server) at(rev uint64) map[string]uint64 {
	state := map[string]uint64{}
	for _, h := range s.log {
		if h.rev > rev {
			break
		}
		if h.typ == client.Deleted {
			delete(state, h.key)
		} else {
			state[h.key] = h.rev
		}
	}
	return state
}

func (s *server) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rev++
	h := happening{rev: s.rev, typ: client.Added, key: "o" + strconv.Itoa(s.rng.IntN(7))}
	if _, there := s.at(s.rev)[h.key]; there {
		h.typ = []client.EventType{client.Modified, client.Modified, client.Deleted}[s.rng.IntN(3)]
	}
	s.log = append(s.log, h)
	for st := range s.streams {
		st.poke()
	}
}

// upset compacts, ends or stalls streams, or takes the resource away.
func (s *server) upset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := s.rng.IntN(7)
	if kind == 0 || kind == 4 {
		s.floor = s.rev - uint64(s.rng.IntN(3))
	}
	if kind == 6 {
		s.missing = !s.missing
	}
	for st := range s.streams {
		switch kind {
		case 1, 6:
			st.err = io.EOF
		case 2:
			st.err = io.ErrUnexpectedEOF
		case 3:
			st.stalled = true
		case 4:
			st.err = apierrors.NewResourceExpired("the version is too old")
		case 5:
			st.garbage = true
		}
		st.poke()
	}
}

// heal stops all faults that have not begun.
func (s *server) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faulty, s.missing = false, false
}

func (s *server) fault() error {
	if s.missing {
		return missing
	}
	if !s.faulty {
		return nil
	}
	switch s.answers.IntN(10) {
	case 3:
		return missing // as a proxy would answer
	case 0:
		return throttled
	case 1:
		return broken
	case 2:
		return apierrors.NewInternalError(broken)
	}
	return nil
}

func object(key string, rev uint64) client.Encoded {
	e, err := client.ScanEncoded(client.JSON, fmt.Appendf(nil, `{"metadata":{"namespace":"ns","name":%q,"uid":"u","resourceVersion":"%d"}}`, key, rev))
	if err != nil {
		panic(err)
	}
	return e
}

func bookmark(rev uint64, end bool) client.EncodedEvent {
	e := object("", rev)
	e.InitialEventsEnd = end
	return client.EncodedEvent{Type: client.Bookmark, Object: e}
}

// List implements ListerWatcher. A token names the version of the first page and where to go on.
func (s *server) List(_ context.Context, opts client.ListOptions) (*client.EncodedList, error) {
	s.mu.Lock()
	slow := time.Duration(s.answers.IntN(int(200 * time.Millisecond)))
	s.mu.Unlock()
	time.Sleep(slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(); err != nil {
		return nil, err
	}
	rev, after := s.rev, ""
	if opts.Continue != "" {
		version, name, _ := strings.Cut(opts.Continue, "/")
		rev, _ = strconv.ParseUint(version, 10, 64)
		after = name
		if rev < s.floor {
			return nil, expired
		}
	}
	if v, err := strconv.ParseUint(opts.ResourceVersion, 10, 64); err == nil && v > s.rev {
		return nil, apierrors.NewTimeout("too large resource version", 1)
	}
	l := &client.EncodedList{ResourceVersion: strconv.FormatUint(rev, 10)}
	state := s.at(rev)
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if key <= after {
			continue
		}
		if opts.Limit > 0 && int64(len(l.Items)) == opts.Limit {
			l.Continue = l.ResourceVersion + "/" + l.Items[len(l.Items)-1].Key.Name
			break
		}
		l.Items = append(l.Items, object(key, state[key]))
	}
	return l, nil
}

// Served implements ListerWatcher.
func (s *server) Served(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faulty && s.answers.IntN(4) == 0 {
		return false, broken
	}
	if s.absents++; !s.missing {
		s.absents = 0
	}
	return !s.missing, nil
}

// Watch implements ListerWatcher.
func (s *server) Watch(_ context.Context, opts client.EncodedWatchOptions) (Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(); err != nil {
		return nil, err
	}
	st := &stream{s: s, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	if opts.SendInitialEvents {
		if s.refuses {
			return nil, refused
		}
		state := s.at(s.rev)
		for _, key := range slices.Sorted(maps.Keys(state)) {
			st.initial = append(st.initial, client.EncodedEvent{Type: client.Added, Object: object(key, state[key])})
		}
		st.initial = append(st.initial, bookmark(s.rev, true))
		st.from = s.rev
	} else {
		v, err := strconv.ParseUint(opts.ResourceVersion, 10, 64)
		if err != nil {
			return nil, apierrors.NewBadRequest("resourceVersion")
		}
		if v < s.floor {
			return nil, expired
		}
		st.from = v
	}
	s.streams[st] = struct{}{}
	return st, nil
}

// stream is one watch. Its fields are guarded by the server's lock.
type stream struct {
	s       *server
	wake    chan struct{}
	closed  chan struct{}
	once    sync.Once
	initial []client.EncodedEvent
	from    uint64
	err     error
	stalled bool
	garbage bool
}

func (st *stream) poke() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// Close implements Stream.
func (st *stream) Close() error {
	st.once.Do(func() { close(st.closed) })
	return nil
}

var errClosed = errors.New("closed")

// Next implements Stream.
func (st *stream) Next() (client.EncodedEvent, error) {
	for {
		ev, err, wait := st.step()
		var after <-chan time.Time
		if wait > 0 {
			after = time.After(wait)
		}
		wake := st.wake
		if err != nil || ev != nil {
			wake = nil
		}
		select {
		case <-st.closed:
			return client.EncodedEvent{}, errClosed
		case <-after:
		case <-wake:
		}
		switch {
		case err != nil:
			return client.EncodedEvent{}, err
		case ev != nil:
			return *ev, nil
		}
	}
}

// step returns what the stream does next, and how long that takes.
func (st *stream) step() (*client.EncodedEvent, error, time.Duration) {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	delay := time.Duration(1 + s.answers.IntN(int(40*time.Millisecond)))
	switch {
	case st.stalled:
		return nil, client.ErrSilent, 9 * time.Second
	case st.garbage:
		st.garbage = false
		return &client.EncodedEvent{Type: client.Error, Err: errors.New("an event that cannot be read")}, nil, delay
	case st.err != nil:
		delete(s.streams, st)
		if errors.Is(st.err, io.EOF) || errors.Is(st.err, io.ErrUnexpectedEOF) {
			return nil, st.err, delay
		}
		ev := &client.EncodedEvent{Type: client.Error, Err: st.err}
		st.err = io.EOF
		return ev, nil, delay
	case len(st.initial) > 0:
		ev := st.initial[0]
		st.initial = st.initial[1:]
		return &ev, nil, delay
	}
	if i := int(st.from - firstVersion); i < len(s.log) {
		h := s.log[i]
		st.from = h.rev
		return &client.EncodedEvent{Type: h.typ, Object: object(h.key, h.rev)}, nil, delay
	}
	if s.answers.IntN(3) == 0 {
		ev := bookmark(st.from, false)
		return &ev, nil, delay
	}
	return nil, nil, 3 * time.Second
}

// witness is a sink that checks the promises of a reflector.
type witness struct {
	t      *testing.T
	s      *server
	inside atomic.Int32
	synced bool
	pos    uint64
	state  map[string]uint64
	gones  int
}

// alone fails the test if another call is under way; the function it returns ends this call.
func (w *witness) alone() func() {
	require.EqualValues(w.t, 1, w.inside.Add(1), "two calls at a time")
	return func() { w.inside.Add(-1) }
}

func (w *witness) number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	require.NoError(w.t, err)
	return n
}

// Unreadable implements Copy.
func (r *reading) Unreadable(err *client.DecodeError) { require.NoError(r.w.t, err) }

// Missed implements Sink.
func (w *witness) Missed(err *client.DecodeError) { require.NoError(w.t, err) }

// Begin implements Sink.
func (w *witness) Begin() Copy {
	defer w.alone()()
	return &reading{w: w, state: map[string]uint64{}}
}

// Apply implements Sink: it must be the change that follows.
func (w *witness) Apply(ev client.EncodedEvent) {
	defer w.alone()()
	require.True(w.t, w.synced, "a change before the first copy")
	w.s.mu.Lock()
	want := w.s.log[w.pos-firstVersion]
	w.s.mu.Unlock()
	require.Equal(w.t, want, happening{rev: w.number(ev.Object.ResourceVersion), typ: ev.Type, key: ev.Object.Key.Name})
	w.pos = want.rev
	if ev.Type == client.Deleted {
		delete(w.state, want.key)
	} else {
		w.state[want.key] = want.rev
	}
}

// Progress implements Sink.
func (w *witness) Progress(version string) {
	defer w.alone()()
	require.Equal(w.t, w.pos, w.number(version), "changes were left out")
}

// NotServed implements Sink.
func (w *witness) NotServed() {
	defer w.alone()()
	w.s.mu.Lock()
	absents := w.s.absents
	w.s.mu.Unlock()
	if w.synced {
		require.GreaterOrEqual(w.t, absents, 3, "emptied without being sure")
	} else {
		require.Positive(w.t, absents)
	}
	w.gones++
	w.synced, w.state = false, map[string]uint64{}
}

type reading struct {
	w     *witness
	state map[string]uint64
}

// Add implements Copy.
func (r *reading) Add(e client.Encoded) {
	defer r.w.alone()()
	r.state[e.Key.Name] = r.w.number(e.ResourceVersion)
}

// Remove implements Copy.
func (r *reading) Remove(e client.Encoded) {
	defer r.w.alone()()
	delete(r.state, e.Key.Name)
}

// Commit implements Copy: the copy must be the collection at one version, and not an older one than before.
func (r *reading) Commit(version string) {
	defer r.w.alone()()
	w := r.w
	n := w.number(version)
	w.s.mu.Lock()
	want := w.s.at(n)
	w.s.mu.Unlock()
	require.Equal(w.t, want, r.state)
	require.GreaterOrEqual(w.t, n, w.pos, "went back")
	w.synced, w.pos, w.state = true, n, r.state
}

// TestRandomHistories runs a reflector against a server that changes and fails at random: its sink must be
// called exactly as the package comment promises, and receive everything in the end.
func TestRandomHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 500) {
		synctest.Test(t, func(t *testing.T) { history(t, seed) })
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

// TestASeedIsAHistory runs seeds twice: what happens, and when, is the same to the byte.
func TestASeedIsAHistory(t *testing.T) {
	for seed := range uint64(20) {
		var traces [2]string
		for i := range traces {
			synctest.Test(t, func(t *testing.T) { traces[i] = history(t, seed) })
		}
		require.Greater(t, strings.Count(traces[0], "\n"), 20)
		require.Equal(t, traces[0], traces[1], "seed %d", seed)
	}
}

func history(t *testing.T, seed uint64) (trace string) {
	rng := seeds.Rand(seed)
	s := newServer(seed)
	s.faulty, s.refuses = true, rng.IntN(3) == 0
	for range rng.IntN(10) {
		s.change()
	}
	w := &witness{t: t, s: s, state: map[string]uint64{}}
	var steps strings.Builder
	r := New(s, w, Options{
		NoWatchList: rng.IntN(3) == 0, PageSize: int64(1 + rng.IntN(4)),
		Observe: func(in Input, _ Machine, cmd Command) {
			fmt.Fprintln(&steps, time.Now().Format(time.RFC3339Nano), in.Outcome, in.Version, in.Err, cmd.Do, cmd.Version, cmd.After)
		},
	})
	ctx, cancel := context.WithCancel(backoff.WithJitter(t.Context(), seeds.Stream(seed, 3).Float64))
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	for range 20 + rng.IntN(60) {
		time.Sleep(time.Duration(rng.IntN(int(200 * time.Millisecond))))
		s.change()
		if rng.IntN(8) == 0 {
			s.upset()
		}
		if rng.IntN(25) == 0 {
			s.mu.Lock()
			rev := s.rev
			s.mu.Unlock()
			r.Relist([]string{"", strconv.FormatUint(rev, 10), strconv.FormatUint(rev+5, 10)}[rng.IntN(3)])
		}
	}
	s.heal()
	// A stalled stream takes 9 s to be noticed, a backoff up to 30 s.
	time.Sleep(3 * time.Minute)
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, s.at(s.rev), w.state)
	require.Equal(t, s.rev, w.pos)
	return steps.String()
}
