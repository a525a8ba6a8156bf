package informers

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/informers/reflector"
)

// benchPod is an ordinary running Pod; its protobuf form is about 1.6 kB.
func benchPod(i int) *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name = fmt.Sprintf("team-%d", i%50), fmt.Sprintf("web-%d-7d9c5b8f6d-x%04d", i%1000, i)
	p.GenerateName = fmt.Sprintf("web-%d-7d9c5b8f6d-", i%1000)
	p.UID = types.UID(fmt.Sprintf("6f1c2f44-0000-4000-8000-%012d", i))
	p.ResourceVersion = strconv.Itoa(1000 + i)
	p.CreationTimestamp = metav1.Unix(1767225600, 0)
	p.Labels = map[string]string{"app": fmt.Sprintf("web-%d", i%1000), "pod-template-hash": "7d9c5b8f6d", "team": fmt.Sprintf("team-%d", i%50)}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9c5b8f6d", UID: "0d3b0bd2-5f1e-4a52-a9e5-0d6d57a6a1f1", Controller: new(true), BlockOwnerDeletion: new(true)}}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"0d3b0bd2\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{},"f:resources":{}}}}}`)}}}
	p.Spec.NodeName = fmt.Sprintf("node-%d", i%500)
	p.Spec.RestartPolicy = corev1.RestartPolicyAlways
	p.Spec.ServiceAccountName = "default"
	p.Spec.SchedulerName = "default-scheduler"
	p.Spec.Containers = []corev1.Container{{
		Name: "web", Image: "registry.example.com/team/web:v1.2.3", ImagePullPolicy: corev1.PullIfNotPresent,
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Env:   []corev1.EnvVar{{Name: "MODE", Value: "production"}, {Name: "LOG_LEVEL", Value: "info"}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{"memory": resource.MustParse("256Mi")},
		},
		VolumeMounts:             []corev1.VolumeMount{{Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
		TerminationMessagePath:   "/dev/termination-log",
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}}
	p.Status.Phase = corev1.PodRunning
	p.Status.HostIP, p.Status.PodIP = "10.0.0.1", "10.244.1.17"
	p.Status.PodIPs = []corev1.PodIP{{IP: "10.244.1.17"}}
	for _, c := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: "True", LastTransitionTime: metav1.Unix(1767225601, 0)})
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "web", Ready: true, Started: new(true), Image: "registry.example.com/team/web:v1.2.3",
		ImageID:     "registry.example.com/team/web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		ContainerID: "containerd://2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1767225602, 0)}},
	}}
	return p
}

// frames is the body of a watch: every object, the end mark, as protobuf frames.
func frames(objs [][]byte, version string, initial bool) []byte {
	var out []byte
	frame := func(typ string, body []byte) {
		ev := appendField(nil, 1, []byte(typ))
		ev = appendField(ev, 2, appendField(nil, 1, body))
		out = append(out, byte(len(ev)>>24), byte(len(ev)>>16), byte(len(ev)>>8), byte(len(ev)))
		out = append(out, ev...)
	}
	for _, o := range objs {
		frame("ADDED", o)
	}
	if initial {
		bm := &corev1.Pod{}
		bm.ResourceVersion = version
		bm.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		frame("BOOKMARK", envelope(bm))
	}
	return out
}

func appendField(b []byte, n int, v []byte) []byte {
	b = append(b, byte(n<<3|2))
	l := uint64(len(v))
	for l >= 0x80 {
		b = append(b, byte(l)|0x80)
		l >>= 7
	}
	return append(append(b, byte(l)), v...)
}

func envelope(p *corev1.Pod) []byte {
	raw, err := codec.MarshalProto(p)
	if err != nil {
		panic(err)
	}
	b := []byte("k8s\x00")
	b = appendField(b, 1, appendField(appendField(nil, 1, []byte("v1")), 2, []byte("Pod")))
	return appendField(b, 2, raw)
}

// heap is the live heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkInformerSync50k is the first sync of 50,000 Pods from encoded events, without the network, and
// what it leaves in memory.
func BenchmarkInformerSync50k(b *testing.B) {
	const n = 50_000
	objs := make([][]byte, n)
	size := 0
	for i := range objs {
		objs[i] = envelope(benchPod(i))
		size += len(objs[i])
	}
	body := frames(objs, "100000", true)
	for _, mode := range []string{"lazy", "handler reads spec"} {
		b.Run(mode, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				set := NewSet(schemeConn{}, SetOptions{})
				inf := For[*corev1.Pod](set)
				seen := 0
				reg := inf.AddHandler(func(ev Event[*corev1.Pod]) {
					if mode != "lazy" && ev.New().Spec.NodeName == "" {
						panic("no node")
					}
					seen++
				}, HandlerOptions{})
				lw := &replay{body: body}
				src := inf.core.sources[0]
				src.reflector = reflector.New(lw, src, reflector.Options{})
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan struct{})
				go func() { defer close(done); _ = set.Run(ctx) }()
				<-reg.Synced()
				if seen != n {
					b.Fatal(seen)
				}
				b.StopTimer()
				b.ReportMetric(float64(heap()-before)/n, "heap-B/pod")
				b.ReportMetric(float64(size)/n, "wire-B/pod")
				b.StartTimer()
				cancel()
				<-done
				runtime.KeepAlive(inf)
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/pod")
		})
	}
}

// replay is a server that answers a watch with recorded bytes.
type replay struct {
	body []byte
}

func (r *replay) Served(context.Context) (bool, error) { return true, nil }

func (r *replay) List(context.Context, client.ListOptions) (*client.EncodedList, error) {
	return nil, fmt.Errorf("not served")
}

func (r *replay) Watch(ctx context.Context, opts client.EncodedWatchOptions) (reflector.Stream, error) {
	c := client.For[*corev1.Pod](streamConn{body: r.body})
	opts.DropManagedFields = true
	return c.WatchEncoded(ctx, opts)
}

// BenchmarkInformerEvents is the handling of watch events by an informer of 10,000 Pods with one handler.
func BenchmarkInformerEvents(b *testing.B) {
	for _, mode := range []string{"lazy", "handler reads spec"} {
		b.Run(mode, func(b *testing.B) {
			const n = 10_000
			_, inf := filled(b, n)
			total := 0
			reg := inf.AddHandler(func(ev Event[*corev1.Pod]) {
				if mode != "lazy" && ev.New().Spec.NodeName == "" {
					panic("no node")
				}
				total++
			}, HandlerOptions{})
			<-reg.Synced()
			src := inf.core.sources[0]

			frame := make([][]byte, 1000)
			for i := range frame {
				frame[i], _ = codec.MarshalProto(benchPod(i))
			}
			b.ResetTimer()
			for i := range b.N {
				e, err := client.ScanEncoded(client.Protobuf, append([]byte(nil), frame[i%len(frame)]...))
				if err != nil {
					b.Fatal(err)
				}
				e.ResourceVersion = strconv.Itoa(1_000_000 + i)
				src.Apply(client.EncodedEvent{Type: client.Modified, Object: e})
				// A reader as fast as the network: without coalescing.
				if i%64 == 63 {
					for {
						if d, _ := reg.Backlog(); d == 0 {
							break
						}
						runtime.Gosched()
					}
				}
			}
			for {
				if d, _ := reg.Backlog(); d == 0 {
					break
				}
				runtime.Gosched()
			}
		})
	}
}

var benchNodes = DefineIndex("node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })

// filled is an informer that holds n Pods.
func filled(tb testing.TB, n int) (*Set, *Informer[*corev1.Pod]) {
	objs := make([][]byte, n)
	for i := range objs {
		objs[i] = envelope(benchPod(i))
	}
	set := NewSet(schemeConn{}, SetOptions{})
	inf := For[*corev1.Pod](set)
	src := inf.core.sources[0]
	src.reflector = reflector.New(&replay{body: frames(objs, "100000", true)}, src, reflector.Options{})
	inf.Index(benchNodes)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = set.Run(ctx) }()
	tb.Cleanup(func() { cancel(); <-done })
	wait, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	require.NoError(tb, set.WaitForSync(wait))
	return set, inf
}

// BenchmarkListerGet returns private copies; the difference between "hot" and "copy alone" is the overhead of
// the lister.
func BenchmarkListerGet(b *testing.B) {
	_, inf := filled(b, 10_000)
	l := inf.Lister()
	k := metav1.KeyOf(benchPod(77))
	b.Run("hot", func(b *testing.B) {
		b.ReportAllocs()
		l.View(k, func(keep *corev1.Pod) {
			for b.Loop() {
				if _, err := l.Get(k); err != nil {
					b.Fatal(err)
				}
			}
			runtime.KeepAlive(keep)
		})
	})
	b.Run("copy alone", func(b *testing.B) {
		b.ReportAllocs()
		l.View(k, func(p *corev1.Pod) {
			for b.Loop() {
				codec.DeepCopy(p)
			}
		})
	})
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		keys := must(l.Keys(ListOptions{}))
		i := 0
		for b.Loop() {
			if _, err := l.Get(keys[i%len(keys)]); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
}

func BenchmarkListerView(b *testing.B) {
	_, inf := filled(b, 10_000)
	l := inf.Lister()
	k := metav1.KeyOf(benchPod(77))
	b.ReportAllocs()
	l.View(k, func(keep *corev1.Pod) {
		for b.Loop() {
			if l.View(k, func(p *corev1.Pod) {}) != nil {
				b.Fatal("gone")
			}
		}
		runtime.KeepAlive(keep)
	})
}

func BenchmarkIndexLookup(b *testing.B) {
	_, inf := filled(b, 10_000)
	byNode := inf.Index(benchNodes)
	b.Run("keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(must(byNode.Keys("node-77"))) != 20 {
				b.Fatal("wrong")
			}
		}
	})
	b.Run("copies", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(must(byNode.List("node-77"))) != 20 {
				b.Fatal("wrong")
			}
		}
	})
}
