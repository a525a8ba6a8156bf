package kubelet

import (
	"cmp"
	"slices"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// nodeImages is what a node reports of its images: the largest, with at most five names each.
func nodeImages(list []*cri.Image, most int) []corev1.ContainerImage {
	out := []corev1.ContainerImage{}
	for _, i := range list {
		names := slices.Concat(i.RepoDigests, i.RepoTags)
		if len(names) == 0 {
			continue
		}
		out = append(out, corev1.ContainerImage{Names: names[:min(len(names), 5)], SizeBytes: int64(i.Size)})
	}
	slices.SortFunc(out, func(a, b corev1.ContainerImage) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), cmp.Compare(a.Names[0], b.Names[0]))
	})
	switch {
	case most == -1:
		return out
	case most < 0:
		return out[:0]
	}
	return out[:min(len(out), most)]
}

func timeOf(nanos int64) time.Time { return time.Unix(0, nanos) }
