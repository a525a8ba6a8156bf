// Package eviction decides when a node is short of something and which pod has to go. It is pure: its
// functions compute from plain data and change nothing. The facts are those of
// k8s.io/kubernetes/pkg/kubelet/eviction, v1.36.3.
package eviction

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Signal names something that a node can be short of.
type Signal string

// The signals.
const (
	MemoryAvailable            Signal = "memory.available"
	AllocatableMemoryAvailable Signal = "allocatableMemory.available"
	NodeFsAvailable            Signal = "nodefs.available"
	NodeFsInodesFree           Signal = "nodefs.inodesFree"
	ImageFsAvailable           Signal = "imagefs.available"
	ImageFsInodesFree          Signal = "imagefs.inodesFree"
	PIDAvailable               Signal = "pid.available"
	// ContainerFs signals are accepted and follow those of the file system that containers are on.
	containerFsAvailable  Signal = "containerfs.available"
	containerFsInodesFree Signal = "containerfs.inodesFree"
)

// Resources that are known here only.
const (
	inodes    corev1.ResourceName = "inodes"
	processes corev1.ResourceName = "pids"
)

// facts are what is known of each signal.
var facts = map[Signal]struct {
	condition corev1.NodeConditionType
	resource  corev1.ResourceName
}{
	MemoryAvailable:            {corev1.NodeMemoryPressure, corev1.ResourceMemory},
	AllocatableMemoryAvailable: {corev1.NodeMemoryPressure, corev1.ResourceMemory},
	NodeFsAvailable:            {corev1.NodeDiskPressure, corev1.ResourceEphemeralStorage},
	NodeFsInodesFree:           {corev1.NodeDiskPressure, inodes},
	ImageFsAvailable:           {corev1.NodeDiskPressure, corev1.ResourceEphemeralStorage},
	ImageFsInodesFree:          {corev1.NodeDiskPressure, inodes},
	PIDAvailable:               {corev1.NodePIDPressure, processes},
}

// Condition returns the node condition of a signal.
func (s Signal) Condition() corev1.NodeConditionType { return facts[s].condition }

// Resource returns the resource that a pod is evicted for.
func (s Signal) Resource() corev1.ResourceName { return facts[s].resource }

// Disk reports whether removing images and dead containers may help.
func (s Signal) Disk() bool { return s.Condition() == corev1.NodeDiskPressure }

// Default is the policy of a kubelet without one.
var Default = map[string]string{
	"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%", "imagefs.inodesFree": "5%",
}

// Amount is an absolute amount, or a part of the capacity if Part is positive.
type Amount struct {
	Value int64
	// Part has the precision of a float32, as Kubernetes' kubelet has it: the allocatable resources of a node
	// depend on it.
	Part float32
	// Text is how the absolute amount was written.
	Text string
}

// Of returns the amount of a capacity.
func (a Amount) Of(capacity uint64) uint64 {
	if a.Part > 0 {
		return uint64(float64(capacity) * float64(a.Part))
	}
	return uint64(max(a.Value, 0))
}

// Threshold is met when less than Least of a signal is available.
type Threshold struct {
	Signal Signal
	Least  Amount
	// Reclaim is how much more than Least has to be available for the threshold to be met no longer.
	Reclaim Amount
	// Soft thresholds must be met for Grace before a pod is evicted, and give it time to end unless Grace is
	// 0.
	Soft  bool
	Grace time.Duration
}

// met reports whether a threshold is met; reclaimed demands the minimum to reclaim too.
func (t *Threshold) met(o Observation, reclaimed bool) bool {
	least := t.Least.Of(o.Capacity)
	if reclaimed {
		least += t.Reclaim.Of(o.Capacity)
	}
	return o.Available < least
}

// Policy is what Parse reads, as in a KubeletConfiguration.
type Policy struct {
	Hard, Soft, MinimumReclaim map[string]string
	SoftGrace                  map[string]string // durations
	// Allocatable also watches the memory that pods may use, as the node's.
	Allocatable bool
}

// Parse returns the thresholds of a policy. 0% and 100% turn a threshold off.
func Parse(p Policy) ([]Threshold, error) {
	hard, err := parse("evictionHard", p.Hard, false)
	if err != nil {
		return nil, err
	}
	soft, err := parse("evictionSoft", p.Soft, true)
	if err != nil {
		return nil, err
	}
	for i := range soft {
		text, ok := p.SoftGrace[string(soft[i].Signal)]
		if !ok {
			return nil, fmt.Errorf("evictionSoftGracePeriod: the soft threshold %s needs a grace period", soft[i].Signal)
		}
		if soft[i].Grace, err = time.ParseDuration(text); err != nil || soft[i].Grace < 0 {
			return nil, fmt.Errorf("evictionSoftGracePeriod: %s: %q is no duration of 0 or more", soft[i].Signal, text)
		}
	}
	for _, name := range sortedKeys(p.SoftGrace) {
		if _, ok := p.Soft[name]; !ok {
			return nil, fmt.Errorf("evictionSoftGracePeriod: %s has no soft threshold", name)
		}
	}
	all := slices.Concat(hard, soft)
	for _, name := range sortedKeys(p.MinimumReclaim) {
		amount, err := parseAmount(Signal(name), p.MinimumReclaim[name])
		if err == nil && amount.Text == "" && amount.Part == 0 {
			err = fmt.Errorf("%s: %q is not positive", name, p.MinimumReclaim[name])
		}
		if err != nil {
			return nil, fmt.Errorf("evictionMinimumReclaim: %w", err)
		}
		for i := range all {
			if all[i].Signal == Signal(name) {
				all[i].Reclaim = amount
			}
		}
	}
	if p.Allocatable {
		for _, t := range slices.Clone(all) {
			if t.Signal == MemoryAvailable && t.Grace == 0 {
				t.Signal = AllocatableMemoryAvailable
				all = append(all, t)
			}
		}
	}
	return all, nil
}

func parse(field string, m map[string]string, soft bool) ([]Threshold, error) {
	var list []Threshold
	for _, name := range sortedKeys(m) {
		amount, err := parseAmount(Signal(name), m[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		if amount.Text == "" && (amount.Part == 0 || amount.Part == 1) || Signal(name) == containerFsAvailable || Signal(name) == containerFsInodesFree {
			continue // containers are on one of the other file systems, whose thresholds hold
		}
		if amount.Text != "" && amount.Value == 0 {
			return nil, fmt.Errorf("%s: eviction threshold %s must be positive: %s", field, name, m[name])
		}
		list = append(list, Threshold{Signal: Signal(name), Least: amount, Soft: soft})
	}
	return list, nil
}

func parseAmount(signal Signal, text string) (Amount, error) {
	if _, ok := facts[signal]; !ok && signal != containerFsAvailable && signal != containerFsInodesFree {
		return Amount{}, fmt.Errorf("unknown signal %q", signal)
	}
	if number, ok := strings.CutSuffix(text, "%"); ok {
		n, err := strconv.ParseFloat(number, 32)
		if err != nil || n < 0 || n > 100 || math.IsNaN(n) {
			return Amount{}, fmt.Errorf("%s: %q is not within 0%% and 100%%", signal, text)
		}
		return Amount{Part: float32(n) / 100}, nil
	}
	q, err := resource.Parse(text)
	if err != nil {
		return Amount{}, fmt.Errorf("%s: %q: %w", signal, text, err)
	}
	if q.Sign() < 0 {
		return Amount{}, fmt.Errorf("%s: %q is negative", signal, text)
	}
	return Amount{Value: q.Value(), Text: q.String()}, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Reserved returns what the hard thresholds keep pods from using, which is no part of the allocatable
// resources.
func Reserved(thresholds []Threshold, memory, disk uint64) (memoryBytes, diskBytes uint64) {
	for i := range thresholds {
		t := &thresholds[i]
		switch {
		case t.Soft:
		case t.Signal == MemoryAvailable:
			memoryBytes = max(memoryBytes, t.Least.Of(memory))
		case t.Signal == NodeFsAvailable:
			diskBytes = max(diskBytes, t.Least.Of(disk))
		}
	}
	return memoryBytes, diskBytes
}

// byUrgency orders thresholds: memory first, hard before soft.
func byUrgency(a, b Threshold) int {
	rank := func(t Threshold) int {
		switch t.Signal.Condition() {
		case corev1.NodeMemoryPressure:
			return 0
		case corev1.NodeDiskPressure:
			return 1
		}
		return 2
	}
	soft := func(t Threshold) int {
		if t.Soft {
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a)-rank(b), soft(a)-soft(b))
}
