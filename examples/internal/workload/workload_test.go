package workload_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/namespace"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/workload"
)

// selected returns the only workload of a file with the labels.
func selected(t *testing.T, path string, labels ...string) *workload.Selected {
	t.Helper()
	f, err := workload.Read(path)
	require.NoError(t, err)
	found := f.Select(labels)
	require.Len(t, found, 1)
	return found[0]
}

// TestWorkload runs a file over the memory store on virtual time, so that the rates that operations name are
// those that are measured: four pods a second.
func TestWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		}})
		nodes := client.For[*corev1.Node](c.Admin())
		before, err := nodes.List(t.Context(), client.ListOptions{})
		require.NoError(t, err)
		p, err := selected(t, "testdata/workloads.yaml", "small", "short").Plan()
		require.NoError(t, err)
		require.Equal(t, "Everything/small", p.Name())
		var steps strings.Builder
		items, err := p.Run(t.Context(), workload.Options{Conns: []client.Conn{c.Admin()}, Progress: &steps})
		require.NoError(t, err, steps.String())

		measured := itemsOf(items, "Everything/small/measured")
		require.InDelta(t, 4, measured["SchedulingThroughput"].Data["Perc50"], 0.001)
		require.Positive(t, measured["OverallThroughput"].Data["Average"])
		require.GreaterOrEqual(t, measured["SchedulingDuration"].Data["Duration"], 7.0)
		last := itemsOf(items, "Everything/small/namespace-17")
		require.Contains(t, last, "PodLatency")
		require.Contains(t, last["PodLatency"].Data, "Perc99")
		require.NotContains(t, last, "SchedulingThroughput") // takes less than a second

		c.Settle()
		after, err := nodes.List(t.Context(), client.ListOptions{})
		require.NoError(t, err)
		require.Len(t, after.Items, len(before.Items), "what it created is deleted")
	})
}

// TestClaimsAreAllocated gives devices to claims before there are pods: each claim has its own device, and a
// claim for which there is none ends the workload.
func TestClaimsAreAllocated(t *testing.T) {
	for claims, wrong := range map[int]string{5: "", 7: "no node has the devices"} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
				func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
				func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) },
				func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
			}})
			path := write(t, fmt.Sprintf(`
- name: Devices
  workloadTemplate:
  - {opcode: createNodes, count: 3}
  - {opcode: createAny, templatePath: class.yaml}
  - {opcode: createResourceDriver, driverName: driver.example.com, nodes: "node-*", maxClaimsPerNode: 2}
  - {opcode: createResourceClaims, namespace: init, templatePath: claim.yaml, count: %d}
  - {opcode: allocResourceClaims, namespace: init}
  - {opcode: createPods, count: 1, collectMetrics: true}
  workloads: [{name: one}]
`, claims))
			for name, text := range map[string]string{
				"class.yaml": "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: class}\n",
				"claim.yaml": "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {generateName: claim-}\nspec: {devices: {requests: [{name: one, exactly: {deviceClassName: class}}]}}\n",
			} {
				require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o600))
			}
			p, err := selected(t, path).Plan()
			require.NoError(t, err)
			_, err = p.Run(t.Context(), workload.Options{Conns: []client.Conn{c.Admin()}, Keep: true})
			if wrong != "" {
				require.ErrorContains(t, err, wrong)
				return
			}
			require.NoError(t, err)
			have := map[string]bool{}
			for _, claim := range controllertest.List[*resourcev1.ResourceClaim](c, "init") {
				require.Len(t, claim.Status.Allocation.Devices.Results, 1)
				r := claim.Status.Allocation.Devices.Results[0]
				have[r.Pool+r.Device] = true
			}
			require.Len(t, have, claims)
		})
	}
}

// TestWaitsEnd takes a workload whose pods cannot be scheduled: it ends, and says where and how many.
func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return namespace.Add(m, namespace.Options{}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		}})
		path := write(t, `
- name: Full
  workloadTemplate:
  - opcode: createNodes
    count: 1
  - opcode: createPods
    count: 41 # of which 40 fit
    collectMetrics: true
  workloads: [{name: one}]
`)
		p, err := selected(t, path).Plan()
		require.NoError(t, err)
		_, err = p.Run(t.Context(), workload.Options{Conns: []client.Conn{c.Admin()}, Patience: 20 * time.Second})
		require.ErrorContains(t, err, path+":6: ")
		require.ErrorContains(t, err, "namespace namespace-1: 40 pods are scheduled and 1 more were tried, want 41")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func itemsOf(items []workload.Item, name string) map[string]workload.Item {
	out := map[string]workload.Item{}
	for _, i := range items {
		if i.Labels["Name"] == name {
			out[i.Labels["Metric"]] = i
		}
	}
	return out
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "performance-config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestStrict gives files with one mistake each; the error names the line and the field.
func TestStrict(t *testing.T) {
	const frame = "- name: A\n  workloadTemplate:\n  - opcode: createNodes\n    %s\n  - {opcode: createPods, count: 1, collectMetrics: true}\n  workloads:\n  - name: one\n    %s\n"
	for _, test := range []struct{ op, workload, line, message string }{
		{"countParm: $n", "", "4", "[0].workloadTemplate[0].countParm"},
		{"mode: create", "", "4", "mode: createNodes has no such field"},
		{"count: x", "", "4", "[0].workloadTemplate[0].count"},
		{"count: 1\n    count: 2", "", "5", "count"},
		{"count: -1", "", "3", "negative"},
		{"countParam: nodes", "", "4", `"nodes": a parameter begins with $`},
		{"countParam: $nodes", "", "4", "workload A/one: parameter $nodes is not a whole number"},
		{"countParam: $nodes", "params: {nodes: many}", "4", "parameter $nodes is not a whole number"},
		{"count: 1", "params: {nodes: 1}", "8", "params.nodes: no operation uses the parameter"},
		{"count: 1", "threshold: -1", "8", "threshold -1"},
		{"count: 1", "threshold: [1]", "8", "threshold"},
		{"count: 1", "thresholdMetricSelector: {name: SchedulingThroughput}", "8", "dataBucket"},
		{"count: 1", "thresholdMetricSelector: {name: some_seconds, dataBucket: Perc50}", "8", "some_seconds is not collected"},
		{"count: 1", "labls: [a]", "8", "labls"},
		{"nodeTemplatePath: none.yaml", "", "4", "none.yaml"},
		{"nodeAllocatableStrategy: {nodeAllocatable: {cpu: much}}", "", "4", "nodeAllocatable.cpu"},
		{"labelNodePrepareStrategy: {labelKey: a}", "", "4", "labelValues"},
	} {
		path := write(t, fmt.Sprintf(frame, test.op, test.workload))
		err := planned(path)
		line := "4"
		if test.line != "" {
			line = test.line
		}
		if strings.Contains(test.op, "\n") && test.line == "8" {
			line = "9"
		}
		require.ErrorContains(t, err, path+":"+line+": ", "%s, %s", test.op, test.workload)
		require.ErrorContains(t, err, test.message)
	}
	for text, message := range map[string]string{
		"[]": "no test cases",
		"- name: A\n  workloadTemplate: [{opcode: fly}]\n  workloads: [{name: one}]\n":                                                                              `:2: [0].workloadTemplate[0].opcode: unknown opcode "fly"`,
		"- name: A\n  workloadTemplate: [{opcode: createNodes}]\n  workloads: [{name: one}]\n":                                                                      ":2: [0].workloadTemplate: A: no op in the workload template collects metrics",
		"- name: A\n  workloadTemplate: [{opcode: stopCollectingMetrics}]\n  workloads: [{name: one}]\n":                                                            ":2: [0].workloadTemplate[0].opcode: nothing collects metrics",
		"- name: A\n  workloadTemplate: [{opcode: createPods, collectMetrics: true},\n    {opcode: barrier, stageRequirement: Done}]\n  workloads: [{name: one}]\n": `:3: [0].workloadTemplate[1].stageRequirement: "Done"`,
		"- name: A\n  workloadTemplate: [{opcode: createPods, collectMetrics: true},\n    {opcode: churn, mode: recreate}]\n  workloads: [{name: one}]\n":           ":3: [0].workloadTemplate[1].number: must not be 0",
		"- name: A\n  workloadTemplate: [{opcode: createPods, collectMetrics: true, steadyState: true, count: 1}]\n  workloads: [{name: one}]\n":                    ":2: [0].workloadTemplate[0].steadyState: workload A/one: needs a duration",
		"- name: A\n  workloadTemplate: [{opcode: createPods, collectMetrics: true}]\n  workloads: [{name: one}, {name: one}]\n":                                    ":3: [0].workloads[1].name",
		"- name: A\n  workloadTemplate: [{opcode: createPodSets, createPodsOp: {opcode: createPods, collectMetrics: true, mode: x}}]\n  workloads: [{name: one}]\n": ":2: [0].workloadTemplate[0].createPodsOp.mode: createPods has no such field",
	} {
		require.ErrorContains(t, planned(write(t, text)), message, text)
	}
}

func planned(path string) error {
	f, err := workload.Read(path)
	if err != nil {
		return err
	}
	for _, s := range f.Select(nil) {
		if _, err := s.Plan(); err != nil {
			return err
		}
	}
	return nil
}

func TestLabels(t *testing.T) {
	f, err := workload.Read("testdata/workloads.yaml")
	require.NoError(t, err)
	for filter, want := range map[string]int{"": 2, "small": 2, "short": 1, "small,-short": 1, "+small,long": 1, "short,long": 0, "-small": 0} {
		require.Len(t, f.Select(strings.Split(filter, ",")), want, filter)
	}
}

// TestGates compares the feature gates of a workload with the metrics of servers.
func TestGates(t *testing.T) {
	path := write(t, "- name: A\n  featureGates: {Fast: true, Slow: true}\n  workloadTemplate: [{opcode: createPods, collectMetrics: true}]\n"+
		"  workloads:\n  - name: one\n    featureGates: {Slow: false}\n")
	s := selected(t, path)
	require.Equal(t, map[string]bool{"Fast": true, "Slow": false}, s.Gates())
	server := func(gates string) []byte {
		text := "# TYPE kubernetes_feature_enabled gauge\n"
		for gate := range strings.FieldsSeq(gates) {
			name, value, _ := strings.Cut(gate, "=")
			text += fmt.Sprintf("kubernetes_feature_enabled{name=%q,stage=\"\"} %s\n", name, value)
		}
		return []byte(text)
	}
	require.NoError(t, s.CheckGates(server("Fast=1 Other=1"), server("Slow=0")))
	require.ErrorContains(t, s.CheckGates(server("Fast=1"), server("Slow=1")), path+":6: [0].workloads[0].featureGates.Slow: want false, the server runs with true")
	require.ErrorContains(t, s.CheckGates(server("Slow=0")), path+":2: [0].featureGates.Fast: want true, no server has this feature gate")
	require.NoError(t, s.WithoutGate("Fast").CheckGates(server("Slow=0")))
	require.ErrorContains(t, s.CheckGates([]byte("up 1\n")), "not known")
}
