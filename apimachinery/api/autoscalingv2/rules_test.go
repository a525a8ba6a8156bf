package autoscalingv2_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"hpa-v2", "spec.metrics", `[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5}},"pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}}]`, "spec.metrics[0].pods Forbidden"},
		{"hpa-v2", "spec.metrics", `[{"type":"External","external":{"metric":{"name":"m"},"target":{"type":"Value"}}}]`, "spec.metrics[0].external.target.averageValue Required"},
	})
}

// Versions that were accepted once may stay: that of the target with its kind, and those of metrics if one of
// them was malformed.
func TestUpdateRules(t *testing.T) {
	malformed := [2]string{"spec.scaleTargetRef.apiVersion", `"a/b/c"`}
	metric := func(version string) string {
		return `[{"type":"Object","object":{"describedObject":{"kind":"K","name":"n","apiVersion":"` + version + `"},"metric":{"name":"m"},"target":{"type":"Value","value":"1"}}}]`
	}
	apitest.Update(t, []apitest.Updated{
		{Setup: [][2]string{malformed}, Alter: [4]string{"hpa-v2", "spec.maxReplicas", `7`, ""}},
		{Setup: [][2]string{malformed}, Alter: [4]string{"hpa-v2", "spec.scaleTargetRef.kind", `"Other"`, "spec.scaleTargetRef.apiVersion Invalid"}},
		{Alter: [4]string{"hpa-v2", "spec.scaleTargetRef.apiVersion", `"v1"`, "spec.scaleTargetRef.apiVersion Invalid"}},
		{Setup: [][2]string{{"spec.metrics", metric("a/b/c")}}, Alter: [4]string{"hpa-v2", "spec.metrics", metric("x/y/z"), ""}},
		{Setup: [][2]string{{"spec.metrics", metric("v1")}}, Alter: [4]string{"hpa-v2", "spec.metrics", metric("x/y/z"), "spec.metrics[0].object.describedObject.apiVersion Invalid"}},
	})
}

// Objects are rejected for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	for _, f := range []struct {
		name, body string
		want       []string
	}{
		{"no replicas", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"n"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}`,
			[]string{"spec.maxReplicas FieldValueInvalid", "spec.maxReplicas FieldValueRequired"}},
		{"several sources of a metric", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"n"},"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},` +
			`"metrics":[{"type":"Resource","pods":{"metric":{"name":""},"target":{}},"external":{"metric":{"name":"m","selector":{"matchLabels":{"a b":""}}},"target":{"type":"Value","value":"1"}}}]}}`,
			[]string{"spec.metrics[0].external FieldValueForbidden", "spec.metrics[0].pods FieldValueForbidden", "spec.metrics[0].resource FieldValueRequired"}},
		{"a metric of no source", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"n"},"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"metrics":[{"pods":{"metric":{"name":"m"},"target":{"averageValue":"1"}}}]}}`,
			[]string{"spec.metrics[0].pods.target.type FieldValueInvalid", "spec.metrics[0].pods.target.type FieldValueRequired", "spec.metrics[0].type FieldValueNotSupported", "spec.metrics[0].type FieldValueRequired"}},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}
