//go:build !linux

package kubelet

import (
	goruntime "runtime"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

func measuredCapacity(string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("4Gi")}
}

func systemInfo() corev1.NodeSystemInfo { return corev1.NodeSystemInfo{OSImage: goruntime.GOOS} }

type pressure struct{ memory, disk, pids bool }

func nodePressure(string) pressure { return pressure{} }

func availableMemory() uint64 { return 1 << 62 }
