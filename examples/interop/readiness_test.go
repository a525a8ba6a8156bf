package interop_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/readiness"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// statusMaker makes random objects whose fields are those the rules read.
type statusMaker struct{ *rand.Rand }

func (m statusMaker) one(values ...any) any { return values[m.IntN(len(values))] }

// some is a map of those of the fields that chance takes.
func (m statusMaker) some(fields map[string]func() any) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // so that the seed decides
		if m.IntN(4) > 0 {
			out[name] = fields[name]()
		}
	}
	return out
}

func (m statusMaker) small() any { return int64(m.IntN(4)) }

func (m statusMaker) conditions() any {
	list := []any{}
	for range m.IntN(4) {
		list = append(list, map[string]any{
			"type":   m.one("Ready", "Available", "Progressing", "ReplicaFailure", "Complete", "Failed", "Established", "NamesAccepted", "PodScheduled", "Reconciling", "Stalled", "Other"),
			"status": m.one("True", "False", "Unknown", "Odd"), "message": m.one("", "text"),
			"reason": m.one("", "NewReplicaSetAvailable", "ProgressDeadlineExceeded", "Unschedulable", "Installing", "Why"),
		})
	}
	return list
}

func (m statusMaker) object() map[string]any {
	kind := [][2]string{{"v1", "Service"}, {"v1", "Pod"}, {"v1", "Secret"}, {"v1", "PersistentVolumeClaim"}, {"apps/v1", "StatefulSet"}, {"apps/v1", "DaemonSet"},
		{"extensions/v1beta1", "DaemonSet"}, {"apps/v1", "Deployment"}, {"extensions/v1beta1", "Deployment"}, {"apps/v1", "ReplicaSet"}, {"policy/v1", "PodDisruptionBudget"},
		{"batch/v1", "CronJob"}, {"v1", "ConfigMap"}, {"batch/v1", "Job"}, {"apiextensions.k8s.io/v1", "CustomResourceDefinition"}, {"example.com/v1", "Website"}}[m.IntN(16)]
	meta := map[string]any{"name": "a"}
	if m.IntN(2) == 0 {
		meta["generation"] = int64(1 + m.IntN(2))
	}
	if m.IntN(20) == 0 {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	// Far from the time at which an unschedulable pod begins to count as failed.
	meta["creationTimestamp"] = m.one(time.Now().Add(time.Hour), time.Now().Add(-time.Hour)).(time.Time).UTC().Format(time.RFC3339)
	status := map[string]func() any{"conditions": m.conditions, "phase": func() any { return m.one("", "Pending", "Running", "Succeeded", "Failed", "Bound", "Odd") },
		"currentRevision": func() any { return m.one("a", "b") }, "updateRevision": func() any { return m.one("a", "b") }, "startTime": func() any { return "2026-01-01T00:00:00Z" },
		"containerStatuses": func() any {
			return []any{map[string]any{"name": "c", "state": map[string]any{"waiting": map[string]any{"reason": m.one("CrashLoopBackOff", "ContainerCreating")}}}, map[string]any{"name": "d", "state": map[string]any{}}}
		}}
	for _, name := range []string{"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "fullyLabeledReplicas", "desiredNumberScheduled", "currentNumberScheduled",
		"updatedNumberScheduled", "numberAvailable", "numberReady", "succeeded", "active", "failed"} {
		status[name] = func() any { return int64(3 - m.IntN(2)*m.IntN(3)) }
	}
	if m.IntN(2) == 0 {
		status["observedGeneration"] = func() any { return int64(1 + m.IntN(2)) }
	}
	return map[string]any{"apiVersion": kind[0], "kind": kind[1], "metadata": meta, "status": m.some(status), "spec": m.some(map[string]func() any{
		"replicas": m.small, "parallelism": m.small, "completions": m.small, "progressDeadlineSeconds": func() any { return m.one(int64(600), int64(2147483647)) },
		"type": func() any { return m.one("LoadBalancer", "ClusterIP") }, "clusterIP": func() any { return m.one("", "10.0.0.1") },
		"updateStrategy": func() any {
			return map[string]any{"type": m.one("OnDelete", "RollingUpdate"), "rollingUpdate": map[string]any{"partition": int64(m.IntN(4) - 1)}}
		},
	})}
}

// Readiness says of random objects what kstatus does: status, reason and message.
func TestReadinessAsKstatus(t *testing.T) {
	seen := map[readiness.Status]int{}
	for _, seed := range seeds.Of(t, 3) {
		m := statusMaker{seeds.Rand(seed)}
		for range 5000 {
			tree := m.object()
			ours, err := manifest.FromMap(tree)
			require.NoError(t, err)
			got := readiness.Of(ours)
			seen[got.Status]++
			want, err := status.Compute(&unstructured.Unstructured{Object: tree})
			text, _ := codec.Marshal(tree)
			if err != nil {
				require.Equal(t, readiness.Unknown, got.Status, "%s: %v", text, err)
				continue
			}
			require.Equal(t, want.Status.String()+": "+want.Message, got.String(), "%s", text)
			if len(want.Conditions) > 0 {
				require.Equal(t, want.Conditions[0].Reason, got.Reason, "%s", text)
			}
		}
	}
	for _, s := range []readiness.Status{readiness.Current, readiness.InProgress, readiness.Failed, readiness.Terminating, readiness.Unknown} {
		require.NotZero(t, seen[s], s)
	}
}
