package deep_test

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
)

// Copies made in one block (from the second copy of a shape on) are as
// independent as others, and survive the collector in the middle of things.
func TestCopiesOfOneShape(t *testing.T) {
	for _, seed := range codectest.Seeds(t, 60) {
		var v codectest.Shape
		codectest.Filler(seed).Fuzz(&v)
		pod := &corev1.Pod{}
		codectest.APIFiller(seed).Fuzz(pod)
		for range 4 {
			c, p := codec.DeepCopy(&v), codec.DeepCopy(pod)
			if seed%16 == 0 {
				runtime.GC()
			}
			require.Equal(t, &v, c, "seed %d", seed)
			codectest.RequireDisjoint(t, reflect.ValueOf(&v), reflect.ValueOf(c), fmt.Sprintf("seed %d: ", seed))
			require.True(t, codec.Equal(pod, p), "seed %d", seed)
			codectest.RequireDisjoint(t, reflect.ValueOf(pod), reflect.ValueOf(p), fmt.Sprintf("seed %d: ", seed))
		}
	}
}

// Appending to a slice of a copy must not run into its neighbour in the block.
func TestCopiedSlicesDoNotOverlap(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "a", Args: []string{"x"}}, {Name: "b", Args: []string{"y"}}}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
	pod.Finalizers = []string{"f"}
	for range 4 {
		c := codec.DeepCopy(pod)
		c.Spec.Containers = append(c.Spec.Containers, corev1.Container{Name: "new"})
		c.Spec.Containers[0].Args = append(c.Spec.Containers[0].Args, "new")
		c.Spec.Tolerations = append(c.Spec.Tolerations, corev1.Toleration{Key: "new"})
		c.Finalizers = append(c.Finalizers, "new")
		require.Equal(t, []string{"x", "new"}, c.Spec.Containers[0].Args)
		require.Equal(t, []string{"y"}, c.Spec.Containers[1].Args)
		require.Equal(t, []string{"f", "new"}, c.Finalizers)
		require.Len(t, pod.Spec.Containers, 2)
	}
}

func TestManyShapesAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 400 {
				svc := &corev1.Service{}
				svc.Spec.Ports = make([]corev1.ServicePort, 1+(i+g)%50)
				svc.Spec.ExternalIPs = make([]string, 1+i%7)
				svc.Spec.ClusterIPs = []string{"a"}
				svc.Finalizers = []string{"f"}
				if c := codec.DeepCopy(svc); !reflect.DeepEqual(c, svc) {
					t.Error("copy differs")
				}
			}
		})
	}
	wg.Wait()
}
