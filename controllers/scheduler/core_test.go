package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// big is a cluster of nodes in three zones, with perNode pods each of ten apps.
func big(nodes, perNode int, edit func(p *corev1.Pod)) *Cluster {
	c := NewCluster(nil)
	c.random = nil
	c.SetObject(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "new"}}}})
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{hostnameLabel: name, corev1.LabelTopologyZone: fmt.Sprint("z", i%3)}}}
		n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
		c.SetNode(n)
	}
	for i := range nodes * perNode {
		p := bigPod(fmt.Sprintf("p%d", i), fmt.Sprint("app", i%10), "1")
		p.Spec.NodeName = fmt.Sprintf("n%04d", i%nodes)
		if edit != nil {
			edit(p)
		}
		c.SetPod(p)
	}
	return c
}

func bigPod(name, app, cpu string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Mi")}}}}
	return p
}

func bigTerm(app, topology string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
}

// kinds are the pods that are measured, by what they ask for.
var kinds = map[string]func(p *corev1.Pod){
	"plain": nil,
	"owned": func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
	},
	"spread": func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 5, TopologyKey: corev1.LabelTopologyZone,
			WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
	},
	"affinity": func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{bigTerm("app1", corev1.LabelTopologyZone)}}}
	},
	"apart": func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{bigTerm("new", hostnameLabel)}}}
	},
}

// Decisions that find a node allocate nothing, whatever the pod asks for.
func TestDecisionsAllocateNothing(t *testing.T) {
	c := big(300, 2, kinds["affinity"])
	allocateNothing(t, c)
	// Nor do they when they are measured.
	measured := 0
	c.measured = &Metrics{Point: func(_, _, _ string, took time.Duration) { measured++ }, Plugin: func(_, _, _ string, took time.Duration) { measured++ }}
	allocateNothing(t, c)
	if measured < 400 {
		t.Error(measured, "measurements")
	}
}

func allocateNothing(t *testing.T, c *Cluster) {
	for name, edit := range kinds {
		p := bigPod("p", "new", "100m")
		if edit != nil {
			edit(p)
		}
		info := NewPod(p)
		if n := testing.AllocsPerRun(20, func() {
			if c.Select(c.profile, info) == "" {
				t.Fatal(name, "does not fit")
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// BenchmarkDecide decides about one pod on 5,000 nodes with 10,000 pods, for which 500 feasible nodes are
// enough. "existing" is a plain pod that the pods of half of the nodes want to be apart from.
func BenchmarkDecide(b *testing.B) {
	run := func(name string, c *Cluster, edit func(p *corev1.Pod)) {
		p := bigPod("p", "new", "100m")
		if edit != nil {
			edit(p)
		}
		info := NewPod(p)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c.Select(c.profile, info) == "" {
					b.Fatal("does not fit")
				}
			}
		})
	}
	c := big(5000, 2, nil)
	for name, edit := range kinds {
		run(name, c, edit)
	}
	n := 0
	run("existing", big(5000, 2, func(p *corev1.Pod) {
		if n++; n%2 == 0 {
			kinds["apart"](p)
		}
	}), nil)
}

// BenchmarkDryRun plans a preemption on 5,000 nodes that are full of less important pods.
func BenchmarkDryRun(b *testing.B) {
	c := big(5000, 4, nil)
	p := bigPod("p", "new", "3")
	p.Spec.Priority = new(int32(10))
	info := NewPod(p)
	cy := c.decide(c.profile, info, nil)
	if cy.selected != nil {
		b.Fatal("fits")
	}
	for b.Loop() {
		if v := cy.preempt(&DefaultPreemption{}); v == nil || len(v.victims) != 3 {
			b.Fatal(v)
		}
	}
}

// BenchmarkPlace places a pod and removes it again.
func BenchmarkPlace(b *testing.B) {
	c := big(5000, 2, kinds["spread"])
	info := NewPod(bigPod("p", "new", "100m"))
	b.ReportAllocs()
	for b.Loop() {
		c.place(info, "n0001")
		c.RemovePod("p")
	}
}

// BenchmarkSimulate forks a cluster of 1,000 nodes and places 1,000 pods.
func BenchmarkSimulate(b *testing.B) {
	c := big(1000, 2, nil)
	var pods []*corev1.Pod
	for i := range 1000 {
		pods = append(pods, bigPod(fmt.Sprint("new", i), "new", "100m"))
	}
	for b.Loop() {
		fork := c.Fork()
		for _, p := range pods {
			info := NewPod(p)
			fork.Place(info, fork.Select(fork.profile, info))
		}
	}
}
