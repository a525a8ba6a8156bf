package kubelet

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/eviction"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// alarmsEvery is how often alarms are set again: how much of the cache is inactive, and so no part of the
// working set, changes (notifierRefreshInterval of k8s.io/kubernetes/pkg/kubelet/eviction, v1.36.3).
const alarmsEvery = 10 * time.Second

// memoryAlarms let the evictor look at the node when the kernel reports that a threshold of memory has been
// crossed, and not only after its interval. They belong to the goroutine of the evictor; a nil one has none.
type memoryAlarms struct {
	host Host
	log  *slog.Logger
	// crossed has a value after a threshold was crossed; its capacity is 1.
	crossed chan struct{}
	all     []*memoryAlarm
	running sync.WaitGroup
}

// memoryAlarm is that of one threshold.
type memoryAlarm struct {
	threshold *eviction.Threshold
	dir       string // of the group whose memory is measured
	set       time.Time
	failed    sync.Once
	stop      context.CancelFunc
}

// newMemoryAlarms returns alarms for the thresholds of memory; nil if the machine's groups are of version 2,
// where the kernel has no such reports.
func newMemoryAlarms(k *Kubelet, thresholds []eviction.Threshold) *memoryAlarms {
	if k.cgroups.tree.V2 {
		k.log.Info("version 2 of the kernel's groups has no reports of memory: they are looked at periodically")
		return nil
	}
	a := &memoryAlarms{host: k.opts.Host, log: k.log, crossed: make(chan struct{}, 1)}
	for i := range thresholds {
		switch t := &thresholds[i]; t.Signal {
		case eviction.MemoryAvailable:
			a.all = append(a.all, &memoryAlarm{threshold: t, dir: k.cgroups.tree.Dir("memory", nil)})
		case eviction.AllocatableMemoryAvailable:
			a.all = append(a.all, &memoryAlarm{threshold: t, dir: k.cgroups.tree.Dir("memory", k.cgroups.name())})
		}
	}
	return a
}

// update sets the alarms that are due. podMemory is the memory that pods may use, in bytes; 0 if it is not
// known.
func (a *memoryAlarms) update(ctx context.Context, sample *usage.Sample, podMemory uint64) {
	if a == nil {
		return
	}
	for _, one := range a.all {
		capacity := sample.Memory
		if one.threshold.Signal == eviction.AllocatableMemoryAvailable {
			capacity = podMemory
		}
		if least := one.threshold.Least.Of(capacity); capacity > least && time.Since(one.set) >= alarmsEvery {
			a.setOne(ctx, one, capacity-least)
		}
	}
}

func (a *memoryAlarms) setOne(ctx context.Context, one *memoryAlarm, workingSet uint64) {
	one.end()
	ctx, one.stop = context.WithCancel(ctx)
	one.set = time.Now()
	a.running.Go(func() {
		if err := a.host.MemoryAlarm(ctx, one.dir, workingSet, a.cross); err != nil && ctx.Err() == nil {
			one.failed.Do(func() { // it is tried again
				a.log.Warn("no reports of memory that becomes short, which is looked at periodically", "group", one.dir, "err", err)
			})
		}
	})
}

// cross reports that a threshold may have been crossed.
func (a *memoryAlarms) cross() {
	select {
	case a.crossed <- struct{}{}:
	default:
	}
}

// crossings is nil without alarms.
func (a *memoryAlarms) crossings() <-chan struct{} {
	if a == nil {
		return nil
	}
	return a.crossed
}

// end ends the alarms and waits until they have ended.
func (a *memoryAlarms) end() {
	if a == nil {
		return
	}
	for _, one := range a.all {
		one.end()
	}
	a.running.Wait()
}

func (one *memoryAlarm) end() {
	if one.stop != nil {
		one.stop()
	}
}
