package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/placement"
)

// hugePageSize is how the kernel writes the size of the huge pages of a resource: 2MB for hugepages-2Mi.
func hugePageSize(name corev1.ResourceName) (string, bool) {
	text, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !ok {
		return "", false
	}
	q, err := resource.Parse(text)
	if err != nil || q.Sign() <= 0 {
		return "", false
	}
	n, units := q.Value()/1024, []string{"KB", "MB", "GB", "TB"}
	for len(units) > 1 && n >= 1024 && n%1024 == 0 {
		n, units = n/1024, units[1:]
	}
	return strconv.FormatInt(n, 10) + units[0], true
}

// isHugePages reports whether an emptyDir volume is of huge pages.
func isHugePages(m corev1.StorageMedium) bool {
	return m == corev1.StorageMediumHugePages || strings.HasPrefix(string(m), string(corev1.StorageMediumHugePagesPrefix))
}

// hugePagesOf returns how large the pages of an emptyDir volume are, in bytes: those that the containers of
// the pod request, which must be of one size if the medium does not say which.
func hugePagesOf(pod *corev1.Pod, m corev1.StorageMedium) (int64, error) {
	sizes := map[int64]bool{}
	for name := range podquota.PodTotal(pod, podquota.Requests) {
		if text, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); ok {
			if q, err := resource.Parse(text); err == nil && q.Sign() > 0 {
				sizes[q.Value()] = true
			}
		}
	}
	if m != corev1.StorageMediumHugePages {
		q, err := resource.Parse(strings.TrimPrefix(string(m), string(corev1.StorageMediumHugePagesPrefix)))
		if err != nil || q.Sign() <= 0 {
			return 0, fmt.Errorf("the medium %s names no size of huge pages", m)
		}
		if !sizes[q.Value()] {
			return 0, fmt.Errorf("the medium %s can be used only if a container requests huge pages of that size", m)
		}
		return q.Value(), nil
	}
	switch len(sizes) {
	case 0:
		return 0, fmt.Errorf("the medium %s can be used only if a container requests huge pages", m)
	case 1:
		for size := range sizes {
			return size, nil
		}
	}
	return 0, fmt.Errorf("the medium %s can't be used if containers request several sizes of huge pages; %s<size> says which", m, corev1.StorageMediumHugePagesPrefix)
}

// hugePages is how much of a resource of huge pages a pod requests, in bytes.
func hugePages(pod *corev1.Pod, name corev1.ResourceName) int64 {
	q := podquota.PodTotal(pod, podquota.Requests)[name]
	return q.Value()
}

// hugePageLimits are those of a container: none of a size that it has no limit of.
func hugePageLimits(c *corev1.Container, capacity corev1.ResourceList) []*cri.HugepageLimit {
	var list []*cri.HugepageLimit
	for name := range capacity {
		if size, ok := hugePageSize(name); ok {
			q := c.Resources.Limits[name]
			list = append(list, &cri.HugepageLimit{PageSize: size, Limit: uint64(max(q.Value(), 0))})
		}
	}
	return list
}

// measuredHugePages are those that the machine has set aside. Dir is the kernel's folder of them.
func measuredHugePages(dir string) corev1.ResourceList {
	list := corev1.ResourceList{}
	entries, _ := os.ReadDir(dir) // without it the kernel has none
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), "hugepages-")
		kb, err := strconv.ParseInt(strings.TrimSuffix(text, "kB"), 10, 64)
		if !ok || err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name(), "nr_hugepages"))
		if err != nil {
			continue
		}
		pages, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err != nil {
			continue
		}
		list[placement.HugePages(uint64(kb)<<10)] = resource.NewQuantity(pages*kb<<10, resource.BinarySI)
	}
	return list
}
