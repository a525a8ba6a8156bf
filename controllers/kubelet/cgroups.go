package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// cgroups makes the tree kubepods / quality of service / pod, on cgroup v1 and v2, with cgroupfs names. The
// runtime makes the containers' groups below.
type cgroups struct {
	off bool
	// root is the parent of kubepods, such as "/".
	root string
	// mount is /sys/fs/cgroup.
	mount string
	v2    bool
	// podPIDs is how many processes and threads each pod may have; 0 means any number.
	podPIDs int64

	mu sync.Mutex
	// burstable is what the group of burstable pods was last given, in milli-CPUs; -1 if an earlier kubelet
	// did it.
	burstable int64
}

// v1Controllers are those with settings for pods; groups are removed from all controllers.
var v1Controllers = []string{"cpu", "memory", "pids", "cpuset", "blkio", "devices", "freezer", "hugetlb", "net_cls", "net_prio", "perf_event", "systemd", "cpuacct", "rdma", "misc", "unified"}

func newCgroups(opts Options) *cgroups {
	c := &cgroups{off: opts.NoCgroups, root: opts.CgroupRoot, mount: "/sys/fs/cgroup", burstable: -1, podPIDs: opts.PodPIDs}
	_, err := os.Stat(filepath.Join(c.mount, "cgroup.controllers"))
	c.v2 = err == nil
	return c
}

func (c *cgroups) name(parts ...string) string {
	return filepath.Join(append([]string{c.root, "kubepods"}, parts...)...)
}

// parent is the group the containers of a pod go into, for the runtime.
func (c *cgroups) parent(pod *corev1.Pod) string {
	if c.off {
		return ""
	}
	switch corev1.QOSClass(pod) {
	case corev1.PodQOSGuaranteed:
		return c.name("pod" + string(pod.UID))
	case corev1.PodQOSBurstable:
		return c.name("burstable", "pod"+string(pod.UID))
	}
	return c.name("besteffort", "pod"+string(pod.UID))
}

// dirs are the folders of a group, by controller on v1.
func (c *cgroups) dirs(name string) map[string]string {
	if c.v2 {
		return map[string]string{"": filepath.Join(c.mount, name)}
	}
	dirs := map[string]string{}
	for _, controller := range v1Controllers {
		base := filepath.Join(c.mount, controller)
		if info, err := os.Stat(base); err == nil && info.IsDir() {
			dirs[controller] = filepath.Join(base, name)
		}
	}
	return dirs
}

// prepare makes the groups of the node's pods.
func (c *cgroups) prepare(opts Options) error {
	if c.off {
		return nil
	}
	if _, err := os.Stat(c.mount); err != nil {
		c.off = true
		return err
	}
	made := []group{{c.name(), nodeTotals(opts)}, {c.name("besteffort"), totals{}}}
	// What burstable pods of an earlier kubelet have stays until all pods are known.
	if !c.exists(c.name("burstable")) {
		made, c.burstable = append(made, group{c.name("burstable"), totals{}}), 0
	}
	for _, g := range made {
		if err := c.make(g.name, g.limits); err != nil {
			c.off = true
			return err
		}
	}
	return nil
}

// nodeTotals is what all pods may use together.
func nodeTotals(opts Options) totals {
	left := func(name corev1.ResourceName) resource.Quantity {
		q := opts.Capacity[name].DeepCopy()
		q.Sub(opts.Reserved[name])
		return q
	}
	cpu, memory := left(corev1.ResourceCPU), left(corev1.ResourceMemory)
	t := totals{cpuRequest: max(cpu.MilliValue(), 0)}
	if n := memory.Value(); n > 0 && !opts.NoPodLimit {
		t.memoryLimit, t.memoryLimited = n, true
	}
	return t
}

type group struct {
	name   string
	limits totals
}

// exists reports whether there is a group in every controller.
func (c *cgroups) exists(name string) bool {
	for _, dir := range c.dirs(name) {
		if _, err := os.Stat(dir); err != nil {
			return false
		}
	}
	return true
}

// weigh gives the group of burstable pods the CPU time that its pods request together, in milli-CPUs. Best
// effort pods share the least there is, and guaranteed ones are the group's siblings, each with its own
// request.
func (c *cgroups) weigh(milli int64, all bool) error {
	if c.off {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if milli == c.burstable || !all && (c.burstable < 0 || milli < c.burstable) {
		return nil
	}
	if err := c.make(c.name("burstable"), totals{cpuRequest: milli}); err != nil {
		return err
	}
	c.burstable = milli
	return nil
}

// pods are the pods that have groups.
func (c *cgroups) pods() map[types.UID]bool {
	uids := map[types.UID]bool{}
	if c.off {
		return uids
	}
	for _, class := range []string{c.name(), c.name("burstable"), c.name("besteffort")} {
		for _, dir := range c.dirs(class) {
			entries, _ := os.ReadDir(dir) // a controller that is not there has no groups
			for _, e := range entries {
				if uid, ok := strings.CutPrefix(e.Name(), "pod"); ok && e.IsDir() {
					uids[types.UID(uid)] = true
				}
			}
		}
	}
	return uids
}

// makePod makes a pod's group with those limits, or changes them.
func (c *cgroups) makePod(pod *corev1.Pod, t totals) error {
	if c.off {
		return nil
	}
	t.pids = c.podPIDs
	return c.make(c.parent(pod), t)
}

func (c *cgroups) make(name string, t totals) error {
	if c.v2 {
		return c.makeV2(name, t)
	}
	for controller, dir := range c.dirs(name) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		var err error
		switch controller {
		case "cpu":
			err = write(dir, "cpu.shares", shares(t.cpuRequest))
			if err == nil && t.cpuLimited && t.cpuLimit > 0 {
				err = errors.Join(write(dir, "cpu.cfs_period_us", quotaPeriod), write(dir, "cpu.cfs_quota_us", quota(t.cpuLimit)))
			}
		case "memory":
			if t.memoryLimited && t.memoryLimit > 0 {
				err = write(dir, "memory.limit_in_bytes", t.memoryLimit)
			}
		case "pids":
			if t.pids > 0 {
				err = write(dir, "pids.max", t.pids)
			}
		case "cpuset":
			err = inheritCPUs(filepath.Join(c.mount, controller), name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inheritCPUs fills the sets of new groups, which are empty on v1 and would let nothing run.
func inheritCPUs(base, name string) error {
	parent := base
	for _, part := range strings.Split(strings.Trim(name, "/"), "/") {
		dir := filepath.Join(parent, part)
		for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
			have, err := os.ReadFile(filepath.Join(dir, f))
			if err != nil {
				return err
			}
			if strings.TrimSpace(string(have)) != "" {
				continue
			}
			from, err := os.ReadFile(filepath.Join(parent, f))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, f), from, 0o644); err != nil {
				return err
			}
		}
		parent = dir
	}
	return nil
}

func (c *cgroups) makeV2(name string, t totals) error {
	dir := filepath.Join(c.mount, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// Controllers are handed down level by level; those that cannot be are left out.
	at := c.mount
	for _, part := range strings.Split(strings.Trim(name, "/"), "/") {
		if b, err := os.ReadFile(filepath.Join(at, "cgroup.controllers")); err == nil {
			for _, controller := range strings.Fields(string(b)) {
				_ = os.WriteFile(filepath.Join(at, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
			}
		}
		at = filepath.Join(at, part)
	}
	if _, err := os.Stat(filepath.Join(dir, "cpu.weight")); err == nil {
		// From 2..262144 shares to a weight of 1..10000.
		weight := 1 + (shares(t.cpuRequest)-2)*9999/262142
		if err := write(dir, "cpu.weight", weight); err != nil {
			return err
		}
		if t.cpuLimited && t.cpuLimit > 0 {
			if err := os.WriteFile(filepath.Join(dir, "cpu.max"), fmt.Appendf(nil, "%d %d", quota(t.cpuLimit), quotaPeriod), 0o644); err != nil {
				return err
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pids.max")); err == nil && t.pids > 0 {
		if err := write(dir, "pids.max", t.pids); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "memory.max")); err == nil && t.memoryLimited && t.memoryLimit > 0 {
		return write(dir, "memory.max", t.memoryLimit)
	}
	return nil
}

func write(dir, file string, n int64) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(n, 10)), 0o644)
}

// removePod removes a pod's groups in whichever class it was.
func (c *cgroups) removePod(uid types.UID) {
	if c.off {
		return
	}
	for _, name := range []string{c.name("pod" + string(uid)), c.name("burstable", "pod"+string(uid)), c.name("besteffort", "pod"+string(uid))} {
		for _, dir := range c.dirs(name) {
			removeGroup(dir)
		}
	}
}

// removeAll removes the whole tree, as far as it is empty.
func (c *cgroups) removeAll() {
	if c.off {
		return
	}
	for _, dir := range c.dirs(c.name()) {
		removeGroup(dir)
	}
}

// removeGroup removes a group and those below, which works only when they have no processes.
func removeGroup(dir string) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeGroup(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}
