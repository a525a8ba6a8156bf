package eviction

import (
	"maps"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// Observation is how much there is of what a signal measures.
type Observation struct {
	Capacity, Available uint64
	At                  time.Time // zero if it is not known
}

// Observations are those of one moment.
type Observations map[Signal]Observation

// Observe derives the observations from a sample. Allocatable is the memory that pods may use, in bytes; 0
// if that is not limited.
func Observe(s *usage.Sample, allocatable uint64) Observations {
	o := Observations{MemoryAvailable: {s.Memory, s.MemoryAvailable, s.At}}
	if allocatable > 0 {
		used := uint64(0)
		for _, p := range s.Pods {
			n, _ := p.WorkingSet()
			used += n
		}
		o[AllocatableMemoryAvailable] = Observation{allocatable, allocatable - min(used, allocatable), s.At}
	}
	disk := func(f *usage.Filesystem, at time.Time, bytes, inodes Signal) {
		if f.Capacity > 0 {
			o[bytes] = Observation{f.Capacity, f.Available, at}
		}
		if f.Inodes > 0 {
			o[inodes] = Observation{f.Inodes, f.AvailableInodes, at}
		}
	}
	disk(&s.Node, s.At, NodeFsAvailable, NodeFsInodesFree)
	disk(&s.Image, s.ImagesAt, ImageFsAvailable, ImageFsInodesFree)
	if s.MostPIDs > 0 {
		o[PIDAvailable] = Observation{s.MostPIDs, s.MostPIDs - min(s.PIDs, s.MostPIDs), s.At}
	}
	return o
}

// State is what has to be remembered between two looks at the node. The zero value is the state of a node
// that has not been looked at.
type State struct {
	since     map[Threshold]time.Time                // when a threshold that is met was first seen to be
	pressed   map[corev1.NodeConditionType]time.Time // when a condition was last seen
	satisfied []Threshold                            // those met for their grace periods, at the last look
	last      map[Signal]time.Time                   // when the observations of the last look were made
}

// Next takes up observations and returns the thresholds on which to act, the most urgent first. On one whose
// observation is that of the last look it is not acted: it does not show yet what was done then.
func (s *State) Next(now time.Time, thresholds []Threshold, o Observations) []Threshold {
	met := map[Threshold]time.Time{}
	see := func(t Threshold, reclaimed bool) {
		if obs, ok := o[t.Signal]; ok && t.met(obs, reclaimed) {
			met[t] = now
			if first, ok := s.since[t]; ok {
				met[t] = first
			}
		}
	}
	for _, t := range thresholds {
		see(t, false)
	}
	for _, t := range s.satisfied {
		see(t, true) // until enough has been reclaimed
	}
	s.since = met
	if s.pressed == nil {
		s.pressed = map[corev1.NodeConditionType]time.Time{}
	}
	s.satisfied = nil
	for _, t := range thresholds {
		first, ok := met[t]
		if !ok {
			continue
		}
		s.pressed[t.Signal.Condition()] = now
		if now.Sub(first) >= t.Grace {
			s.satisfied = append(s.satisfied, t)
		}
	}
	act := slices.DeleteFunc(slices.Clone(s.satisfied), func(t Threshold) bool {
		last, seen := s.last[t.Signal]
		at := o[t.Signal].At
		return seen && !at.IsZero() && !at.After(last)
	})
	s.last = map[Signal]time.Time{}
	for signal, obs := range o {
		s.last[signal] = obs.At
	}
	slices.SortStableFunc(act, byUrgency)
	return act
}

// Conditions returns the node conditions that are true: those seen within the transition period.
func (s *State) Conditions(now time.Time, transition time.Duration) []corev1.NodeConditionType {
	var list []corev1.NodeConditionType
	for _, t := range slices.Sorted(maps.Keys(s.pressed)) {
		if at := s.pressed[t]; at.Equal(now) || now.Sub(at) < transition {
			list = append(list, t)
		}
	}
	return list
}

// Resolved reports whether no threshold is met any more, the minimum to reclaim included.
func Resolved(thresholds []Threshold, o Observations) bool {
	for i := range thresholds {
		if obs, ok := o[thresholds[i].Signal]; ok && thresholds[i].met(obs, true) {
			return false
		}
	}
	return true
}
