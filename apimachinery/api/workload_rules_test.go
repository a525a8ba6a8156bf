package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCreateRulesOfWorkloads checks where findings are reported, and which come together, for pods, what makes pods, and what pods use.
func TestCreateRulesOfWorkloads(t *testing.T) {
	s := serverScheme(t)
	base := baseObjects(t)
	const claim = `{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`
	for i, c := range []alter{
		// Of two sources the one that is looked at later is too many, under a name of its own sometimes.
		{"pod", "spec.volumes", `[{"name":"a","configMap":{"name":"m"},"cephfs":{"monitors":["m"]}}]`, "spec.volumes[0].configMap Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","secret":{"secretName":"s"},"cephfs":{"monitors":["m"]}}]`, "spec.volumes[0].cephFS Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","secret":{"secretName":"s"},"downwardAPI":{}}]`, "spec.volumes[0].downwarAPI Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","projected":{"sources":[{"secret":{},"configMap":{}}]}}]`,
			"spec.volumes[0].projected.sources[0].secret.name Required; spec.volumes[0].projected.sources[0].configMap.name Required; spec.volumes[0].projected.sources[0] Forbidden"},
		{"pod", "spec.volumes", `[{"name":"a","projected":{"sources":[{}]}}]`, ""},
		{"pod", "spec.containers.0.volumeDevices", `[{},{}]`, "spec.containers[0].volumeDevices[0].name Required; spec.containers[0].volumeDevices[0].name NotFound; " +
			"spec.containers[0].volumeDevices[0].devicePath Required; spec.containers[0].volumeDevices[1].name Required; spec.containers[0].volumeDevices[1].name NotFound; " +
			"spec.containers[0].volumeDevices[1].devicePath Required; spec.containers[0].volumeDevices[1].devicePath Invalid"},
		{"pod", "spec.containers.0.resources", `{"claims":[{}]}`, "spec.containers[0].resources.claims[0] Required"},
		{"pod", "spec.containers.0.restartPolicyRules", `[{"exitCodes":{}}]`, "spec.containers[0].restartPolicy Required; " +
			"spec.containers[0].restartPolicyRules[0].action NotSupported; spec.containers[0].restartPolicyRules[0].exitCodes.operator NotSupported"},
		{"pod", "spec.containers.0.securityContext", `{"appArmorProfile":{"type":"X","localhostProfile":"a"}}`, "spec.containers[0].securityContext.appArmorProfile.type NotSupported"},
		{"pod", "spec.tolerations", `[{"key":"a","operator":"Gt","value":"5"}]`, "spec.tolerations[0].operator NotSupported"},
		{"pv-iscsi", "spec.iscsi.initiatorName", `"x"`, "spec.iscsi.initiatorname Invalid"},
		{"pv-iscsi", "spec.iscsi.initiatorName", `"eui.0123456789abcdef"`, ""},
		{"pv-iscsi", "spec.iscsi.iqn", `"iqn.2001-04.a"`, "spec.iscsi.iqn Invalid"},
		{"pv-iscsi", "spec.flexVolume", `{"driver":"a/b"}`, ""},
		{"daemonset", "spec.selector", `{"matchLabels":{"a":"b c"}}`, "spec.selector.matchLabels Invalid"},
		{"daemonset", "spec.selector", `{"matchExpressions":[{"key":"a","operator":"In"}]}`, "spec.selector.matchExpressions[0].values Required"},
		{"deployment", "spec.selector", `{"matchExpressions":[{"key":"a","operator":"In"}]}`, "spec.selector.matchExpressions[0].values Required; spec.selector Invalid"},
		{"statefulset", "spec.volumeClaimTemplates", `[{"metadata":{"name":"v"},"spec":` + claim + `}]`, ""},
		{"statefulset", "spec.volumeClaimTemplates", `[{"metadata":{"name":"A B"},"spec":` + claim + `}]`, "spec.template.spec.volumes[0].name Invalid"},
		{"statefulset", "spec.volumeClaimTemplates", `[{"spec":{}}]`, "spec.volumeClaimTemplates[0].spec.accessModes Required; spec.volumeClaimTemplates[0].spec.resources[storage] Required; " +
			"spec.template.spec.volumes[0].name Required; spec.template.spec.volumes[0].persistentVolumeClaim.claimName Required"},
		{"statefulset", "spec.template.spec.hostname", `"Bad"`, ""},
		{"statefulset", "spec.revisionHistoryLimit", `-5`, ""},
		{"daemonset", "spec.revisionHistoryLimit", `-5`, "spec.revisionHistoryLimit Invalid"},
		{"statefulset", "spec.serviceName", `"a.b"`, "spec.serviceName Invalid"},
		{"statefulset", "metadata.name", `"a.b"`, "metadata.name Invalid"},
		{"replicationcontroller", "metadata.generateName", `"Bad"`, ""},
		{"replicationcontroller", "metadata.generateName", `"a/b"`, "metadata.generateName Invalid"},
		{"controllerrevision", "data", `5`, "data Required"},
		{"cronjob", "spec.jobTemplate.metadata", `{"annotations":{"a b":""}}`, ""},
		{"cronjob", "spec.jobTemplate.spec.podFailurePolicy", `{"rules":[{"action":"Ignore","onPodConditions":[{"type":"A"}]}]}`, ""},
		{"job-parallel", "spec.successPolicy", `{"rules":[]}`, "spec.successPolicy Invalid"},
		{"limitrange", "spec.limits", `[{"type":"Pod"},{"type":"Pod","max":{"abc":"1"}}]`, "spec.limits[1].type Duplicate; spec.limits[1].max[abc] Invalid"},
		{"resourcequota", "spec.scopeSelector", `{"matchExpressions":[{"scopeName":"X","operator":"In","values":["a"]}]}`, "spec.scopeSelector.matchExpressions.scopeName Invalid; spec.scopeSelector.matchExpressions.operator Invalid"},
		{"node", "spec.podCIDRs", `["10.0.0.0/8","x"]`, "spec.podCIDRs[1] Invalid; spec.podCIDRs Invalid; spec.podCIDRs Internal"},
	} {
		t.Run(fmt.Sprintf("%d %s %s", i, c.base, c.field), func(t *testing.T) {
			e, ok := base[c.base]
			require.True(t, ok)
			obj, info := prepared(t, s, edit(t, e.Request, []change{{c.field, json.RawMessage(c.value)}}), e.Path)
			errs := validateCreate(obj, info)
			want := findings(c.want)
			for k := range want {
				if want[k] == "spec.podCIDRs FieldValueInternal" {
					want[k] = "spec.podCIDRs InternalError"
				}
			}
			require.ElementsMatch(t, want, foundSet(errs), "%s", errs)
		})
	}
}
