package builtin_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/columns"
)

type wantTable struct {
	Group, Version, Resource string
	Columns                  []struct {
		Name, Type, Format string
		Priority           int32
	}
	Rows []struct{ Cells []any }
}

func readTables(t *testing.T, file string) []wantTable {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []wantTable
	require.NoError(t, json.Unmarshal(data, &out))
	require.NotEmpty(t, out)
	return out
}

// tableOf returns the printer columns of a built-in resource, stored or computed.
func tableOf(t testing.TB, gvr schema.GroupVersionResource) columns.Table {
	switch gvr.Resource {
	case "scales":
		return builtin.ScaleTable
	case "componentstatuses":
		return builtin.ComponentStatusTable
	}
	for _, d := range definitions(t) {
		if d.Info.GVR == gvr && len(d.Table.Columns) > 0 {
			return d.Table
		}
	}
	return columns.Default()
}

func TestColumnsOfEveryResource(t *testing.T) {
	for _, w := range readTables(t, "testdata/table_columns.json") {
		gvr := schema.GroupVersionResource{Group: w.Group, Version: w.Version, Resource: w.Resource}
		got := tableOf(t, gvr)
		require.Len(t, got.Columns, len(w.Columns), gvr)
		for i, c := range w.Columns {
			g := got.Columns[i]
			require.NotEmpty(t, g.Description, "%v %s", gvr, g.Name)
			g.Description = ""
			require.Equal(t, metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Format: c.Format, Priority: c.Priority}, g, gvr)
		}
	}
}

// Every registered kind has a row for an empty object, of the right width, without a panic.
func TestRowsOfEmptyObjects(t *testing.T) {
	for _, info := range api.Scheme().All() {
		table := tableOf(t, info.GVR)
		obj := info.New()
		obj.SetName("x")
		cells := table.Cells(obj, time.Unix(1000, 0))
		if info.GVR.Resource == "ipaddresses" {
			require.Len(t, cells, 3) // an age without a column
			continue
		}
		require.Len(t, cells, len(table.Columns), info.GVR)
		require.Equal(t, table.Columns[0].Name == "Name", cells[0] == "x", info.GVR)
	}
}

// Rows have as many cells as kube-apiserver's.
func TestRowWidths(t *testing.T) {
	for _, w := range readTables(t, "testdata/table_rows.json") {
		gvr := schema.GroupVersionResource{Group: w.Group, Version: w.Version, Resource: w.Resource}
		info := api.Scheme().ForResource(gvr)
		if info == nil {
			continue // the custom resource, and kinds served by an aggregated server
		}
		got := tableOf(t, gvr).Cells(info.New(), time.Now())
		for _, r := range w.Rows {
			require.Len(t, got, len(r.Cells), gvr)
			for i, cell := range r.Cells {
				_, number := cell.(float64)
				switch got[i].(type) {
				case int64:
					require.True(t, number, "%v cell %d is %v", gvr, i, cell)
				case bool:
					require.IsType(t, true, cell, "%v cell %d", gvr, i)
				case string:
					if number {
						require.Equal(t, "<none>", got[i], "%v cell %d is %v", gvr, i, cell)
					}
				}
			}
		}
	}
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func podCells(t *testing.T, p *corev1.Pod) []any {
	p.Name, p.CreationTimestamp = "p", ago(14*time.Second)
	return tableOf(t, corev1.GroupVersion.WithResource("pods")).Cells(p, now)
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func terminated(reason string, code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, FinishedAt: ago(time.Minute)}}
}

var running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

func TestPodStatus(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	two := []corev1.Container{{Name: "a"}, {Name: "b"}}
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for name, c := range map[string]struct {
		pod                     corev1.Pod
		ready, status, restarts string
	}{
		"pending": {corev1.Pod{Spec: corev1.PodSpec{Containers: two}, Status: corev1.PodStatus{Phase: corev1.PodPending}}, "0/2", "Pending", "0"},
		"gated": {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated"},
		}}}, "0/0", "SchedulingGated", "0"},
		"evicted": {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}}, "0/0", "Evicted", "0"},
		"second init container": {corev1.Pod{Spec: corev1.PodSpec{InitContainers: two, Containers: two}, Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "a", State: terminated("Completed", 0)}, {Name: "b", State: waiting("PodInitializing")},
		}}}, "0/2", "Init:1/2", "0"},
		"failing init container": {corev1.Pod{Spec: corev1.PodSpec{InitContainers: two[:1], Containers: two}, Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "a", State: waiting("CrashLoopBackOff"), RestartCount: 3, LastTerminationState: terminated("Error", 1)},
		}}}, "0/2", "Init:CrashLoopBackOff", "3 (60s ago)"},
		"init exit code": {corev1.Pod{Spec: corev1.PodSpec{InitContainers: two[:1]}, Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "a", State: terminated("", 3)},
		}}}, "0/0", "Init:ExitCode:3", "0"},
		"sidecar": {corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "s", RestartPolicy: &always}}, Containers: two}, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: ready,
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "s", State: running, Started: new(true), Ready: true, RestartCount: 1}},
			ContainerStatuses:     []corev1.ContainerStatus{{Ready: true, State: running}, {Ready: true, State: running, RestartCount: 2}},
		}}, "3/3", "Running", "3"},
		"crash loop": {corev1.Pod{Spec: corev1.PodSpec{Containers: two}, Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{State: waiting("CrashLoopBackOff"), RestartCount: 7, LastTerminationState: terminated("Error", 1)}, {Ready: true, State: running},
		}}}, "1/2", "CrashLoopBackOff", "7 (60s ago)"},
		"completed": {corev1.Pod{Spec: corev1.PodSpec{Containers: two[:1]}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{
			{State: terminated("Completed", 0)},
		}}}, "0/1", "Completed", "0"},
		"half completed": {corev1.Pod{Spec: corev1.PodSpec{Containers: two}, Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{State: terminated("Completed", 0)}, {Ready: true, State: running},
		}}}, "1/2", "NotReady", "0"},
		"half completed and ready": {corev1.Pod{Spec: corev1.PodSpec{Containers: two}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: ready, ContainerStatuses: []corev1.ContainerStatus{
			{State: terminated("Completed", 0)}, {Ready: true, State: running},
		}}}, "1/2", "Running", "0"},
		"terminating":       {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(ago(time.Second))}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, "0/0", "Terminating", "0"},
		"lost":              {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(ago(time.Second))}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Reason: "NodeLost"}}, "0/0", "Unknown", "0"},
		"ended and deleted": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(ago(time.Second))}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, "0/0", "Succeeded", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			cells := podCells(t, &c.pod)
			require.Equal(t, []any{"p", c.ready, c.status, c.restarts, "14s"}, cells[:5])
		})
	}
}

func TestPodWideCells(t *testing.T) {
	p := &corev1.Pod{
		Spec: corev1.PodSpec{NodeName: "n", ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "a"}, {ConditionType: "b"}}},
		Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}, NominatedNodeName: "m", Conditions: []corev1.PodCondition{
			{Type: "b", Status: corev1.ConditionTrue},
		}},
	}
	require.Equal(t, []any{"10.0.0.1", "n", "m", "1/2"}, podCells(t, p)[5:])
	p = &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
	got := tableOf(t, corev1.GroupVersion.WithResource("pods")).Conditions(p)
	require.Len(t, got, 1)
	require.Equal(t, metav1.RowConditionType("Completed"), got[0].Type)
}

func TestWorkloadCells(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "app:1"}, {Name: "d", Image: "app:2"}}}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	meta := metav1.ObjectMeta{Name: "d", CreationTimestamp: ago(14 * time.Second)}
	d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: template, Selector: selector}, Status: appsv1.DeploymentStatus{ReadyReplicas: 1, UpdatedReplicas: 2, AvailableReplicas: 1}}
	require.Equal(t, []any{"d", "1/2", int64(2), int64(1), "14s", "c,d", "app:1,app:2", "app=a"},
		tableOf(t, appsv1.GroupVersion.WithResource("deployments")).Cells(d, now))

	j := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: new(int32(3)), Template: template, Selector: selector},
		Status: batchv1.JobStatus{Succeeded: 1, StartTime: new(ago(10 * time.Second))}}
	jobs := tableOf(t, batchv1.GroupVersion.WithResource("jobs"))
	require.Equal(t, []any{"d", "Running", "1/1 of 3", "10s", "14s"}, jobs.Cells(j, now)[:5])
	j.Spec.Completions, j.Status.CompletionTime = new(int32(5)), new(ago(7*time.Second))
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	require.Equal(t, []any{"d", "Complete", "1/5", "3s", "14s"}, jobs.Cells(j, now)[:5])
}

func TestServiceCells(t *testing.T) {
	services := tableOf(t, corev1.GroupVersion.WithResource("services"))
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", CreationTimestamp: ago(14 * time.Second)}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ClusterIPs: []string{"10.96.0.1"}, Selector: map[string]string{"b": "2", "a": "1"},
		Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: "TCP"}, {Port: 53, Protocol: "UDP"}},
	}}
	require.Equal(t, []any{"s", "LoadBalancer", "10.96.0.1", "<pending>", "80:30080/TCP,53/UDP", "14s", "a=1,b=2"}, services.Cells(s, now))
	s.Spec.ExternalIPs = []string{"5.6.7.8"}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "1.2.3.4"}}
	require.Equal(t, "1.2.3.4,5.6.7.8", services.Cells(s, now)[3])
}

func BenchmarkPodRow(b *testing.B) {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Ready: true, State: running}}}}
	table := tableOf(b, corev1.GroupVersion.WithResource("pods"))
	b.ReportAllocs()
	for b.Loop() {
		table.Cells(p, now)
	}
}
