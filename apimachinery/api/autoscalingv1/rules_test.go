package autoscalingv1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestDefaults(t *testing.T) {
	h := &autoscalingv1.HorizontalPodAutoscaler{}
	autoscalingv1.DefaultHorizontalPodAutoscaler(h)
	require.EqualValues(t, 1, *h.Spec.MinReplicas)
	require.EqualValues(t, 80, *h.Spec.TargetCPUUtilizationPercentage)

	h = &autoscalingv1.HorizontalPodAutoscaler{}
	h.Annotations = map[string]string{"autoscaling.alpha.kubernetes.io/metrics": "[]"}
	h.Spec.MinReplicas = new(int32(3))
	autoscalingv1.DefaultHorizontalPodAutoscaler(h)
	require.EqualValues(t, 3, *h.Spec.MinReplicas)
	require.Nil(t, h.Spec.TargetCPUUtilizationPercentage, "another metric is given")
}

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"hpa-v1", "spec.minReplicas", `3`, ""},
		{"hpa-v1", "spec.minReplicas", `4`, "spec.maxReplicas Invalid"},
		{"hpa-v1", "spec.minReplicas", `-1`, "spec.minReplicas Invalid"},
		{"hpa-v1", "spec.maxReplicas", `0`, "spec.maxReplicas Invalid; spec.maxReplicas Required"},
		{"hpa-v1", "spec.targetCPUUtilizationPercentage", `0`, "spec.metrics[0].resource.target.averageUtilization Invalid"},
		{"hpa-v1", "spec.scaleTargetRef.kind", `""`, "spec.scaleTargetRef.kind Required"},
		{"hpa-v1", "spec.scaleTargetRef.name", `"a/b"`, "spec.scaleTargetRef.name Invalid"},
		{"hpa-v1", "spec.scaleTargetRef.apiVersion", `"a/b/c"`, "spec.scaleTargetRef.apiVersion Invalid"},
		{"hpa-v1", "spec.scaleTargetRef.apiVersion", `""`, "spec.scaleTargetRef.apiVersion Invalid"},
		{"hpa-v1", "spec.scaleTargetRef", `{"kind":"ReplicationController","name":"r"}`, ""},
	})
}

// An autoscaler whose apiVersion is malformed can be updated as long as that stays, with its kind.
func TestUpdateRules(t *testing.T) {
	malformed := [2]string{"spec.scaleTargetRef.apiVersion", `"a/b/c"`}
	apitest.Update(t, []apitest.Updated{
		{Setup: [][2]string{malformed}, Alter: [4]string{"hpa-v1", "spec.maxReplicas", `7`, ""}},
		{Setup: [][2]string{malformed}, Alter: [4]string{"hpa-v1", "spec.scaleTargetRef.kind", `"Other"`, "spec.scaleTargetRef.apiVersion Invalid"}},
		{Setup: [][2]string{malformed}, Alter: [4]string{"hpa-v1", "spec.scaleTargetRef.apiVersion", `"x/y/z"`, "spec.scaleTargetRef.apiVersion Invalid"}},
		{Alter: [4]string{"hpa-v1", "spec.scaleTargetRef.apiVersion", `"a/b/c"`, "spec.scaleTargetRef.apiVersion Invalid"}},
	})
}

func TestStatusAndScale(t *testing.T) {
	h := &autoscalingv1.HorizontalPodAutoscaler{}
	require.Empty(t, autoscalingv1.ValidateHorizontalPodAutoscalerStatus(h, nil))
	h.Status.CurrentReplicas, h.Status.DesiredReplicas = -1, -1
	require.Equal(t, []string{"status.currentReplicas FieldValueInvalid", "status.desiredReplicas FieldValueInvalid"},
		apitest.Found(autoscalingv1.ValidateHorizontalPodAutoscalerStatus(h, nil)))
	scale := &autoscalingv1.Scale{}
	require.Empty(t, autoscalingv1.ValidateScale(scale))
	scale.Spec.Replicas = -1
	require.Equal(t, []string{"spec.replicas FieldValueInvalid"}, apitest.Found(autoscalingv1.ValidateScale(scale)))
}
