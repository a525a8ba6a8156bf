package interop

import (
	"bytes"
	"context"
	"encoding/binary"
	stdjson "encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	upcorev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upruntime "k8s.io/apimachinery/pkg/runtime"
	uptypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	ourrest "github.com/keelson-dev/keelson/client/rest"
	ourinformers "github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// firstEvent is the version of the first change served after the initial state. All versions are as long, so
// that one can be written over another.
const firstEvent = 2_000_000_000

// podFeed serves the initial state of a watch of Pods from memory, without any server behind it, and then as
// many changes as requested.
type podFeed struct {
	*pipenet.Listener
	initial []byte
	changes [][]byte // frames of changes, with the version at offsets
	offsets []int
	next    atomic.Int64 // changes served
	wanted  chan int     // changes to serve
}

// feedPods serves n Pods. Handlers recognise the end of what they wait for by the resourceVersion.
func feedPods(b *testing.B, n int) *podFeed {
	raw, err := os.ReadFile("testdata/pod.json")
	require.NoError(b, err)
	p := &upcorev1.Pod{}
	require.NoError(b, stdjson.Unmarshal(raw, p))
	f := &podFeed{Listener: pipenet.New(), wanted: make(chan int)}
	for i := range n {
		p.Namespace, p.Name = "default", fmt.Sprintf("pod-%06d", i)
		p.UID, p.ResourceVersion = uptypes.UID(fmt.Sprintf("6f1c2f44-0000-4000-8000-%012d", i)), strconv.Itoa(firstEvent/2+i)
		p.Spec.NodeName = fmt.Sprintf("node-%03d", i%500)
		f.initial = appendFrame(b, f.initial, "ADDED", p)
		if i < 5000 {
			p.ResourceVersion = strconv.Itoa(firstEvent)
			frame := appendFrame(b, nil, "MODIFIED", p)
			f.changes, f.offsets = append(f.changes, frame), append(f.offsets, bytes.Index(frame, []byte(p.ResourceVersion)))
		}
	}
	end := &upcorev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(firstEvent - 1), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	f.initial = appendFrame(b, f.initial, "BOOKMARK", end)
	srv := &http.Server{Handler: f}
	go func() { _ = srv.Serve(f.Listener) }()
	b.Cleanup(func() { _ = srv.Close() })
	return f
}

// appendFrame appends one event of a watch as it is on the wire in protobuf.
func appendFrame(b *testing.B, to []byte, typ string, p *upcorev1.Pod) []byte {
	raw, err := p.Marshal()
	require.NoError(b, err)
	envelope, err := (&upruntime.Unknown{TypeMeta: upruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}).Marshal()
	require.NoError(b, err)
	ev, err := (&metav1.WatchEvent{Type: typ, Object: upruntime.RawExtension{Raw: append([]byte("k8s\x00"), envelope...)}}).Marshal()
	require.NoError(b, err)
	return append(binary.BigEndian.AppendUint32(to, uint32(len(ev))), ev...)
}

// ServeHTTP answers a watch-list and refuses everything else.
func (f *podFeed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") != "true" {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", protoType+";stream=watch")
	flush := http.NewResponseController(w).Flush
	_, _ = io.Copy(w, bytes.NewReader(f.initial))
	_ = flush()
	var batch []byte
	for {
		select {
		case <-r.Context().Done():
			return
		case n := <-f.wanted:
			for n > 0 {
				batch = batch[:0]
				for range min(n, 64) {
					v := f.next.Add(1) - 1
					i := int(v) % len(f.changes)
					copy(f.changes[i][f.offsets[i]:], strconv.FormatInt(firstEvent+v, 10))
					batch = append(batch, f.changes[i]...)
					n--
				}
				_, _ = w.Write(batch)
				_ = flush()
			}
		}
	}
}

// heap is the live heap in bytes.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// peak watches the heap, garbage included, until the function it returns is called, which returns the
// maximum.
func peak() func() float64 {
	stop, result := make(chan struct{}), make(chan float64)
	go func() {
		var most uint64
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(s)
			most = max(most, s[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-stop:
				result <- float64(most)
				return
			}
		}
	}()
	return func() float64 { close(stop); return <-result }
}

// running is an informer that has synced.
type running struct {
	keep any
	stop func()
}

// syncOurs starts an informer of ours; handle, if not nil, is called with the version of every Pod and a
// function that reads its spec.
func syncOurs(b *testing.B, f *podFeed, o ourinformers.SetOptions, handle func(version string, spec func() string)) (running, *ourinformers.Informer[*corev1.Pod]) {
	ctx, cancel := context.WithCancel(b.Context())
	conn, err := ourrest.New(ourrest.Config{Host: "http://pipe", Dial: f.Dial}, ourrest.Options{})
	require.NoError(b, err)
	set := ourinformers.NewSet(conn, o)
	inf := ourinformers.For[*corev1.Pod](set)
	var reg *ourinformers.Registration
	if handle != nil {
		reg = inf.AddHandler(func(e ourinformers.Event[*corev1.Pod]) {
			handle(e.ResourceVersion, func() string { return e.New().Spec.NodeName })
		}, ourinformers.HandlerOptions{})
	}
	done := make(chan struct{})
	go func() { _ = set.Run(ctx); close(done) }()
	require.NoError(b, set.WaitForSync(ctx))
	if reg != nil {
		<-reg.Synced()
	}
	return running{inf, func() { cancel(); <-done; _ = conn.Close() }}, inf
}

// syncTheirs does the same with client-go's.
func syncTheirs(b *testing.B, f *podFeed, handle func(version string, spec func() string)) (running, cache.SharedIndexInformer) {
	ctx, cancel := context.WithCancel(b.Context())
	cs, err := kubernetes.NewForConfig(&rest.Config{Host: "http://pipe", Dial: f.Dial, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: protoType}})
	require.NoError(b, err)
	factory := informers.NewSharedInformerFactory(cs, 0)
	inf := factory.Core().V1().Pods().Informer()
	require.NoError(b, inf.AddIndexers(cache.Indexers{"node": func(obj any) ([]string, error) { return []string{obj.(*upcorev1.Pod).Spec.NodeName}, nil }}))
	synced := inf.HasSynced
	if handle != nil {
		tell := func(obj any) {
			p := obj.(*upcorev1.Pod)
			handle(p.ResourceVersion, func() string { return p.Spec.NodeName })
		}
		reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, obj any) { tell(obj) }})
		require.NoError(b, err)
		synced = reg.HasSynced
	}
	factory.StartWithContext(ctx)
	require.True(b, cache.WaitForCacheSync(ctx.Done(), synced))
	return running{inf, func() { cancel(); factory.Shutdown() }}, inf
}

// syncs measures one side: the processor time and the wall time until the informer and its handler have
// everything, the memory in use afterwards and the maximum.
func syncs(b *testing.B, name string, n int, start func(b *testing.B) running) {
	b.Run(name, func(b *testing.B) {
		var used, stays, most float64
		for b.Loop() {
			b.StopTimer()
			before := heap()
			b.StartTimer()
			began, top := cpu(b), peak()
			r := start(b)
			used += float64(cpu(b) - began)
			b.StopTimer()
			most = max(most, top()-before)
			stays = heap() - before
			runtime.KeepAlive(r.keep)
			r.stop()
			b.StartTimer()
		}
		b.ReportMetric(used/float64(b.N)/float64(n), "cpu-ns/pod")
		b.ReportMetric(stays/float64(n), "heap-B/pod")
		b.ReportMetric(most/float64(n), "peak-B/pod")
	})
}

// reads are handlers: none at all, and one that looks at the spec of each object.
var reads = []struct {
	prefix string
	handle func(version string, spec func() string)
}{
	{"", nil},
	{"spec/", func(_ string, spec func() string) {
		if spec() == "" {
			panic("a Pod without a node")
		}
	}},
}

// BenchmarkInformerSync50k is the first sync of 50,000 Pods (or KEELSON_BENCH_PODS) over HTTP from a server
// that only sends recorded bytes, whose small cost is included in the figures of both sides.
func BenchmarkInformerSync50k(b *testing.B) {
	n := 50_000
	if s := os.Getenv("KEELSON_BENCH_PODS"); s != "" {
		v, err := strconv.Atoi(s)
		require.NoError(b, err)
		n = v
	}
	f := feedPods(b, n)
	for _, h := range reads {
		syncs(b, h.prefix+"keelson", n, func(b *testing.B) running {
			r, _ := syncOurs(b, f, ourinformers.SetOptions{}, h.handle)
			return r
		})
		syncs(b, h.prefix+"upstream", n, func(b *testing.B) running {
			r, _ := syncTheirs(b, f, h.handle)
			return r
		})
	}
}

// changes measures how long b.N changes take to reach the handler of one side.
func changes(b *testing.B, name string, f *podFeed, reads bool, start func(b *testing.B, handle func(string, func() string)) running) {
	b.Run(name, func(b *testing.B) {
		last, arrived := f.next.Load(), make(chan struct{}, 1)
		var want atomic.Int64
		var handled atomic.Int64
		want.Store(-1)
		r := start(b, func(version string, spec func() string) {
			if reads && spec() == "" {
				panic("a Pod without a node")
			}
			handled.Add(1)
			if v, _ := strconv.ParseInt(version, 10, 64); v == want.Load() {
				arrived <- struct{}{}
			}
		})
		defer r.stop()
		handled.Store(0)
		want.Store(firstEvent + last + int64(b.N) - 1)
		b.ResetTimer()
		began := cpu(b)
		f.wanted <- b.N
		<-arrived
		b.ReportMetric(float64(cpu(b)-began)/float64(b.N), "cpu-ns/op")
		b.ReportMetric(float64(handled.Load())/float64(b.N), "handled/op")
	})
}

// BenchmarkInformerEvents is changes of 5,000 Pods, one by one, from the wire to one handler.
func BenchmarkInformerEvents(b *testing.B) {
	f := feedPods(b, 5000)
	for i, h := range reads {
		changes(b, h.prefix+"keelson", f, i == 1, func(b *testing.B, handle func(string, func() string)) running {
			r, _ := syncOurs(b, f, ourinformers.SetOptions{}, handle)
			return r
		})
		changes(b, h.prefix+"upstream", f, i == 1, func(b *testing.B, handle func(string, func() string)) running {
			r, _ := syncTheirs(b, f, handle)
			return r
		})
	}
}

var benchKey = types.NamespacedName{Namespace: "default", Name: "pod-000042"}

// BenchmarkListerGet returns a private copy of an object whose decoded form is in memory, as a reconciler
// that changes it needs; cold, of one that must be decoded.
func BenchmarkListerGet(b *testing.B) {
	f := feedPods(b, 10_000)
	r, inf := syncOurs(b, f, ourinformers.SetOptions{}, nil)
	defer r.stop()
	theirs, upinf := syncTheirs(b, f, nil)
	defer theirs.stop()
	lister, store := inf.Lister(), upinf.GetStore()
	var ours *corev1.Pod
	lister.View(benchKey, func(p *corev1.Pod) { ours = p })
	loop(b, "keelson", func() error {
		p, err := lister.Get(benchKey)
		kept.ours = p
		return err
	})
	runtime.KeepAlive(ours)
	get := func(key string) error {
		obj, there, err := store.GetByKey(key)
		if err != nil || !there {
			return fmt.Errorf("not found: %w", err)
		}
		kept.theirs = obj.(*upcorev1.Pod).DeepCopy()
		return nil
	}
	loop(b, "upstream", func() error { return get("default/pod-000042") })
	keys := must(lister.Keys(ourinformers.ListOptions{}))
	i := 0
	loop(b, "cold/keelson", func() error {
		p, err := lister.Get(keys[i%len(keys)])
		kept.ours = p
		i++
		return err
	})
	loop(b, "cold/upstream", func() error { i++; return get(keys[i%len(keys)].String()) })
}

// BenchmarkListerView reads an object without a copy.
func BenchmarkListerView(b *testing.B) {
	f := feedPods(b, 10_000)
	r, inf := syncOurs(b, f, ourinformers.SetOptions{}, nil)
	defer r.stop()
	theirs, upinf := syncTheirs(b, f, nil)
	defer theirs.stop()
	lister, store := inf.Lister(), upinf.GetStore()
	nodes := 0
	var ours *corev1.Pod
	lister.View(benchKey, func(p *corev1.Pod) { ours = p })
	loop(b, "keelson", func() error {
		lister.View(benchKey, func(p *corev1.Pod) { nodes += len(p.Spec.NodeName) })
		return nil
	})
	runtime.KeepAlive(ours)
	loop(b, "upstream", func() error {
		obj, _, err := store.GetByKey("default/pod-000042")
		nodes += len(obj.(*upcorev1.Pod).Spec.NodeName)
		return err
	})
}

// BenchmarkIndexLookup finds the 20 of 10,000 Pods of one node: their keys, and shared objects to look at.
func BenchmarkIndexLookup(b *testing.B) {
	f := feedPods(b, 10_000)
	r, inf := syncOurs(b, f, ourinformers.SetOptions{}, nil)
	defer r.stop()
	byNode := inf.Index(ourinformers.DefineIndex("node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }))
	theirs, upinf := syncTheirs(b, f, nil)
	defer theirs.stop()
	indexer := upinf.GetIndexer()
	wrong := func(n int, err error) error {
		if n != 20 || err != nil {
			return fmt.Errorf("%d Pods: %w", n, err)
		}
		return nil
	}
	loop(b, "keys/keelson", func() error {
		keys, err := byNode.Keys("node-077")
		return wrong(len(keys), err)
	})
	loop(b, "keys/upstream", func() error {
		keys, err := indexer.IndexKeys("node", "node-077")
		return wrong(len(keys), err)
	})
	var held []*corev1.Pod
	require.NoError(b, byNode.View("node-077", func(p *corev1.Pod) bool { held = append(held, p); return true }))
	loop(b, "view/keelson", func() error {
		n := 0
		err := byNode.View("node-077", func(*corev1.Pod) bool { n++; return true })
		return wrong(n, err)
	})
	runtime.KeepAlive(held)
	loop(b, "view/upstream", func() error {
		objs, err := indexer.ByIndex("node", "node-077")
		return wrong(len(objs), err)
	})
}
