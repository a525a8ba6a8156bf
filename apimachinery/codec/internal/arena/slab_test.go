package arena_test

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/codec/internal/codectest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// encodedPod is a random Pod in both encodings, and what each of them says.
type encodedPod struct {
	json, proto         []byte
	fromJSON, fromProto *corev1.Pod
}

func randomPod(t testing.TB, seed int64) encodedPod {
	var p corev1.Pod
	codectest.APIFiller(seed).NilChance(.5).Fuzz(&p)
	var e encodedPod
	var err error
	e.json, err = codec.Marshal(&p)
	require.NoError(t, err)
	e.proto, err = codec.MarshalProto(&p)
	require.NoError(t, err)
	e.fromJSON, e.fromProto = e.decode(t)
	return e
}

func (e encodedPod) decode(t testing.TB) (fromJSON, fromProto *corev1.Pod) {
	fromJSON, fromProto = &corev1.Pod{}, &corev1.Pod{}
	require.NoError(t, codec.Unmarshal(e.json, fromJSON))
	require.NoError(t, codec.UnmarshalProto(e.proto, fromProto))
	return fromJSON, fromProto
}

// Objects whose parts come from one block, because those before them had the same shape, are what the first
// was, share nothing with it and survive the collector, also where the expected shape turns out to be
// another.
func TestDecodedObjectsOfOneShape(t *testing.T) {
	var before encodedPod
	for n, seed := range codectest.Seeds(t, 60) {
		pod := randomPod(t, seed)
		for round := range 4 {
			fromJSON, fromProto := pod.decode(t)
			if before.json != nil && round == 2 {
				before.decode(t)
			}
			if n%8 == 0 {
				runtime.GC()
			}
			require.Equal(t, pod.fromJSON, fromJSON, "seed %d", seed)
			require.Equal(t, pod.fromProto, fromProto, "seed %d", seed)
			codectest.RequireDisjoint(t, reflect.ValueOf(pod.fromJSON), reflect.ValueOf(fromJSON), fmt.Sprintf("seed %d: ", seed))
			codectest.RequireDisjoint(t, reflect.ValueOf(pod.fromProto), reflect.ValueOf(fromProto), fmt.Sprintf("seed %d: ", seed))
		}
		before = pod
	}
}

// Appending to a slice of a decoded object must not run into its neighbour in the block.
func TestDecodedSlicesDoNotOverlap(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "a", Args: []string{"x"}}, {Name: "b", Args: []string{"y"}}}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
	pod.Finalizers = []string{"f", "g"}
	text, err := codec.Marshal(pod)
	require.NoError(t, err)
	body, err := codec.MarshalProto(pod)
	require.NoError(t, err)
	// One fewer than expected: its memory is reserved, and used by no other object.
	pod.Finalizers = pod.Finalizers[:1]
	short, err := codec.Marshal(pod)
	require.NoError(t, err)
	for round := range 8 {
		var p corev1.Pod
		switch {
		case round == 4:
			require.NoError(t, codec.Unmarshal(short, &p))
		case round%2 == 0:
			require.NoError(t, codec.Unmarshal(text, &p))
		default:
			require.NoError(t, codec.UnmarshalProto(body, &p))
		}
		p.Finalizers = append(p.Finalizers, "new")
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "new"})
		p.Spec.Containers[0].Args = append(p.Spec.Containers[0].Args, "new")
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "new"})
		require.Equal(t, []string{"x", "new"}, p.Spec.Containers[0].Args)
		require.Equal(t, []string{"y"}, p.Spec.Containers[1].Args)
		require.Equal(t, "new", p.Finalizers[len(p.Finalizers)-1])
		require.Equal(t, []corev1.Toleration{{Key: "k"}, {Key: "new"}}, p.Spec.Tolerations)
	}
}

// Items of a list are objects of their own, whatever stands between them.
func TestListsOfManyShapes(t *testing.T) {
	list := &corev1.PodList{}
	var want []*corev1.Pod
	for seed := range int64(40) {
		pod := randomPod(t, 1000+seed%7)
		list.Items = append(list.Items, pod.fromProto)
		want = append(want, pod.fromProto)
	}
	text, err := codec.Marshal(list)
	require.NoError(t, err)
	body, err := codec.MarshalProto(list)
	require.NoError(t, err)
	for range 3 {
		fromJSON, fromProto := &corev1.PodList{}, &corev1.PodList{}
		require.NoError(t, codec.Unmarshal(text, fromJSON))
		require.NoError(t, codec.UnmarshalProto(body, fromProto))
		runtime.GC()
		require.Equal(t, want, fromProto.Items)
		again, err := codec.Marshal(fromJSON)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	}
}

// A decode that fails in the middle leaves nothing behind for the next.
func TestFailuresBetweenObjectsOfOneShape(t *testing.T) {
	pod := randomPod(t, 5)
	list := `{"items":[` + string(pod.json) + `,{"metadata":{"finalizers":["a"]},"spec":{"containers":[{"name":1}]}}]}`
	for range 5 {
		fromJSON, fromProto := pod.decode(t)
		require.Equal(t, pod.fromJSON, fromJSON)
		require.Equal(t, pod.fromProto, fromProto)
		var p corev1.Pod
		require.Error(t, codec.Unmarshal(pod.json[:len(pod.json)-2], &p))
		require.Equal(t, corev1.Pod{}, p)
		require.Error(t, codec.UnmarshalProto(pod.proto[:len(pod.proto)-1], &p))
		require.Equal(t, corev1.Pod{}, p)
		var l metav1.List[*corev1.Pod]
		require.ErrorContains(t, codec.Unmarshal([]byte(list), &l), "items[1].spec.containers[0].name")
		require.Empty(t, l.Items)
	}
}

func TestDecodersAtOnce(t *testing.T) {
	pods := make([]encodedPod, 5)
	for i := range pods {
		pods[i] = randomPod(t, int64(i))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				pod := pods[(i/(g+1))%len(pods)]
				p, q := &corev1.Pod{}, &corev1.Pod{}
				if err := codec.Unmarshal(pod.json, p); err != nil || !codec.Equal(p, pod.fromJSON) {
					t.Error("JSON decoded differs", err)
				}
				if err := codec.UnmarshalProto(pod.proto, q); err != nil || !codec.Equal(q, pod.fromProto) {
					t.Error("protobuf decoded differs", err)
				}
			}
		})
	}
	wg.Wait()
}

// Maps that lie in a block change, grow and shrink like others, and so do their copies, each alone.
func TestMapsOfOneBlockGrow(t *testing.T) {
	for _, entries := range []int{0, 1, 7, 8, 9, 40} {
		pod := &corev1.Pod{}
		pod.Finalizers = []string{"a"}
		pod.Labels, pod.Annotations = map[string]string{}, map[string]string{"only": "one"}
		limits := corev1.ResourceList{}
		for i := range entries {
			pod.Labels[fmt.Sprint("label-", i)] = fmt.Sprint("value ", i)
			limits[corev1.ResourceName(fmt.Sprint("resource-", i))] = resource.NewQuantity(int64(i), resource.DecimalSI)
		}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Limits: limits, Requests: corev1.ResourceList{"cpu": limits["resource-0"]}}}}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
		text, err := codec.Marshal(pod)
		require.NoError(t, err)
		body, err := codec.MarshalProto(pod)
		require.NoError(t, err)
		for range 4 {
			fromJSON, fromProto := &corev1.Pod{}, &corev1.Pod{}
			require.NoError(t, codec.Unmarshal(text, fromJSON))
			require.NoError(t, codec.UnmarshalProto(body, fromProto))
			for _, p := range []*corev1.Pod{fromJSON, fromProto, codec.DeepCopy(pod), codec.DeepCopy(fromProto)} {
				if p.Labels == nil { // empty ones are not written
					p.Labels = map[string]string{}
				}
				if p.Spec.Containers[0].Resources.Limits == nil {
					p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{}
				}
				c := codec.DeepCopy(p)
				require.True(t, codec.Equal(pod, c))
				list := c.Spec.Containers[0].Resources.Limits
				for i := range 30 {
					c.Labels[fmt.Sprint("more-", i)] = "x"
					list[corev1.ResourceName(fmt.Sprint("more-", i))] = resource.NewQuantity(1, resource.DecimalSI)
				}
				runtime.GC()
				require.Len(t, c.Labels, entries+30)
				require.Len(t, list, entries+30)
				require.Equal(t, map[string]string{"only": "one"}, c.Annotations)
				require.True(t, codec.Equal(pod, p), "the source of a copy stays")
				for i := range 30 {
					delete(c.Labels, fmt.Sprint("more-", i))
					delete(list, corev1.ResourceName(fmt.Sprint("more-", i)))
				}
				require.True(t, codec.Equal(pod, c))
			}
		}
	}
}
