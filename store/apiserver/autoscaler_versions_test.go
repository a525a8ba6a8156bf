package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// One stored HorizontalPodAutoscaler is equivalent in both versions, whichever it was written in.
func TestScalersOfBothVersions(t *testing.T) {
	s := start(t, apiserver.Options{})
	const v1, v2 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	target := `"scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"},"minReplicas":1,"maxReplicas":4`
	s.do("POST", v1, `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"one"},"spec":{`+target+`,"targetCPUUtilizationPercentage":50}}`).ok(201)
	s.do("POST", v2, `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"two"},"spec":{`+target+`,
		"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}`).ok(201)
	for _, name := range []string{"/one", "/two"} {
		for _, query := range []string{"", "?resourceVersion=0"} {
			old, now := s.do("GET", v1+name+query, nil).ok(200), s.do("GET", v2+name+query, nil).ok(200)
			require.EqualValues(t, 50, old.at("spec.targetCPUUtilizationPercentage"), name)
			metrics := now.at("spec.metrics").([]any)
			require.Len(t, metrics, 1)
			require.EqualValues(t, 50, object(metrics[0].(map[string]any)).at("resource.target.averageUtilization"))
			for _, same := range []string{"metadata.uid", "metadata.resourceVersion", "spec.minReplicas", "spec.maxReplicas", "spec.scaleTargetRef"} {
				require.Equal(t, old.at(same), now.at(same), same)
			}
		}
	}
}
