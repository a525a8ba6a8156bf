package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

type pods struct{ *controllertest.Cluster }

func (c pods) create(name, cpu string, edit ...func(p *corev1.Pod)) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "web", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
	for _, f := range edit {
		f(p)
	}
	controllertest.Create(c.Cluster, p)
}

// start returns a cluster with three nodes, one of them tainted, and a function that runs the program on it.
func start(t *testing.T, add ...controllertest.Adder) (pods, func(args ...string) (string, error)) {
	c := controllertest.Start(t, controllertest.Options{Controllers: add})
	for _, name := range []string{"a", "b", "c"} {
		room := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
		n := &corev1.Node{ObjectMeta: controllertest.Name("", name), Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
		controllertest.Create(c, n)
		controllertest.Update(c, "", name, func(n *corev1.Node) {
			n.Spec.Taints = nil // the server adds one to a node that is not ready
			if name == "c" {
				n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
			}
		})
	}
	return pods{c}, func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"explain-scheduling", "--kubeconfig", c.Kubeconfig()}, args...), strings.NewReader(""), &out)
		return out.String(), err
	}
}

// What is printed for a pod that waits is the decision that the scheduler makes then.
func TestExplanationIsTheDecision(t *testing.T) {
	c, explain := start(t)
	c.create("first", "1", func(p *corev1.Pod) { p.Spec.NodeName = "a" })
	c.create("web", "2")
	text, err := explain("web")
	require.NoError(t, err)
	require.Contains(t, text, "Selected: b, of 2 nodes that can take it; 1 of 3 refuse it\n")
	require.Regexp(t, `\nc +TaintToleration +node\(s\) had untolerated taint\(s\)\n`, text)
	require.Regexp(t, `\nSCORES +TOTAL +TaintToleration x3 .*NodeResourcesFit x1 .*\nb +\d+ .*\na +\d+ `, text)
	c.Run(c.Manager("scheduler", func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) }))
	require.Eventually(t, func() bool {
		return controllertest.Get[*corev1.Pod](c.Cluster, "default", "web").Spec.NodeName == "b"
	}, time.Minute, 5*time.Millisecond)
	text, err = explain("web")
	require.NoError(t, err)
	require.Contains(t, text, "It is on node b; this is what would be decided")
	require.Contains(t, text, "Selected: b,")
}

// A pod of a file need not exist; who would be preempted for it is said.
func TestExplainOfAFile(t *testing.T) {
	c, explain := start(t)
	for _, on := range []string{"a", "b"} {
		c.create("low-"+on, "3", func(p *corev1.Pod) { p.Spec.NodeName = on })
	}
	file := filepath.Join(t.TempDir(), "pod.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("apiVersion: v1\nkind: Pod\nmetadata: {name: big}\nspec: {priorityClassName: system-node-critical, containers: [{name: main, image: web, resources: {requests: {cpu: 2}}}]}\n")
	text, err := explain("-f", file, "-n", "kube-system")
	require.NoError(t, err)
	require.Contains(t, text, "No node: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.")
	require.Regexp(t, "Preemption would make room on [ab] by ending: default/low-[ab]\n", text)
	write("apiVersion: v1\nkind: Service\nmetadata: {name: big}\n")
	_, err = explain("-f", file)
	require.ErrorContains(t, err, "want a Pod")
}

// The profile of a configuration decides; a pod of a scheduler that is not described is refused.
func TestExplainWithAConfiguration(t *testing.T) {
	c, explain := start(t)
	c.create("first", "1", func(p *corev1.Pod) { p.Spec.NodeName = "a" })
	c.create("web", "1", func(p *corev1.Pod) { p.Spec.SchedulerName = "packer" })
	_, err := explain("web")
	require.ErrorContains(t, err, `scheduler "packer": give its configuration with --config`)
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: packer, plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: TaintToleration}, {name: NodeResourcesFit, weight: 3}, {name: DefaultBinder}]}},
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]
extenders: [{urlPrefix: "http://extender.example", filterVerb: filter}]
`), 0o600))
	text, err := explain("web", "--config", file)
	require.NoError(t, err)
	require.Contains(t, text, "Selected: a,")
	require.Contains(t, text, "NodeResourcesFit x3")
	require.Contains(t, text, "The extender http://extender.example is not called.")
	for _, args := range [][]string{{}, {"web", "other"}, {"web", "-f", file}, {"missing"}, {"web", "--config", "missing"}, {"web", "--colour"}} {
		_, err := explain(args...)
		require.Error(t, err, args)
	}
}
