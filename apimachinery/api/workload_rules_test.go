package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// TestCreateRulesOfWorkloads checks where findings are reported, and which come together, for pods, what
// makes pods, and what pods use.
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
		{"pod", "spec.containers.0.resources", `{"claims":[{"name":"x","request":"A B"}]}`,
			"spec.containers[0].resources.claims[0] NotFound; spec.containers[0].resources.claims[0].request Invalid"},
		{"pod", "spec.containers.0.resizePolicy", `[{"resourceName":"cpu","restartPolicy":"NotRequired"},{"resourceName":"cpu","restartPolicy":"NotRequired"}]`, "spec.containers[0].resizePolicy[1] Duplicate"},
		{"pod", "spec.volumes", `[{},{},{"name":"A B","emptyDir":{}},{"name":"A B","emptyDir":{}}]`,
			"spec.volumes[0].name Required; spec.volumes[1].name Required; spec.volumes[2].name Invalid; spec.volumes[3].name Invalid"},
		{"pod", "spec.volumes", `[{"name":"a","azureDisk":{"diskName":"a","diskURI":"x"}}]`, "spec.volumes[0].azureDisk.diskURI NotSupported"},
		{"pod", "spec.hostAliases", `[{"ip":"01.2.3.4"}]`, "spec.hostAliases[0].ip Invalid"},
		{"pod", "spec.topologySpreadConstraints", `[{"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule","maxSkew":1,"labelSelector":{}},{"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule","maxSkew":1,"labelSelector":{}}]`,
			"spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable} Duplicate"},
		{"endpoints", "subsets.0.addresses.0.ip", `"::ffff:1.2.3.4"`, "subsets[0].addresses[0].ip Invalid"},
		{"node", "spec.podCIDRs", `["10.0.0.1/8"]`, "spec.podCIDRs[0] Invalid"},
		{"service", "spec.externalIPs", `["01.2.3.4"]`, "spec.externalIPs[0] Invalid"},
		{"service-loadbalancer", "spec.loadBalancerSourceRanges", `["10.0.0.1/8"]`, "spec.LoadBalancerSourceRanges[0] Invalid"},
		{"pv", "spec.accessModes", `["ReadWriteOncePod","ReadWriteOncePod"]`, ""},
		{"pv-iscsi", "spec.iscsi.secretRef", `{}`, "spec.iscsi.secretRef.name Required"},
		{"daemonset", "spec.updateStrategy", `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"xx"}}`,
			"spec.updateStrategy.rollingUpdate.maxUnavailable Invalid; spec.updateStrategy.rollingUpdate.maxUnavailable Required"},
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
		{"deployment", "spec.strategy", `{"type":"X"}`, "spec.strategy NotSupported"},
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
		{"resourcequota", "spec.scopeSelector", `{"matchExpressions":[{"scopeName":"X","operator":"In","values":["a"]}]}`, "spec.scopeSelector.matchExpressions.scopeName Invalid"},
		{"node", "spec.podCIDRs", `["10.0.0.0/8","10.0.0.0/9"]`, "spec.podCIDRs Invalid"},
	} {
		t.Run(fmt.Sprintf("%d %s %s", i, c.base, c.field), func(t *testing.T) {
			e, ok := base[c.base]
			require.True(t, ok)
			obj, info := prepared(t, s, edit(t, e.Request, []change{{c.field, json.RawMessage(c.value)}}), e.Path)
			errs := validateCreate(obj, info)
			want := []string{}
			for part := range strings.SplitSeq(c.want, "; ") {
				if k := strings.LastIndexByte(part, ' '); k > 0 {
					want = append(want, part[:k]+" FieldValue"+part[k+1:])
				}
			}
			require.ElementsMatch(t, want, foundSet(errs), "%s", errs)
		})
	}
}

// TestOldAddressesMayStay checks that addresses which are not written as new ones must be do not stand in the
// way of other changes.
func TestOldAddressesMayStay(t *testing.T) {
	endpoints := func(ip string) *corev1.Endpoints {
		return &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: ip}}}}}
	}
	require.Len(t, corev1.ValidateEndpoints(endpoints("01.2.3.4")), 1)
	require.Empty(t, corev1.ValidateEndpointsUpdate(endpoints("01.2.3.4"), endpoints("01.2.3.4")))
	require.Len(t, corev1.ValidateEndpointsUpdate(endpoints("01.2.3.5"), endpoints("01.2.3.4")), 1)

	node := func(cidr string) *corev1.Node { return &corev1.Node{Spec: corev1.NodeSpec{PodCIDRs: []string{cidr}}} }
	require.Len(t, corev1.ValidateNode(node("10.0.0.1/8")), 1)
	require.Empty(t, corev1.ValidateNodeUpdate(node("10.0.0.1/8"), node("10.0.0.1/8")))
}
