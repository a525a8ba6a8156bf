package informers

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
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
)

// serve is the model's side of writes and live reads.
func (m *model) serve(r *client.Request) (*client.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	gr := r.Resource.GroupResource()
	var body corev1.ConfigMap
	if len(r.Body) > 0 && r.Method != "DELETE" {
		raw := r.Body[4:]
		// The envelope's second field is the object.
		n := int(raw[1]) + 2
		raw = raw[n+1:]
		size, shift := 0, 0
		for i, b := range raw {
			size |= int(b&0x7f) << shift
			if shift += 7; b < 0x80 {
				raw = raw[i+1 : i+1+size]
				break
			}
		}
		if err := codec.UnmarshalProto(raw, &body); err != nil {
			panic(err)
		}
		key = body.Key()
	}
	old := m.objs[key]
	reply := func(o *corev1.ConfigMap) (*client.Response, error) {
		b, err := codec.Marshal(o)
		return &client.Response{Code: 200, ContentType: client.MediaJSON, Body: append([]byte(`{"kind":"ConfigMap","apiVersion":"v1",`), b[1:]...)}, err
	}
	switch r.Method {
	case "POST":
		if old != nil {
			return nil, apierrors.NewAlreadyExists(gr, key.Name)
		}
		made := codec.DeepCopy(&body)
		made.UID = types.UID(fmt.Sprintf("uid-%d", m.rev))
		m.write(client.Added, made)
		return reply(made)
	case "PUT":
		if old == nil {
			return nil, apierrors.NewNotFound(gr, key.Name)
		}
		if body.ResourceVersion != "" && body.ResourceVersion != old.ResourceVersion {
			return nil, apierrors.NewConflict(gr, key.Name, fmt.Errorf("changed"))
		}
		next := codec.DeepCopy(&body)
		next.UID = old.UID
		m.write(client.Modified, next)
		return reply(next)
	case "DELETE":
		if old == nil {
			return nil, apierrors.NewNotFound(gr, key.Name)
		}
		gone := codec.DeepCopy(old)
		m.write(client.Deleted, gone)
		if m.rng.IntN(2) == 0 {
			return reply(old)
		}
		s := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: key.Name}}
		if m.rng.IntN(2) == 0 {
			s.Details.UID = old.UID
		}
		b, err := codec.Marshal(s)
		return &client.Response{Code: 200, ContentType: client.MediaJSON, Body: b}, err
	}
	if old == nil {
		return nil, apierrors.NewNotFound(gr, key.Name)
	}
	return reply(old)
}

// answer is serve, with responses that are late. An object may be created and deleted while no watch works.
func (m *model) answer(r *client.Request) (*client.Response, error) {
	vanishes := r.Method == "POST" && m.delay() > time.Second
	if vanishes {
		m.breakStreams()
	}
	resp, err := m.serve(r)
	if vanishes && err == nil {
		m.vanish()
	}
	time.Sleep(m.delay())
	return resp, err
}

// breakStreams ends all watches.
func (m *model) breakStreams() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.streams {
		s.fail(io.EOF)
	}
}

// vanish deletes the object that was written last, and compacts all versions.
func (m *model) vanish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := m.log[len(m.log)-1]; last.typ == client.Added {
		m.write(client.Deleted, codec.DeepCopy(last.obj))
		m.floor = m.rev
	}
}

func (m *model) delay() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.late == nil {
		return 0
	}
	return time.Duration(m.late.IntN(2e9))
}

// visible reports whether a reader may see got of key after the state at version v: whether it is that state,
// or a later one that existed.
func (m *model) visible(key types.NamespacedName, v uint64, sel labels.Selector, got *corev1.ConfigMap) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := func(e modelEvent) *corev1.ConfigMap {
		if e.typ == client.Deleted || !sel.Matches(e.obj.Labels) {
			return nil
		}
		return e.obj
	}
	for i := len(m.log) - 1; i >= 0; i-- {
		e := m.log[i]
		if e.obj.Key() != key {
			continue
		}
		s := state(e)
		if s == nil && got == nil || s != nil && got != nil && s.UID == got.UID && s.ResourceVersion == got.ResourceVersion {
			return true
		}
		if e.rev <= v {
			return false
		}
	}
	return got == nil
}

// TestOwnWritesAreNeverUnseen writes at random through a set, while others write too, responses are late and
// the watch lags, fails and stalls: no read is older than the last write through the set, and handlers see
// every state that was read and every object that was created.
func TestOwnWritesAreNeverUnseen(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, rng := newOwnWrites(t, seed)
				h.run(rng)
			})
		})
		if !ok {
			return
		}
	}
}

// ownWrites is one history of [TestOwnWritesAreNeverUnseen].
type ownWrites struct {
	t    *testing.T
	seed uint64
	m    *model
	sel  labels.Selector
	set  *Set
	inf  *Informer[*corev1.ConfigMap]
	byV  Index[*corev1.ConfigMap]

	handlers []*follower

	mu   sync.Mutex
	made []types.UID
}

func newOwnWrites(t *testing.T, seed uint64) (h *ownWrites, rng *rand.Rand) {
	rng = seeds.Stream(seed, 4)
	h = &ownWrites{t: t, seed: seed, m: newModel(seed)}
	h.m.faulty = true
	h.m.noWL = rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		h.m.late = seeds.Stream(seed, 6)
	}
	if rng.IntN(2) == 0 {
		h.sel = labels.SelectorFromSet(labels.Set{"parity": "0"})
	}
	h.set, h.inf = modelInformer(h.m, SetOptions{}, Options[*corev1.ConfigMap]{LabelSelector: h.sel})
	h.byV = h.inf.Index(DefineIndex("v", func(cm *corev1.ConfigMap) []string { return []string{cm.Data["v"]} }))
	for i, most := range []int{1, 400} {
		f, slow := newFollower(t), seeds.Stream(seed, uint64(20+i))
		f.slow, f.added = func() time.Duration { return time.Duration(slow.IntN(most)) * time.Millisecond }, true
		h.handlers = append(h.handlers, f)
		h.inf.AddHandler(f.handle, HandlerOptions{})
	}
	return h, rng
}

func (h *ownWrites) run(rng *rand.Rand) {
	waits := seeds.NewDraws(h.seed)
	ctx, cancel := context.WithCancel(backoff.WithJitter(h.t.Context(), func() float64 { return waits.For("wait").Float64() }))
	done := make(chan struct{})
	go func() { defer close(done); _ = h.set.Run(ctx) }()
	require.NoError(h.t, h.set.WaitForSync(ctx))
	var wg sync.WaitGroup
	// Two writers of the set, each on its own keys; the model's own steps touch all of them.
	for w := range 2 {
		wg.Go(func() { h.writer(ctx, w) })
	}
	for range 60 {
		time.Sleep(time.Duration(1 + rng.IntN(1e8))) // never in step with the writers or a stream
		if rng.IntN(2) == 0 {
			h.m.step()
		}
		synctest.Wait() // or a stream might see what follows before the change
		if rng.IntN(10) == 0 {
			h.m.upset()
			synctest.Wait()
		}
	}
	wg.Wait()
	h.m.mu.Lock()
	h.m.faulty = false
	h.m.mu.Unlock()
	time.Sleep(2 * time.Minute)
	h.agrees()
	time.Sleep(2 * forgetDeleted)
	h.m.step()
	time.Sleep(time.Minute)
	require.Zero(h.t, h.inf.Status().Overlay)
	cancel()
	<-done
}

// writer writes at random through the set, and reads after each write.
func (h *ownWrites) writer(ctx context.Context, w int) {
	cms, rng := client.For[*corev1.ConfigMap](h.set.Conn()), seeds.Stream(h.seed, uint64(10+w))
	for range 40 {
		time.Sleep(time.Duration(1 + rng.IntN(1.2e8))) // never in step with the other writer or the rest
		key := types.NamespacedName{Namespace: "ns" + strconv.Itoa(w), Name: "o" + strconv.Itoa(rng.IntN(6))}
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name = key.Namespace, key.Name
		cm.Labels = map[string]string{"parity": strconv.Itoa(rng.IntN(2))}
		cm.Data = map[string]string{"v": fmt.Sprint(rng.IntN(5))}
		var err error
		var made *corev1.ConfigMap
		before := h.m.last()
		switch rng.IntN(3) {
		case 0:
			if made, err = cms.Create(ctx, cm); err == nil {
				h.created(made)
			}
		case 1:
			made, err = cms.Update(ctx, cm)
		case 2:
			err = cms.Delete(ctx, key)
		}
		switch {
		case err != nil:
		case made != nil:
			h.sees(key, num(made.ResourceVersion))
		default:
			h.sees(key, before+1)
		}
	}
}

// created notes that the handlers must see an object that the set has created, unless another one has its
// name.
func (h *ownWrites) created(cm *corev1.ConfigMap) {
	c := h.inf.core
	c.mu.RLock()
	b := c.base(cm.Key())
	c.mu.RUnlock()
	if !h.sel.Matches(cm.Labels) || b != nil && b.uid != cm.UID {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made = append(h.made, cm.UID)
}

// sees checks that no read of a key is older than a write at version since.
func (h *ownWrites) sees(key types.NamespacedName, since uint64) {
	t, l := h.t, h.inf.Lister()
	got, err := l.Get(key)
	if err != nil {
		require.True(t, apierrors.IsNotFound(err))
		got = nil
	} else {
		for _, f := range h.handlers {
			f.read(got)
		}
	}
	require.True(t, h.m.visible(key, since, h.sel, got), "seed %d: after a write at %d of %s: %v", h.seed, since, key, got)
	listed := 0
	for _, k := range must(l.Keys(ListOptions{})) {
		if k == key {
			listed++
		}
	}
	want := 0
	if got != nil {
		want = 1
		require.Contains(t, must(h.byV.Keys(got.Data["v"])), key)
	}
	require.Equal(t, want, listed)
}

// agrees checks that the copy is the collection of the model.
func (h *ownWrites) agrees() {
	want := map[types.NamespacedName]*corev1.ConfigMap{}
	for k, o := range h.m.objs {
		if h.sel.Matches(o.Labels) {
			want[k] = o
		}
	}
	got := map[types.NamespacedName]*corev1.ConfigMap{}
	for _, cm := range must(h.inf.Lister().List(ListOptions{})) {
		require.NotContains(h.t, got, cm.Key())
		got[cm.Key()] = cm
		require.Contains(h.t, must(h.byV.Keys(cm.Data["v"])), cm.Key())
	}
	require.Equal(h.t, versions(want), versions(got))
	for _, f := range h.handlers {
		f.mu.Lock()
		require.Equal(h.t, versions(want), versions(f.known))
		require.Empty(h.t, f.unseen, "readers got these states")
		seen := map[types.UID]bool{}
		for state := range f.seen {
			uid, _, _ := strings.Cut(state, "@")
			seen[types.UID(uid)] = true
		}
		for _, uid := range h.made {
			require.True(h.t, seen[uid], "seed %d: %s was created", h.seed, uid)
		}
		f.mu.Unlock()
	}
}

// last returns the version of the last write.
func (m *model) last() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rev
}

// An own write is removed when the watch of its namespace has reached it, even if the watch of a namespace
// that was written to before is behind.
func TestAnOwnWriteDoesNotWaitForOtherNamespaces(t *testing.T) {
	var v overlay[*corev1.ConfigMap]
	behind, current := &source[*corev1.ConfigMap]{namespace: "a", version: "1"}, &source[*corev1.ConfigMap]{namespace: "b", version: "1"}
	for i, s := range []*source[*corev1.ConfigMap]{behind, current} {
		v.put(&ownWrite[*corev1.ConfigMap]{key: types.NamespacedName{Namespace: s.namespace, Name: "x"}, version: strconv.Itoa(10 + i)}, s)
	}
	current.version = "12"
	var changed []types.NamespacedName
	v.sweep(current, func(e *ownWrite[*corev1.ConfigMap]) { changed = append(changed, e.key) })
	require.Equal(t, []types.NamespacedName{{Namespace: "b", Name: "x"}}, changed)
	require.Len(t, v.byKey, 1)
}

// A deletion of which it is not known what it has deleted hides the name until the collection has been read
// again. An object that is visible again then is repeated to handlers, for which nothing has changed.
func TestAnObjectThatIsVisibleAgainIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(1)
		m.step()
		set, inf := modelInformer(m, SetOptions{}, Options[*corev1.ConfigMap]{})
		repeated := 0
		inf.AddHandler(func(ev Event[*corev1.ConfigMap]) {
			if ev.Resync {
				repeated++
			}
		}, HandlerOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = set.Run(ctx) }()
		require.NoError(t, set.WaitForSync(ctx))
		for key := range m.objs {
			inf.observe(client.Write{Verb: "delete", Key: key, Removed: true})
			require.False(t, must(inf.Lister().Has(key)))
			time.Sleep(time.Minute)
			require.True(t, must(inf.Lister().Has(key)))
		}
		require.Equal(t, 1, repeated)
		cancel()
		<-done
	})
}
