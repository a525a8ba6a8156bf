package scheduler_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// group makes random pods of a PodGroup, and what it demands.
func (w *world) group() (pods []*corev1.Pod, g *podGroup) {
	g = newGroup(w.one("g1", "g2", "g3"), int32(w.IntN(5)))
	if w.seldom(2) {
		g.Spec.SchedulingConstraints = &schedulingv1alpha2.PodGroupSchedulingConstraints{
			Topology: []schedulingv1alpha2.TopologyConstraint{{Key: corev1.LabelTopologyZone}}}
	}
	for range 1 + w.IntN(5) {
		p := w.pod()
		p.Namespace = g.Namespace
		memberOf(g.Name)(p)
		pods = append(pods, p)
	}
	return pods, g
}

// decideGroup compares the decisions about a random group, and sometimes places it. A decision leaves the
// state as it was, to the last count.
func (w *world) decideGroup(t *testing.T) {
	pods, g := w.group()
	w.fast.SetObject(g)
	label, least := "", 1
	if g.Spec.SchedulingPolicy.Gang != nil {
		least = int(g.Spec.SchedulingPolicy.Gang.MinCount)
	}
	if g.Spec.SchedulingConstraints != nil {
		label = corev1.LabelTopologyZone
	}
	want := w.naive.ScheduleGroup(pods, least, label)
	before := w.fast.Dump()
	got := w.fast.ScheduleGroup(gangs(), pods)
	require.Equal(t, before, w.fast.Dump())
	require.Equal(t, want.Fits, got.Message == "", "%v\n%v", want, got)
	require.Equal(t, want.Waits, got.Waits, "%v\n%v", want, got)
	if want.Broken {
		require.Contains(t, got.Message, "cannot determine domain for already scheduled pods")
		return
	}
	placed := want.Fits || want.Waits
	for i, p := range pods {
		switch {
		case placed:
			require.Equal(t, want.Nodes[p.Name], got.Nodes[i], "%s\n%v\n%v", p.Name, want, got)
		default:
			require.Empty(t, got.Nodes[i])
		}
		if why, refused := want.Refused[p.Name]; refused {
			require.Contains(t, got.Reasons[i], why)
		} else if !placed && got.Message != "no feasible placements found" {
			require.Contains(t, got.Reasons[i], "waiting for minCount pods")
		}
	}
	if want.Waits {
		victims := names(got.Victims)
		slices.Sort(victims)
		require.Equal(t, want.Victims, victims)
	}
	if !want.Fits {
		return
	}
	for i, p := range pods {
		if p.Spec.NodeName = got.Nodes[i]; p.Spec.NodeName != "" {
			w.pods = append(w.pods, p)
			w.naive.SetPod(p)
			w.fast.SetPod(p)
		}
	}
}

// Random groups in random states: they are placed as one would place their pods by hand, one after the other,
// on a copy of the cluster for each of the zones.
func TestGroupDecisionsEqualTheNaive(t *testing.T) {
	for _, seed := range seeds.Of(t, 100) {
		w := newWorld(seed)
		for step := range 100 {
			switch {
			case w.seldom(3):
				w.decideGroup(t)
			case w.seldom(6):
				w.decide(t)
			case w.seldom(12):
				w.try(t)
			default:
				w.change(w.fast, w.naive)
			}
			if wrong := w.fast.Check(); len(wrong) > 0 || t.Failed() {
				t.Fatalf("seed %d, step %d: %v", seed, step, wrong)
			}
		}
	}
}
