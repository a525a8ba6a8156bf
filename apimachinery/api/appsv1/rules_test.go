package appsv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	const claim = `{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`
	apitest.Create(t, [][4]string{
		{"deployment", "spec.strategy", `{"rollingUpdate":{"maxSurge":0,"maxUnavailable":"0%"}}`, "spec.strategy.rollingUpdate.maxUnavailable Invalid"},
		{"deployment", "spec.strategy", `{"rollingUpdate":{"maxUnavailable":"101%"}}`, "spec.strategy.rollingUpdate.maxUnavailable Invalid"},
		{"deployment", "spec.template.metadata.labels", `{"app":"a","b c":"d"}`, "spec.template.labels Invalid"},
		{"deployment", "spec.template.spec.ephemeralContainers", `[{"name":"e","image":"a:1"}]`, "spec.template.spec.ephemeralContainers Forbidden"},
		{"daemonset", "spec.updateStrategy", `{"rollingUpdate":{"maxUnavailable":1,"maxSurge":1}}`, "spec.updateStrategy.rollingUpdate.maxSurge Invalid"},
		{"statefulset", "metadata.name", `"a.b"`, "metadata.name Invalid"},
		{"deployment", "metadata.name", `"a.b"`, ""},
		{"statefulset", "spec.podManagementPolicy", `"X"`, "spec.podManagementPolicy Invalid"},
		{"statefulset", "spec.updateStrategy", `{"type":"X"}`, "spec.updateStrategy Invalid"},

		{"daemonset", "spec.updateStrategy", `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"xx"}}`,
			"spec.updateStrategy.rollingUpdate.maxUnavailable Invalid; spec.updateStrategy.rollingUpdate.maxUnavailable Required"},
		{"daemonset", "spec.selector", `{"matchLabels":{"a":"b c"}}`, "spec.selector.matchLabels Invalid"},
		{"daemonset", "spec.selector", `{"matchExpressions":[{"key":"a","operator":"In"}]}`, "spec.selector.matchExpressions[0].values Required"},
		{"deployment", "spec.selector", `{"matchExpressions":[{"key":"a","operator":"In"}]}`, "spec.selector.matchExpressions[0].values Required; spec.selector Invalid"},
		{"statefulset", "spec.volumeClaimTemplates", `[{"metadata":{"name":"v"},"spec":` + claim + `}]`, ""},
		{"statefulset", "spec.volumeClaimTemplates", `[{"metadata":{"name":"A B"},"spec":` + claim + `}]`, "spec.template.spec.volumes[0].name Invalid"},
		{"statefulset", "spec.volumeClaimTemplates", `[{"spec":{}}]`, "spec.volumeClaimTemplates[0].spec.accessModes Required; spec.volumeClaimTemplates[0].spec.resources[storage] Required; " +
			"spec.template.spec.volumes[0].name Required; spec.template.spec.volumes[0].persistentVolumeClaim.claimName Required"},
		{"deployment", "spec.strategy", `{"type":"X"}`, "spec.strategy NotSupported"},
		{"statefulset", "spec.template.spec.hostname", `"Bad"`, ""},
		{"statefulset", "spec.revisionHistoryLimit", `-5`, ""},
		{"daemonset", "spec.revisionHistoryLimit", `-5`, "spec.revisionHistoryLimit Invalid"},
		{"statefulset", "spec.serviceName", `"a.b"`, "spec.serviceName Invalid"},
		{"statefulset", "metadata.name", `"a.b"`, "metadata.name Invalid"},
		{"controllerrevision", "data", `5`, "data Required"},
	})
}

func TestUpdateRules(t *testing.T) {
	apitest.Update(t, []apitest.Updated{
		{Alter: [4]string{"statefulset", "spec.replicas", `5`, ""}},
		{Alter: [4]string{"deployment", "metadata.name", `"z"`, "metadata.name Invalid"}},
		{Alter: [4]string{"deployment", "metadata.uid", `"z"`, "metadata.uid Invalid"}},
	})
}
