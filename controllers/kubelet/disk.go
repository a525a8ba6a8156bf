package kubelet

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// diskMeter measures what pods use on the node's disks, which takes reading their directories. It does so
// periodically, beside those who want to know. Safe for concurrent use.
type diskMeter struct {
	k        *Kubelet
	interval time.Duration

	mu   sync.Mutex
	pods map[types.UID]*podDisk
}

// claims are the volumes of drivers that have a claim, each once, by namespace and claim.
func (d *diskMeter) claims() map[types.NamespacedName]usage.Volume {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[types.NamespacedName]usage.Volume{}
	for _, p := range d.pods {
		for _, v := range p.driven {
			if v.Claim != "" {
				all[types.NamespacedName{Namespace: p.namespace, Name: v.Claim}] = v
			}
		}
	}
	return all
}

// all returns what each pod was last found to use.
func (d *diskMeter) all() map[types.UID]*podDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.pods)
}

// podDisk is what one pod was found to use. It is not changed.
type podDisk struct {
	namespace, name string
	volumes         []usage.Volume
	driven          []usage.Volume
	logs            map[string]usage.Space // by container
	other           usage.Space
}

func newDiskMeter(k *Kubelet, interval time.Duration) *diskMeter {
	return &diskMeter{k: k, interval: interval, pods: map[types.UID]*podDisk{}}
}

func (d *diskMeter) run(ctx context.Context) {
	tick := time.NewTicker(d.interval)
	defer tick.Stop()
	for {
		d.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round measures all pods once.
func (d *diskMeter) round(ctx context.Context) {
	there := map[types.UID]bool{}
	for _, w := range d.k.allWorkers() {
		if ctx.Err() != nil {
			return
		}
		pod, _ := w.desired()
		there[pod.UID] = true
		found := d.measure(ctx, pod)
		d.mu.Lock()
		d.pods[pod.UID] = found
		d.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.pods, func(uid types.UID, _ *podDisk) bool { return !there[uid] })
}

// get returns what a pod was last found to use; nil if it has not been measured.
func (d *diskMeter) get(uid types.UID) *podDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pods[uid]
}

func (d *diskMeter) measure(ctx context.Context, pod *corev1.Pod) *podDisk {
	found := &podDisk{namespace: pod.Namespace, name: pod.Name, logs: map[string]usage.Space{}}
	logs := filepath.Join(d.k.opts.LogDir, logFolder(pod.Namespace, pod.Name, pod.UID))
	entries, _ := os.ReadDir(logs) // a pod without logs uses nothing
	for _, e := range entries {
		found.logs[e.Name()] = spaceOf(ctx, filepath.Join(logs, e.Name()))
	}
	dir := d.k.podDir(pod.UID)
	for v := range usedVolumes(pod) {
		kind := payloadKind(v)
		if v.EmptyDir != nil {
			kind = kindEmptyDir
		}
		if kind == "" {
			if s := d.k.volumes.Stats(pod.UID, v.Name); s != nil {
				found.driven = append(found.driven, drivenVolume(pod, v, s))
			}
			continue // not the kubelet's
		}
		at := d.k.volumeDir(pod.UID, kind, v.Name)
		began := time.Now()
		space := spaceOf(ctx, at)
		d.k.metrics.volumeTook("du", began)
		one := usage.Volume{Name: v.Name, Space: space, At: time.Now(), Memory: inMemory(kind, v)}
		began = time.Now()
		disk, err := d.k.opts.Host.Disk(at)
		d.k.metrics.volumeTook("statfs", began)
		if err == nil {
			one.On = filesystemOf(disk)
		}
		found.volumes = append(found.volumes, one)
	}
	for _, name := range []string{"containers", "etc-hosts"} {
		found.other = found.other.Plus(spaceOf(ctx, filepath.Join(dir, name)))
	}
	return found
}

// inMemory reports whether the content of a volume is in memory, and no part of the node's disk.
func inMemory(kind string, v *corev1.Volume) bool {
	if kind == kindEmptyDir {
		return v.EmptyDir.Medium == corev1.StorageMediumMemory || isHugePages(v.EmptyDir.Medium)
	}
	return kind != kindConfigMap
}

// drivenVolume is the use of a volume as its driver reports it.
func drivenVolume(pod *corev1.Pod, v *corev1.Volume, s *volume.Stats) usage.Volume {
	one := usage.Volume{Name: v.Name, At: s.At, Space: usage.Space{Bytes: s.Used, Inodes: s.InodesUsed},
		On: usage.Filesystem{Capacity: s.Capacity, Available: s.Available, Inodes: s.Inodes, AvailableInodes: s.AvailableInodes}}
	one.Claim, _ = pod.ClaimOf(v)
	return one
}

func filesystemOf(d Disk) usage.Filesystem {
	return usage.Filesystem{Device: d.Device, Capacity: d.Capacity, Available: d.Available, Inodes: d.Inodes, AvailableInodes: d.AvailableInodes}
}

// spaceOf returns the disk space of what is below path on the same file system, counting each file once. What
// cannot be read, because it was removed meanwhile, say, counts as nothing.
func spaceOf(ctx context.Context, path string) (sum usage.Space) {
	root, err := os.Lstat(path)
	if err != nil {
		return sum
	}
	device, _, _ := inode(root)
	linked := map[uint64]bool{}
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil //nolint:nilerr // it counts as nothing
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		dev, number, links := inode(info)
		if dev != device {
			return fs.SkipDir
		}
		if links > 1 && !e.IsDir() {
			if linked[number] {
				return nil
			}
			linked[number] = true
		}
		sum.Inodes++
		sum.Bytes += blocks(info)
		return nil
	})
	return sum
}

// logPathOf reports whether a file of a container's log folder belongs to one of its log files.
func logPathOf(name, log string) bool { return name == log || strings.HasPrefix(name, log+".") }
