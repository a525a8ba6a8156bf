package placement

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// besideWorld is a line that the resource managers of Kubernetes read.
type besideWorld struct {
	CPUs      []CPU
	Distances [][]int
	Memory    uint64

	ReservedCPUs    int
	ReservedMemory  uint64
	CPUOptions      map[string]string
	Policy, Scope   string
	TopologyOptions map[string]string
	Steps           []besideStep
}

type besideStep struct {
	Gone, Name string
	Containers []besideContainer
}

type besideContainer struct {
	Name    string
	Passing bool
	CPUs    int
	Memory  uint64
}

type besideAnswer struct {
	Reason, Message string
	CPUs            map[string]Set
	Nodes           map[string][]int
}

// besidePlacements makes a machine, policies, and pods that come and go.
func besidePlacements(seed uint64) (*besideWorld, Options, *Machine) {
	r := seeds.Rand(seed)
	m := box(1+r.IntN(2), 1+r.IntN(2), 2+r.IntN(3), 1000)
	w := &besideWorld{CPUs: m.CPUs, Memory: 1000, ReservedCPUs: 1 + r.IntN(2), ReservedMemory: 100, CPUOptions: map[string]string{}, TopologyOptions: map[string]string{}}
	for _, n := range m.Nodes {
		w.Distances = append(w.Distances, n.Distances)
	}
	w.Policy = []string{"none", "best-effort", "restricted", "single-numa-node"}[r.IntN(4)]
	w.Scope = []string{"container", "pod"}[r.IntN(2)]
	o := Options{StaticCPUs: true, ReservedCount: w.ReservedCPUs, StaticMemory: true, ReservedMemory: map[int]map[corev1.ResourceName]uint64{0: {corev1.ResourceMemory: 100}},
		Alignment: Alignment(w.Policy), PodScope: w.Scope == "pod"}
	option := func(name string, set *bool) {
		if *set = r.IntN(3) == 0; *set {
			w.CPUOptions[name] = "true"
		}
	}
	option("full-pcpus-only", &o.FullCores)
	option("strict-cpu-reservation", &o.StrictReserved)
	if o.Alignment != AlignSingleNode {
		option("align-by-socket", &o.AlignSockets)
	}
	if o.Closest = r.IntN(2) == 0; o.Closest {
		w.TopologyOptions["prefer-closest-numa-nodes"] = "true"
	}
	var live []string
	for i := range 30 {
		if r.IntN(3) == 0 && len(live) > 0 {
			k := r.IntN(len(live))
			w.Steps = append(w.Steps, besideStep{Gone: live[k]})
			live = slices.Delete(live, k, k+1)
			continue
		}
		s := besideStep{Name: fmt.Sprint("p", i)}
		count := 1 + r.IntN(3)
		for j := range count {
			// Upstream does not count the cores that an init container had, though it gives them again.
			c := besideContainer{Name: fmt.Sprint("c", j), Passing: j == 0 && count > 1 && r.IntN(3) == 0 && !o.FullCores, CPUs: r.IntN(5), Memory: uint64(1 + r.IntN(400))}
			if o.FullCores && r.IntN(4) > 0 {
				c.CPUs &^= 1
			}
			s.Containers = append(s.Containers, c)
		}
		w.Steps = append(w.Steps, s)
		live = append(live, s.Name)
	}
	return w, o, m
}

// Random pods come to random machines and go, beside the CPU, memory and topology managers of the kubelet
// 1.36.3, as .ci/peers builds them: the same pods are refused with the same words, and all others get the
// same CPUs and NUMA nodes.
func TestPlacementsBeside(t *testing.T) {
	place := seeds.Beside[*besideWorld, []besideAnswer](t, "placement-decisions")
	admitted, refused := 0, map[string]int{}
	for _, seed := range seeds.Of(t, 300) {
		w, o, machine := besidePlacements(seed)
		all := place(w)
		m, err := New(machine, o)
		require.NoError(t, err)
		for i, s := range w.Steps {
			if s.Gone != "" {
				m.Release(types.UID(s.Gone))
				continue
			}
			want := all[0]
			all = all[1:]
			got := ours(t, m, s)
			// Upstream counts what is missing after it took the CPUs of the place, ours all.
			for _, a := range []*besideAnswer{&want, &got} {
				a.Message, _, _ = strings.Cut(a.Message, ": requested=")
			}
			require.Equal(t, want, got, "seed %d, step %d, %s %s %v %v: %+v", seed, i, w.Policy, w.Scope, w.CPUOptions, w.TopologyOptions, s)
			if got.Reason == "" {
				admitted++
			} else {
				refused[got.Reason]++
			}
		}
	}
	t.Logf("admitted %d, refused %v", admitted, refused)
	require.Greater(t, admitted, 500)
	require.Len(t, slices.Sorted(maps.Keys(refused)), 3, "TopologyAffinityError, SMTAlignmentError and UnexpectedAdmissionError")
}

// ours is what this package says of a pod.
func ours(t *testing.T, m *Manager, s besideStep) besideAnswer {
	p := Pod{UID: types.UID(s.Name)}
	for _, passing := range []bool{true, false} {
		for _, c := range s.Containers {
			if c.Passing == passing {
				p.Containers = append(p.Containers, Container{Name: c.Name, Passing: passing, CPUs: c.CPUs, Memory: map[corev1.ResourceName]uint64{corev1.ResourceMemory: c.Memory}})
			}
		}
	}
	given, err := m.Admit(t.Context(), p, none{})
	got := besideAnswer{CPUs: map[string]Set{}, Nodes: map[string][]int{}}
	if r, ok := errors.AsType[*Refusal](err); ok {
		got.Reason, got.Message = r.Reason, r.Message
		return got
	}
	require.NoError(t, err)
	for name, g := range given.Containers {
		if len(g.CPUs) > 0 {
			got.CPUs[name] = g.CPUs
		}
		for _, b := range g.Memory {
			got.Nodes[name] = b.Nodes
		}
	}
	return got
}
