package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// pressures are how long processes of groups had to wait. They are read when they are served, not with every
// sample: each group has three files.
type pressures struct {
	node       usage.Pressure
	pods       map[types.UID]usage.Pressure
	containers map[string]usage.Pressure // by id
}

// pressure reads the pressure of the node and of the pods and containers of a sample. Without cgroup v2, or
// in a kernel without pressure stall information, there is none.
func (k *Kubelet) pressure(s *usage.Sample) *pressures {
	p := &pressures{pods: map[types.UID]usage.Pressure{}, containers: map[string]usage.Pressure{}}
	tree := &k.cgroups.tree
	if !tree.V2 {
		return p
	}
	if p.node = pressureOf(tree.Mount); p.node.CPU == nil {
		return p
	}
	for uid, pod := range s.Pods {
		w := k.worker(uid)
		if k.cgroups.off || w == nil {
			continue
		}
		object, _ := w.desired()
		dir := tree.Dir("", k.cgroups.pod(object))
		p.pods[uid] = pressureOf(dir)
		entries, _ := os.ReadDir(dir) // a pod that has ended has no group
		for i := range pod.Containers {
			c := &pod.Containers[i]
			if c.Pressure.CPU != nil { // the runtime has measured it
				p.containers[c.ID] = c.Pressure
				continue
			}
			for _, e := range entries {
				// The runtime's name of the group: the id, or a scope of systemd with a prefix.
				if name := strings.TrimSuffix(e.Name(), ".scope"); e.IsDir() && (name == c.ID || strings.HasSuffix(name, "-"+c.ID)) {
					p.containers[c.ID] = pressureOf(filepath.Join(dir, e.Name()))
				}
			}
		}
	}
	return p
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
