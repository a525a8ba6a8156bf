package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// groupStats are what the kernel measures in cgroups of version 2: how long processes had to wait, and swap.
// They are read when they are served, not with every sample: each group has five files.
type groupStats struct {
	node       usage.Pressure
	pods       map[types.UID]groupStat
	containers map[string]groupStat // by id
}

// groupStat is what was measured in one group. Swap is nil if it is unknown.
type groupStat struct {
	usage.Pressure
	swap *usage.Swap
}

// groupStats reads the groups of the pods and containers of a sample. What the runtime has measured of a
// container is taken from there. Without cgroup v2 that is all; in a kernel without pressure stall
// information there is none of it.
func (k *Kubelet) groupStats(s *usage.Sample) *groupStats {
	g := &groupStats{pods: map[types.UID]groupStat{}, containers: map[string]groupStat{}}
	tree := &k.cgroups.tree
	if tree.V2 {
		g.node = pressureOf(tree.Mount)
	}
	for uid, pod := range s.Pods {
		var dir string
		var entries []os.DirEntry
		if w := k.worker(uid); w != nil && tree.V2 && !k.cgroups.off {
			object, _ := w.desired()
			dir = tree.Dir("", k.cgroups.pod(object))
			g.pods[uid] = groupStatOf(dir)
			entries, _ = os.ReadDir(dir) // a pod that has ended has no group
		}
		for i := range pod.Containers {
			c := &pod.Containers[i]
			var st groupStat
			for _, e := range entries {
				// The runtime's name of the group: the id, or a scope of systemd with a prefix.
				if name := strings.TrimSuffix(e.Name(), ".scope"); e.IsDir() && (name == c.ID || strings.HasSuffix(name, "-"+c.ID)) {
					st = groupStatOf(filepath.Join(dir, e.Name()))
				}
			}
			if tree.V2 && c.Pressure.CPU != nil {
				st.Pressure = c.Pressure
			}
			if c.Swap != nil {
				st.swap = c.Swap
			}
			g.containers[c.ID] = st
		}
		if all := g.pods[uid]; all.swap == nil {
			all.swap = swapOfContainers(pod, g.containers)
			g.pods[uid] = all
		}
	}
	return g
}

// swapOfContainers is the swap of a pod whose group is not measured: that of its containers, if it is known
// of any.
func swapOfContainers(pod *usage.Pod, containers map[string]groupStat) *usage.Swap {
	var sum *usage.Swap
	for i := range pod.Containers {
		one := containers[pod.Containers[i].ID].swap
		if one == nil {
			continue
		}
		if sum == nil {
			sum = &usage.Swap{Available: new(uint64)}
		}
		sum.Used += one.Used
		if one.Available != nil {
			*sum.Available += *one.Available
		}
	}
	return sum
}

func groupStatOf(dir string) groupStat { return groupStat{pressureOf(dir), swapIn(dir)} }

// swapIn reads how much swap a group uses, and how much it may use; nil in a kernel that does not count it.
func swapIn(dir string) *usage.Swap {
	read := func(name string) (string, bool) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		return strings.TrimSpace(string(b)), err == nil
	}
	text, ok := read("memory.swap.current")
	used, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil {
		return nil
	}
	out := &usage.Swap{Used: used}
	text, _ = read("memory.swap.max")
	if most, err := strconv.ParseUint(text, 10, 64); err == nil { // else "max"
		available := most - min(used, most)
		out.Available = &available
	}
	return out
}

// pressureOf reads the pressure files of a group. What is missing or not understood is nil.
func pressureOf(dir string) usage.Pressure {
	read := func(name string) *usage.Stalls {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil
		}
		return parseStalls(string(b))
	}
	return usage.Pressure{CPU: read("cpu.pressure"), Memory: read("memory.pressure"), IO: read("io.pressure")}
}

// parseStalls reads lines such as "some avg10=0.00 avg60=0.00 avg300=0.00 total=0". The line full is missing
// of the CPU in older kernels.
func parseStalls(text string) *usage.Stalls {
	s := &usage.Stalls{}
	found := false
	for line := range strings.Lines(text) {
		var one usage.Stall
		var kind string
		if _, err := fmt.Sscanf(line, "%s avg10=%f avg60=%f avg300=%f total=%d", &kind, &one.Avg10, &one.Avg60, &one.Avg300, &one.Total); err != nil {
			return nil
		}
		switch kind {
		case "some":
			s.Some, found = one, true
		case "full":
			s.Full = one
		}
	}
	if !found {
		return nil
	}
	return s
}
