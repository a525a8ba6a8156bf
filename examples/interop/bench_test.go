package interop

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	upcorev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	upqueue "k8s.io/client-go/util/workqueue"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	ourrest "github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	ourinformers "github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/pipenet"
	"github.com/keelson-dev/keelson/workqueue"
)

// Every benchmark here has a sub-benchmark /keelson and one /upstream that do the same work. Only their ratio counts.

func newUpstreamQueue() upqueue.TypedRateLimitingInterface[types.NamespacedName] {
	return upqueue.NewTypedRateLimitingQueue(upqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
}

func queueKeys(n int) []types.NamespacedName {
	keys := make([]types.NamespacedName, n)
	for i := range keys {
		keys[i] = types.NamespacedName{Namespace: "default", Name: "object-" + strconv.Itoa(i)}
	}
	return keys
}

func BenchmarkQueueAddGetDone(b *testing.B) {
	keys, ctx := queueKeys(1024), context.Background()
	b.Run("keelson", func(b *testing.B) {
		q := workqueue.New(workqueue.Options[types.NamespacedName]{})
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			q.Add(keys[i&1023])
			k, _ := q.Get(ctx)
			q.Done(k)
		}
	})
	b.Run("upstream", func(b *testing.B) {
		q := newUpstreamQueue()
		defer q.ShutDown()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			q.Add(keys[i&1023])
			k, _ := q.Get()
			q.Done(k)
		}
	})
}

// BenchmarkQueueParallel is eight goroutines that each add a key, take one and finish it.
func BenchmarkQueueParallel(b *testing.B) {
	type key struct{ worker, i int64 }
	run := func(name string, step func(key)) {
		b.Run(name, func(b *testing.B) {
			var worker atomic.Int64
			b.SetParallelism(max(1, 8/runtime.GOMAXPROCS(0)))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				k := key{worker: worker.Add(1) + time.Now().UnixNano()}
				for pb.Next() {
					k.i++
					step(k)
				}
			})
		})
	}
	ctx := context.Background()
	ours := workqueue.New(workqueue.Options[key]{})
	run("keelson", func(k key) {
		ours.Add(k)
		got, _ := ours.Get(ctx)
		ours.Done(got)
	})
	theirs := upqueue.NewTypedRateLimitingQueue(upqueue.DefaultTypedControllerRateLimiter[key]())
	defer theirs.ShutDown()
	run("upstream", func(k key) {
		theirs.Add(k)
		got, _ := theirs.Get()
		theirs.Done(got)
	})
}

func BenchmarkQueueAddAfter(b *testing.B) {
	keys := queueKeys(100_000)
	run := func(name string, add func(types.NamespacedName, time.Duration), end func()) {
		b.Run(name, func(b *testing.B) {
			defer end()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				add(keys[i%len(keys)], time.Duration(i%1000+1)*time.Hour)
			}
		})
	}
	ours := workqueue.New(workqueue.Options[types.NamespacedName]{})
	run("keelson", ours.AddAfter, func() {})
	ours.ShutDown()
	theirs := newUpstreamQueue()
	run("upstream", theirs.AddAfter, func() {})
	theirs.ShutDown()
}

// podsServed is how many Pods the informer benchmarks sync: 5,000, or KEELSON_BENCH_PODS (the budget is for 50,000).
func podsServed(b *testing.B) int {
	n := 5000
	if s := os.Getenv("KEELSON_BENCH_PODS"); s != "" {
		v, err := strconv.Atoi(s)
		require.NoError(b, err)
		n = v
	}
	return n
}

// replayed serves the initial state of a watch of n Pods, recorded from our server, without any server behind it.
func replayed(b *testing.B, n int) *pipenet.Listener {
	raw, _, _, _ := benchPod(b)
	c := controllertest.Start(b, controllertest.Options{})
	cs, err := kubernetes.NewForConfig(clientGo(c, protoType))
	require.NoError(b, err)
	for i := range n {
		p := &upcorev1.Pod{}
		require.NoError(b, stdjson.Unmarshal(raw, p))
		name, status := fmt.Sprintf("pod-%06d", i), p.Status
		p.ObjectMeta.Namespace, p.ObjectMeta.Name, p.ResourceVersion, p.UID = "default", name, "", ""
		p.ManagedFields, p.OwnerReferences, p.Finalizers, p.DeletionTimestamp = nil, nil, nil, nil
		for i := range p.Spec.Containers {
			p.Spec.Containers[i].VolumeMounts = nil // their volumes are made by the server
		}
		made, err := cs.CoreV1().Pods("default").Create(b.Context(), p, metav1.CreateOptions{})
		require.NoError(b, err)
		made.Status = status
		_, err = cs.CoreV1().Pods("default").UpdateStatus(b.Context(), made, metav1.UpdateOptions{})
		require.NoError(b, err)
	}
	const query = "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, controllertest.Host+query, nil)
	require.NoError(b, err)
	req.Header.Set("Accept", "application/vnd.kubernetes.protobuf;stream=watch")
	resp, err := c.Transport().RoundTrip(req)
	require.NoError(b, err)
	require.Equal(b, 200, resp.StatusCode)
	body, err := io.ReadAll(resp.Body)
	require.NoError(b, err)
	contentType := resp.Header.Get("Content-Type")

	l := pipenet.New()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("sendInitialEvents") != "true" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.Copy(w, bytes.NewReader(body))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})}
	go func() { _ = srv.Serve(l) }()
	b.Cleanup(func() { _ = srv.Close() })
	return l
}

// heap is the live heap in bytes.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// syncs runs sync, which returns when the informer is complete, and stop, and reports the memory in between.
func syncs(b *testing.B, name string, n int, sync func(ctx context.Context) (keep any, stop func())) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, cancel := context.WithCancel(b.Context())
			b.StopTimer()
			before := heap()
			b.StartTimer()
			keep, stop := sync(ctx)
			b.StopTimer()
			b.ReportMetric((heap()-before)/float64(n), "heap-B/pod")
			runtime.KeepAlive(keep)
			cancel()
			stop()
			b.StartTimer()
		}
	})
}

func BenchmarkInformerSync(b *testing.B) {
	n := podsServed(b)
	l := replayed(b, n)
	syncs(b, "keelson", n, func(ctx context.Context) (any, func()) {
		conn, err := ourrest.New(ourrest.Config{Host: "http://pipe", Dial: l.Dial}, ourrest.Options{})
		require.NoError(b, err)
		set := ourinformers.NewSet(conn, ourinformers.SetOptions{})
		inf := ourinformers.For[*corev1.Pod](set)
		done := make(chan struct{})
		go func() { _ = set.Run(ctx); close(done) }()
		require.NoError(b, set.WaitForSync(ctx))
		require.Equal(b, n, inf.Lister().Len())
		return inf, func() { <-done; _ = conn.Close() }
	})
	syncs(b, "upstream", n, func(ctx context.Context) (any, func()) {
		cs, err := kubernetes.NewForConfig(&rest.Config{Host: "http://pipe", Dial: l.Dial, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: protoType}})
		require.NoError(b, err)
		f := informers.NewSharedInformerFactory(cs, 0)
		inf := f.Core().V1().Pods().Informer()
		f.Start(ctx.Done())
		require.True(b, cache.WaitForCacheSync(ctx.Done(), inf.HasSynced))
		require.Len(b, inf.GetStore().ListKeys(), n)
		return inf, f.Shutdown
	})
}

func BenchmarkListerGet(b *testing.B) {
	l := replayed(b, 100)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	conn, err := ourrest.New(ourrest.Config{Host: "http://pipe", Dial: l.Dial}, ourrest.Options{})
	require.NoError(b, err)
	set := ourinformers.NewSet(conn, ourinformers.SetOptions{})
	ours := ourinformers.For[*corev1.Pod](set).Lister()
	go func() { _ = set.Run(ctx) }()
	require.NoError(b, set.WaitForSync(ctx))
	cs, err := kubernetes.NewForConfig(&rest.Config{Host: "http://pipe", Dial: l.Dial, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: protoType}})
	require.NoError(b, err)
	f := informers.NewSharedInformerFactory(cs, 0)
	theirs := f.Core().V1().Pods()
	theirs.Informer()
	f.Start(ctx.Done())
	f.WaitForCacheSync(ctx.Done())
	lister := theirs.Lister().Pods("default")
	key := types.NamespacedName{Namespace: "default", Name: "pod-000042"}
	// A private copy, as a reconciler needs that is about to change it.
	loop(b, "keelson", func() error { _, err := ours.Get(key); return err })
	loop(b, "upstream", func() error {
		p, err := lister.Get("pod-000042")
		if err == nil {
			p = p.DeepCopy()
			runtime.KeepAlive(p)
		}
		return err
	})
	// A look at the shared object.
	loop(b, "view/keelson", func() error { ours.View(key, func(*corev1.Pod) {}); return nil })
	loop(b, "view/upstream", func() error { _, err := lister.Get("pod-000042"); return err })
}
