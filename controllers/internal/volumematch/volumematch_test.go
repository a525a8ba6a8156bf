package volumematch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
)

func gigabytes(n int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.NewQuantity(int64(n)<<30, resource.BinarySI)}
}

func volume(name string, size int, modes ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.Capacity, v.Spec.AccessModes, v.Spec.StorageClassName = gigabytes(size), modes, "disk"
	v.Status.Phase = corev1.VolumeAvailable
	return v
}

func claim(name string, size int) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid"}}
	c.Spec.Resources.Requests, c.Spec.StorageClassName = gigabytes(size), new("disk")
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	return c
}

func request(t *testing.T, c *corev1.PersistentVolumeClaim) volumematch.Request {
	r, err := volumematch.NewRequest(c)
	require.NoError(t, err)
	return r
}

func name(v *corev1.PersistentVolume) string {
	if v == nil {
		return ""
	}
	return v.Name
}

func TestBest(t *testing.T) {
	c := claim("c", 5)
	c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "fast"}}
	r := request(t, c)
	good := func(name string, size int, modes ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolume {
		v := volume(name, size, modes...)
		v.Labels = map[string]string{"tier": "fast"}
		return v
	}
	once, both := corev1.ReadWriteOnce, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany}
	all := []*corev1.PersistentVolume{good("d", 6, both...), good("c", 9, once), good("b", 8, once), good("a", 9, once)}
	for _, change := range []func(v *corev1.PersistentVolume){
		func(v *corev1.PersistentVolume) { v.Labels = nil },
		func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "tape" },
		func(v *corev1.PersistentVolume) { v.Spec.AccessModes = both[1:] },
		func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) },
		func(v *corev1.PersistentVolume) { v.Spec.VolumeAttributesClassName = new("gold") },
		func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased },
		func(v *corev1.PersistentVolume) { v.DeletionTimestamp = new(metav1.Now()) },
		func(v *corev1.PersistentVolume) { v.Spec.Capacity = gigabytes(4) },
		func(v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: "c", UID: "other"}
		},
	} {
		v := good("0", 5, once)
		change(v)
		all = append(all, v)
	}
	for _, want := range []string{"b", "a", "c", "d", ""} {
		require.Equal(t, want, name(r.Best(slices.Values(all))))
		all = slices.DeleteFunc(all, func(v *corev1.PersistentVolume) bool { return v.Name == want })
	}
	// A volume that refers to the claim is taken whatever its labels, class and modes are.
	mine := volume("mine", 50)
	mine.Spec.ClaimRef, mine.Spec.StorageClassName = &corev1.ObjectReference{Namespace: "ns", Name: "c"}, "tape"
	require.Equal(t, "mine", name(r.Best(slices.Values([]*corev1.PersistentVolume{good("b", 8, once), mine}))))
	require.Equal(t, "mine", name(r.Reserved(slices.Values([]*corev1.PersistentVolume{good("b", 8, once), mine}))))
	mine.Spec.Capacity = gigabytes(1)
	require.Equal(t, "b", name(r.Best(slices.Values([]*corev1.PersistentVolume{good("b", 8, once), mine}))))
}

func TestClasses(t *testing.T) {
	c := claim("c", 1)
	require.Equal(t, "disk", c.StorageClass())
	c.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: ""}
	require.Empty(t, c.StorageClass(), "the annotation is read first")
	c.Spec.StorageClassName = nil
	require.True(t, volumematch.HasClass(c))
	c.Annotations = nil
	require.False(t, volumematch.HasClass(c))
	v := volume("v", 1)
	v.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "tape"}
	require.Equal(t, "tape", volumematch.VolumeClass(v))
	require.False(t, volumematch.WaitsForConsumer(nil))
	require.True(t, volumematch.WaitsForConsumer(&storagev1.StorageClass{VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}))
	c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "none"}}}
	_, err := volumematch.NewRequest(c)
	require.ErrorContains(t, err, "selector of claim ns/c")
}

func TestReachesNode(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}
	v := volume("v", 1)
	require.True(t, volumematch.ReachesNode(v, n))
	zone := func(z string) *corev1.VolumeNodeAffinity {
		return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{z}}}}}}}
	}
	v.Spec.NodeAffinity = zone("a")
	require.True(t, volumematch.ReachesNode(v, n))
	v.Spec.NodeAffinity = zone("b")
	require.False(t, volumematch.ReachesNode(v, n))
}

// most is the oracle: the greatest number of claims from number i on that can have a volume each, by trying
// every way.
func most(requests []volumematch.Request, i int, volumes []*corev1.PersistentVolume, used map[*corev1.PersistentVolume]bool) int {
	if i == len(requests) {
		return 0
	}
	best := most(requests, i+1, volumes, used)
	for _, v := range volumes {
		if !used[v] && requests[i].Fits(v) {
			used[v] = true
			best = max(best, 1+most(requests, i+1, volumes, used))
			used[v] = false
		}
	}
	return best
}

// As many claims as possible get a volume, each one that fits and that no other has.
func TestAssignIsMaximal(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		r := seeds.Rand(seed)
		var requests []volumematch.Request
		var volumes []*corev1.PersistentVolume
		for i := range 1 + r.IntN(4) {
			c := claim(fmt.Sprint("c", i), 1+r.IntN(5))
			if r.IntN(2) == 0 {
				c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": fmt.Sprint(r.IntN(2))}}
			}
			requests = append(requests, request(t, c))
		}
		for i := range r.IntN(6) {
			v := volume(fmt.Sprint("v", i), 1+r.IntN(6), corev1.ReadWriteOnce)
			v.Labels = map[string]string{"rack": fmt.Sprint(r.IntN(2))}
			volumes = append(volumes, v)
		}
		chosen := volumematch.Assign(requests, slices.Values(volumes), func(*corev1.PersistentVolume) bool { return true })
		n, used := 0, map[*corev1.PersistentVolume]bool{}
		for i, v := range chosen {
			if v != nil {
				n++
				require.True(t, requests[i].Fits(v), "seed %d", seed)
				require.False(t, used[v], "seed %d: two claims have %s", seed, v.Name)
				used[v] = true
			}
		}
		require.Equal(t, most(requests, 0, volumes, map[*corev1.PersistentVolume]bool{}), n, "seed %d", seed)
	}
}

func TestAssignReserved(t *testing.T) {
	mine, other := volume("mine", 9, corev1.ReadWriteOnce), volume("other", 5, corev1.ReadWriteOnce)
	mine.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: "a"}
	requests := []volumematch.Request{request(t, claim("a", 1)), request(t, claim("b", 1))}
	assign := func(reaches func(*corev1.PersistentVolume) bool) (out []string) {
		for _, v := range volumematch.Assign(requests, slices.Values([]*corev1.PersistentVolume{other, mine}), reaches) {
			out = append(out, name(v))
		}
		return out
	}
	require.Equal(t, []string{"mine", "other"}, assign(func(*corev1.PersistentVolume) bool { return true }))
	require.Equal(t, []string{"", "other"}, assign(func(v *corev1.PersistentVolume) bool { return v != mine }), "no other volume is for a")
	require.Equal(t, []string{"mine", ""}, assign(func(v *corev1.PersistentVolume) bool { return v == mine }))
}

// The cost of choosing is that of looking at the volumes: nothing is allocated.
func BenchmarkBest(b *testing.B) {
	r, err := volumematch.NewRequest(claim("c", 5))
	require.NoError(b, err)
	var all []*corev1.PersistentVolume
	for i := range 1000 {
		all = append(all, volume(fmt.Sprint(i), i%10, corev1.ReadWriteOnce))
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = r.Best(slices.Values(all))
	}
}
