package batchv1_test

import (
	"strings"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"job", "spec.podFailurePolicy", `{"rules":[{"action":"FailJob"}]}`, "spec.podFailurePolicy.rules[0] Invalid"},
		{"job", "spec.podFailurePolicy", `{"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[2,1,0]}}]}`,
			"spec.podFailurePolicy.rules[0].action Invalid; spec.podFailurePolicy.rules[0].onExitCodes.values Invalid; spec.podFailurePolicy.rules[0].onExitCodes.values[2] Invalid"},
		{"job", "spec.maxFailedIndexes", `1`, "spec.backoffLimitPerIndex Required; spec.maxFailedIndexes Invalid"},
		{"job-indexed", "spec.successPolicy", `{"rules":[{"succeededIndexes":"0-9"}]}`, "spec.successPolicy.rules[0].succeededIndexes Invalid"},
		{"job-indexed", "spec.successPolicy", `{"rules":[{"succeededIndexes":"0,2","succeededCount":1}]}`, ""},
		{"job-indexed", "metadata.name", `"a.b"`, "metadata.name Invalid"},
		{"cronjob", "metadata.name", `"` + strings.Repeat("a", 53) + `"`, "metadata.name Invalid"},
		{"cronjob", "spec.schedule", `"@hourly"`, ""},
		{"cronjob", "spec.concurrencyPolicy", `"X"`, "spec.concurrencyPolicy NotSupported"},
		{"cronjob", "spec.jobTemplate.spec.selector", `{"matchLabels":{"a":"b"}}`, "spec.jobTemplate.spec.selector Invalid"},
		{"cronjob", "spec.jobTemplate.spec.manualSelector", `true`, "spec.jobTemplate.spec.manualSelector NotSupported"},

		{"cronjob", "spec.jobTemplate.metadata", `{"annotations":{"a b":""}}`, ""},
		{"cronjob", "spec.jobTemplate.spec.podFailurePolicy", `{"rules":[{"action":"Ignore","onPodConditions":[{"type":"A"}]}]}`, ""},
		{"job-parallel", "spec.successPolicy", `{"rules":[]}`, "spec.successPolicy Invalid"},
	})
}

// suspended is the status of a job that ran and was suspended.
const suspended = `{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"True"}]}`

func TestUpdateRules(t *testing.T) {
	apitest.Update(t, []apitest.Updated{
		{Alter: [4]string{"job", "spec.parallelism", `5`, ""}},
		{Alter: [4]string{"job", "spec.suspend", `true`, ""}},
		{Setup: [][2]string{{"spec.suspend", "true"}}, Alter: [4]string{"job", "spec.template.spec.nodeSelector", `{"a":"b"}`, ""}},
		{Setup: [][2]string{{"spec.suspend", "true"}}, Alter: [4]string{"job", "spec.template.spec.containers.0.resources", `{"requests":{"cpu":"2"}}`, ""}},
		{Setup: [][2]string{{"spec.suspend", "true"}}, Alter: [4]string{"job", "spec.template.spec.containers.0.image", `"app:9"`, "spec.template.spec Invalid"}},
		{Setup: [][2]string{{"spec.suspend", "true"}, {"status", suspended}}, Alter: [4]string{"job", "spec.template.spec.nodeSelector", `{"a":"b"}`, ""}},
		{Setup: [][2]string{{"spec.suspend", "true"}, {"status", `{"startTime":"2026-01-01T00:00:00Z"}`}}, Alter: [4]string{"job", "spec.template.spec.nodeSelector", `{"a":"b"}`, "spec.template Invalid"}},
		{Setup: [][2]string{{"spec.suspend", "true"}, {"status", `{"active":1}`}}, Alter: [4]string{"job", "spec.template.spec.nodeSelector", `{"a":"b"}`, "spec.template Invalid"}},
		{Alter: [4]string{"job", "spec.template.spec.nodeSelector", `{"a":"b"}`, "spec.template Invalid"}},
	})
}
