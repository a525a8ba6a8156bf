package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/cgroup"
)

// ReservedGroup is a cgroup of other processes, which the kubelet limits to what is reserved for them.
type ReservedGroup struct {
	// Name is that of a group that exists: a path such as /system, or a slice with [Options].SystemdCgroups.
	// What says in errors and events what it is for.
	Name, What string
	// Resources are the limits: cpu, which is a weight, memory and pid. The others are not limited.
	Resources corev1.ResourceList
}

// cgroups makes the tree kubepods / quality of service / pod, on cgroup v1 and v2. The runtime makes the
// containers' groups below.
type cgroups struct {
	off  bool
	root cgroup.Name // the parent of kubepods
	tree cgroup.Tree
	// podPIDs is how many processes and threads each pod may have; 0 means any number.
	podPIDs int64
	// period is that of CPU quotas, in microseconds; 0 if CPU limits are not enforced.
	period int64
	// huge are the sizes of huge pages that the machine has, by their resource.
	huge map[corev1.ResourceName]string

	placer *placer    // nil if no container has CPUs for itself
	qos    *MemoryQoS // nil unless memory is protected

	metrics *metrics // nil: not measured

	mu sync.Mutex
	// burstable is what the group of burstable pods was last given, in milli-CPUs; -1 if an earlier kubelet
	// did it.
	burstable int64
	// protected are what the groups of all pods and of burstable ones were last given; nil before.
	protected *[2]int64
}

func newCgroups(opts Options) *cgroups {
	c := &cgroups{off: opts.NoCgroups, root: cgroup.Parse(opts.CgroupRoot, false), tree: cgroup.Tree{Mount: cgroup.DefaultMount}, burstable: -1,
		podPIDs: opts.PodPIDs, period: opts.CPUQuotaPeriod.Microseconds(), qos: opts.MemoryQoS, huge: map[corev1.ResourceName]string{}}
	if opts.NoCPUQuota {
		c.period = 0
	}
	_, err := os.Stat(filepath.Join(c.tree.Mount, "cgroup.controllers"))
	c.tree.V2 = err == nil
	for name := range opts.Capacity {
		if size, ok := hugePageSize(name); ok {
			c.huge[name] = size
		}
	}
	return c
}

// name is the group of all pods, or one below it.
func (c *cgroups) name(parts ...string) cgroup.Name {
	return c.root.Child("kubepods").Child(parts...)
}

// class is the group of pods of a quality of service.
func (c *cgroups) class(q corev1.PodQOSClass) cgroup.Name {
	if q == corev1.PodQOSGuaranteed {
		return c.name()
	}
	return c.name(strings.ToLower(string(q)))
}

// pod is the group of a pod.
func (c *cgroups) pod(pod *corev1.Pod) cgroup.Name {
	return c.class(corev1.QOSClass(pod)).Child(podGroupPrefix + string(pod.UID))
}

const podGroupPrefix = "pod"

// parent is the group the containers of a pod go into, for the runtime.
func (c *cgroups) parent(pod *corev1.Pod) string {
	if c.off {
		return ""
	}
	return c.tree.Parent(c.pod(pod))
}

// prepare makes the groups of the node's pods. It is called once, before all other methods.
func (c *cgroups) prepare(ctx context.Context, opts Options, systemd bool) error {
	if c.off {
		return nil
	}
	fail := func(err error) error {
		c.off = true
		return err
	}
	if systemd && c.tree.Units == nil {
		units, err := cgroup.Systemd(ctx)
		if err != nil {
			return fail(err)
		}
		c.tree.Units = units
	}
	if _, err := os.Stat(c.tree.Mount); err != nil {
		return fail(err)
	}
	made := []corev1.PodQOSClass{corev1.PodQOSBestEffort}
	// What burstable pods of an earlier kubelet have stays until all pods are known.
	if !c.tree.Exists(c.class(corev1.PodQOSBurstable)) {
		made, c.burstable = append(made, corev1.PodQOSBurstable), 0
	}
	node := nodeSettings(opts)
	node.Memory, node.PIDs = 0, 0 // enforce sets them
	if err := c.apply(ctx, c.name(), node); err != nil {
		return fail(err)
	}
	for _, class := range made {
		if err := c.apply(ctx, c.class(class), cgroup.Settings{Shares: minShares, Huge: c.hugeLimits(nil, true)}); err != nil {
			return fail(err)
		}
	}
	return nil
}

// nodeSettings are those of the group of all pods.
func nodeSettings(opts Options) cgroup.Settings {
	room := maps.Clone(opts.Capacity)
	if !opts.NoPodLimit {
		for name, q := range opts.Reserved {
			left := room[name].DeepCopy()
			left.Sub(q)
			room[name] = left
		}
	}
	cpu, memory := room[corev1.ResourceCPU], room[corev1.ResourceMemory]
	s := cgroup.Settings{Shares: shares(max(cpu.MilliValue(), 0)), Memory: -1}
	if opts.NoPodLimit {
		return s
	}
	if n := memory.Value(); n > 0 {
		s.Memory = n
	}
	if reserved, ok := opts.Reserved[resourcePID]; ok && opts.Host != nil {
		if all, _ := opts.Host.PIDs(); all > 0 {
			s.PIDs = max(int64(all)-reserved.Value(), 1)
		}
	}
	return s
}

// resourcePID is how reservations call processes and threads.
const resourcePID corev1.ResourceName = "pid"

// limitRetry is the time between tries to limit the group of all pods, which fail while the pods of an
// earlier kubelet use more. The eviction ends some.
const limitRetry = time.Minute

// apply makes a group or changes it.
func (c *cgroups) apply(ctx context.Context, name cgroup.Name, s cgroup.Settings) error {
	began := time.Now()
	made, err := c.tree.Apply(ctx, name, s)
	if m := c.metrics; m != nil && made {
		m.groupMade.Observe(time.Since(began).Seconds())
	} else if m != nil {
		m.groupChanged.Observe(time.Since(began).Seconds())
	}
	return err
}

// remove removes a group, if it is there and empty.
func (c *cgroups) remove(ctx context.Context, name cgroup.Name) {
	began, there := time.Now(), c.tree.Exists(name)
	c.tree.Remove(ctx, name)
	if c.metrics != nil && there {
		c.metrics.groupRemoved.Observe(time.Since(began).Seconds())
	}
}

// limitPods limits all pods together, until that has succeeded.
func (k *Kubelet) limitPods(ctx context.Context) {
	if k.cgroups.off {
		return
	}
	settings := nodeSettings(k.opts)
	for {
		err := k.cgroups.apply(ctx, k.cgroups.name(), settings)
		if err == nil {
			k.recorder.About(k.node.about(), nil, events.Normal, "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
			return
		}
		k.log.Warn("limit all pods together failed", "err", err)
		k.recorder.About(k.node.about(), nil, events.Warning, failedEnforcement, fmt.Sprintf("Failed to update Node Allocatable Limits %q: %v", k.cgroups.name(), err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(limitRetry):
		}
	}
}

const failedEnforcement = "FailedNodeAllocatableEnforcement"

// limitReserved limits the groups of other processes.
func (k *Kubelet) limitReserved(ctx context.Context, systemd bool) error {
	for _, g := range k.opts.ReservedGroups {
		name := cgroup.Parse(g.Name, systemd)
		var s cgroup.Settings
		if q, ok := g.Resources[corev1.ResourceCPU]; ok {
			s.Shares = shares(q.MilliValue())
		}
		if q, ok := g.Resources[corev1.ResourceMemory]; ok {
			s.Memory = q.Value()
			if k.cgroups.qos != nil {
				s.MemoryMin = s.Memory
			}
		}
		if q, ok := g.Resources[resourcePID]; ok {
			s.PIDs = q.Value()
		}
		err := errors.New("there is no such cgroup")
		if len(name) > 0 && k.cgroups.tree.Exists(name) {
			err = k.cgroups.apply(ctx, name, s)
		}
		if err != nil {
			message := fmt.Sprintf("Failed to enforce %s Cgroup Limits on %q: %v", g.What, g.Name, err)
			k.recorder.About(k.node.about(), nil, events.Warning, failedEnforcement, message)
			return errors.New(message)
		}
		k.recorder.About(k.node.about(), nil, events.Normal, "NodeAllocatableEnforced", fmt.Sprintf("Updated limits on %s cgroup %v", g.What, g.Name))
	}
	return nil
}

// weigh gives the group of burstable pods the CPU time that its pods request together, in milli-CPUs. Best
// effort pods share the least there is, and guaranteed ones are the group's siblings, each with its own
// request.
func (c *cgroups) weigh(ctx context.Context, milli int64, all bool) error {
	if c.off {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if milli == c.burstable || !all && (c.burstable < 0 || milli < c.burstable) {
		return nil
	}
	if err := c.apply(ctx, c.class(corev1.PodQOSBurstable), cgroup.Settings{Shares: shares(milli)}); err != nil {
		return err
	}
	c.burstable = milli
	return nil
}

// classes are the groups in which those of pods are.
func (c *cgroups) classes() []cgroup.Name {
	return []cgroup.Name{c.class(corev1.PodQOSGuaranteed), c.class(corev1.PodQOSBurstable), c.class(corev1.PodQOSBestEffort)}
}

// pods are the pods that have groups.
func (c *cgroups) pods() map[types.UID]bool {
	uids := map[types.UID]bool{}
	if c.off {
		return uids
	}
	for _, class := range c.classes() {
		for _, name := range c.tree.Children(class) {
			if uid, ok := strings.CutPrefix(name, podGroupPrefix); ok && uid != "" {
				uids[types.UID(uid)] = true
			}
		}
	}
	return uids
}

// makePod makes a pod's group with those limits, or changes them.
func (c *cgroups) makePod(ctx context.Context, pod *corev1.Pod, t totals) error {
	if c.off {
		return nil
	}
	return c.apply(ctx, c.pod(pod), c.settings(pod, t))
}

// settings are those of a pod's group. A limit that it does not have is taken away, because a resize may have
// removed it.
func (c *cgroups) settings(pod *corev1.Pod, t totals) cgroup.Settings {
	s := cgroup.Settings{Shares: shares(t.cpuRequest), Memory: -1, PIDs: c.podPIDs, Quota: -1, Period: c.period, Huge: c.hugeLimits(pod, false)}
	if c.period == 0 {
		s.Period = defaultQuotaPeriod.Microseconds()
	} else if t.cpuLimited && t.cpuLimit > 0 && !c.placer.pinnedPod(pod.UID) {
		s.Quota = quota(t.cpuLimit, c.period)
	}
	if t.memoryLimited && t.memoryLimit > 0 {
		s.Memory = t.memoryLimit
	}
	if c.qos != nil {
		s.MemoryMin, s.MemoryLow = c.qos.share(pod)
	}
	return s
}

// hugeLimits are those of a group: none at all, or what a pod requests.
func (c *cgroups) hugeLimits(pod *corev1.Pod, unlimited bool) map[string]int64 {
	limits := map[string]int64{}
	for name, size := range c.huge {
		limits[size] = -1
		if !unlimited {
			limits[size] = hugePages(pod, name)
		}
	}
	return limits
}

// removePod removes a pod's groups in whichever class it was.
func (c *cgroups) removePod(ctx context.Context, uid types.UID) {
	if c.off {
		return
	}
	for _, class := range c.classes() {
		c.remove(ctx, class.Child(podGroupPrefix+string(uid)))
	}
}

// removeAll removes the whole tree, as far as it is empty.
func (c *cgroups) removeAll(ctx context.Context) {
	if c.off {
		return
	}
	for _, class := range c.classes() {
		for _, name := range c.tree.Children(class) {
			c.remove(ctx, class.Child(name))
		}
	}
	c.remove(ctx, c.name())
}

// cgroupV1Warning is what kubelet 1.36 says of machines with cgroup v1.
const cgroupV1Warning = "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. " +
	"More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1"

// prepareCgroups makes the groups of the node's pods, with the names that the runtime uses. A machine without
// groups of its own leaves them to the runtime.
func (k *Kubelet) prepareCgroups(ctx context.Context) error {
	if k.cgroups.off {
		if len(k.opts.ReservedGroups) > 0 {
			return errors.New("Options.ReservedGroups need cgroups, but NoCgroups is set")
		}
		return nil
	}
	if k.opts.LimitedSwap && !k.cgroups.tree.V2 {
		return errors.New("Options.LimitedSwap needs cgroup v2, and this machine has v1")
	}
	if !k.cgroups.tree.V2 {
		k.recorder.About(k.node.about(), nil, events.Warning, "CgroupV1", cgroupV1Warning)
	}
	systemd := k.systemdGroups(ctx)
	if err := k.cgroups.prepare(ctx, k.opts, systemd); err != nil {
		if systemd || len(k.opts.ReservedGroups) > 0 {
			return fmt.Errorf("create pod cgroups: %w", err)
		}
		k.log.Warn("create pod cgroups failed, leaving them to the runtime", "err", err)
		return nil
	}
	return k.limitReserved(ctx, systemd)
}

// systemdGroups reports whether groups have the names of systemd. The runtime says so if it can, which
// containerd does since 2.0.
func (k *Kubelet) systemdGroups(ctx context.Context) bool {
	reply, err := k.rt.RuntimeConfig(ctx, &cri.RuntimeConfigRequest{})
	linux := reply.GetLinux()
	if err != nil || linux == nil {
		k.metrics.losingSupport.WithLabelValues("1.36.0").Set(1)
		k.log.Info("the container runtime does not say which cgroup driver it has, that of the configuration is used", "systemd", k.opts.SystemdCgroups, "err", err)
		return k.opts.SystemdCgroups
	}
	systemd := linux.CgroupDriver == cri.CgroupDriver_SYSTEMD
	if systemd != k.opts.SystemdCgroups {
		k.log.Info("the container runtime has another cgroup driver than the configuration, it is followed", "systemd", systemd)
	}
	return systemd
}
