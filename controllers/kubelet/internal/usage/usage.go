// Package usage holds what a node, its pods and their containers use at one moment, as plain data. The
// statistics that the kubelet serves, its metrics and its evictions are computed from it, and their tests
// test it too.
package usage

import (
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Sample is what was measured at one moment.
type Sample struct {
	At time.Time
	// CPU is the CPU time that the node has used, in nanoseconds. CPURate is how much of it per second; 0 if
	// unknown.
	CPU, CPURate uint64
	// Memory is the node's memory, and MemoryAvailable what is available of it, in bytes.
	Memory, MemoryAvailable uint64
	// Swap is the node's; nil if unknown.
	Swap *Swap
	// MostPIDs is how many processes and threads the node may have; 0 if unknown.
	MostPIDs, PIDs uint64
	// Node is the file system of the kubelet's directory, Image that of the runtime's images, Layer that of
	// what containers write.
	Node, Image, Layer Filesystem
	// ImagesAt is when the runtime has measured the use of images; zero if unknown.
	ImagesAt time.Time
	// Images is the space that images use, Layers that of what containers write, as the runtime says. If they
	// share a file system both are that of images.
	Images, Layers Space
	Pods           map[types.UID]*Pod
}

// ImageApart reports whether images are on another file system than the kubelet's directory or containers.
func (s *Sample) ImageApart() bool { return s.Node.Device != s.Image.Device || s.Split() }

// Split reports whether images are on another file system than what containers write.
func (s *Sample) Split() bool { return s.Image.Device != s.Layer.Device }

// Filesystem is the use of a file system.
type Filesystem struct {
	Device                  string
	Capacity, Available     uint64 // bytes
	Inodes, AvailableInodes uint64 // Inodes is 0 if the file system does not count them
}

// Used returns the bytes that are not available.
func (f *Filesystem) Used() uint64 { return f.Capacity - min(f.Available, f.Capacity) }

// UsedInodes returns the inodes that are not available.
func (f *Filesystem) UsedInodes() uint64 { return f.Inodes - min(f.AvailableInodes, f.Inodes) }

// Space is space on a file system.
type Space struct{ Bytes, Inodes uint64 }

// Plus returns the sum.
func (s Space) Plus(o Space) Space { return Space{s.Bytes + o.Bytes, s.Inodes + o.Inodes} }

// Pod is the use of one pod.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	Started         time.Time // when its sandbox was made
	Containers      []Container
	Volumes         []Volume
	// Driven are the volumes of drivers, which are not on the node's disk.
	Driven []Volume
	// Logs and files of the kubelet that belong to no container.
	Other Space
	// Processes counts processes and threads; 0 if unknown.
	Processes uint64
	Network   *Network // nil if unknown
}

// Container is the use of one container.
type Container struct {
	Name, ID string
	Created  time.Time
	// CPU is the CPU time it has used, in nanoseconds, at CPUAt; the zero time means unknown.
	CPU   uint64
	CPUAt time.Time
	// CPURate is the CPU time it uses per second, in nanoseconds; 0 if unknown.
	CPURate uint64
	// Memory at MemoryAt, in bytes; the zero time means unknown.
	WorkingSet, MemoryUsage, RSS, MemoryAvailable uint64
	PageFaults, MajorPageFaults                   uint64
	MemoryAt                                      time.Time
	// Swap and Pressure are what the runtime says of it; nil if unknown.
	Swap     *Swap
	Pressure Pressure
	// Layer is what it has written to its own layer, Logs what its log files hold.
	Layer, Logs Space
}

// Swap is the use of swap, in bytes. Available is how much more may be used; nil if that is not limited.
type Swap struct {
	Used      uint64
	Available *uint64
}

// Pressure is how long processes of a group had to wait for CPU time, memory and disks; nil if unknown.
type Pressure struct{ CPU, Memory, IO *Stalls }

// Stalls are the times that at least some processes have waited, and that all have.
type Stalls struct{ Some, Full Stall }

// Stall is a time of waiting: all of it, as the kernel counts it in microseconds, and how much of the last
// 10, 60 and 300 seconds, in percent.
type Stall struct {
	Total                uint64
	Avg10, Avg60, Avg300 float64
}

// Volume is the use of a volume: one that the pod keeps on the node's disk, or one of a driver.
type Volume struct {
	Name string
	// Claim is the claim of a driver's volume, empty if it has none.
	Claim string
	Space
	// On is the file system that the volume is on.
	On Filesystem
	// Memory is true if the volume is in memory.
	Memory bool
	At     time.Time
}

// Network is what a pod has received and sent through its main interface.
type Network struct {
	Interface                            string
	At                                   time.Time
	RxBytes, RxErrors, TxBytes, TxErrors uint64
}

// CPU returns the CPU time of the pod's containers, in nanoseconds, and when it was measured.
func (p *Pod) CPU() (used uint64, at time.Time) {
	for i := range p.Containers {
		if c := &p.Containers[i]; !c.CPUAt.IsZero() {
			used += c.CPU
			if c.CPUAt.After(at) {
				at = c.CPUAt
			}
		}
	}
	return used, at
}

// WorkingSet returns the memory of the pod's containers that cannot be reclaimed, in bytes, and when it was
// measured.
func (p *Pod) WorkingSet() (used uint64, at time.Time) {
	for i := range p.Containers {
		if c := &p.Containers[i]; !c.MemoryAt.IsZero() {
			used += c.WorkingSet
			if c.MemoryAt.After(at) {
				at = c.MemoryAt
			}
		}
	}
	return used, at
}

// Layers returns what the containers have written to their own layers.
func (p *Pod) Layers() (sum Space) {
	for i := range p.Containers {
		sum = sum.Plus(p.Containers[i].Layer)
	}
	return sum
}

// Local returns what the pod uses on the file system of the kubelet: logs and local volumes.
func (p *Pod) Local() Space {
	sum := p.Other
	for i := range p.Containers {
		sum = sum.Plus(p.Containers[i].Logs)
	}
	for i := range p.Volumes {
		if v := &p.Volumes[i]; !v.Memory {
			sum = sum.Plus(v.Space)
		}
	}
	return sum
}

// Ephemeral returns all that the pod uses on the node's disks.
func (p *Pod) Ephemeral() Space { return p.Local().Plus(p.Layers()) }
