package kubelet

import (
	"context"
	"maps"
	goruntime "runtime"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Host measures the machine that the kubelet runs on. [Options].Host replaces it, so that tests can simulate
// a machine that is short of something. Its methods may be called from many goroutines.
type Host interface {
	// Memory returns the machine's memory and how much of it is available to processes without swapping, in
	// bytes: all but the working set.
	Memory() (total, available uint64)
	// Disk returns the use of the file system that holds path, or its nearest parent that exists.
	Disk(path string) (Disk, error)
	// PIDs returns how many processes and threads the machine may have, and how many it has.
	PIDs() (most, running uint64)
	// Started returns when the machine was started; the zero time means unknown.
	Started() time.Time
	// CPU returns the CPU time that all processes of the machine have used, in nanoseconds.
	CPU() uint64
	// WatchDir calls changed after every change of what is directly in a directory, until ctx ends, and
	// returns an error if the directory cannot be watched or not any longer, because it has been removed for
	// example. A file that is being written has changed when it is closed. changed must not block.
	WatchDir(ctx context.Context, dir string, changed func()) error
	// MemoryAlarm calls crossed each time that the memory which the processes of a group use, a directory
	// of version 1 of the kernel's memory controller, crosses a working set in bytes, up or down, until ctx
	// ends. What of the cache is inactive when it is called counts as no part of the working set. crossed
	// must not block.
	MemoryAlarm(ctx context.Context, dir string, workingSet uint64, crossed func()) error
}

// Disk is the use of a file system. Two paths are on one file system if Device is equal.
type Disk struct {
	Device                  string
	Capacity, Available     uint64 // bytes
	Inodes, AvailableInodes uint64 // 0 inodes: the file system does not count them
}

// measuredCapacity is what a host has, with the file system of dir.
func measuredCapacity(host Host, dir string) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI)}
	if total, _ := host.Memory(); total > 0 {
		list[corev1.ResourceMemory] = resource.NewQuantity(int64(total), resource.BinarySI)
	}
	if disk, err := host.Disk(dir); err == nil && disk.Capacity > 0 {
		list[corev1.ResourceEphemeralStorage] = resource.NewQuantity(int64(disk.Capacity), resource.BinarySI)
	}
	if _, real := host.(machine); real {
		maps.Copy(list, measuredHugePages("/sys/kernel/mm/hugepages"))
	}
	return list
}
