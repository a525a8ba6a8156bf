package kubeletconfig

import (
	"maps"
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/featuregate"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/placement"
)

// Policies that give containers something for themselves.
const (
	staticCPUs   = "static"
	staticMemory = "Static"
)

// cpuOption is an option of the policy static.
type cpuOption struct {
	gate featuregate.Feature // that it needs; empty if none
	set  func(*kubelet.PlacementPolicy) *bool
}

var cpuOptions = map[string]cpuOption{
	"full-pcpus-only":                  {"", func(p *kubelet.PlacementPolicy) *bool { return &p.FullCores }},
	"strict-cpu-reservation":           {"", func(p *kubelet.PlacementPolicy) *bool { return &p.StrictReserved }},
	"prefer-align-cpus-by-uncorecache": {"", func(p *kubelet.PlacementPolicy) *bool { return &p.AlignCaches }},
	"distribute-cpus-across-numa":      {gateCPUBeta, func(p *kubelet.PlacementPolicy) *bool { return &p.SpreadNodes }},
	"align-by-socket":                  {gateCPUAlpha, func(p *kubelet.PlacementPolicy) *bool { return &p.AlignSockets }},
	"distribute-cpus-across-cores":     {gateCPUAlpha, func(p *kubelet.PlacementPolicy) *bool { return &p.SpreadCores }},
}

// placement returns which containers have CPUs and memory for themselves, and what is wrong with it.
func (c *Configuration) placement(g *featuregate.Gate) (kubelet.PlacementPolicy, error) {
	p := kubelet.PlacementPolicy{StaticCPUs: c.CPUManagerPolicy == staticCPUs, ReservedCPUs: c.ReservedSystemCPUs, Interval: c.CPUManagerReconcilePeriod.Duration,
		StaticMemory: c.MemoryManagerPolicy == staticMemory, Alignment: c.TopologyManagerPolicy, PodScope: c.TopologyManagerScope == "pod"}
	var wrong problems
	wrong.add(!p.StaticCPUs && c.CPUManagerPolicy != "none", "cpuManagerPolicy", "%q is neither none nor static", c.CPUManagerPolicy)
	wrong.add(c.CPUManagerReconcilePeriod.Duration <= 0, "cpuManagerReconcilePeriod", "%v is not positive", c.CPUManagerReconcilePeriod.Duration)
	wrong.add(!p.StaticCPUs && len(c.CPUManagerPolicyOptions) > 0, "cpuManagerPolicyOptions", "they need cpuManagerPolicy: static")
	for _, name := range slices.Sorted(maps.Keys(c.CPUManagerPolicyOptions)) {
		option, known := cpuOptions[name]
		value, err := strconv.ParseBool(c.CPUManagerPolicyOptions[name])
		wrong.add(!known, "cpuManagerPolicyOptions", "%q is unknown", name)
		wrong.add(known && err != nil, "cpuManagerPolicyOptions", "%s: %q is neither true nor false", name, c.CPUManagerPolicyOptions[name])
		if !known {
			continue
		}
		wrong.add(option.gate != "" && !g.Enabled(option.gate), "cpuManagerPolicyOptions", "%s needs the feature gate %s", name, option.gate)
		*option.set(&p) = value
	}
	reserved := c.reserved()[corev1.ResourceCPU]
	wrong.add(p.StaticCPUs && c.ReservedSystemCPUs == "" && reserved.Sign() == 0, "cpuManagerPolicy", "static needs a CPU for the system: set kubeReserved, systemReserved or reservedSystemCPUs")
	wrong.add(c.ReservedSystemCPUs != "" && (c.SystemReservedCgroup != "" || c.KubeReservedCgroup != ""), "reservedSystemCPUs", "it excludes systemReservedCgroup and kubeReservedCgroup")
	_, err := placement.ParseSet(c.ReservedSystemCPUs)
	wrong.add(err != nil, "reservedSystemCPUs", "%v", err)
	c.memoryPlacement(&p, &wrong)
	c.alignment(&p, &wrong)
	return p, wrong.err()
}

// memoryPlacement adds what is said of memory.
func (c *Configuration) memoryPlacement(p *kubelet.PlacementPolicy, wrong *problems) {
	wrong.add(!p.StaticMemory && c.MemoryManagerPolicy != "None", "memoryManagerPolicy", "%q is neither None nor Static", c.MemoryManagerPolicy)
	wrong.add(!p.StaticMemory && len(c.ReservedMemory) > 0, "reservedMemory", "it needs memoryManagerPolicy: Static")
	wrong.add(p.StaticMemory && len(c.ReservedMemory) == 0, "memoryManagerPolicy", "Static needs reservedMemory")
	for _, r := range c.ReservedMemory {
		node := int(r.NumaNode)
		if p.ReservedMemory == nil {
			p.ReservedMemory = map[int]corev1.ResourceList{}
		}
		if p.ReservedMemory[node] == nil {
			p.ReservedMemory[node] = corev1.ResourceList{}
		}
		wrong.add(len(r.Limits) == 0, "reservedMemory", "NUMA node %d has no limits", node)
		for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
			q := r.Limits[name]
			_, twice := p.ReservedMemory[node][name]
			wrong.add(twice, "reservedMemory", "%s of NUMA node %d is there twice", name, node)
			wrong.add(!placement.IsMemory(name), "reservedMemory", "%s is neither memory nor huge pages", name)
			wrong.add(q.Sign() <= 0, "reservedMemory", "%s of NUMA node %d is not positive", name, node)
			p.ReservedMemory[node][name] = q
		}
	}
}

// alignment adds what is said of places.
func (c *Configuration) alignment(p *kubelet.PlacementPolicy, wrong *problems) {
	policies := []string{string(placement.AlignNone), string(placement.AlignBestEffort), string(placement.AlignRestricted), string(placement.AlignSingleNode)}
	wrong.add(!slices.Contains(policies, c.TopologyManagerPolicy), "topologyManagerPolicy", "%q is none of %q", c.TopologyManagerPolicy, policies)
	wrong.add(!p.PodScope && c.TopologyManagerScope != "container", "topologyManagerScope", "%q is neither container nor pod", c.TopologyManagerScope)
	for _, name := range slices.Sorted(maps.Keys(c.TopologyManagerPolicyOptions)) {
		var err error
		switch text := c.TopologyManagerPolicyOptions[name]; name {
		case "prefer-closest-numa-nodes":
			p.Closest, err = strconv.ParseBool(text)
			wrong.add(err != nil, "topologyManagerPolicyOptions", "%s: %q is neither true nor false", name, text)
		case "max-allowable-numa-nodes":
			p.MaxNodes, err = strconv.Atoi(text)
			wrong.add(err != nil || p.MaxNodes < 8, "topologyManagerPolicyOptions", "%s: %q is no number of 8 or more", name, text)
		default:
			wrong.add(true, "topologyManagerPolicyOptions", "%q is unknown", name)
		}
	}
	wrong.add(p.SpreadCores && (p.FullCores || p.SpreadNodes || p.AlignCaches), "cpuManagerPolicyOptions", "distribute-cpus-across-cores excludes full-pcpus-only, distribute-cpus-across-numa and prefer-align-cpus-by-uncorecache")
	wrong.add(p.AlignCaches && p.SpreadNodes, "cpuManagerPolicyOptions", "prefer-align-cpus-by-uncorecache excludes distribute-cpus-across-numa")
	wrong.add(p.AlignSockets && p.Alignment == string(placement.AlignSingleNode), "cpuManagerPolicyOptions", "align-by-socket excludes topologyManagerPolicy: single-numa-node")
}

// reservedCPUs returns how many CPUs reservedSystemCPUs names; nothing if it is empty.
func (c *Configuration) reservedCPUs() (resource.Quantity, bool) {
	s, err := placement.ParseSet(c.ReservedSystemCPUs)
	return resource.NewQuantity(int64(len(s)), resource.DecimalSI), err == nil && len(s) > 0
}
